/**
 *  @file hold.hpp
 *  @brief Who uses an object: one call at a time (`hold_t`), or any number of calls (`users_t`).
 *
 *  A call lets go of what it holds before its outcome is final, so that whoever reads the outcome can hold it at once;
 *  but whoever waits until the object is free must find the outcome final too. So a call that let go is leaving, and has
 *  left only when it has answered.
 *
 *  Executors and arenas are held by one call, models are used by many. Both let whoever frees the object sleep until
 *  the last call is through; neither knows what it guards. Waking touches no memory of the object, only its address,
 *  so the sleeper may free it as soon as it wakes.
 *
 *  Changes that wake are sequentially consistent, here and in the executor: `notify_all` skips the system call where it
 *  counts no sleepers, and with a mere release that count could be read before the change is seen, losing the wake.
 *
 *  A forked child inherits the holds of calls whose threads stayed in the parent, and nobody will ever release them. So
 *  a hold remembers its process: the child waits for none of the parent's, and learns what was torn out of a call.
 */
#pragma once
#include <atomic>
#include <cstdint>

namespace uform {

/**
 *  The process that runs, never zero; a forked child's differs from its parent's, also where both are process 1 of their
 *  own namespaces. A system call of tens of nanoseconds, made per call.
 */
std::uint32_t this_process() noexcept;

class users_t {
    std::atomic<std::uint64_t> count_ {0}; // upper half: the process that counts; lower half: its calls

    static std::uint64_t none_of(std::uint32_t process) noexcept { return std::uint64_t(process) << 32; }

  public:
    void enter() noexcept {
        std::uint64_t const none = none_of(this_process());
        std::uint64_t seen = count_.load(std::memory_order_relaxed), next;
        do next = (seen >> 32 == none >> 32 ? seen : none) + 1; // the parent's calls are not ours to wait for
        while (!count_.compare_exchange_weak(seen, next));
    }
    void leave() noexcept {
        if (std::uint32_t(count_.fetch_sub(1)) == 1) count_.notify_all();
    }
    /** Sleeps until no call of this process uses it. */
    void wait_idle() const noexcept {
        std::uint64_t const none = none_of(this_process());
        for (std::uint64_t seen; (seen = count_.load()) > none && seen >> 32 == none >> 32;)
            count_.wait(seen, std::memory_order_acquire);
    }
};

class hold_t {
    std::atomic<std::uint32_t> holder_ {0}; // a process, or zero
    users_t leaving_;                       // calls that let go and have not answered

  public:
    /** False where a call holds it already; never waits. */
    [[nodiscard]] bool try_hold() noexcept {
        std::uint32_t expected = 0;
        return holder_.compare_exchange_strong(expected, this_process(), std::memory_order_acquire,
                                               std::memory_order_relaxed);
    }
    void release() noexcept {
        holder_.store(0);
        holder_.notify_all();
    }
    /** Lets go for the next call; whoever waits until the object is free waits on, until `leave`. */
    void release_leaving() noexcept {
        leaving_.enter();
        release();
    }
    void leave() noexcept { leaving_.leave(); }
    bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != 0; }
    /** True where a call of the parent's held it as this process was forked: what it guards may be half written. */
    bool torn_by_fork() const noexcept {
        std::uint32_t const holder = holder_.load(std::memory_order_acquire);
        return holder && holder != this_process();
    }
    /** Sleeps until no call of this process holds it and all have answered. Another may hold it, right after. */
    void wait_free() const noexcept {
        std::uint32_t const process = this_process();
        while (holder_.load() == process) holder_.wait(process, std::memory_order_acquire);
        leaving_.wait_idle();
    }
};

/** A lock for moments: progress reports and first failures. Sleeps where it must wait. */
class lock_t {
    std::atomic<bool> locked_ {false};

  public:
    void lock() noexcept {
        while (locked_.exchange(true, std::memory_order_acquire)) locked_.wait(true, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        locked_.store(false);
        locked_.notify_one();
    }
};

/** Holds a lock for as long as it lives. */
class turn_t {
    lock_t &lock_;

  public:
    explicit turn_t(lock_t &lock) noexcept : lock_(lock) { lock_.lock(); }
    ~turn_t() noexcept { lock_.unlock(); }
    turn_t(turn_t const &) = delete;
    turn_t &operator=(turn_t const &) = delete;
};

} // namespace uform
