/**
 *  @file mesh.cpp
 *  @brief Training steps of two processes with a thread each, beside one process with two threads on the same batch.
 *
 *  Rank 1 is this program again, which lives through all rounds and sleeps while rank 0 takes steps alone: one step
 *  alone, one together, in turn. The losses of the first step must agree, else nothing is timed. What the mesh costs is
 *  in the wall time; processor time, of both ranks, also counts what a process spends looking for messages.
 */
#include "towers.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char **environ;

namespace {

using namespace bench;

constexpr std::size_t warm_steps_k = 2;

struct tier_t {
    char const *shape;
    std::size_t hidden, depth, pairs, length;
};
constexpr tier_t tiers_k[] = {{"micro 256 x 6, 256 pairs of 128", 256, 6, 256, 128},
                              {"micro 256 x 6, 32 pairs of 256", 256, 6, 32, 256},
                              {"nano 128 x 4, 128 pairs of 80", 128, 4, 128, 80}};

/** Pairs `[first, last)` of a batch, which any process can write down by itself. */
struct share_t {
    std::string data;
    std::vector<std::size_t> offsets {0}, edges {0};
    std::vector<std::uint32_t> ids;

    share_t(std::size_t first, std::size_t last, std::size_t length) {
        for (std::size_t text = 2 * first; text < 2 * last; ++text) {
            std::mt19937 generator {unsigned(text)};
            for (std::size_t i = 0; i < length; ++i) data.push_back(char(' ' + generator() % 90));
            offsets.push_back(data.size());
            ids.push_back(std::uint32_t(ids.size() ^ 1)), edges.push_back(ids.size());
        }
    }
};

/** A process's part of a run, alone or over a mesh. */
class runner_t {
    share_t share_;
    uform_executor_t executor_;
    uform_mesh_t mesh_ = nullptr;
    uform_trainer_t trainer_;

  public:
    runner_t(tier_t const &tier) : share_(0, tier.pairs, tier.length), executor_(executor_of(2)) {
        trainer_ = trainer_of(executor_, tier.hidden, tier.depth, tier.length);
    }
    runner_t(tier_t const &tier, std::string const &folder, std::size_t rank)
        : share_(rank * tier.pairs / 2, (rank + 1) * tier.pairs / 2, tier.length), executor_(executor_of(1)) {
        uform_outcome_t outcome;
        uform_mesh_bootstrap_t call {};
        call.mesh = &mesh_, call.executor = executor_, call.outcome = &outcome, call.options.directory = view(folder);
        call.options.host_domain_index = rank, call.options.host_domain_count = 2;
        uform_mesh_bootstrap(&call);
        demand(outcome, "uform_mesh_bootstrap");
        trainer_ = trainer_of(executor_, tier.hidden, tier.depth, tier.length, mesh_);
    }
    ~runner_t() {
        uform_trainer_free(trainer_), uform_mesh_free(mesh_);
        uform_executor_free(executor_);
    }
    float step() const {
        uform_outcome_t outcome;
        uform_trainer_step_stats_t stats {};
        uform_trainer_step_t call {};
        call.trainer = trainer_, call.executor = executor_, call.outcome = &outcome, call.stats = &stats;
        call.count = share_.offsets.size() - 1;
        call.contents.data = share_.data.data(), call.contents.offsets = share_.offsets.data();
        call.relations.attract.offsets = share_.edges.data(), call.relations.attract.ids = share_.ids.data();
        uform_trainer_step(&call);
        demand(outcome, "uform_trainer_step");
        return stats.loss;
    }
};

/** Wall and processor seconds of one step after another. */
struct spent_t {
    std::vector<double> wall, processor;
};
template <typename seconds_>
void time_step(runner_t const &runner, spent_t &spent, seconds_ const &processor_seconds) {
    double const wall = wall_now(), processor = processor_seconds();
    runner.step();
    spent.wall.push_back(wall_now() - wall), spent.processor.push_back(processor_seconds() - processor);
}

double seconds_of(pid_t process) {
    clockid_t clock {};
    timespec spent {};
    if (::clock_getcpuclockid(process, &clock) || ::clock_gettime(clock, &spent)) return 0;
    return double(spent.tv_sec) + double(spent.tv_nsec) * 1e-9;
}

pid_t start_rank_one(tier_t const &tier, std::string const &folder, std::size_t rounds) {
    std::string words[] = {"/proc/self/exe", "--rank-one-in", folder, std::to_string(&tier - tiers_k),
                           std::to_string(rounds)};
    char *argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    pid_t process = 0;
    if (::posix_spawn(&process, argv[0], nullptr, nullptr, argv, environ)) std::perror(argv[0]), std::exit(2);
    return process;
}

void run_rank_one(tier_t const &tier, std::string const &folder, std::size_t rounds) {
    runner_t const runner(tier, folder, 1);
    for (std::size_t step = 0; step < warm_steps_k + rounds; ++step) runner.step();
}

void demand_equal_losses(float alone, float together) {
    if (std::fabs(alone - together) <= 1e-5f * std::fabs(alone)) return;
    std::fprintf(stderr, "the runs differ: losses %.9g and %.9g\n", double(alone), double(together));
    std::exit(1);
}

void measure_tier(tier_t const &tier, std::size_t rounds) {
    std::string folder = "/tmp/uform-bench-XXXXXX";
    if (!::mkdtemp(folder.data())) std::perror("mkdtemp"), std::exit(2);
    pid_t const rank_one = start_rank_one(tier, folder, rounds);
    auto const of_both = [rank_one] { return process_seconds() + seconds_of(rank_one); };
    spent_t alone, together;
    {
        runner_t const one(tier), half(tier, folder, 0);
        for (std::size_t step = 0; step < warm_steps_k; ++step) {
            float const first = one.step(), second = half.step();
            if (step == 0) demand_equal_losses(first, second);
        }
        for (std::size_t round = 0; round < rounds; ++round)
            time_step(one, alone, of_both), time_step(half, together, of_both);
    }
    int status = 0;
    ::waitpid(rank_one, &status, 0), ::rmdir(folder.c_str());
    if (status) std::fprintf(stderr, "rank 1 failed\n"), std::exit(1);
    std::vector<double> ratios;
    for (std::size_t round = 0; round < rounds; ++round) ratios.push_back(together.wall[round] / alone.wall[round]);
    std::printf("%-32s %7.1f ms %7.1f ms %7.3f   %7.1f ms %7.1f ms\n", tier.shape, 1e3 * median(alone.wall),
                1e3 * median(together.wall), median(ratios), 1e3 * median(alone.processor),
                1e3 * median(together.processor));
    std::fflush(stdout);
}

} // namespace

int main(int count, char **values) {
    if (count == 5 && !std::strcmp(values[1], "--rank-one-in")) {
        run_rank_one(tiers_k[std::strtoul(values[3], nullptr, 10)], values[2], std::strtoul(values[4], nullptr, 10));
        return 0;
    }
    arguments_t const arguments(count, values);
    std::printf("%-32s %10s %10s %7s   %10s %10s\n", "a step: medians", "one", "two", "ratio", "CPU of one", "of two");
    for (tier_t const &tier : tiers_k) measure_tier(tier, arguments.rounds);
}
