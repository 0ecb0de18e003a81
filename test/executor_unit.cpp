/**
 *  @file executor_unit.cpp
 *  @brief Threads: every index once, joins that wait, moods that sleep, deferral, contention, and the lowest failure.
 *
 *  Runs under ThreadSanitizer too. UFORM_TEST_SCALE multiplies the rounds.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <set>
#include <thread>
#include <vector>

#include <uform/utilities/executor.hpp>

namespace {
std::atomic<std::size_t> allocations {0};
}

// The engine's only allocation of run-time size is buffer_t's; counted here, for the whole program.
void *operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const &) noexcept {
    ++allocations;
    std::size_t const unit = std::size_t(alignment);
    return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace uform;

std::size_t scaled(std::size_t count) {
    char const *const scale = std::getenv("UFORM_TEST_SCALE");
    return count * (scale ? std::strtoul(scale, nullptr, 10) : 1);
}

struct started_t {
    executor_t executor;
    explicit started_t(std::size_t threads) {
        failure_t const failure = executor.start(threads, uform_cpu_class_serial_k, nullptr);
        EXPECT_FALSE(failure) << failure.message << failure.detail;
    }
};

TEST(executor, default_made_is_the_calling_thread) {
    executor_t alone;
    EXPECT_EQ(alone.threads(), 1u);
    EXPECT_EQ(alone.wide_lane().width(), 1u);
    std::thread::id where;
    alone.for_workers([&](std::size_t worker) {
        EXPECT_EQ(worker, 0u);
        where = std::this_thread::get_id();
    });
    EXPECT_EQ(where, std::this_thread::get_id());
    std::size_t sum = 0;
    EXPECT_FALSE(alone.deal(100, [&](std::size_t i, lane_t &lane) { sum += i + lane.width(); }));
    EXPECT_EQ(sum, 4950u + 100u);
}

TEST(executor, every_worker_runs_once_per_fork) {
    for (std::size_t threads : {1, 2, 3, 8}) {
        started_t started(threads);
        EXPECT_EQ(started.executor.threads(), threads);
        std::vector<std::size_t> visits(threads), wheres(threads);
        std::size_t const rounds = scaled(2000);
        for (std::size_t round = 0; round < rounds; ++round)
            started.executor.for_workers([&](std::size_t worker) { ++visits[worker]; });
        for (std::size_t worker = 0; worker < threads; ++worker) EXPECT_EQ(visits[worker], rounds) << worker;
    }
}

TEST(executor, deals_every_index_once) {
    for (std::size_t threads : {1, 2, 5}) {
        started_t started(threads);
        for (std::size_t count : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> visits(count);
            EXPECT_FALSE(started.executor.deal(count, [&](std::size_t i, lane_t &) { visits[i].fetch_add(1); }));
            for (auto const &visit : visits) EXPECT_EQ(visit.load(), 1);
        }
    }
}

TEST(executor, deals_answer_the_lowest_failure) {
    started_t started(4);
    for (std::size_t round = 0; round < scaled(300); ++round) {
        failure_t const failure = started.executor.deal(200, [&](std::size_t i, lane_t &lane) {
            if (i < 20 || i % 3) return;
            failure_t bad = fail(uform_status_malformed_k, "bad item");
            bad.item = i;
            lane.fail(bad);
        });
        EXPECT_EQ(failure.status, uform_status_malformed_k);
        ASSERT_EQ(failure.item, 21u) << "round " << round;
    }
    EXPECT_FALSE(started.executor.deal(9, [](std::size_t, lane_t &) {})) << "failures do not stick";
}

TEST(executor, the_lowest_failure_wins_whichever_comes_last) {
    started_t started(2);
    for (std::size_t late : {0, 1}) {
        std::atomic<std::size_t> begun {0};
        failure_t const failure = started.executor.deal(2, [&](std::size_t i, lane_t &lane) {
            ++begun, begun.notify_all();
            begun.wait(1); // both are dealt before either fails
            if (i == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            failure_t bad = fail(uform_status_malformed_k, "bad item");
            bad.item = i;
            lane.fail(bad);
        });
        EXPECT_EQ(failure.item, 0u) << "late " << late;
    }
}

TEST(executor, a_failure_stops_the_dealing) {
    executor_t alone;
    std::size_t visits = 0;
    EXPECT_TRUE(alone.deal(1000, [&](std::size_t i, lane_t &lane) {
        ++visits;
        if (i == 5) lane.fail(fail(uform_status_malformed_k, "bad item"));
    }));
    EXPECT_EQ(visits, 6u);
}

TEST(executor, threads_leave_signals_to_the_host) {
    started_t started(3);
    std::atomic<int> open {0};
    started.executor.for_workers([&](std::size_t worker) {
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        if (worker && !(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGPROF))) ++open;
    });
    EXPECT_EQ(open.load(), 0);
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_FALSE(sigismember(&own, SIGINT));
}

TEST(executor, deals_rewind_scratch_between_items) {
    started_t started(2);
    for (int round = 0; round < 3; ++round) {
        started.executor.reset_lanes();
        EXPECT_FALSE(started.executor.deal(2000, [](std::size_t i, lane_t &lane) { lane.claim<char>(1000 * (i % 7 + 1)); }));
    }
    std::size_t held = 0;
    for (std::size_t worker = 0; worker < 2; ++worker) held += started.executor.narrow_lane(worker).scratch.capacity();
    EXPECT_LE(held, std::size_t(2) << 17) << "2,000 items of 7 kB at most, one at a time per worker";
}

TEST(executor, wide_lanes_cover_rows_with_every_worker) {
    started_t started(3);
    lane_t &wide = started.executor.wide_lane();
    EXPECT_EQ(wide.width(), 3u);
    std::vector<int> visits(1001);
    std::set<lane_t *> lanes;
    lock_t lock;
    for (std::size_t round = 0; round < scaled(500); ++round)
        wide.rows(visits.size(), 8, [&](std::size_t first, std::size_t last, lane_t &lane) {
            for (std::size_t i = first; i < last; ++i) ++visits[i];
            lock.lock(), lanes.insert(&lane), lock.unlock();
        });
    for (int const visit : visits) EXPECT_EQ(std::size_t(visit), scaled(500));
    EXPECT_EQ(lanes.size(), 3u);
    wide.rows(100, 1, [](std::size_t first, std::size_t, lane_t &lane) {
        if (first) lane.fail(fail(uform_status_malformed_k, "bad row"));
    });
    EXPECT_STREQ(wide.failure().message, "bad row");
}

TEST(executor, is_held_by_one_call) {
    executor_t executor;
    EXPECT_TRUE(executor.try_hold());
    EXPECT_FALSE(executor.try_hold());
    executor.release();
    EXPECT_TRUE(executor.try_hold());
    std::atomic<bool> released {false};
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        released = true;
        executor.release();
    });
    executor.wait_free();
    EXPECT_TRUE(released.load());
    other.join();
}

TEST(executor, many_threads_contend_and_none_overlap) {
    started_t started(3);
    executor_t &executor = started.executor;
    std::atomic<int> inside {0};
    std::atomic<std::size_t> held {0}, refused {0};
    std::size_t unguarded = 0;
    auto const hammer = [&] {
        for (std::size_t round = 0; round < scaled(2000); ++round) {
            if (!executor.try_hold()) {
                ++refused;
                if (round % 16 == 0) executor.wait_free();
                continue;
            }
            EXPECT_EQ(inside.fetch_add(1), 0);
            std::atomic<std::size_t> sum {0};
            executor.for_workers([&](std::size_t worker) { sum += worker + 1; });
            EXPECT_EQ(sum.load(), 6u);
            ++unguarded, ++held;
            inside.fetch_sub(1);
            executor.release();
        }
    };
    std::thread threads[] = {std::thread(hammer), std::thread(hammer), std::thread(hammer)};
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(unguarded, held.load());
    EXPECT_EQ(held + refused, 3 * scaled(2000));
}

struct deferred_call_t {
    executor_t *executor;
    std::atomic<std::size_t> *done;
    std::size_t *unguarded;
    std::thread::id submitter;
};

void run_deferred(void *copy) noexcept {
    deferred_call_t const call = *static_cast<deferred_call_t *>(copy);
    EXPECT_NE(std::this_thread::get_id(), call.submitter);
    std::atomic<std::size_t> sum {0};
    call.executor->for_workers([&](std::size_t worker) { sum += worker + 1; });
    *call.unguarded += sum;
    call.executor->release();
    call.done->fetch_add(1);
    call.done->notify_all();
}

TEST(executor, deferred_calls_run_while_the_caller_does_nothing) {
    for (std::size_t threads : {1, 3}) {
        started_t started(threads);
        executor_t &executor = started.executor;
        std::atomic<std::size_t> done {0};
        std::size_t unguarded = 0, submitted = 0;
        for (std::size_t round = 0; round < scaled(2000); ++round) {
            // The hold is given back before `done` moves: the next submission may come while the last is leaving.
            while (!executor.try_hold()) executor.wait_free();
            executor.submit(run_deferred, deferred_call_t {&executor, &done, &unguarded, std::this_thread::get_id()});
            ++submitted;
        }
        for (std::size_t seen; (seen = done.load()) != submitted;) done.wait(seen);
        EXPECT_EQ(unguarded, submitted * threads * (threads + 1) / 2);
    }
}

TEST(executor, freeing_after_submitting_loses_nothing) {
    std::atomic<std::size_t> done {0};
    std::size_t unguarded = 0;
    for (std::size_t round = 0; round < scaled(100); ++round) {
        started_t started(2);
        ASSERT_TRUE(started.executor.try_hold());
        started.executor.submit(run_deferred,
                                deferred_call_t {&started.executor, &done, &unguarded, std::this_thread::get_id()});
        started.executor.wait_free();
    }
    EXPECT_EQ(done.load(), scaled(100));
}

TEST(executor, both_moods_sleep_and_wake) {
    started_t started(4);
    for (uform_mood_t mood : {uform_mood_parked_k, uform_mood_spinning_k}) {
        started.executor.set_mood(mood);
        std::atomic<std::size_t> sum {0};
        for (int round = 0; round < 20; ++round) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            started.executor.for_workers([&](std::size_t) { ++sum; });
        }
        EXPECT_EQ(sum.load(), 80u);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::clock_t const before = std::clock(); // processor time of all threads
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        double const used = double(std::clock() - before) / CLOCKS_PER_SEC;
        EXPECT_LT(used, 0.01 * 0.5) << "idle threads may use a hundredth of one core";
    }
}

TEST(executor, steady_rounds_allocate_nothing) {
    started_t started(3);
    executor_t &executor = started.executor;
    auto const round = [&] {
        executor.reset_lanes();
        executor.for_workers([&](std::size_t worker) {
            for (std::size_t i = 0; i < 9; ++i) executor.narrow_lane(worker).claim<char>(i * 50000);
        });
        (void)executor.deal(64, [](std::size_t, lane_t &lane) { lane.claim<char>(10000); });
        executor.wide_lane().rows(64, 4, [](std::size_t, std::size_t, lane_t &) {});
    };
    for (int warm = 0; warm < 3; ++warm) round();
    std::size_t const before = allocations.load();
    for (std::size_t steady = 0; steady < scaled(100); ++steady) round();
    EXPECT_EQ(allocations.load(), before);
}

TEST(executor, what_one_worker_needed_all_have) {
    started_t started(3);
    executor_t &executor = started.executor;
    EXPECT_NE(executor.narrow_lane(1).claim<char>(3 << 20), nullptr);
    executor.reset_lanes();
    std::size_t const before = allocations.load();
    for (std::size_t worker = 0; worker < 3; ++worker)
        EXPECT_NE(executor.narrow_lane(worker).claim<char>(3 << 20), nullptr);
    executor.reset_lanes();
    EXPECT_EQ(allocations.load(), before);
}

} // namespace
