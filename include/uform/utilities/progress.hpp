/**
 *  @file progress.hpp
 *  @brief A caller's progress handler as workers call it: one at a time, counts never decreasing, a stop heard by all.
 */
#pragma once
#include <atomic>
#include <chrono>

#include <uform/utilities/hold.hpp>
#include <uform/utilities/lane.hpp>
#include <uform/utilities/stop.hpp>

namespace uform {

/** Reports to a caller's handler from any worker, one report at a time, counts never decreasing. */
class progress_t {
    lock_t lock_;
    uform_progress_t const handler_;
    std::size_t const total_;
    std::size_t completed_ = 0;
    std::atomic<bool> stopped_ {false};
    bool torn_ = false; // only ever true where one thread is left to read it
    std::atomic<std::chrono::steady_clock::rep> asked_; // when the handler was last asked in the middle of something

  public:
    progress_t(uform_progress_t handler, std::size_t total) noexcept
        : handler_(handler), total_(total), asked_(handler.callback ? now() : 0) {}

    /** True once the handler answered false. */
    bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
    /** Counts more work as done; false where the call is to stop, which fails the lane as `cancelled`. */
    bool advance(std::size_t count, lane_t &lane) noexcept {
        if (!handler_.callback) return true;
        std::uint32_t const process = this_process();
        lock_.lock();
        completed_ += count;
        if (!stopped() && !handler_.callback(completed_, total_, handler_.context)) stopped_.store(true);
        if (process != this_process()) torn_ = true, stopped_.store(true); // a child, whose other threads are not here
        lock_.unlock();
        if (torn_)
            lane.fail(
                uform::fail(uform_status_unsupported_k, "this process was forked by the call's progress handler"));
        else if (stopped())
            lane.fail(uform::fail(uform_status_cancelled_k, "the progress handler stopped the call"));
        return !stopped();
    }
    /**
     *  Asks the handler in the middle of something, nothing more being done: false where the call is to stop, as of
     *  `advance`. Cheap enough for every row of a picture, as the handler is called every 20 ms at most, by whoever comes
     *  first: a caller's interrupt is heard in time, and a handler that takes a lock of its own slows down nobody.
     */
    bool ask(lane_t &lane) noexcept {
        if (!handler_.callback) return true;
        std::chrono::steady_clock::rep const time = now();
        std::chrono::steady_clock::rep last = asked_.load(std::memory_order_relaxed);
        bool const is_due = time - last >= std::chrono::steady_clock::duration(std::chrono::milliseconds(20)).count();
        if (!stopped() && !(is_due && asked_.compare_exchange_strong(last, time, std::memory_order_relaxed)))
            return true;
        return advance(0, lane);
    }

  private:
    static std::chrono::steady_clock::rep now() noexcept {
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }
};

/** A call's handler as decoders ask it, from the thread of a lane, which a stop fails. */
class asker_t {
    progress_t &progress_;
    lane_t &lane_;

  public:
    asker_t(progress_t &progress, lane_t &lane) noexcept : progress_(progress), lane_(lane) {}
    stop_t stop() noexcept {
        return {[](void *self) noexcept {
                    asker_t &asker = *static_cast<asker_t *>(self);
                    return !asker.progress_.ask(asker.lane_);
                },
                this};
    }
};

} // namespace uform
