/**
 *  @file outcome.cpp
 *  @brief Outcomes as atomics: `std::atomic_ref` over the status, whose wait sleeps in the kernel.
 *
 *  A queued call's outcome that a fork copies is never finished in the child. So until it is final, `item`, which nobody
 *  may read yet, holds the process that will finish it, and the message says what a child is told.
 */
#include <uform/utilities/outcome.hpp>

#include <atomic>
#include <cstring>

#include <uform/utilities/hold.hpp>

namespace uform {

static_assert(UFORM_DETAIL_CAPACITY == failure_t::detail_capacity_k);
static_assert(std::atomic_ref<status_t>::is_always_lock_free);

namespace {
/** The status of an outcome that may be const to its reader: `atomic_ref` of C++20 takes no const. */
std::atomic_ref<status_t> status_ref(uform_outcome_t const &outcome) noexcept {
    return std::atomic_ref<status_t>(const_cast<status_t &>(outcome.status));
}
std::atomic_ref<std::size_t> item_ref(uform_outcome_t const &outcome) noexcept {
    return std::atomic_ref<std::size_t>(const_cast<std::size_t &>(outcome.item));
}

/** A process where an item's index is later: no index, nor "no item", has these upper bits. */
std::size_t marked_process() noexcept { return std::size_t(1) << 63 | this_process(); }
bool marks_other_process(std::size_t item) noexcept {
    return item >> 32 == std::size_t(1) << 31 && item != marked_process();
}
} // namespace

void begin_outcome(uform_outcome_t &outcome) noexcept {
    outcome.message = "the call stayed in the process that forked this one", outcome.detail[0] = 0;
    item_ref(outcome).store(marked_process(), std::memory_order_relaxed);
    status_ref(outcome).store(uform_status_deferred_k, std::memory_order_relaxed);
}

void publish_outcome(uform_outcome_t &outcome, failure_t const &failure) noexcept {
    outcome.message = failure.message;
    item_ref(outcome).store(failure.item, std::memory_order_relaxed);
    std::memcpy(outcome.detail, failure.detail, sizeof(outcome.detail));
    std::atomic_ref<status_t> const status = status_ref(outcome);
    status.store(failure.status); // stronger than a release, for the sake of the wake: see hold.hpp
    status.notify_all();
}

status_t outcome_status(uform_outcome_t const &outcome) noexcept {
    status_t const seen = status_ref(outcome).load(std::memory_order_acquire);
    if (seen != uform_status_deferred_k) return seen;
    return marks_other_process(item_ref(outcome).load(std::memory_order_relaxed)) ? uform_status_unsupported_k : seen;
}

status_t wait_outcome(uform_outcome_t const &outcome) noexcept {
    std::atomic_ref<status_t> const status = status_ref(outcome);
    for (;;) {
        status_t const seen = outcome_status(outcome);
        if (seen != uform_status_deferred_k) return seen;
        status.wait(uform_status_deferred_k, std::memory_order_acquire);
    }
}

} // namespace uform
