/**
 *  @file train.cpp
 *  @brief Whole training steps through `uform_trainer_step`, against the peak of as many threads.
 *
 *  Useful work counts the forward three times (once forward, twice backward); the replay that recomputation costs is in
 *  the time and not in the work. First a short run must bring the loss down, else nothing is timed.
 */
#include "towers.hpp"

namespace {

using namespace bench;

struct step_t {
    texts_t texts;
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;

    step_t(std::size_t pairs, std::size_t length) {
        for (std::size_t i = 0; i < 2 * pairs; ++i) {
            texts.add(length);
            ids.push_back(std::uint32_t((i + pairs) % (2 * pairs))), offsets.push_back(ids.size());
        }
    }
    float take(uform_executor_t executor, uform_trainer_t trainer, bool wants_stats) const {
        uform_outcome_t outcome;
        uform_trainer_step_stats_t stats {};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = texts.count();
        call.contents.data = texts.data.data(), call.contents.offsets = texts.offsets.data();
        call.relations.attract.offsets = offsets.data(), call.relations.attract.ids = ids.data();
        call.stats = wants_stats ? &stats : nullptr;
        uform_trainer_step(&call);
        demand(outcome, "uform_trainer_step");
        return stats.loss;
    }
};

void verify() {
    step_t const step(16, 24);
    uform_executor_t executor = executor_of(2);
    uform_trainer_t trainer = trainer_of(executor, 128, 2, 64);
    float const first = step.take(executor, trainer, true);
    float last = first;
    for (int i = 0; i < 20; ++i) last = step.take(executor, trainer, true);
    uform_trainer_free(trainer);
    uform_executor_free(executor);
    if (last < first) return;
    std::fprintf(stderr, "the loss does not fall: from %g to %g\n", first, last);
    std::exit(1);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    verify();
    wall_report_t report;
    struct tier_t {
        char const *name;
        std::size_t hidden, depth;
    };
    for (tier_t const tier : {tier_t {"train_nano_128_pairs_of_80", 128, 4}, {"train_micro_128_pairs_of_80", 256, 6}})
        for (std::size_t threads : {1, 2}) {
            step_t const step(128, 80); // as long as the texts of the help corpus are, cut to 128
            uform_executor_t executor = executor_of(threads);
            uform_trainer_t trainer = trainer_of(executor, tier.hidden, tier.depth, 256);
            run_t const run = measure_wall(each, threads, 3 * step.texts.flops(tier.hidden, tier.depth), 5,
                                           [&] { step.take(executor, trainer, false); });
            report.line(tier.name, threads, double(step.texts.data.size()), run);
            uform_trainer_free(trainer);
            uform_executor_free(executor);
        }
    return !arguments.json || report.save(arguments.json) ? 0 : 1;
}
