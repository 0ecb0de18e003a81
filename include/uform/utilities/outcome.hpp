/**
 *  @file outcome.hpp
 *  @brief Writing and reading the caller's `uform_outcome_t`: everything first, the status last.
 *
 *  The last step of every call. The status is stored with release order, so whoever reads it with acquire order reads
 *  the outputs, the message and the detail of the same call. After that store the outcome may be gone: nothing touches
 *  it again, and waking its waiters uses its address alone.
 */
#pragma once
#include <uform/utilities/status.hpp>

namespace uform {

/** Opens an outcome: `deferred`, without a message. */
void begin_outcome(uform_outcome_t &outcome) noexcept;
/** Makes an outcome final and wakes who waits for it. */
void publish_outcome(uform_outcome_t &outcome, failure_t const &failure) noexcept;
status_t outcome_status(uform_outcome_t const &outcome) noexcept;
/** Sleeps until the outcome is final. */
status_t wait_outcome(uform_outcome_t const &outcome) noexcept;

} // namespace uform
