/**
 *  @file hold.hpp
 *  @brief Who uses an object: one call at a time (`hold_t`), or any number of calls (`users_t`).
 *
 *  Executors and arenas are held by one call, models are used by many. Both let whoever frees the object sleep until
 *  the last call is through; neither knows what it guards. Waking touches no memory of the object, only its address,
 *  so the sleeper may free it as soon as it wakes.
 *
 *  Changes that wake are sequentially consistent, here and in the executor: `notify_all` skips the system call where it
 *  counts no sleepers, and with a mere release that count could be read before the change is seen, losing the wake.
 */
#pragma once
#include <atomic>
#include <cstdint>

namespace uform {

class hold_t {
    std::atomic<std::uint32_t> held_ {0};

  public:
    /** False where a call holds it already; never waits. */
    [[nodiscard]] bool try_hold() noexcept {
        std::uint32_t expected = 0;
        return held_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void release() noexcept {
        held_.store(0);
        held_.notify_all();
    }
    bool held() const noexcept { return held_.load(std::memory_order_relaxed) != 0; }
    /** Sleeps until no call holds it. Another may, right after. */
    void wait_free() const noexcept {
        while (held_.load(std::memory_order_acquire)) held_.wait(1, std::memory_order_acquire);
    }
};

class users_t {
    std::atomic<std::uint32_t> count_ {0};

  public:
    void enter() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    void leave() noexcept {
        if (count_.fetch_sub(1) == 1) count_.notify_all();
    }
    /** Sleeps until no call uses it. */
    void wait_idle() const noexcept {
        for (std::uint32_t seen; (seen = count_.load(std::memory_order_acquire)) != 0;)
            count_.wait(seen, std::memory_order_acquire);
    }
};

/** A lock for moments: progress reports and first failures. Sleeps where it must wait. */
class lock_t {
    hold_t hold_;

  public:
    void lock() noexcept {
        while (!hold_.try_hold()) hold_.wait_free();
    }
    void unlock() noexcept { hold_.release(); }
};

} // namespace uform
