/**
 *  @file outcome.cpp
 *  @brief Outcomes as atomics: `std::atomic_ref` over the status, whose wait sleeps in the kernel.
 */
#include <uform/utilities/outcome.hpp>

#include <atomic>
#include <cstring>

namespace uform {

static_assert(UFORM_DETAIL_CAPACITY == failure_t::detail_capacity_k);
static_assert(std::atomic_ref<status_t>::is_always_lock_free);

namespace {
/** The status of an outcome that may be const to its reader: `atomic_ref` of C++20 takes no const. */
std::atomic_ref<status_t> status_ref(uform_outcome_t const &outcome) noexcept {
    return std::atomic_ref<status_t>(const_cast<status_t &>(outcome.status));
}
} // namespace

void begin_outcome(uform_outcome_t &outcome) noexcept {
    outcome.message = "", outcome.item = failure_t::no_item_k, outcome.detail[0] = 0;
    status_ref(outcome).store(uform_status_deferred_k, std::memory_order_relaxed);
}

void publish_outcome(uform_outcome_t &outcome, failure_t const &failure) noexcept {
    outcome.message = failure.message, outcome.item = failure.item;
    std::memcpy(outcome.detail, failure.detail, sizeof(outcome.detail));
    std::atomic_ref<status_t> const status = status_ref(outcome);
    status.store(failure.status); // stronger than a release, for the sake of the wake: see hold.hpp
    status.notify_all();
}

status_t outcome_status(uform_outcome_t const &outcome) noexcept {
    return status_ref(outcome).load(std::memory_order_acquire);
}

status_t wait_outcome(uform_outcome_t const &outcome) noexcept {
    std::atomic_ref<status_t> const status = status_ref(outcome);
    for (;;) {
        status_t const seen = status.load(std::memory_order_acquire);
        if (seen != uform_status_deferred_k) return seen;
        status.wait(uform_status_deferred_k, std::memory_order_acquire);
    }
}

} // namespace uform
