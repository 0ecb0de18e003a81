/**
 *  @file train.cpp
 *  @brief Whole training steps through `uform_trainer_step`, against the peak of as many threads.
 *
 *  Useful work counts the forward three times (once forward, twice backward); the replay that recomputation costs is in
 *  the time and not in the work. `train_kept_items_256` replays nothing: it has memory for all activations, as PyTorch
 *  keeps them. First a short run must bring the loss down, else nothing is timed.
 */
#include "peers.hpp"

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

struct tier_t {
    char const *name, *shape;
    std::size_t hidden, depth, pairs, length;
    bool in_table = true; // of bench/run.sh
    std::size_t kept = 0; // bytes of activations
};
constexpr std::size_t everything_k = SIZE_MAX;
constexpr tier_t tiers_k[] = {
    // as long as the texts of the help corpus are, cut to 128
    {"train_128_pairs_of_80", "nano 128 x 4", 128, 4, 128, 80, false},
    {"train_128_pairs_of_80", "micro 256 x 6", 256, 6, 128, 80, false},
    {"train_items_256", "micro 256 x 6, 4096 tokens", 256, 6, 8, 256},
    {"train_items_256", "micro 256 x 6, 8192 tokens", 256, 6, 16, 256},
    {"train_items_256", "micro 256 x 6, 16384 tokens", 256, 6, 32, 256},
    {"train_kept_items_256", "micro 256 x 6, 4096 tokens", 256, 6, 8, 256, true, everything_k},
    {"train_kept_items_256", "micro 256 x 6, 8192 tokens", 256, 6, 16, 256, true, everything_k},
    {"train_kept_items_256", "micro 256 x 6, 16384 tokens", 256, 6, 32, 256, true, everything_k},
    {"train_kept_256_pairs_of_128", "micro 256 x 6, 65536 tokens", 256, 6, 256, 128, true, everything_k}};

/** A peer starts from our fresh checkpoint; that its tower computes what ours does, bench_encode has compared. */
std::vector<rival_t *> peers_for(peers_t const &peers, folder_t const &folder, tier_t const &tier, step_t const &step,
                                std::size_t threads) {
    save_fresh(tier.hidden, tier.depth, 256, folder.file("model"));
    folder.write("texts", step.texts.data.data(), step.texts.data.size());
    std::string work = "train " + folder.path();
    for (std::size_t part : {tier.length, 2 * tier.pairs, threads}) work.append(" ").append(std::to_string(part));
    return peers.prepare(work, [](peer_t const &) {});
}

compared_t measure_steps(class_t const &each, tier_t const &tier, step_t const &step, std::size_t threads,
                         peers_t const &peers, std::size_t rounds) {
    folder_t const folder;
    std::vector<rival_t *> ready;
    if (tier.in_table) ready = peers_for(peers, folder, tier, step, threads);
    uform_executor_t executor = executor_of(threads);
    uform_trainer_t trainer = trainer_of(executor, tier.hidden, tier.depth, 256, nullptr, tier.kept);
    for (int warm = 0; warm < 2; ++warm) // the first finds out what memory a step takes, the second brings it together
        step.take(executor, trainer, false);
    compared_t const run = measure_in_turn(each, threads, 3 * step.texts.flops(tier.hidden, tier.depth), rounds, ready,
                                           [&] { step.take(executor, trainer, false); });
    uform_trainer_free(trainer);
    uform_executor_free(executor);
    return run;
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    peers_t const peers(arguments.peers);
    verify();
    wall_report_t report;
    for (tier_t const &tier : tiers_k) {
        if (arguments.only == "table" && !tier.in_table) continue;
        step_t const step(tier.pairs, tier.length);
        for (std::size_t threads : {1, 2}) {
            if (arguments.only == "table" && threads != 2) continue;
            compared_t const run = measure_steps(each, tier, step, threads, peers, arguments.rounds);
            report.line(tier.name, threads, double(step.texts.data.size()), run.ours, tier.shape, run.peers);
        }
    }
    return !arguments.json || report.save(arguments.json) ? 0 : 1;
}
