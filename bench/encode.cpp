/**
 *  @file encode.cpp
 *  @brief Whole towers forward, through `uform_text_encode`, against the peak of as many threads.
 *
 *  Useful work is 2 x block weights x tokens + 4 x (sum of squared lengths) x hidden x depth. Answers are first compared
 *  with the serial class, item by item.
 */
#include "towers.hpp"

namespace {

using namespace bench;

struct encoder_t {
    uform_executor_t executor;
    uform_arena_t arena = nullptr;

    explicit encoder_t(std::size_t threads) : executor(executor_of(threads)) {
        uform_outcome_t outcome;
        uform_arena_init_t call {};
        call.arena = &arena, call.executor = executor, call.outcome = &outcome;
        uform_arena_init(&call);
        demand(outcome, "uform_arena_init");
    }
    ~encoder_t() {
        uform_arena_free(arena);
        uform_executor_free(executor);
    }
    uform_rows_t encode(uform_model_t model, texts_t const &texts) const {
        uform_outcome_t outcome;
        uform_rows_t rows {};
        uform_text_encode_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome, call.count = texts.count();
        call.texts.data = texts.data.data(), call.texts.offsets = texts.offsets.data();
        call.embeddings = &rows, call.arena = arena;
        uform_text_encode(&call);
        demand(outcome, "uform_text_encode");
        return rows;
    }
};

/** Cosines to the serial class: a tower of 12 blocks rounds about 150 times to 2^-9 each side. */
void verify(std::size_t hidden, std::size_t depth, uform_scalar_t quantization) {
    texts_t texts;
    for (std::size_t length : {1, 17, 40}) texts.add(length);
    uform_model_t fast = model_of(hidden, depth, 64, uform_cpu_class_derived_k, quantization);
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

texts_t items_of(std::size_t length, std::size_t tokens) {
    texts_t texts;
    for (std::size_t i = 0; i < tokens / length; ++i) texts.add(length);
    return texts;
}
texts_t mixed_items(std::size_t tokens) { // 64 ... 512, in a fixed shuffle
    texts_t texts;
    for (std::size_t i = 0; texts.data.size() < tokens; ++i)
        texts.add(std::min<std::size_t>(64 + i * 149 % 449, tokens - texts.data.size()));
    return texts;
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    verify(128, 4, uform_scalar_bf16_k), verify(128, 4, uform_scalar_e4m3_k);
    wall_report_t report;
    struct work_t {
        char const *name;
        texts_t texts;
    };
    work_t const works[] = {{"encode_items_64_to_512", mixed_items(4096)}, {"encode_items_64", items_of(64, 4096)},
                            {"encode_items_256", items_of(256, 4096)},     {"encode_item_4096", items_of(4096, 4096)},
                            {"encode_one_64", items_of(64, 64)}};
    struct tier_t {
        char const *name;
        std::size_t hidden, depth;
    };
    for (tier_t const tier : {tier_t {"tiny", 512, 12}, {"nano", 128, 4}}) {
        uform_model_t models[2]; // side by side, so that both meet the same machine
        for (int i = 0; i < 2; ++i)
            models[i] = model_of(tier.hidden, tier.depth, 4096, uform_cpu_class_derived_k,
                                 i ? uform_scalar_e4m3_k : uform_scalar_bf16_k);
        for (work_t const &work : works)
            for (std::size_t threads : {1, 2})
                for (int i = 0; i < 2; ++i) {
                    encoder_t const encoder(threads);
                    run_t const run = measure_wall(each, threads, work.texts.flops(tier.hidden, tier.depth), 5,
                                                   [&] { encoder.encode(models[i], work.texts); });
                    report.line(std::string(tier.name) + (i ? " e4m3 " : " ") + work.name, threads,
                                double(work.texts.data.size()), run);
                }
        for (uform_model_t model : models) uform_model_free(model);
    }
    return !arguments.json || report.save(arguments.json) ? 0 : 1;
}
