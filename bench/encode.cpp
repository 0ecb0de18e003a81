/**
 *  @file encode.cpp
 *  @brief Whole towers forward, through `uform_text_encode`, against the peak of as many threads.
 *
 *  Useful work is 2 x block weights x tokens + 4 x (sum of squared lengths) x hidden x depth. Answers are first compared
 *  with the serial class, item by item, and every peer's with ours.
 */
#include <filesystem>

#include "peers.hpp"

namespace {

using namespace bench;

/** Cosines to the serial class: a tower of 12 blocks rounds about 150 times to 2^-9 each side. */
void verify(class_t const &each, std::size_t hidden, std::size_t depth, uform_scalar_t quantization) {
    texts_t texts;
    for (std::size_t length : {1, 17, 40}) texts.add(length);
    uform_model_t fast = model_of(hidden, depth, 64, pin_of(each), quantization);
    uform_model_t serial = model_of(hidden, depth, 64, uform_cpu_class_serial_k, quantization);
    encoder_t a(1), b(1);
    uform_rows_t const x = a.encode(fast, texts), y = b.encode(serial, texts);
    for (std::size_t i = 0; i < texts.count(); ++i) {
        double cosine = 0;
        for (std::size_t column = 0; column < hidden; ++column)
            cosine += double(static_cast<float const *>(x.data)[i * hidden + column]) *
                      static_cast<float const *>(y.data)[i * hidden + column];
        if (cosine > 0.99) continue;
        std::fprintf(stderr, "item %zu is wrong: its cosine to the serial class is %g\n", i, cosine);
        std::exit(1);
    }
    uform_model_free(fast);
    uform_model_free(serial);
}

texts_t mixed_items(std::size_t tokens) { // 64 ... 512, in a fixed shuffle
    texts_t texts;
    for (std::size_t i = 0; texts.data.size() < tokens; ++i)
        texts.add(std::min<std::size_t>(64 + i * 149 % 449, tokens - texts.data.size()));
    return texts;
}

/** Peers whose embeddings of these texts by the model in the folder point where ours do, both being rounded throughout. */
std::vector<rival_t *> peers_for(peers_t const &peers, folder_t const &folder, encoder_t const &encoder,
                                 uform_model_t model, texts_t const &texts, std::size_t threads) {
    uform_rows_t const rows = encoder.encode(model, texts);
    std::size_t const hidden = rows.columns, length = texts.offsets[1];
    std::vector<float> answer(texts.count() * hidden);
    folder.write("texts", texts.data.data(), texts.data.size());
    std::string work = "encode " + folder.path();
    for (std::size_t part : {length, texts.count(), threads}) work.append(" ").append(std::to_string(part));
    return peers.prepare(work, [&](peer_t const &peer) {
        double worst = folder.read("answer", answer.data(), answer.size() * sizeof(float)) ? 1 : 0;
        for (std::size_t item = 0; item < texts.count() && worst > 0; ++item) {
            float const *x = static_cast<float const *>(rows.data) + item * hidden, *y = answer.data() + item * hidden;
            double product = 0, squares = 0;
            for (std::size_t i = 0; i < hidden; ++i) product += double(x[i]) * y[i], squares += double(y[i]) * y[i];
            worst = std::min(worst, product / std::sqrt(squares));
        }
        std::fprintf(stderr, "%s: its worst cosine to ours is %.5f\n", peer.name().c_str(), worst);
        bool const is_int8 = peer.name().find("int8") != std::string::npos; // products of 8 bits a side
        if (!(worst >= (is_int8 ? 0.95 : 0.99))) std::exit(1);
    });
}

/** A trained tower first: texts that a fresh one hardly tells apart. */
void verify_peers(peers_t const &peers, class_t const &each) {
    std::string const path = "models/nano-text.safetensors";
    if (peers.all.empty() || ::access(path.c_str(), R_OK)) return;
    folder_t const folder;
    std::filesystem::copy_file(path, folder.file("model"));
    uform_model_t model = load_model(path, pin_of(each));
    peers_for(peers, folder, encoder_t(1), model, items_of(64, 1024), 1);
    uform_model_free(model);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    peers_t const peers(arguments.peers);
    verify(each, 128, 4, uform_scalar_bf16_k), verify(each, 128, 4, uform_scalar_e4m3_k);
    verify_peers(peers, each);
    wall_report_t report;
    struct work_t {
        char const *name;
        texts_t texts;
        bool in_table, in_classes;       // of bench/run.sh, for tiny
        char const *e4m3_name = nullptr; // where it is worth a line of its own
    };
    work_t const works[] = {{"encode_items_64_to_512", mixed_items(4096), false, false},
                            {"encode_items_64", items_of(64, 4096), true, true},
                            {"encode_items_256", items_of(256, 4096), true, true, "encode_e4m3_items_256"},
                            {"encode_item_4096", items_of(4096, 4096), true, false},
                            {"encode_rows_items_64", items_of(64, 32768), true, false},
                            {"encode_one_64", items_of(64, 64), true, false}};
    struct tier_t {
        char const *name;
        std::size_t hidden, depth;
        bool in_table;
    };
    for (tier_t const tier : {tier_t {"tiny 512 x 12", 512, 12, true}, {"nano 128 x 4", 128, 4, false}}) {
        if (arguments.only != "" && !tier.in_table) continue;
        folder_t const folder;
        save_fresh(tier.hidden, tier.depth, 4096, folder.file("model"));
        uform_model_t model = load_model(folder.file("model"), pin_of(each));
        uform_model_t narrow = load_model(folder.file("model"), pin_of(each), uform_scalar_e4m3_k);
        for (work_t const &work : works)
            for (std::size_t threads : {1, 2}) {
                bool const in_table = tier.in_table && work.in_table;
                if (arguments.only == "table" && !in_table) continue;
                if (!arguments.only.empty() && threads != 2) continue;
                if (arguments.only == "classes" && !work.in_classes) continue;
                encoder_t const encoder(threads);
                std::vector<rival_t *> ready;
                if (in_table) ready = peers_for(peers, folder, encoder, model, work.texts, threads);
                double const flops = work.texts.flops(tier.hidden, tier.depth), tokens = double(work.texts.data.size());
                auto const bf16 = [&] { encoder.encode(model, work.texts); };
                compared_t const run = measure_in_turn(each, threads, flops, arguments.rounds, ready, bf16);
                report.line(work.name, threads, tokens, run.ours, tier.name, run.peers);
                if (!work.e4m3_name || arguments.only == "classes") continue;
                ours_t rival("our bf16", bf16);
                compared_t const other = measure_in_turn(each, threads, flops, arguments.rounds, {&rival},
                                                         [&] { encoder.encode(narrow, work.texts); });
                report.line(work.e4m3_name, threads, tokens, other.ours, tier.name, other.peers);
            }
        uform_model_free(narrow);
        uform_model_free(model);
    }
    return !arguments.json || report.save(arguments.json) ? 0 : 1;
}
