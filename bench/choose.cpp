/**
 *  @file choose.cpp
 *  @brief Choices from texts, through `uform_text_choose`, against the peak of as many threads.
 *
 *  Useful work is the tower's, as in encode.cpp, over each text and its MASK, and 2 x 256 x hidden for each MASK. Answers
 *  are first compared with the serial class.
 */
#include "towers.hpp"

namespace {

using namespace bench;

/** A freshly drawn model with a byte decoder: the masked objective's. */
uform_model_t deciding_model(std::size_t hidden, std::size_t depth, std::size_t context, uform_cpu_class_t cpu_class) {
    std::string const path = "/tmp/uform-bench-choose-" + std::to_string(::getpid()) + ".safetensors";
    uform_outcome_t outcome;
    uform_trainer_t trainer = nullptr;
    uform_trainer_init_ram_t init {};
    init.trainer = &trainer, init.outcome = &outcome, init.hidden = hidden, init.depth = depth;
    init.objective = uform_objective_masked_k, init.schedule.steps = 1000;
    init.batch.max_rows_per_device = init.batch.max_segments_per_device = 16;
    init.batch.max_columns_per_row = context;
    uform_trainer_init_ram(&init);
    demand(outcome, "uform_trainer_init_ram");
    uform_trainer_save_t save {};
    save.trainer = trainer, save.outcome = &outcome, save.path = view(path);
    uform_trainer_save(&save);
    demand(outcome, "uform_trainer_save");
    uform_trainer_free(trainer);
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &outcome, load.path = view(path), load.cpu_class = cpu_class;
    uform_model_load_ram(&load);
    std::remove(path.c_str());
    demand(outcome, "uform_model_load_ram");
    return model;
}

constexpr std::size_t choices_k = 4;

struct chooser_t : encoder_t {
    using encoder_t::encoder_t;

    float const *choose(uform_model_t model, texts_t const &texts) const {
        std::string choices;
        std::vector<std::size_t> offsets {0};
        for (std::size_t i = 0; i < texts.count(); ++i) choices += "abcd", offsets.push_back(choices.size());
        uform_outcome_t outcome;
        uform_rows_tape_t rows {};
        uform_text_choose_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome, call.count = texts.count();
        call.texts.data = texts.data.data(), call.texts.offsets = texts.offsets.data();
        call.choices.data = choices.data(), call.choices.offsets = offsets.data();
        call.probabilities = &rows, call.arena = arena;
        uform_text_choose(&call);
        demand(outcome, "uform_text_choose");
        return static_cast<float const *>(rows.data);
    }
};

/** Of fresh models logits are about one; 150 roundings to 2^-9 of a state move them by 2^-5 and probabilities by less. */
void verify(std::size_t hidden, std::size_t depth) {
    texts_t texts;
    for (std::size_t length : {1, 17, 40}) texts.add(length);
    uform_model_t const models[] = {deciding_model(hidden, depth, 64, uform_cpu_class_derived_k),
                                    deciding_model(hidden, depth, 64, uform_cpu_class_serial_k)};
    chooser_t const a(1), b(1);
    float const *const x = a.choose(models[0], texts), *const y = b.choose(models[1], texts);
    for (std::size_t i = 0; i < texts.count() * choices_k; ++i) {
        if (std::fabs(x[i] - y[i]) < 0x1p-5f) continue;
        std::fprintf(stderr, "choice %zu is wrong: %g, and %g on the serial class\n", i, double(x[i]), double(y[i]));
        std::exit(1);
    }
    for (uform_model_t model : models) uform_model_free(model);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    verify(128, 4);
    wall_report_t report;
    struct tier_t {
        char const *name;
        std::size_t hidden, depth;
    };
    for (tier_t const tier : {tier_t {"tiny", 512, 12}, {"nano", 128, 4}}) {
        uform_model_t const model = deciding_model(tier.hidden, tier.depth, 4096, uform_cpu_class_derived_k);
        for (std::size_t length : {63, 255}) // and the MASK
            for (std::size_t threads : {1, 2}) {
                texts_t asked, read;
                for (std::size_t i = 0; i < 4096 / (length + 1); ++i) asked.add(length), read.add(length + 1);
                double const flops =
                    read.flops(tier.hidden, tier.depth) + 2.0 * 256 * double(tier.hidden) * double(read.count());
                chooser_t const chooser(threads);
                run_t const run = measure_wall(each, threads, flops, 5, [&] { chooser.choose(model, asked); });
                report.line(std::string(tier.name) + " choose_items_" + std::to_string(length), threads,
                            double(read.data.size()), run);
            }
        uform_model_free(model);
    }
    return !arguments.json || report.save(arguments.json) ? 0 : 1;
}
