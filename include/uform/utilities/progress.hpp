/**
 *  @file progress.hpp
 *  @brief A caller's progress handler as workers call it: one at a time, counts never decreasing, a stop heard by all.
 */
#pragma once
#include <atomic>

#include <uform/utilities/hold.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** Reports to a caller's handler from any worker, one report at a time, counts never decreasing. */
class progress_t {
    lock_t lock_;
    uform_progress_t const handler_;
    std::size_t const total_;
    std::size_t completed_ = 0;
    std::atomic<bool> stopped_ {false};
    bool torn_ = false; // only ever true where one thread is left to read it

  public:
    progress_t(uform_progress_t handler, std::size_t total) noexcept : handler_(handler), total_(total) {}

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
};

} // namespace uform
