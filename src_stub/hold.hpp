/**
 *  @file hold.hpp
 *  @brief Who uses an object: one call at a time, or any number; and waiting until nobody does.
 */
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace uform_stub {

class hold_t {
    std::mutex mutex_;
    std::condition_variable idle_;
    std::size_t users_ = 0, leaving_ = 0;

  public:
    /** For what one call at a time may hold: false where another does. */
    bool try_hold() {
        std::lock_guard const lock(mutex_);
        return users_ == 0 && ++users_;
    }
    /** For what calls share. */
    void enter() {
        std::lock_guard const lock(mutex_);
        ++users_;
    }
    /** Free for the next call, but not yet left: who waits until nobody uses it waits for `left`, after the answer. */
    void release_leaving() {
        std::lock_guard const lock(mutex_);
        --users_, ++leaving_;
    }
    void left() {
        std::lock_guard const lock(mutex_);
        if (--leaving_ == 0 && users_ == 0) idle_.notify_all();
    }
    /** Wakes under the lock, so that whoever waits may destroy the object once it has the lock itself. */
    void leave() {
        std::lock_guard const lock(mutex_);
        if (--users_ == 0 && leaving_ == 0) idle_.notify_all();
    }
    void wait_idle() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return users_ == 0 && leaving_ == 0; });
    }
};

} // namespace uform_stub
