/**
 *  @file overhead.cpp
 *  @brief What a call costs beyond its kernels: one text of 64 bytes on nano, blocking, queued, and the kernels alone.
 *
 *  The kernels' share is the same kit, tower and head walked directly over scratch that is already there; what the verb
 *  takes longer is checks, holds, planning, landing and publishing. Each way is timed in turn within every round, so a
 *  busy machine slows all of them; the differences are medians over rounds. Bits are compared before anything is timed.
 */
#include <atomic>

#include "towers.hpp"

#include <uform/encoder/tower.hpp>

#include "model_handle.hpp"

namespace {

using namespace bench;

constexpr std::size_t length_k = 64, calls_k = 10, rounds_k = 51;

struct caller_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome {};
    uform_rows_t rows {};
    std::string text = std::string(length_k, 'u');
    std::size_t const offsets[2] = {0, length_k};

    caller_t(uform_model_t model, std::size_t threads, uform_mood_t mood)
        : model(model), executor(executor_of(threads)) {
        uform_arena_init_t init {};
        init.arena = &arena, init.executor = executor, init.outcome = &outcome;
        uform_arena_init(&init);
        uform_executor_drain_t drain {};
        drain.executor = executor, drain.outcome = &outcome, drain.mood = mood;
        uform_executor_drain(&drain);
    }
    ~caller_t() { uform_arena_free(arena), uform_executor_free(executor); }

    enum class way_t { blocking_k, waited_k, polled_k };
    void encode(way_t way) {
        uform_text_encode_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome;
        call.completion = way == way_t::blocking_k ? uform_completion_blocking_k : uform_completion_queued_k;
        call.texts = {text.data(), offsets, uform_scalar_u8_k}, call.count = 1;
        call.embeddings = &rows, call.arena = arena;
        uform_text_encode(&call);
        if (way == way_t::waited_k) uform_outcome_wait(&outcome);
        if (way == way_t::polled_k)
            while (uform_outcome_status(&outcome) == uform_status_deferred_k) {
            }
        demand(outcome, "uform_text_encode");
    }
};

/** The same arithmetic without the verb around it. */
struct kernels_t {
    model_t const &model;
    lane_t lane;
    buffer_t<float> row;

    explicit kernels_t(model_t const &model) : model(model) {
        if (!row.resize(model.options.geometry.hidden)) std::exit(1);
    }
    void encode(std::string const &text) {
        geometry_t const &geometry = model.options.geometry;
        scratch_scope_t scope(lane);
        text_batch_t<float> batch;
        states_t<float> states;
        pool_stash_t<float> stash;
        float norm;
        auto const text_of = [&](std::size_t) {
            return std::span(reinterpret_cast<unsigned char const *>(text.data()), text.size());
        };
        float *const x = lane.claim<float>(text.size() * geometry.hidden);
        if (!pack_texts(lane, model.rotary, 1, text_of, batch) || !states.claim(lane, geometry, text.size()) ||
            !stash.claim(lane, geometry, batch.items))
            std::exit(1);
        tower_forward(*model.kit, lane, model.tower.weights, batch, residuals_t<float> {x, 0}, states);
        pool_forward(*model.kit, lane, geometry, model.tower.weights.pool, batch.items, states.states, stash,
                     row.data());
        model.kit->normalize_rows(lane, 1, geometry.hidden, geometry.hidden, row.data(), row.data(), &norm);
    }
};

/** Microseconds of one of `calls_k` calls in a row: a loop as a server has it, with its threads as awake as they stay. */
template <typename body_>
double microseconds(body_ const &body) {
    double const start = wall_now();
    for (std::size_t i = 0; i < calls_k; ++i) body();
    return (wall_now() - start) * 1e6 / calls_k;
}

