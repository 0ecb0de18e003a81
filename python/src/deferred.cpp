/**
 *  @file deferred.cpp
 *  @brief `uform.Deferred`: a submitted call to poll, wait for or await.
 */
#include "call.hpp"
#include "enums.hpp"

namespace binding {
namespace {

struct deferred_t {
    PyObject_HEAD call_t *call; // NULL once answered
    call_t *spent;              // answered, while others still sleep on its outcome
    Py_ssize_t waiters;
    PyObject *result, *error; // one of them once answered
    std::int32_t status;      // once answered
};

PyTypeObject *type = nullptr;
deferred_t *of(PyObject *object) noexcept { return reinterpret_cast<deferred_t *>(object); }

/** Keeps the answer of a final call and lets go of all it held. */
void settle(deferred_t *self) noexcept {
    call_t *const call = std::exchange(self->call, nullptr);
    self->status = call->status();
    self->result = call->finish();
    if (!self->result) {
        PyObject *kind = nullptr, *traceback = nullptr;
        PyErr_Fetch(&kind, &self->error, &traceback);
        PyErr_NormalizeException(&kind, &self->error, &traceback);
        if (traceback) PyException_SetTraceback(self->error, traceback);
        Py_XDECREF(kind), Py_XDECREF(traceback);
    }
    self->spent = call;
}

/** Takes leave of the call; the last one to leave an answered one deletes it. */
void leave(deferred_t *self) noexcept {
    if (--self->waiters == 0) delete std::exchange(self->spent, nullptr);
}

PyObject *wait(PyObject *object, PyObject *) noexcept {
    deferred_t *const self = of(object);
    if (self->call) {
        ++self->waiters; // another thread may answer the call while this one sleeps on its outcome
        bool const over = self->call->wait();
        if (over && self->call) settle(self);
        leave(self);
        if (!over) return nullptr;
    }
    if (self->result) return reference_t::borrowed(self->result).release();
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
    PyObject *kind = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&kind, &value, &traceback);
    call_t::dispose(self->call);
    Py_XDECREF(self->result), Py_XDECREF(self->error);
    PyErr_Restore(kind, value, traceback);
    forget(object);
}

PyMethodDef methods[] = {
    {"wait", wait, METH_NOARGS,
     "wait($self, /)\n--\n\nSleeps until the call is final, other threads running meanwhile, and answers what the verb "
     "answers when it blocks, or raises what it raises. Again: the same answer.\n\nKeyboardInterrupt ends the wait, "
     "not "
     "the call."},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "Deferred[result], for annotations."},
    {}};
PyGetSetDef getters[] = {
    {"status", status, nullptr, "uform.Status, DEFERRED until the call is final; never waits.", nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_am_await, reinterpret_cast<void *>(await)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_doc,
     const_cast<char *>("A submitted call: await it in a coroutine, wait() for it anywhere else.\n\nDropping "
                        "it waits for the call first, as the library still reads the inputs it holds.")},
    {0, nullptr}};
PyType_Spec spec {"uform.Deferred", sizeof(deferred_t), 0, Py_TPFLAGS_DEFAULT, slots};

} // namespace

PyObject *make_deferred(call_t *call) noexcept {
    auto *const self = make<deferred_t>(type);
    if (!self) return call_t::dispose(call), nullptr;
    self->call = call;
    return reinterpret_cast<PyObject *>(self);
}

bool add_deferred(PyObject *module) noexcept { return (type = add_type(module, spec)) != nullptr; }

} // namespace binding
