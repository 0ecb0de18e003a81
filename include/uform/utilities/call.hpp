/**
 *  @file call.hpp
 *  @brief What every verb does around its work: refuse, hold, run or queue, release, answer.
 *
 *  The one place where the rules of the C ABI's argument structs are kept. A verb is two functions and a line:
 *
 *      failure_t check(uform_text_encode_t const &call) noexcept;
 *      failure_t encode(uform_text_encode_t const &call, executor_t &executor) noexcept;
 *      void uform_text_encode(uform_text_encode_t *arguments) { uform::run_verb<check, encode>(arguments); }
 *
 *  The check refuses arguments and touches nothing; the work writes outputs on success alone. NULL for an executor makes
 *  one of the calling thread for the call, whose scratch goes with it.
 *
 *  It knows the fields all verbs share by name, and nothing of what they carry: `outcome` and `completion`; `executor`,
 *  `arena` and `trainer`, which one call holds at a time; `model`, which is counted as used. A field that points to a
 *  handle is an output, made NULL first. A model's handle must have a member `users_t users`, a trainer's `hold_t hold`.
 */
#pragma once
#include <uform/utilities/arena.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/arithmetic.hpp>
#include <uform/utilities/executor.hpp>
#include <uform/utilities/outcome.hpp>
#include <uform/utilities/progress.hpp>

struct uform_executor_handle_t {
    uform::executor_t executor;
};

struct uform_arena_handle_t {
    uform::arena_t arena;
};

