/**
 *  @file call.cpp
 *  @brief Bodies of call.hpp.
 */
#include "call.hpp"
#include "objects.hpp"

#include <ctime>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace binding {
namespace {

call_t *alive = nullptr; // a list through the calls themselves

constexpr std::int64_t look_every_k = 20'000'000; // nanoseconds between looks for an interrupt

std::int64_t now() noexcept {
    timespec time {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/** Python hears signals on the process's first thread alone. */
bool on_first_thread() noexcept { return pid_t(syscall(SYS_gettid)) == getpid(); }

bool ending = false; // as exit has begun, with the GIL held

bool interpreter_ends() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/** The progress handlers this thread is inside of, the innermost first. */
struct report_t {
    call_t const *call;
    report_t const *outer;
};
thread_local report_t const *reports = nullptr;

std::size_t abandoned_count = 0; // calls alive that nobody will ask for again

} // namespace

call_t::~call_t() {
    if (!started_) return;
    auto *const own = reinterpret_cast<arena_object_t *>(arena.get());
    if (own && own->current == this) own->current = nullptr;
    (previous_ ? previous_->next_ : alive) = next_;
    if (next_) next_->previous_ = previous_;
}

bool call_t::outlast() noexcept {
    if (!started_ || lost() || status() != uform_status_deferred_k) return true;
    if (reports_here()) return false;
    if (interpreter_ends()) stop_.store(true);
    without_gil_t const others;
    return uform_outcome_wait(&outcome), true;
}

void call_t::dispose(call_t *call) noexcept {
    if (!call || call->outlast()) return delete call;
    call->abandoned_ = true, ++abandoned_count;
}

void call_t::reap() noexcept {
    for (call_t *call = alive; abandoned_count && call;) {
        call_t *const ended = call->abandoned_ && call->status() != uform_status_deferred_k ? call : nullptr;
        call = call->next_;
        if (!ended) continue;
        ended->abandoned_ = false, --abandoned_count;
        delete ended; // which may run Python, and so change the list, or come here again
        call = alive;
    }
}

bool call_t::reports_here() const noexcept {
    for (report_t const *report = reports; report; report = report->outer)
        if (report->call == this) return true;
    return false;
}

bool call_t::reports_here(executor_object_t const *executor) noexcept {
    for (report_t const *report = reports; report; report = report->outer)
        if (report->call->executor.get() == reinterpret_cast<PyObject const *>(executor)) return true;
    return false;
}

int call_t::traverse(visitproc visit, void *arg) const noexcept {
    Py_VISIT(held.get());
    Py_VISIT(executor.get());
    Py_VISIT(arena.get());
    Py_VISIT(handler.get());
    Py_VISIT(error_.get());
    return 0;
}

void call_t::clear() noexcept { reference_t const answering(std::move(handler)), raised(std::move(error_)); }

bool call_t::receive(receiver_t const &receiver) noexcept {
    held = reference_t::borrowed(receiver.handle);
    if (!receiver.executor) return true;
    if (!receiver.executor->handle) return raise(uform_status_invalid_argument_k, "executor is closed"), false;
    executor = reference_t::borrowed(reinterpret_cast<PyObject *>(receiver.executor));
    return true;
}

bool call_t::take_handler(PyObject *value) noexcept {
    if (!given(value)) return true;
    if (!PyCallable_Check(value)) return PyErr_SetString(PyExc_TypeError, "progress must be callable"), false;
    return handler = reference_t::borrowed(value), true;
}

uform_arena_t call_t::arena_handle() const noexcept {
    return arena ? reinterpret_cast<arena_object_t *>(arena.get())->handle : nullptr;
}

/** The word itself is read: the library answers a child that the call is over, but its outcome was never written. */
bool call_t::lost() const noexcept {
    return started_ && process_ != getpid() && outcome.status == uform_status_deferred_k;
}

bool call_t::answer_from_python(std::size_t completed, std::size_t total, bool look) noexcept {
    if (interpreter_ends()) return false; // nobody may take the GIL any more
    with_gil_t const gil;
    report_t const report {this, reports};
    reports = &report;
    bool go = !look || PyErr_CheckSignals() == 0;
    if (go && handler) {
        reference_t const answer(PyObject_CallFunction(handler.get(), "nn", Py_ssize_t(completed), Py_ssize_t(total)));
        int const truth = !answer ? -1 : answer.get() == Py_None ? 1 : PyObject_IsTrue(answer.get());
        go = truth == 1;
    }
    if (PyErr_Occurred()) error_ = reference_t(take_exception()), go = false;
    reports = report.outer;
    return go;
}

bool call_t::report(std::size_t completed, std::size_t total, void *context) noexcept {
    call_t &call = *static_cast<call_t *>(context);
    if (call.stop_.load(std::memory_order_relaxed)) return false;
    bool look = false;
    if (call.caller_ && pthread_equal(pthread_t(call.caller_), pthread_self())) {
        std::int64_t const time = now();
        if ((look = time >= call.next_look_)) call.next_look_ = time + look_every_k;
    }
    return !(look || call.handler) || call.answer_from_python(completed, total, look);
}

bool call_t::start(uform_completion_t completion) noexcept {
    if (abandoned_count) reap();
    auto *const own = reinterpret_cast<arena_object_t *>(arena.get());
    if (executor && !(executor_handle = reinterpret_cast<executor_object_t *>(executor.get())->handle))
        return raise(uform_status_invalid_argument_k, "executor is closed"), false;
    if (ending) return raise(uform_status_cancelled_k, "the interpreter is ending"), false;
    if (own && !rewind(*own, *this)) return false;
    process_ = getpid();
    next_ = alive;
    if (alive) alive->previous_ = this;
    alive = this;
    started_ = true;
    if (completion == uform_completion_blocking_k || !executor)
        if (on_first_thread()) caller_ = static_cast<unsigned long>(pthread_self()), next_look_ = now() + look_every_k;
    without_gil_t const others;
    enter(completion);
    return true;
}

bool call_t::wait() noexcept {
    if (lost()) return raise(uform_status_unsupported_k, "the call was left behind in the process that forked"), false;
    if (status() != uform_status_deferred_k) return true;
    if (!on_first_thread()) {
        without_gil_t const others;
        return uform_outcome_wait(&outcome), true;
    }
    // The library's wait does not end on a signal, so the first thread sleeps by itself, a 64th of the time so far.
    std::int64_t const begun = now();
    while (status() == uform_status_deferred_k) {
        std::int64_t const share = (now() - begun) / 64;
        timespec const pause {0, long(share < 10'000 ? 10'000 : share > 5'000'000 ? 5'000'000 : share)};
        {
            without_gil_t const others;
            nanosleep(&pause, nullptr);
        }
        if (PyErr_CheckSignals()) return false;
    }
    return true;
}

PyObject *call_t::finish() noexcept {
    caller_ = 0;
    auto *const own = reinterpret_cast<arena_object_t *>(arena.get());
    if (own && own->current == this) own->current = nullptr;
    handler = reference_t();
    if (error_) {
        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error_.get())), error_.get());
        return error_ = reference_t(), nullptr;
    }
    return status() == uform_status_success_k ? result() : raise(outcome);
}

void call_t::wait_for_all(executor_object_t *executor, bool stop) noexcept {
    for (call_t *call = alive; call;) {
        bool const named = !executor || call->executor.get() == reinterpret_cast<PyObject *>(executor);
        if (!named || call->lost() || call->status() != uform_status_deferred_k) {
            call = call->next_;
            continue;
        }
        if (stop) call->stop_.store(true);
        // Whoever owns the call may end it meanwhile, so nothing of it is touched after: the list starts over.
        timespec const pause {0, 1'000'000};
        {
            without_gil_t const others;
            nanosleep(&pause, nullptr);
        }
        call = alive;
    }
}

void call_t::end_all() noexcept {
    ending = true; // or threads that start one call after another would keep this one here
    wait_for_all(nullptr, true);
}

PyObject *run(call_t *call, uform_completion_t completion) noexcept {
    PyObject *result = nullptr;
    if (call->start(completion)) {
        if (completion == uform_completion_queued_k) return make_deferred(call);
        result = call->finish();
    }
    if (result || !PyErr_Occurred()) return delete call, result;
    reference_t const error(take_exception());
    delete call;
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.get())), error.get());
    return nullptr;
}

} // namespace binding