void compare(uform_model_t model, std::size_t threads, uform_mood_t mood) {
    using way_t = caller_t::way_t;
    caller_t caller(model, threads, mood);
    kernels_t kernels(model->model);
    caller.encode(way_t::blocking_k), kernels.encode(caller.text);
    if (std::memcmp(caller.rows.data, kernels.row.data(), kernels.row.size() * sizeof(float)) != 0) {
        std::fprintf(stderr, "the verb and the kernels alone answer different bits\n");
        std::exit(1);
    }
    std::vector<double> alone, outside, waited, polled;
    for (std::size_t round = 0; round < rounds_k; ++round) {
        alone.push_back(microseconds([&] { kernels.encode(caller.text); }));
        double const blocking = microseconds([&] { caller.encode(way_t::blocking_k); });
        outside.push_back(blocking - alone.back());
        waited.push_back(microseconds([&] { caller.encode(way_t::waited_k); }) - blocking);
        polled.push_back(microseconds([&] { caller.encode(way_t::polled_k); }) - blocking);
    }
    std::printf("%zu thread%s, %-9s %10.1f %16.1f %19.1f %19.1f\n", threads, threads > 1 ? "s" : " ",
                uform_mood_name(mood), median(alone), median(outside), median(waited), median(polled));
}

/** What the system takes to wake a sleeping thread, half of a round trip: the floor under a call that is waited for. */
double wake_microseconds() {
    std::atomic<std::uint32_t> turn {0};
    constexpr std::uint32_t trips_k = 200;
    std::thread other([&] {
        for (std::uint32_t trip = 0; trip < trips_k; ++trip) {
            for (std::uint32_t seen; (seen = turn.load()) != 2 * trip + 1;) turn.wait(seen);
            turn.store(2 * trip + 2), turn.notify_all();
        }
    });
    std::vector<double> trips;
    for (std::uint32_t trip = 0; trip < trips_k; ++trip) {
        std::this_thread::sleep_for(std::chrono::microseconds(200)); // until the other one sleeps
        double const start = wall_now();
        turn.store(2 * trip + 1), turn.notify_all();
        for (std::uint32_t seen; (seen = turn.load()) != 2 * trip + 2;) turn.wait(seen);
        trips.push_back((wall_now() - start) * 1e6);
    }
    other.join();
    return median(trips) / 2;
}

/**
 *  Forks of two threads that compute for 70 us each, one after another, after a rest in which both fell asleep. What a
 *  fork takes above 70 is waking at first, then watching; where threads share a core, it is 70 more.
 */
void measure_forks() {
    constexpr std::size_t forks_k = 6;
    constexpr double busy_seconds = 70e-6;
    executor_t executor;
    if (executor.start(2, uform_cpu_class_derived_k, nullptr)) std::exit(2);
    auto const busy = [](std::size_t) noexcept {
        for (double const end = wall_now() + busy_seconds; wall_now() < end;) {
        }
    };
    std::vector<double> taken[forks_k];
    for (std::size_t round = 0; round < rounds_k; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        for (auto &fork : taken) {
            double const start = wall_now();
            executor.for_workers(busy);
            fork.push_back((wall_now() - start) * 1e6);
        }
    }
    std::printf("forks of 70 us on two threads after a rest:");
    for (auto &fork : taken) std::printf(" %.0f", median(std::move(fork)));
    std::printf("\n");
}

} // namespace

int main() {
    uform_model_t const model = model_of(128, 4, 512, uform_cpu_class_derived_k);
    std::printf("one text of %zu bytes on nano, microseconds a call, medians of %zu loops\n", length_k, rounds_k);
    std::printf("waking a sleeping thread takes this system %.1f\n", wake_microseconds());
    measure_forks();
    std::printf("%-20s %10s %16s %19s %19s\n", "executor", "kernels", "the verb adds", "queued, waited add",
                "queued, polled add");
    for (uform_mood_t const mood : {uform_mood_spinning_k, uform_mood_parked_k})
        for (std::size_t const threads : {1, 2}) compare(model, threads, mood);
    uform_model_free(model);
}
