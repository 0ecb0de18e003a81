/**
 *  @file side_by_side.cpp
 *  @brief Two executors at once, each of them sized for the whole machine: what they lose to one another.
 *
 *  Each encodes the same texts as often. "Together" is the time of both at once, "in turn" of one after the other, in
 *  the same round; were nothing lost, together would take as long as in turn, for the cores are the same. An executor
 *  whose threads kept watching for work, or slept where the other could not run, would show as more.
 */
#include <thread>

#include "towers.hpp"

namespace {

using namespace bench;

constexpr std::size_t rounds_k = 15;
constexpr double least_seconds_k = 0.2; // of each way, several time slices of the system

void settle(uform_executor_t executor, uform_mood_t mood) {
    uform_outcome_t outcome;
    uform_executor_drain_t drain {};
    drain.executor = executor, drain.outcome = &outcome, drain.mood = mood;
    uform_executor_drain(&drain);
    demand(outcome, "uform_executor_drain");
}

template <typename body_>
double seconds_of(body_ const &body) {
    double const start = wall_now();
    body();
    return wall_now() - start;
}

void compare(char const *name, uform_model_t model, texts_t const &texts, std::size_t threads, uform_mood_t mood) {
    encoder_t const first(threads), second(threads);
    settle(first.executor, mood), settle(second.executor, mood);
    first.encode(model, texts), second.encode(model, texts); // warm arenas and scratch
    auto const repeats = std::size_t(1 + least_seconds_k / seconds_of([&] { first.encode(model, texts); }));
    auto const loop = [&](encoder_t const &encoder) {
        for (std::size_t i = 0; i < repeats; ++i) encoder.encode(model, texts);
    };
    std::vector<double> losses;
    for (std::size_t round = 0; round < rounds_k; ++round) {
        double const in_turn = seconds_of([&] { loop(first), loop(second); });
        double const together = seconds_of([&] {
            std::thread other([&] { loop(second); });
            loop(first);
            other.join();
        });
        losses.push_back(together / in_turn);
    }
    std::sort(losses.begin(), losses.end());
    std::printf("%-24s %8zu %-9s %18.2f\n", name, threads, uform_mood_name(mood), losses[rounds_k / 2]);
    std::fflush(stdout);
}

} // namespace

int main() {
    uform_model_t const model = model_of(128, 4, 512, uform_cpu_class_derived_k);
    std::size_t const cores = std::thread::hardware_concurrency();
    std::printf("two executors, nano, time ratios, medians of %zu rounds\n", rounds_k);
    std::printf("%-24s %8s %-9s %18s\n", "texts", "threads", "mood", "together / in turn");
    texts_t const batch = items_of(64, 4096), one = items_of(64, 64);
    for (uform_mood_t mood : {uform_mood_parked_k, uform_mood_spinning_k}) {
        compare("64 of 64 bytes", model, batch, cores, mood);
        compare("one of 64 bytes", model, one, cores, mood);
    }
    uform_model_free(model);
}
