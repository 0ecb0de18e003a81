/**
 *  @file queued.cpp
 *  @brief Queued calls: the same bits, polling and waiting, what is contended meanwhile, frees and drains that wait.
 */
#include <chrono>
#include <thread>

#include "encoding.hpp"

namespace conformance {
namespace {

constexpr auto contended_k = uform_status_contended_k;
/** Long enough for a call that does not wait to return; passing never depends on it, only failing does. */
constexpr auto moment_k = std::chrono::milliseconds(50);

TEST(queued, has_the_bits_of_every_other_way) {
    encoding_t const encoding;
    executor_t single, team;
    make_executor(single, 1), make_executor(team, 3);
    encoded_t reference;
    auto call = encoding.call(reference);
    uform_text_encode(&call);
    landed_t const embeddings(reference.embeddings), states(reference.states), vectors(reference.token_vectors);
    for (uform_executor_t executor : {uform_executor_t(nullptr), uform_executor_t(single), uform_executor_t(team)})
        for (uform_completion_t completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
            encoded_t got;
            call = encoding.call(got), call.executor = executor, call.completion = completion;
            uform_text_encode(&call);
            bool const final_on_return = completion == uform_completion_blocking_k || !executor;
            EXPECT_TRUE(!final_on_return || uform_outcome_status(&got.outcome) != uform_status_deferred_k);
            call = {}; // the struct was copied, or is done with
            EXPECT_EQ(uform_outcome_wait(&got.outcome), uform_status_success_k);
            EXPECT_EQ(uform_outcome_status(&got.outcome), uform_status_success_k);
            expect_final(got.outcome);
            EXPECT_EQ(landed_t(got.embeddings).bits, embeddings.bits);
            EXPECT_EQ(landed_t(got.states).bits, states.bits);
            EXPECT_EQ(landed_t(got.token_vectors).bits, vectors.bits);
        }
}

TEST(queued, can_be_polled_and_waited_for_by_many) {
    encoding_t const encoding;
    executor_t executor;
    make_executor(executor);
    encoded_t got;
    gate_t gate;
    auto call = encoding.call(got);
    call.executor = executor, call.completion = uform_completion_queued_k, call.progress = gate.handler();
    uform_text_encode(&call);
    gate.wait_inside();
    EXPECT_EQ(uform_outcome_status(&got.outcome), uform_status_deferred_k);
    std::vector<std::thread> waiting;
    std::atomic<int> woken {0};
    for (int i = 0; i < 3; ++i)
        waiting.emplace_back([&] { woken += uform_outcome_wait(&got.outcome) == uform_status_success_k; });
    std::this_thread::sleep_for(moment_k);
    EXPECT_EQ(woken, 0);
    gate.open();
    for (std::thread &thread : waiting) thread.join();
    EXPECT_EQ(woken, 3);
    EXPECT_EQ(got.embeddings.count, 3u);
}

/** A drain that returned leaves nothing to wait for: the outcome is final, not only the executor free. */
TEST(queued, a_drain_returns_after_the_answer) {
    encoding_t const encoding({"a"});
    executor_t executor;
    make_executor(executor);
    for (int round = 0; round < 2000; ++round) {
        encoded_t got;
        auto call = encoding.call(got);
        call.executor = executor, call.completion = uform_completion_queued_k;
        uform_text_encode(&call);
        uform_executor_drain_t drain {};
        drain.executor = executor;
        EXPECT_SUCCESS(answer(uform_executor_drain, drain));
        EXPECT_EQ(uform_outcome_status(&got.outcome), uform_status_success_k) << "round " << round;
        if (uform_outcome_wait(&got.outcome) != uform_status_success_k || HasFailure()) return;
    }
}

/** Without an executor there is nothing to queue on. */
TEST(queued, without_an_executor_is_done_on_return) {
    encoding_t const encoding;
    encoded_t got;
    auto call = encoding.call(got);
    call.completion = uform_completion_queued_k;
    uform_text_encode(&call);
    ASSERT_EQ(uform_outcome_status(&got.outcome), uform_status_success_k);
    EXPECT_EQ(got.embeddings.count, encoding.texts.count());
}

TEST(queued, one_after_another) {
    encoding_t const encoding;
    executor_t executor;
    make_executor(executor);
    for (int i = 0; i < 200; ++i) {
        encoded_t got;
        auto call = encoding.call(got);
        call.executor = executor, call.completion = uform_completion_queued_k;
        uform_text_encode(&call);
        ASSERT_EQ(uform_outcome_wait(&got.outcome), uform_status_success_k) << told(got.outcome);
    }
}

TEST(queued, a_failure_is_told_later) {
    encoding_t const encoding;
    executor_t executor;
    make_executor(executor);
    encoded_t got;
    reports_t stops;
    stops.stop_at = 1;
    auto call = encoding.call(got);
    call.executor = executor, call.completion = uform_completion_queued_k, call.progress = stops.handler();
    uform_text_encode(&call);
    EXPECT_EQ(uform_outcome_wait(&got.outcome), uform_status_cancelled_k);
    expect_final(got.outcome);
    uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
    outcome_t outcome;
    std::string const missing = "/nowhere/at/all";
    uform_model_load_ram_t load {};
    load.model = &model, load.executor = executor, load.outcome = &outcome, load.path = view(missing);
    load.completion = uform_completion_queued_k;
    uform_model_load_ram(&load);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_io_k);
    EXPECT_EQ(model, nullptr);
    expect_final(outcome);
}

TEST(contention, of_executor_and_arena) {
    encoding_t const encoding;
    arena_t other_arena;
    make_arena(other_arena);
    executor_t executor, other;
    make_executor(executor), make_executor(other);
    encoded_t running, second;
    gate_t gate;
    auto call = encoding.call(running);
    call.executor = executor, call.completion = uform_completion_queued_k, call.progress = gate.handler();
    uform_text_encode(&call);
    gate.wait_inside();

    auto again = encoding.call(second);
    again.executor = executor, again.arena = other_arena;
    EXPECT_STATUS(answer(uform_text_encode, again), contended_k); // the executor
    again.completion = uform_completion_queued_k;
    EXPECT_STATUS(answer(uform_text_encode, again), contended_k); // is final, though queued
    again.completion = uform_completion_blocking_k, again.executor = nullptr, again.arena = encoding.arena;
    EXPECT_STATUS(answer(uform_text_encode, again), contended_k); // the arena
    again.executor = other;
    EXPECT_STATUS(answer(uform_text_encode, again), contended_k);
    EXPECT_EQ(second.embeddings.data, nullptr);
    again.arena = other_arena;
    EXPECT_SUCCESS(answer(uform_text_encode, again)); // the other executor was let go when the arena was contended
    again.executor = executor, again.dimensions = 129;
    EXPECT_STATUS(answer(uform_text_encode, again), uform_status_shape_mismatch_k); // arguments are refused first

    uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
    uform_model_load_ram_t load {};
    load.model = &model, load.executor = executor, load.path = view(nano_path());
    EXPECT_STATUS(answer(uform_model_load_ram, load), contended_k);
    EXPECT_EQ(model, nullptr);
    uform_trainer_t trainer = reinterpret_cast<uform_trainer_t>(0x1);
    uform_trainer_init_ram_t init {};
    init.trainer = &trainer, init.executor = executor, init.depth = 1, init.hidden = 128, init.schedule.steps = 1;
    init.batch.max_rows_per_device = init.batch.max_segments_per_device = init.batch.max_columns_per_row = 8;
    EXPECT_STATUS(answer(uform_trainer_init_ram, init), contended_k);
    EXPECT_EQ(trainer, nullptr);

    uform_model_description_t description;
    uform_model_describe_t describe {};
    describe.model = encoding.model, describe.description = &description;
    EXPECT_SUCCESS(answer(uform_model_describe, describe)); // holds nothing
    uform_arena_t arena = nullptr;
    uform_arena_init_t arena_init {};
    arena_init.arena = &arena, arena_init.executor = executor;
    EXPECT_SUCCESS(answer(uform_arena_init, arena_init)); // holds nothing
    uform_arena_free(arena);

    gate.open();
    EXPECT_EQ(uform_outcome_wait(&running.outcome), uform_status_success_k);
    again = encoding.call(second), again.executor = executor;
    EXPECT_SUCCESS(answer(uform_text_encode, again)); // whoever reads the outcome finds both free
}

/** Runs `waits` while a queued call is held; it must return only once the call is let go. */
void expect_waits(char const *what, std::function<void(uform_executor_t, encoding_t &, arena_t &)> const &waits) {
    SCOPED_TRACE(what);
    encoding_t encoding;
    executor_t executor;
    make_executor(executor);
    encoded_t got;
    gate_t gate;
    auto call = encoding.call(got);
    call.executor = executor, call.completion = uform_completion_queued_k, call.progress = gate.handler();
    uform_text_encode(&call);
    gate.wait_inside();
    std::atomic<bool> returned {false};
    std::thread waiting([&] { waits(executor, encoding, encoding.arena), returned = true; });
    std::this_thread::sleep_for(moment_k);
    EXPECT_FALSE(returned) << "it must wait for the call";
    gate.open();
    waiting.join();
    EXPECT_EQ(uform_outcome_wait(&got.outcome), uform_status_success_k);
}

TEST(frees, wait_for_the_call) {
    expect_waits("the model", [](uform_executor_t, encoding_t &encoding, arena_t &) { encoding.model.reset(); });
    expect_waits("the arena", [](uform_executor_t, encoding_t &, arena_t &arena) { arena.reset(); });
    expect_waits("drain", [](uform_executor_t executor, encoding_t &, arena_t &) {
        uform_executor_drain_t call {};
        call.executor = executor;
        EXPECT_SUCCESS(answer(uform_executor_drain, call));
    });
}

TEST(frees, wait_for_the_executor_s_call) {
    encoding_t const encoding;
    executor_t executor;
    make_executor(executor);
    encoded_t got;
    gate_t gate;
    auto call = encoding.call(got);
    call.executor = executor, call.completion = uform_completion_queued_k, call.progress = gate.handler();
    uform_text_encode(&call);
    gate.wait_inside();
    std::atomic<bool> returned {false};
    std::thread freeing([&] { executor.reset(), returned = true; });
    std::this_thread::sleep_for(moment_k);
    EXPECT_FALSE(returned);
    gate.open();
    freeing.join();
    EXPECT_EQ(uform_outcome_wait(&got.outcome), uform_status_success_k);
}

TEST(contention, models_are_shared) {
    encoding_t const encoding;
    std::vector<std::thread> threads;
    std::atomic<int> successes {0};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            arena_t arena;
            make_arena(arena);
            for (int round = 0; round < 20; ++round) {
                encoded_t got;
                auto call = encoding.call(got);
                call.arena = arena;
                uform_text_encode(&call);
                successes += got.outcome.status == uform_status_success_k;
            }
        });
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(successes, 80);
}

} // namespace
} // namespace conformance
