/**
 *  @file deferred.cpp
 *  @brief `uform.Deferred`: a submitted call to poll, wait for or await.
 */
#include <ctime>

#include "call.hpp"
#include "enums.hpp"
#include "errors.hpp"

namespace binding {
namespace {

struct deferred_t {
    PyObject_HEAD call_t *call; // NULL once answered
    call_t *spent;              // answered, while others still sleep on its outcome
    Py_ssize_t waiters;
    PyObject *result, *error; // one of them once answered
    std::int32_t status;      // once answered
    unsigned long settler;    // the thread that is making the answer, which may run any Python; else 0
};

PyTypeObject *type = nullptr;
deferred_t *of(PyObject *object) noexcept { return reinterpret_cast<deferred_t *>(object); }

/**
 *  Keeps the answer of a final call and lets go of all it held. Making it may run Python, a handler's `__del__` or the
 *  collector's work, and other threads meanwhile, so the call stays until there is an answer in its place.
 */
void settle(deferred_t *self) noexcept {
    self->settler = PyThread_get_thread_ident();
    PyObject *const result = self->call->finish(), *const error = result ? nullptr : take_exception();
    self->status = self->call->status(), self->result = result, self->error = error;
    self->spent = std::exchange(self->call, nullptr), self->settler = 0;
}

/** Until another thread has made the answer; false where it is this one's own, further up. */
bool outlast_settler(deferred_t *self) noexcept {
    if (self->settler == PyThread_get_thread_ident())
        return raise(uform_status_contended_k, "the call is being answered by what waits for it"), false;
    timespec const pause {0, 100'000};
    while (self->settler) {
        without_gil_t const others;
        nanosleep(&pause, nullptr);
    }
    return true;
}

/** Takes leave of the call; the last one to leave an answered one deletes it. */
void leave(deferred_t *self) noexcept {
    if (--self->waiters == 0) delete std::exchange(self->spent, nullptr);
}

PyObject *wait(PyObject *object, PyObject *) noexcept {
    deferred_t *const self = of(object);
    if (self->call && self->call->reports_here())
        return raise(uform_status_contended_k,
                     "the call waits for its progress handler, and cannot be waited for there");
    if (self->call) {
        ++self->waiters; // another thread may answer the call while this one sleeps on its outcome
        bool const over = self->call->wait() && outlast_settler(self);
        if (over && self->call) settle(self);
        leave(self);
        if (!over) return nullptr;
    }
    if (self->result) return reference_t::borrowed(self->result).release();
    if (!self->error) return raise(uform_status_contended_k, "the call was dropped in its own progress handler");
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(self->error)), self->error);
    return nullptr;
}

PyObject *status(PyObject *object, void *) noexcept {
    deferred_t *const self = of(object);
    if (self->call && self->call->lost())
        return raise(uform_status_unsupported_k, "the call was left behind in the process that forked");
    return from_enum(enum_status_k, self->call ? self->call->status() : self->status);
}

/** Hands `wait` to the running loop's default executor. */
PyObject *await(PyObject *object) noexcept {
    reference_t const asyncio(PyImport_ImportModule("asyncio"));
    reference_t const loop(asyncio ? PyObject_CallMethod(asyncio.get(), "get_running_loop", nullptr) : nullptr);
    reference_t const waiting(loop ? PyObject_GetAttrString(object, "wait") : nullptr);
    reference_t const future(waiting ? PyObject_CallMethod(loop.get(), "run_in_executor", "OO", Py_None, waiting.get())
                                     : nullptr);
    return future ? PyObject_CallMethod(future.get(), "__await__", nullptr) : nullptr;
}

void deallocate(PyObject *object) noexcept {
    deferred_t *const self = of(object);
    PyObject_GC_UnTrack(object);
    PyObject *kind = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&kind, &value, &traceback);
    call_t::dispose(self->call);
    Py_XDECREF(self->result), Py_XDECREF(self->error);
    PyErr_Restore(kind, value, traceback);
    forget(object);
}

/** Of garbage, before the collector takes any of it apart: a handler there may still be running. */
void finalize(PyObject *object) noexcept {
    deferred_t *const self = of(object);
    PyObject *kind = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&kind, &value, &traceback);
    if (self->call && !self->call->outlast()) {
        self->status = uform_status_contended_k;
        call_t::dispose(std::exchange(self->call, nullptr));
    }
    PyErr_Restore(kind, value, traceback);
}

/** A handler may hold the call that it answers, and an error knows the frames it passed, which know this object. */
int traverse(PyObject *object, visitproc visit, void *arg) noexcept {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(of(object)->result);
    Py_VISIT(of(object)->error);
    return of(object)->call ? of(object)->call->traverse(visit, arg) : 0;
}
int clear(PyObject *object) noexcept {
    if (of(object)->call) of(object)->call->clear();
    if (PyObject *const error = of(object)->error) PyException_SetTraceback(error, Py_None);
    return 0;
}

PyMethodDef methods[] = {
    {"wait", wait, METH_NOARGS,
     "wait($self, /)\n--\n\nSleeps until the call is final, other threads running meanwhile, and answers what the verb "
     "answers when it blocks, or raises what it raises. Again: the same answer.\n\nKeyboardInterrupt ends the wait, "
     "not the call. Raises ContendedError inside the call's own progress handler."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "Deferred[result], for annotations."},
    {}};
PyGetSetDef getters[] = {
    {"status", status, nullptr, "uform.Status, DEFERRED until the call is final; never waits.", nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_finalize, reinterpret_cast<void *>(finalize)},
    {Py_am_await, reinterpret_cast<void *>(await)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_doc,
     const_cast<char *>("A submitted call: await it in a coroutine, wait() for it anywhere else.\n\nDropping "
                        "it waits for the call first, as the library still reads the inputs it holds.")},
    {0, nullptr}};
PyType_Spec spec {"uform.Deferred", sizeof(deferred_t), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

} // namespace

PyObject *make_deferred(call_t *call) noexcept {
    auto *const self = make<deferred_t>(type);
    if (!self) return call_t::dispose(call), nullptr;
    self->call = call;
    return reinterpret_cast<PyObject *>(self);
}

bool add_deferred(PyObject *module) noexcept { return (type = add_type(module, spec)) != nullptr; }

} // namespace binding
