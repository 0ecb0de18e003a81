/**
 *  @file call.hpp
 *  @brief What every verb does around its work: refuse, hold, run or queue, release, answer.
 *
 *  A verb is two functions and a line: `check(call)` throws refusals and touches nothing, `work(call)` writes outputs
 *  once nothing can fail any more, `run_verb<check, work>(arguments)` does the rest. The order of refusals is the
 *  engine's: handles and completion, the verb's own, then what another call holds.
 */
#pragma once
#include <atomic>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "handles.hpp"

namespace uform_stub {

inline std::atomic_ref<uform_status_t> status_of(uform_outcome_t const &outcome) noexcept {
    return std::atomic_ref<uform_status_t>(const_cast<uform_status_t &>(outcome.status));
}
inline void begin_outcome(uform_outcome_t &outcome) noexcept {
    outcome.message = "", outcome.item = SIZE_MAX, outcome.detail[0] = 0;
    status_of(outcome).store(uform_status_deferred_k, std::memory_order_relaxed);
}
/** Everything first, the status last; nothing touches the outcome afterwards. */
inline void publish(uform_outcome_t &outcome, failure_t const &failure) noexcept {
    outcome.message = failure.message, outcome.item = failure.item;
    std::memcpy(outcome.detail, failure.detail, sizeof(outcome.detail));
    std::atomic_ref<uform_status_t> const status = status_of(outcome);
    status.store(failure.status);
    status.notify_all();
}

/** Runs a body and answers what it threw. */
template <typename body_>
failure_t failure_of(body_ &&body) noexcept {
    failure_t failure;
    try {
        body();
    } catch (failure_t const &thrown) {
        failure = thrown;
    } catch (std::bad_alloc const &) {
        failure.status = uform_status_out_of_memory_k, failure.message = "memory is out";
    } catch (std::length_error const &) {
        failure.status = uform_status_out_of_memory_k, failure.message = "memory is out";
    } catch (std::system_error const &) {
        failure.status = uform_status_out_of_memory_k, failure.message = "the system refused to start a thread";
    } catch (...) {
        failure.status = uform_status_internal_k, failure.message = "the stub threw what it should not";
    }
    return failure;
}

/** An output: where a handle goes. */
template <typename handle_>
void ready_handle(handle_ **output, bool, char const *missing) {
    if (!output) refuse(missing);
    *output = nullptr;
}
/** A receiver. */
template <typename handle_>
void ready_handle(handle_ *receiver, bool required, char const *missing) {
    if (required && !receiver) refuse(missing);
}

/** Makes the verb's handle output NULL, and refuses missing handles and a completion that is neither. */
template <typename call_>
void ready_handles(call_ &call) {
    if constexpr (requires { call.executor; }) ready_handle(call.executor, false, "executor must not be NULL");
    if constexpr (requires { call.arena; }) ready_handle(call.arena, false, "arena must not be NULL");
    if constexpr (requires { call.mesh; }) ready_handle(call.mesh, false, "mesh must not be NULL");
    if constexpr (requires { call.model; }) ready_handle(call.model, true, "model must not be NULL");
    if constexpr (requires { call.trainer; }) ready_handle(call.trainer, true, "trainer must not be NULL");
    if constexpr (requires { call.completion; })
        if (call.completion != uform_completion_blocking_k && call.completion != uform_completion_queued_k)
            refuse("completion is neither blocking nor queued", "completion is " + std::to_string(call.completion));
}

/** Does one thing to all that a call holds. */
template <typename call_>
void each_hold(call_ const &call, void (hold_t::*act)()) {
    if constexpr (requires { call.model->users; }) (call.model->users.*act)();
    if constexpr (requires { call.trainer->hold; }) (call.trainer->hold.*act)();
    if constexpr (requires { call.arena->hold; })
        if (call.arena) (call.arena->hold.*act)();
    if (call.executor) (call.executor->hold.*act)();
}

/** Holds what one call at a time may hold, or nothing at all. */
template <typename call_>
void hold_handles(call_ const &call) {
    if (call.executor && !call.executor->hold.try_hold())
        fail(uform_status_contended_k, "executor serves another call");
    if constexpr (requires { call.arena->hold; })
        if (call.arena && !call.arena->hold.try_hold()) {
            if (call.executor) call.executor->hold.leave();
            fail(uform_status_contended_k, "arena serves another call");
        }
    if constexpr (requires { call.trainer->hold; })
        if (!call.trainer->hold.try_hold()) {
            if constexpr (requires { call.arena->hold; })
                if (call.arena) call.arena->hold.leave();
            if (call.executor) call.executor->hold.leave();
            fail(uform_status_contended_k, "trainer serves another call");
        }
    if constexpr (requires { call.model->users; }) call.model->users.enter();
    if constexpr (requires { call.arena->hold; })
        if (call.arena) call.arena->blocks.clear();
}

/** The work of a held call. What is held goes before the answer: whoever reads that finds the executor free. Who drains
 *  or frees what was held returns after the answer. */
template <auto work_, typename call_>
void finish_verb(call_ const &call) noexcept {
    failure_t const failure = failure_of([&] { work_(call); });
    each_hold(call, &hold_t::release_leaving);
    publish(*call.outcome, failure);
    each_hold(call, &hold_t::left);
}

/** A verb that computes: on the calling thread, or queued where there is an executor to queue on. */
template <auto check_, auto work_, typename call_>
void run_verb(call_ *arguments) noexcept {
    if (!arguments || !arguments->outcome) return;
    call_ &call = *arguments;
    begin_outcome(*call.outcome);
    failure_t failure = failure_of([&] { ready_handles(call), check_(call), hold_handles(call); });
    if (failure) return publish(*call.outcome, failure);
    if (!call.executor || call.completion == uform_completion_blocking_k) return finish_verb<work_>(call);
    failure = failure_of([&] { call.executor->submit([copy = call] { finish_verb<work_>(copy); }); });
    if (!failure) return;
    each_hold(call, &hold_t::leave);
    publish(*call.outcome, failure);
}

/** A verb that answers at once, holding nothing. */
template <auto work_, typename call_>
void run_at_once(call_ *arguments) noexcept {
    if (!arguments || !arguments->outcome) return;
    begin_outcome(*arguments->outcome);
    publish(*arguments->outcome, failure_of([&] { ready_handles(*arguments), work_(*arguments); }));
}

/** A verb that neither the engine nor the stub can do. */
template <typename call_>
void refuse_verb(call_ *arguments, char const *message) noexcept {
    if (!arguments || !arguments->outcome) return;
    begin_outcome(*arguments->outcome);
    publish(*arguments->outcome, failure_of([&] { ready_handles(*arguments), unsupported(message); }));
}

/** Reports to the caller's handler; a false answer stops the call. */
inline void advance(uform_progress_t const &progress, std::size_t completed, std::size_t total,
                    char const *stopped = "the progress handler stopped the call") {
    if (progress.callback && !progress.callback(completed, total, progress.context))
        fail(uform_status_cancelled_k, stopped);
}

} // namespace uform_stub
