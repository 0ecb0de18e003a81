/**
 *  @file call_unit.cpp
 *  @brief The rules around a verb's work, over a verb made up for the purpose: what is refused, held, queued, answered.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <uform/uform.h>

#include <uform/utilities/call.hpp>

struct uform_model_handle_t {
    uform::users_t users;
};

namespace {

using namespace uform;

struct probe_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    std::atomic<bool> *gate; // the work waits until it opens
    int input;
    std::size_t *output;
    uform_arena_t arena;
    uform_progress_t progress;
};

failure_t check(probe_t const &call) noexcept {
    return call.input < 0 ? fail(uform_status_invalid_argument_k, "input must not be negative") : failure_t {};
}

failure_t work(probe_t const &call, executor_t &executor) noexcept {
    if (call.gate) call.gate->wait(false);
    progress_t progress(call.progress, 64);
    std::atomic<std::size_t> sum {0};
    failure_t const failure = executor.deal(64, [&](std::size_t i, lane_t &lane) {
        if (call.input == 13 && i == 40) return lane.fail(fail(uform_status_malformed_k, "bad", "item %zu", i));
        if (progress.advance(1, lane)) sum += i;
    });
    if (failure) return failure;
    if (call.arena && !call.arena->arena.claim<char>(1000)) return fail(uform_status_out_of_memory_k, "arena is out");
    *call.output = sum + std::size_t(call.input);
    return {};
}

void probe(probe_t *arguments) { run_verb<check, work>(arguments); }

struct handles_t {
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;
    uform_model_handle_t model;
    uform_outcome_t outcome;
    std::size_t output = 0;
    handles_t() {
        uform_executor_for_ram_t start {};
        start.executor = &executor, start.outcome = &outcome, start.threads = 3;
        uform_executor_for_ram(&start);
        uform_arena_init_t init {&arena, executor, &outcome};
        uform_arena_init(&init);
        EXPECT_EQ(outcome.status, uform_status_success_k);
    }
    ~handles_t() { uform_arena_free(arena), uform_executor_free(executor); }
    probe_t call() { return {&model, executor, &outcome, 0, nullptr, 1, &output, arena, {}}; }
};

TEST(call, runs_alone_blocking_and_queued) {
    handles_t handles;
    for (bool alone : {true, false})
        for (uform_completion_t completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
            probe_t call = handles.call();
            if (alone) call.executor = nullptr;
            call.completion = completion;
            handles.output = 0;
            probe(&call);
            EXPECT_EQ(uform_outcome_wait(&handles.outcome), uform_status_success_k);
            EXPECT_EQ(handles.output, 2017u);
            EXPECT_STREQ(handles.outcome.message, "");
            EXPECT_EQ(handles.outcome.item, SIZE_MAX);
        }
}

TEST(call, refuses_before_it_holds_or_queues) {
    handles_t handles;
    probe_t call = handles.call();
    call.completion = uform_completion_queued_k, call.input = -1;
    probe(&call);
    EXPECT_EQ(handles.outcome.status, uform_status_invalid_argument_k) << "final on return";
    EXPECT_STREQ(handles.outcome.message, "input must not be negative");
    call = handles.call(), call.model = nullptr;
    probe(&call);
    EXPECT_STREQ(handles.outcome.message, "model must not be NULL");
    call = handles.call(), call.completion = 2;
    probe(&call);
    EXPECT_STREQ(handles.outcome.message, "completion is neither blocking nor queued");
    EXPECT_TRUE(handles.executor->executor.try_hold()) << "a refused call holds nothing";
    handles.executor->executor.release();
    EXPECT_EQ(handles.output, 0u);
    probe(nullptr);
    call = handles.call(), call.outcome = nullptr;
    probe(&call);
    EXPECT_EQ(handles.output, 0u) << "nowhere to answer";
}

TEST(call, contends_for_the_executor_and_the_arena) {
    handles_t handles, others;
    std::atomic<bool> gate {false};
    probe_t running = handles.call();
    running.completion = uform_completion_queued_k, running.gate = &gate;
    probe(&running);
    EXPECT_EQ(uform_outcome_status(&handles.outcome), uform_status_deferred_k);
    std::memset(static_cast<void *>(&running), 0x5a, sizeof(running)); // the struct is the caller's again

    probe_t second = others.call();
    second.executor = handles.executor;
    probe(&second);
    EXPECT_EQ(others.outcome.status, uform_status_contended_k);
    EXPECT_NE(std::strstr(others.outcome.message, "executor"), nullptr);
    second = others.call(), second.arena = handles.arena;
    probe(&second);
    EXPECT_EQ(others.outcome.status, uform_status_contended_k);
    EXPECT_NE(std::strstr(others.outcome.message, "arena"), nullptr);
    second = others.call();
    probe(&second);
    EXPECT_EQ(others.outcome.status, uform_status_success_k) << "a refused hold lets go of everything";

    gate = true, gate.notify_all();
    EXPECT_EQ(uform_outcome_wait(&handles.outcome), uform_status_success_k);
    EXPECT_EQ(handles.output, 2017u);
    probe_t again = handles.call();
    probe(&again);
    EXPECT_EQ(handles.outcome.status, uform_status_success_k) << "free as soon as the outcome is final";
}

TEST(call, frees_wait_for_the_call) {
    for (int what = 0; what < 3; ++what) {
        handles_t handles;
        std::atomic<bool> gate {false};
        probe_t call = handles.call();
        call.completion = uform_completion_queued_k, call.gate = &gate;
        probe(&call);
        std::thread opener([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            gate = true, gate.notify_all();
        });
        if (what == 0) uform_arena_free(std::exchange(handles.arena, nullptr));
        if (what == 1) uform_executor_free(std::exchange(handles.executor, nullptr));
        if (what == 2) handles.model.users.wait_idle();
        EXPECT_EQ(handles.output, 2017u) << what;
        opener.join();
        EXPECT_EQ(uform_outcome_wait(&handles.outcome), uform_status_success_k);
    }
}

TEST(call, drain_waits_and_sets_the_mood) {
    handles_t handles;
    std::atomic<bool> gate {false};
    probe_t call = handles.call();
    call.completion = uform_completion_queued_k, call.gate = &gate;
    probe(&call);
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        gate = true, gate.notify_all();
    });
    uform_outcome_t drained;
    uform_executor_drain_t drain {handles.executor, &drained, uform_mood_parked_k};
    uform_executor_drain(&drain);
    EXPECT_EQ(drained.status, uform_status_success_k);
    EXPECT_EQ(handles.output, 2017u);
    opener.join();
    EXPECT_EQ(uform_outcome_wait(&handles.outcome), uform_status_success_k);
}

TEST(call, failures_write_nothing_and_leave_everything_usable) {
    handles_t handles;
    probe_t call = handles.call();
    call.input = 13;
    probe(&call);
    EXPECT_EQ(handles.outcome.status, uform_status_malformed_k);
    EXPECT_STREQ(handles.outcome.message, "bad");
    EXPECT_STREQ(handles.outcome.detail, "item 40");
    EXPECT_EQ(handles.output, 0u);
    call = handles.call();
    probe(&call);
    EXPECT_EQ(handles.outcome.status, uform_status_success_k);
    EXPECT_STREQ(handles.outcome.detail, "");
    EXPECT_EQ(handles.output, 2017u);
}

TEST(call, progress_counts_up_and_stops_the_call) {
    struct seen_t {
        std::size_t calls = 0, last = 0, stop_at = SIZE_MAX;
        bool rising = true;
    };
    auto const handler = [](std::size_t completed, std::size_t total, void *context) {
        seen_t &seen = *static_cast<seen_t *>(context);
        ++seen.calls, seen.rising &= completed > seen.last && completed <= total, seen.last = completed;
        return completed < seen.stop_at;
    };
    handles_t handles;
    seen_t seen;
    probe_t call = handles.call();
    call.progress = {handler, &seen};
    probe(&call);
    EXPECT_EQ(handles.outcome.status, uform_status_success_k);
    EXPECT_EQ(seen.calls, 64u);
    EXPECT_EQ(seen.last, 64u);
    EXPECT_TRUE(seen.rising);

    seen = {}, seen.stop_at = 10, handles.output = 0;
    probe(&call);
    EXPECT_EQ(handles.outcome.status, uform_status_cancelled_k);
    EXPECT_EQ(seen.calls, 10u) << "once it answered false, it is not asked again";
    EXPECT_EQ(handles.output, 0u);
}

TEST(call, a_stopped_handler_is_not_asked_again) {
    std::size_t calls = 0;
    auto const refuse = [](std::size_t, std::size_t, void *context) {
        ++*static_cast<std::size_t *>(context);
        return false;
    };
    progress_t progress({refuse, &calls}, 10);
    for (int i = 0; i < 3; ++i) {
        lane_t lane;
        EXPECT_FALSE(progress.advance(1, lane));
        EXPECT_EQ(lane.failure().status, uform_status_cancelled_k);
    }
    EXPECT_EQ(calls, 1u);
}

/** In the middle of an item, now and then, with the counts as they are; of what comes at once the handler hears nothing. */
TEST(call, a_handler_is_asked_in_the_middle_too) {
    struct seen_t {
        std::size_t calls = 0, last = 0, stop_at = SIZE_MAX;
    } seen;
    progress_t progress({[](std::size_t completed, std::size_t, void *context) {
                             seen_t &seen = *static_cast<seen_t *>(context);
                             seen.last = completed;
                             return ++seen.calls < seen.stop_at;
                         },
                         &seen},
                        10);
    lane_t lane;
    asker_t asker(progress, lane);
    auto const start = std::chrono::steady_clock::now();
    EXPECT_TRUE(progress.advance(3, lane));
    seen.stop_at = 4; // the third time that it is asked, each 20 ms after the one before
    std::size_t asked = 0;
    while (!asker.stop()() && std::chrono::steady_clock::now() - start < std::chrono::seconds(20)) ++asked;
    EXPECT_EQ(lane.failure().status, uform_status_cancelled_k);
    EXPECT_EQ(seen.calls, 4u);
    EXPECT_EQ(seen.last, 3u);
    EXPECT_GT(asked, 100u);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
    lane_t other; // which another thread may be working on
    EXPECT_TRUE(asker_t(progress, other).stop()());
    EXPECT_EQ(other.failure().status, uform_status_cancelled_k);
    EXPECT_EQ(seen.calls, 4u);
    progress_t unheard({}, 10);
    EXPECT_FALSE(asker_t(unheard, other).stop()());
}

