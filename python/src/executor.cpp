/**
 *  @file executor.cpp
 *  @brief `uform.Executor`: the threads or streams that calls run on.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "objects.hpp"
#include "words.hpp"

namespace binding {

PyTypeObject *executor_type = nullptr;

namespace {

executor_object_t *of(PyObject *object) noexcept { return reinterpret_cast<executor_object_t *>(object); }

/** Runs a verb that makes an executor, and wraps the handle. */
template <typename arguments_>
PyObject *create(void (*verb)(arguments_ *), arguments_ &call, bool on_devices) noexcept {
    uform_outcome_t outcome;
    uform_executor_t handle = nullptr;
    call.executor = &handle, call.outcome = &outcome;
    {
        without_gil_t const others;
        verb(&call);
    }
    if (outcome.status != uform_status_success_k) return raise(outcome);
    auto *const self = make<executor_object_t>(executor_type);
    if (!self) return uform_executor_free(handle), nullptr;
    self->handle = handle, self->on_devices = on_devices;
    return reinterpret_cast<PyObject *>(self);
}

PyObject *for_ram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"threads", "memory_domains", "cpu_class"};
    PyObject *values[3];
    if (!parse({"for_ram", words, 3, 1, 0}, given_, count, names, values)) return nullptr;
    uform_executor_for_ram_t call {};
    array_t<std::size_t> domains;
    if (!to_size(values[0], "threads", call.threads) || !domains.take(values[1], "memory_domains") ||
        !to_enum(enum_cpu_class_k, values[2], "cpu_class", call.cpu_class))
        return nullptr;
    call.memory_domains = domains.data(), call.memory_domains_count = domains.count();
    return create(uform_executor_for_ram, call, false);
}

PyObject *for_vram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"devices", "scratch_limit", "gpu_class", "cpu_class", "memory_domains"};
    PyObject *values[5];
    if (!parse({"for_vram", words, 5, 1, 0}, given_, count, names, values)) return nullptr;
    uform_executor_for_vram_t call {};
    array_t<std::size_t> devices, domains;
    if (!devices.take(values[0], "devices") || !to_size(values[1], "scratch_limit", call.scratch_limit) ||
        !to_enum(enum_gpu_class_k, values[2], "gpu_class", call.gpu_class) ||
        !to_enum(enum_cpu_class_k, values[3], "cpu_class", call.cpu_class) ||
        !domains.take(values[4], "memory_domains"))
        return nullptr;
    call.devices = devices.data(), call.devices_count = devices.count();
    call.memory_domains = domains.data(), call.memory_domains_count = domains.count();
    return create(uform_executor_for_vram, call, true);
}

PyObject *on_pool(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"pool"};
    PyObject *pool;
    if (!parse({"on_pool", words, 1, 1, 1}, given_, count, names, &pool)) return nullptr;
    uform_executor_on_pool_t call {};
    call.pool = pool;
    return create(uform_executor_on_pool, call, false);
}

bool may_wait(PyObject *self) noexcept {
    if (!call_t::reports_here(of(self))) return true;
    return raise(uform_status_contended_k, "executor runs the call whose progress handler this is"), false;
}

PyObject *drain(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"mood"};
    PyObject *mood;
    uform_outcome_t outcome;
    uform_executor_drain_t call {of(self)->handle, &outcome, uform_mood_spinning_k};
    if (!parse({"drain", words, 1, 1, 0}, given_, count, names, &mood)) return nullptr;
    if (!to_enum(enum_mood_k, mood, "mood", call.mood)) return nullptr;
    if (!call.executor) return raise(uform_status_invalid_argument_k, "executor is closed");
    if (!may_wait(self)) return nullptr;
    {
        without_gil_t const others;
        uform_executor_drain(&call);
    }
    if (outcome.status != uform_status_success_k) return raise(outcome);
    Py_RETURN_NONE;
}

PyObject *close(PyObject *self, PyObject *) noexcept {
    if (!may_wait(self)) return nullptr;
    uform_executor_t const handle = std::exchange(of(self)->handle, nullptr);
    if (handle) {
        call_t::wait_for_all(of(self), false);
        without_gil_t const others;
        uform_executor_free(handle);
    }
    Py_RETURN_NONE;
}

PyObject *enter(PyObject *self, PyObject *) noexcept {
    if (!of(self)->handle) return raise(uform_status_invalid_argument_k, "executor is closed");
    return reference_t::borrowed(self).release();
}

void deallocate(PyObject *self) noexcept { // calls hold a reference, so none is left
    uform_executor_t const handle = std::exchange(of(self)->handle, nullptr);
    if (handle) {
        without_gil_t const others;
        uform_executor_free(handle);
    }
    forget(self);
}

PyMethodDef methods[] = {
    fast("for_ram", for_ram,
         "for_ram(threads=0, *, memory_domains=None, cpu_class=None)\n--\n\nStarts host threads: `threads` of them, "
         "zero for what affinity and control groups leave, from the NUMA nodes `memory_domains`, pinned to a "
         "uform.CPUClass or None for this machine's best.\n\nRaises UnsupportedError for a class this machine or build "
         "lacks.",
         METH_STATIC),
    fast("for_vram", for_vram,
         "for_vram(devices=None, *, scratch_limit=0, gpu_class=None, cpu_class=None, memory_domains=None)\n--\n\nOpens "
         "one stream per GPU, by positions in uform.gpu_devices(); `scratch_limit` is bytes per device.\n\nRaises "
         "UnsupportedError in builds without a GPU vendor.",
         METH_STATIC),
    fast(
        "on_pool", on_pool,
        "on_pool(pool)\n--\n\nWould borrow the threads of a pool; raises UnsupportedError until borrowing is designed.",
        METH_STATIC),
    fast("drain", drain,
         "drain($self, /, mood=None)\n--\n\nWaits until no call holds the executor, then sets how its threads idle: a "
         "uform.Mood, None for SPINNING.\n\nRaises ContendedError where another thread drains it, and inside a "
         "progress handler of its own."),
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\nWaits for its calls, then ends its threads. Later calls on it raise "
     "InvalidArgumentError; inside a progress handler of its own it raises ContendedError."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", close, METH_VARARGS, nullptr},
    {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char *>("Threads, or device streams, that calls run on, one call at a time.\n\nMade by "
                                   "for_ram or for_vram; closes at the end of a with block.")},
    {0, nullptr}};
PyType_Spec spec {"uform.Executor", sizeof(executor_object_t), 0, Py_TPFLAGS_DEFAULT, slots};

} // namespace

bool to_executor(PyObject *value, executor_object_t *&out) noexcept {
    if (!given(value)) return true;
    if (Py_TYPE(value) != executor_type)
        return PyErr_Format(PyExc_TypeError, "executor must be a uform.Executor, not %.100s", Py_TYPE(value)->tp_name),
               false;
    return out = of(value), true;
}

bool add_executor(PyObject *module) noexcept { return (executor_type = add_type(module, spec)) != nullptr; }

} // namespace binding
