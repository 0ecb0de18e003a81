/**
 *  @file decode.cpp
 *  @brief Photographs of 12 megapixels: files → patches, beside what a user would take instead; and whether decoding
 *  and the tower overlap.
 *
 *  Pixels are first compared with every peer's: decoders scale and resample in ways of their own, so means over the first
 *  pictures may be two levels apart. Every side reads its files from the disk, which keeps them in memory after the first
 *  round. `--photos FOLDER` and `--count N` choose others than the 200 that bench/photos.py draws.
 */
#include <filesystem>
#include <fstream>

#include <uform/utilities/call.hpp>

#include "peers.hpp"
#include "src/pictures.hpp"

namespace {

using namespace bench;

constexpr std::size_t batch_k = 16, compared_k = 4; // photographs of one call; of them, those compared
constexpr image_entry_t entry_k {16, 4};

[[noreturn]] void end(char const *what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

/** A few files end to end, read by all threads. */
struct files_t {
    std::string bytes;
    std::vector<std::size_t> offsets {0};

    void read(std::span<std::string const> paths, executor_t &executor) {
        offsets.resize(1);
        for (std::string const &path : paths) offsets.push_back(offsets.back() + std::filesystem::file_size(path));
        if (bytes.size() < offsets.back()) bytes.resize(offsets.back());
        auto const read_one = [&](std::size_t i, lane_t &) {
            std::ifstream(paths[i], std::ios::binary)
                .read(bytes.data() + offsets[i], std::streamsize(offsets[i + 1] - offsets[i]));
        };
        executor.reset_lanes();
        if (executor.deal(paths.size(), read_one)) end("photographs cannot be read");
    }
    std::size_t count() const { return offsets.size() - 1; }
    uform_tape_view_t view() const { return {bytes.data(), offsets.data(), uform_scalar_u8_k}; }
};

/** Decodes what it is given a batch at a time; patches of the last batch stay. */
class decoder_t {
    executor_t &executor_;
    files_t files_;

  public:
    std::vector<bf16_t> patches; // [batch_k, tokens, values]
    token_grid_t grid;           // of all photographs

    explicit decoder_t(uform_executor_t executor) : executor_(executor->executor) {}

    void decode(std::span<std::string const> paths) {
        files_.read(paths, executor_);
        executor_.reset_lanes();
        pictures_t pictures(entry_k, tape_t<unsigned char>(files_.view(), paths.size()));
        if (pictures.measure_files({}, executor_)) end("a photograph is not read");
        grid = pictures.grids()[0];
        std::size_t const tokens = grid.tokens(), values = tokens * entry_k.token_values();
        if (patches.size() < paths.size() * values) patches.resize(paths.size() * values);
        auto const fill = [&](std::size_t i, lane_t &lane) {
            if (failure_t const failure = pictures.fill(i, tokens, patches.data() + i * values)) lane.fail(failure);
        };
        if (executor_.deal(paths.size(), fill)) end("a photograph is not decoded");
    }
    void decode_all(std::vector<std::string> const &paths) {
        for (std::size_t first = 0; first < paths.size(); first += batch_k)
            decode(std::span(paths).subspan(first, std::min(batch_k, paths.size() - first)));
    }
    std::size_t width() const { return grid.columns * entry_k.patch_side; }
    std::size_t height() const { return grid.rows * entry_k.patch_side; }

    /** Picture i of the last batch, 8-bit RGB by rows. */
    std::string pixels(std::size_t i) const {
        std::string rgb(width() * height() * 3, '\0');
        std::size_t const side = entry_k.patch_side, values = entry_k.token_values();
        for (std::size_t y = 0; y < height(); ++y)
            for (std::size_t x = 0; x < width(); ++x)
                for (std::size_t c = 0; c < 3; ++c) {
                    std::size_t const patch = i * grid.tokens() + y / side * grid.columns + x / side;
                    float const value = widen(patches[patch * values + (c * side + y % side) * side + x % side]);
                    rgb[(y * width() + x) * 3 + c] = char(std::lround((value + 1) * 127.5f));
                }
        return rgb;
    }
};

/** Ends the program where a peer's pixels are more than two levels from ours on average. */
void compare(peer_t const &peer, folder_t const &folder, decoder_t const &decoder) {
    std::size_t const bytes = decoder.width() * decoder.height() * 3;
    std::string answer(bytes * compared_k, '\0');
    double sum = folder.read("answer", answer.data(), answer.size()) ? 0 : 1e9;
    for (std::size_t i = 0; i < compared_k; ++i) {
        std::string const ours = decoder.pixels(i);
        for (std::size_t at = 0; at < bytes; ++at)
            sum += std::abs(int((unsigned char)ours[at]) - int((unsigned char)answer[i * bytes + at]));
    }
    double const mean = sum / double(answer.size());
    std::fprintf(stderr, "%s: its pixels are %.2f levels from ours on average\n", peer.name().c_str(), mean);
    if (!(mean <= 2)) end("which is too far");
}

std::vector<std::string> photographs(std::string const &folder, std::size_t count) {
    std::string const command = "/usr/bin/python3 bench/photos.py " + folder + " " + std::to_string(count);
    if (std::system(command.c_str())) end("bench/photos.py cannot draw photographs; it needs python3-pil");
    std::vector<std::string> paths;
    for (auto const &each : std::filesystem::directory_iterator(folder))
        if (each.path().extension() == ".jpg") paths.push_back(std::filesystem::absolute(each.path()).string());
    std::sort(paths.begin(), paths.end());
    if (paths.size() < compared_k) end("there are too few photographs");
    paths.resize(std::min(paths.size(), count));
    return paths;
}

/** Seconds of one run, as a median over rounds; ours and every peer take turns in each. */
void time_decoding(std::vector<std::string> const &paths, std::size_t threads, arguments_t const &arguments,
                   peers_t const &peers, std::string &json) {
    encoder_t const encoder(threads);
    decoder_t decoder(encoder.executor);
    folder_t const folder;
    std::string list;
    for (std::string const &path : paths) list += path + "\n";
    folder.write("texts", list.data(), list.size());
    decoder.decode(std::span(paths).first(compared_k));
    std::string work = "decode " + folder.path();
    for (std::size_t part : {compared_k, decoder.width(), decoder.height(), threads})
        work += " " + std::to_string(part);
    std::vector<rival_t *> const rivals =
        peers.prepare(work, [&](peer_t const &peer) { compare(peer, folder, decoder); });
    ours_t ours("ours", [&] { decoder.decode_all(paths); });
    std::vector<rival_t *> sides {&ours};
    sides.insert(sides.end(), rivals.begin(), rivals.end());
    std::vector<std::vector<double>> seconds(sides.size());
    for (rival_t *const side : rivals) side->run(0); // reads the files once
    for (std::size_t round = 0; round < arguments.rounds; ++round)
        for (std::size_t i = 0; i < sides.size(); ++i) seconds[i].push_back(sides[i]->run(0));
    double const pictures = double(paths.size()), mine = median(seconds[0]);
    std::printf("%-28s %7zu %12.1f", "decode 12 MP to patches", threads, pictures / mine);
    json += (json.size() > 1 ? ",\n" : "\n") + std::string("{\"work\": \"decode\", \"threads\": ") +
            std::to_string(threads) + ", \"seconds\": " + std::to_string(mine) +
            ", \"pictures_per_second\": " + std::to_string(pictures / mine) + ", \"peers\": {";
    for (std::size_t i = 1; i < sides.size(); ++i) {
        std::vector<double> ratios; // within a round both had the same machine
        for (std::size_t round = 0; round < arguments.rounds; ++round)
            ratios.push_back(seconds[i][round] / seconds[0][round]);
        std::printf("   %s %.1f, ours / it %.2f", sides[i]->name().c_str(), pictures / median(seconds[i]),
                    median(ratios));
        json += (i > 1 ? ", \"" : "\"") + sides[i]->name() +
                "\": {\"pictures_per_second\": " + std::to_string(pictures / median(seconds[i])) +
                ", \"ratio\": " + std::to_string(median(ratios)) + "}";
    }
    json += "}}";
    std::printf("\n"), std::fflush(stdout);
}

/** A fresh model with an image entry. */
uform_model_t model_that_sees(std::size_t hidden, std::size_t depth, uform_cpu_class_t cpu_class) {
    folder_t const folder;
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome;
    uform_trainer_init_ram_t call {};
    call.trainer = &trainer, call.outcome = &outcome, call.hidden = hidden, call.depth = depth;
    call.objective = uform_objective_contrastive_k, call.schedule.steps = 1;
    call.batch.max_rows_per_device = 1, call.batch.max_segments_per_device = 2, call.batch.max_columns_per_row = 1024;
    call.batch.image.patch_side = entry_k.patch_side;
    uform_trainer_init_ram(&call);
    demand(outcome, "uform_trainer_init_ram");
    uform_trainer_save_t save {};
    save.trainer = trainer, save.outcome = &outcome;
    std::string const path = folder.file("model");
    save.path = view(path);
    uform_trainer_save(&save);
    demand(outcome, "uform_trainer_save");
    uform_trainer_free(trainer);
    return load_model(path, cpu_class);
}

/** Fills the rest of an image verb's arguments and calls it. */
template <typename call_>
void encode(call_ call, void (*verb)(call_ *), uform_model_t model, encoder_t const &encoder, std::size_t count) {
    uform_rows_t rows {};
    uform_outcome_t outcome;
    call.model = model, call.executor = encoder.executor, call.outcome = &outcome, call.count = count;
    call.embeddings = &rows, call.arena = encoder.arena;
    verb(&call);
    demand(outcome, "an image verb");
}

template <typename body_>
double median_seconds(std::size_t rounds, body_ const &body) {
    std::vector<double> seconds;
    for (std::size_t round = 0; round <= rounds; ++round) {
        double const start = wall_now();
        body();
        if (round) seconds.push_back(wall_now() - start);
    }
    return median(seconds);
}

/** Whole files through a model, beside decoding alone and the tower alone on pixels of the grid's own size. */
void time_overlap(char const *tier, std::size_t hidden, std::size_t depth, std::vector<std::string> paths,
                  std::size_t threads, arguments_t const &arguments, std::string &json) {
    class_t const each = class_named(arguments.class_name);
    uform_model_t const model = model_that_sees(hidden, depth, pin_of(each));
    encoder_t const encoder(threads);
    decoder_t decoder(encoder.executor);
    paths.resize(batch_k);
    decoder.decode(paths);
    std::string pixels;
    std::vector<std::size_t> offsets {0}, heights(batch_k, decoder.height()), widths(batch_k, decoder.width());
    for (std::size_t i = 0; i < batch_k; ++i) pixels += decoder.pixels(i), offsets.push_back(pixels.size());
    double const decoding = median_seconds(arguments.rounds, [&] { decoder.decode(paths); });
    double const tower = median_seconds(arguments.rounds, [&] {
        uform_image_encode_pixels_t call {};
        call.pixels = {pixels.data(), offsets.data(), uform_scalar_u8_k};
        call.heights = heights.data(), call.widths = widths.data();
        encode(call, uform_image_encode_pixels, model, encoder, batch_k);
    });
    files_t files;
    double const both = median_seconds(arguments.rounds, [&] {
        files.read(paths, encoder.executor->executor);
        uform_image_encode_t call {};
        call.files = files.view();
        encode(call, uform_image_encode, model, encoder, batch_k);
    });
    double const ratio = both / std::max(decoding, tower);
    std::printf(
        "%-28s %7zu %12.1f   decode alone %.1f, tower alone %.1f, time over the longer %.2f, over their sum %.2f\n",
        (std::string("encode files, ") + tier).c_str(), threads, batch_k / both, batch_k / decoding, batch_k / tower,
        ratio, both / (decoding + tower));
    char text[256];
    std::snprintf(
        text, sizeof(text),
        "%s\n{\"work\": \"overlap\", \"shape\": \"%s\", \"threads\": %zu, \"seconds\": %.6g, \"decode\": %.6g, "
        "\"tower\": %.6g, \"over_longer\": %.4f}",
        json.size() > 1 ? "," : "", tier, threads, both, decoding, tower, ratio);
    json += text, std::fflush(stdout);
    uform_model_free(model);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    std::string folder = "build/photos";
    std::size_t photos = 200;
    for (int i = 1; i + 1 < count; i += 2)
        if (!std::strcmp(values[i], "--photos"))
            folder = values[i + 1];
        else if (!std::strcmp(values[i], "--count"))
            photos = std::max(batch_k, std::size_t(std::strtoul(values[i + 1], nullptr, 10)));
    std::vector<std::string> const paths = photographs(folder, photos);
    peers_t const peers(arguments.peers);
    std::string json = "[";
    std::printf("%-28s %7s %12s\n", "work", "threads", "pictures/s");
    for (std::size_t threads : {1, 2}) time_decoding(paths, threads, arguments, peers, json);
    time_overlap("nano 128 x 4", 128, 4, paths, 2, arguments, json);
    time_overlap("tiny 512 x 12", 512, 12, paths, 2, arguments, json);
    json += "\n]\n";
    if (!arguments.json) return 0;
    std::FILE *const out = std::fopen(arguments.json, "w");
    return out && std::fputs(json.c_str(), out) >= 0 && std::fclose(out) == 0 ? 0 : 1;
}