TEST(call, whoever_sees_the_answer_finds_everything_free) {
    handles_t handles;
    for (int round = 0; round < 3000; ++round) {
        probe_t call = handles.call();
        call.completion = uform_completion_queued_k;
        probe(&call);
        status_t status;
        while ((status = uform_outcome_status(&handles.outcome)) == uform_status_deferred_k) {}
        ASSERT_EQ(status, uform_status_success_k) << "round " << round << ": " << handles.outcome.message;
    }
}

TEST(call, whoever_waited_for_what_it_held_finds_the_answer) {
    for (int round = 0; round < 400; ++round) {
        handles_t handles;
        uform_outcome_t queued {}, drained {};
        probe_t call = handles.call();
        call.completion = uform_completion_queued_k, call.outcome = &queued;
        probe(&call);
        uform_executor_drain_t drain {};
        drain.executor = handles.executor, drain.outcome = &drained;
        switch (round % 4) {
        case 0: uform_executor_drain(&drain); break;
        case 1: uform_arena_free(std::exchange(handles.arena, nullptr)); break;
        case 2: uform_executor_free(std::exchange(handles.executor, nullptr)); break;
        default: handles.model.users.wait_idle();
        }
        ASSERT_EQ(uform_outcome_status(&queued), uform_status_success_k) << "round " << round;
        uform_outcome_wait(&queued);
    }
}

TEST(call, outcomes_wake_every_waiter) {
    handles_t handles;
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> gate {false};
        probe_t call = handles.call();
        call.completion = uform_completion_queued_k, call.gate = &gate;
        probe(&call);
        auto const wait = [&] { EXPECT_EQ(uform_outcome_wait(&handles.outcome), uform_status_success_k); };
        std::thread first(wait), second(wait);
        gate = true, gate.notify_all();
        first.join(), second.join();
    }
}

} // namespace
