/**
 *  @file call.hpp
 *  @brief One call of a verb from its arguments to its Python result: held, run or queued, answered.
 *
 *  A call owns everything the library may read or write until the outcome is final: the C struct, the outcome, lent
 *  buffers, references to the model, the executor and the arena. It lives on the heap, so a `Deferred` can take it over.
 */
#pragma once
#include <atomic>

#include <sys/types.h>

#include "errors.hpp"
#include "python.hpp"

namespace binding {

struct arena_object_t;
struct executor_object_t;

/** What every C argument struct has before its inputs, as a receiver carries it. */
struct receiver_t {
    PyObject *handle = nullptr; // a Model, or a Trainer
    executor_object_t *executor = nullptr;
    uform_completion_t completion = uform_completion_blocking_k;
};

class call_t {
    call_t *previous_ = nullptr, *next_ = nullptr; // of the calls alive, all with the GIL held
    reference_t error_;                            // what the progress handler raised, or an interrupt
    pid_t process_ = 0;
    unsigned long caller_ = 0;   // the thread that blocks in it on the main thread; 0: none
    std::int64_t next_look_ = 0; // nanoseconds: when to look for signals again
    std::atomic<bool> stop_ {false};
    bool started_ = false, abandoned_ = false;

    bool answer_from_python(std::size_t completed, std::size_t total, bool look) noexcept;
    static void reap() noexcept; // deletes abandoned calls that are final
    static bool report(std::size_t completed, std::size_t total, void *context) noexcept;

  public:
    uform_outcome_t outcome {};
    reference_t held, executor, arena, handler; // `held` is the model or trainer
    uform_executor_t executor_handle = nullptr; // as the call starts: closing waits for calls that did
    std::uint64_t generation = 0;               // of the arena, as this call rewinds it

    call_t() noexcept { outcome.status = uform_status_deferred_k, outcome.message = ""; }
    call_t(call_t const &) = delete;
    /** Of a call that is final: what it holds goes with it. */
    virtual ~call_t();
    /** Waits for a call, then deletes it; one that waits for this very thread is deleted later. NULL is safe. */
    static void dispose(call_t *call) noexcept;
    /** Sleeps until a call is final, whatever signals come; false where it waits for this thread. */
    bool outlast() noexcept;

    /** Whether this thread is inside the call's progress handler, so that waiting here would never end. */
    bool reports_here() const noexcept;
    /** The same of any call of one executor. */
    static bool reports_here(executor_object_t const *executor) noexcept;

    /** For the collector: what Python code may have made a cycle of. */
    int traverse(visitproc visit, void *arg) const noexcept;
    void clear() noexcept;

    /** Calls the verb; without the GIL. */
    virtual void enter(uform_completion_t completion) noexcept = 0;
    /** The Python result of a success. */
    virtual PyObject *result() noexcept = 0;

    /** Takes the receiver's references, refusing an executor that was closed. */
    bool receive(receiver_t const &receiver) noexcept;
    bool take_handler(PyObject *value) noexcept;
    /** What to put in the C struct: hears stops and interrupts whether or not there is a handler. */
    uform_progress_t progress() noexcept { return {report, this}; }

    /** Enters the verb, the arena rewound first; false with an exception set where it could not be named. */
    bool start(uform_completion_t completion) noexcept;
    /** Sleeps until the outcome is final, the GIL let go; false where a signal's handler raised meanwhile. */
    bool wait() noexcept;
    uform_status_t status() const noexcept { return uform_outcome_status(&outcome); }
    /** After the outcome is final: the result, or NULL with the failure set. */
    PyObject *finish() noexcept;

    /** True in a child forked while the call ran: it will never end here. */
    bool lost() const noexcept;
    uform_arena_t arena_handle() const noexcept;

    /** Waits for all calls of one executor (NULL: of any), told to stop first where asked. */
    static void wait_for_all(executor_object_t *executor, bool stop) noexcept;
    /** Refuses calls from now on, and stops and waits for those there are. */
    static void end_all() noexcept;
};

/** Runs a call to its end, or submits it, as the receiver says. Takes the call over. NULL with an exception set. */
PyObject *run(call_t *call, uform_completion_t completion) noexcept;

/** A `uform.Deferred` over a started call, which it takes over. */
PyObject *make_deferred(call_t *call) noexcept;
bool add_deferred(PyObject *module) noexcept;

} // namespace binding