namespace uform {

/** An output: false where there is nowhere to put the handle. */
template <typename handle_>
bool ready_handle(handle_ **output, bool) noexcept {
    return output && (*output = nullptr, true);
}
/** A receiver: false where it is needed and NULL. */
template <typename handle_>
bool ready_handle(handle_ *receiver, bool required) noexcept {
    return receiver || !required;
}

/** Makes handle outputs NULL, refuses missing ones and missing receivers, and a completion that is neither. */
template <typename arguments_>
failure_t check_handles(arguments_ &call) noexcept {
    bool executor = true, arena = true, model = true, mesh = true, trainer = true;
    if constexpr (requires { call.executor; }) executor = ready_handle(call.executor, false);
    if constexpr (requires { call.arena; }) arena = ready_handle(call.arena, false);
    if constexpr (requires { call.mesh; }) mesh = ready_handle(call.mesh, false);
    if constexpr (requires { call.model; }) model = ready_handle(call.model, true);
    if constexpr (requires { call.trainer; }) trainer = ready_handle(call.trainer, true);
    status_t const status = uform_status_invalid_argument_k;
    if (!executor) return fail(status, "executor must not be NULL");
    if (!arena) return fail(status, "arena must not be NULL");
    if (!mesh) return fail(status, "mesh must not be NULL");
    if (!model) return fail(status, "model must not be NULL");
    if (!trainer) return fail(status, "trainer must not be NULL");
    if constexpr (requires { call.completion; })
        if (call.completion != uform_completion_blocking_k && call.completion != uform_completion_queued_k)
            return fail(status, "completion is neither blocking nor queued", "completion is %d", int(call.completion));
    return {};
}

/** Why a handle that one call at a time may hold could not be held. */
template <literal_t field_>
failure_t refuse_held(bool torn_by_fork) noexcept {
    if (torn_by_fork)
        return refuse<field_, " served a call as this process was forked; make one here">(uform_status_unsupported_k);
    return refuse<field_, " serves another call">(uform_status_contended_k);
}

inline failure_t refuse_torn(executor_t const &executor) noexcept {
    if (!executor.torn_by_fork()) return {};
    return fail(uform_status_unsupported_k, "executor was made before this process was forked; make one here");
}

/** Holds what one call at a time may hold, or nothing at all. */
template <typename arguments_>
failure_t hold_handles(arguments_ const &call) noexcept {
    if (call.executor) {
        executor_t &executor = call.executor->executor;
        if (failure_t const failure = refuse_torn(executor)) return failure;
        if (!executor.try_hold()) return refuse_held<"executor">(false);
    }
    if constexpr (requires { call.arena->arena; })
        if (call.arena && !call.arena->arena.try_hold()) {
            if (call.executor) call.executor->executor.release();
            return refuse_held<"arena">(call.arena->arena.torn_by_fork());
        }
    if constexpr (requires { call.trainer->hold; })
        if (!call.trainer->hold.try_hold()) {
            if constexpr (requires { call.arena->arena; })
                if (call.arena) call.arena->arena.release();
            if (call.executor) call.executor->executor.release();
            return refuse_held<"trainer">(call.trainer->hold.torn_by_fork());
        }
    if constexpr (requires { call.model->users; }) call.model->users.enter();
    return {};
}

/** Frees what the call held for the next one, in the eyes of everybody but those who wait for this call to be through. */
template <typename arguments_>
void release_handles(arguments_ const &call) noexcept {
    if constexpr (requires { call.trainer->hold; }) call.trainer->hold.release_leaving();
    if constexpr (requires { call.arena->arena; })
        if (call.arena) call.arena->arena.release_leaving();
    if (call.executor) call.executor->executor.release_leaving();
}

/** Takes leave of what was held; each may be freed by another thread from here on. */
template <typename arguments_>
void leave_handles(arguments_ const &call) noexcept {
    if constexpr (requires { call.model->users; }) call.model->users.leave();
    if constexpr (requires { call.trainer->hold; }) call.trainer->hold.leave();
    if constexpr (requires { call.arena->arena; })
        if (call.arena) call.arena->arena.leave();
    if (call.executor) call.executor->executor.leave();
}

/**
 *  Runs the work of a held call and answers. What is held goes before the answer, so that whoever reads the answer
 *  finds the executor free; from there on the call lives in a copy, the next one's arguments taking its old place. Who
 *  drains or frees what it held returns after the answer, so that an outcome may go as soon as they do.
 */
template <auto work_, typename arguments_>
void finish_verb(arguments_ const &arguments, executor_t &executor) noexcept {
    arguments_ const call = arguments;
    executor.reset_lanes();
    failure_t const failure = work_(call, executor);
    release_handles(call);
    publish_outcome(*call.outcome, failure);
    leave_handles(call);
}

/** A verb that computes: on the calling thread, blocking on an executor, or queued. */
template <auto check_, auto work_, typename arguments_>
void run_verb(arguments_ *arguments) noexcept {
    if (!arguments || !arguments->outcome) return;
    arguments_ &call = *arguments;
    default_arithmetic_t const arithmetic; // its other threads see to their own
    begin_outcome(*call.outcome);
    failure_t failure = check_handles(call);
    if (!failure) failure = check_(std::as_const(call));
    if (!failure) failure = hold_handles(call);
    if (failure) return publish_outcome(*call.outcome, failure);
    if (!call.executor) {
        executor_t alone;
        return finish_verb<work_>(call, alone);
    }
    executor_t &executor = call.executor->executor;
    if (call.completion == uform_completion_blocking_k) return finish_verb<work_>(call, executor);
    executor.submit(
        [](void *copy) noexcept {
            arguments_ const &call = *static_cast<arguments_ *>(copy);
            finish_verb<work_>(call, call.executor->executor);
        },
        call);
}

/** A verb that answers at once, on the calling thread, holding nothing: `work(call)`. */
template <auto work_, typename arguments_>
void run_at_once(arguments_ *arguments) noexcept {
    if (!arguments || !arguments->outcome) return;
    begin_outcome(*arguments->outcome);
    failure_t failure = check_handles(*arguments);
    if (!failure) failure = work_(std::as_const(*arguments));
    publish_outcome(*arguments->outcome, failure);
}

/** A verb that this build cannot do: its handle outputs are NULL, its answer is `unsupported`. */
template <typename arguments_>
void refuse_verb(arguments_ *arguments, char const *message) noexcept {
    if (!arguments || !arguments->outcome) return;
    begin_outcome(*arguments->outcome);
    failure_t const failure = check_handles(*arguments);
    publish_outcome(*arguments->outcome, failure ? failure : fail(uform_status_unsupported_k, message));
}

} // namespace uform
