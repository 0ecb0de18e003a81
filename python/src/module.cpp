/**
 *  @file module.cpp
 *  @brief The extension `uform._uform`: what it holds, and where it refuses to load.
 *
 *  One interpreter a process: calls report from the library's own threads, which take the main interpreter's GIL.
 */
#include "enums.hpp"
#include "objects.hpp"
#include "records.hpp"
#include "verbs.hpp"

namespace binding {

PyTypeObject *add_type(PyObject *module, PyType_Spec &spec, PyTypeObject *base) noexcept {
    reference_t const bases(base ? PyTuple_Pack(1, base) : nullptr);
    reference_t made(PyType_FromSpecWithBases(&spec, bases.get()));
    if (!made) return nullptr;
    auto *const type = reinterpret_cast<PyTypeObject *>(made.get());
    bool constructible = false;
    for (PyType_Slot const *slot = spec.slots; slot->slot; ++slot)
        constructible = constructible || slot->slot == Py_tp_new;
    if (!constructible) type->tp_new = nullptr; // made by verbs alone
    Py_INCREF(type);
    if (PyModule_AddObject(module, std::strrchr(spec.name, '.') + 1, made.get()) < 0) return Py_DECREF(type), nullptr;
    return reinterpret_cast<PyTypeObject *>(made.release());
}

namespace {

PyObject *capabilities(PyObject *, PyObject *) noexcept {
    uform_capabilities_t const found = uform_capabilities();
    return from_record(record_capabilities_k, &found);
}

PyObject *version(PyObject *, PyObject *) noexcept { return PyUnicode_FromString(uform_version()); }

PyObject *gpu_devices(PyObject *, PyObject *) noexcept {
    memory_t<uform_gpu_device_t> devices;
    std::size_t const count = uform_gpu_devices(nullptr, 0);
    if (!devices.allocate(count)) return nullptr;
    std::size_t const found = uform_gpu_devices(devices.data(), count), shown = found < count ? found : count;
    reference_t list(PyList_New(0));
    for (std::size_t index = 0; list && index < shown; ++index) {
        reference_t const device(from_record(record_gpu_device_k, &devices[index]));
        if (!device || PyList_Append(list.get(), device.get())) return nullptr;
    }
    return list.release();
}

/** Before the interpreter ends, while handlers can still take the GIL: stops and waits for what was submitted. */
PyObject *at_exit(PyObject *, PyObject *) noexcept {
    call_t::end_all();
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, "version()\n--\n\nOf the linked library, \"major.minor.patch\"."},
    {"capabilities", capabilities, METH_NOARGS,
     "capabilities()\n--\n\nWhat calls can be dispatched to, as a uform.Capabilities."},
    {"gpu_devices", gpu_devices, METH_NOARGS,
     "gpu_devices()\n--\n\nEvery GPU this process can drive, NVIDIA first, then AMD, as a list of uform.GPUDevice."},
    fast("rerank", rerank_alone,
         "rerank(query, documents, arena, *, outputs_scalar=None, progress=None, executor=None)\n--\n\nThe verb of the "
         "receivers without one, as it takes no model: on the calling thread, or blocking on `executor`."),
    {}};

bool ask_at_exit() noexcept {
    static PyMethodDef method {"stop_calls", at_exit, METH_NOARGS, nullptr};
    reference_t const module(PyImport_ImportModule("atexit")), function(PyCFunction_New(&method, nullptr));
    reference_t const done(module && function ? PyObject_CallMethod(module.get(), "register", "O", function.get())
                                              : nullptr);
    return bool(done);
}

int execute(PyObject *module) noexcept {
    static bool loaded = false;
    if (loaded || PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "uform loads once a process, in its main interpreter");
        return -1;
    }
    loaded = true;
    bool const whole = add_enums(module) && add_errors(module) && add_records(module) && add_executor(module) &&
                       add_arena(module) && add_views(module) && add_deferred(module) && add_encoding(module) &&
                       add_training(module) && ask_at_exit();
    return whole ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
                            {0, nullptr}};
PyModuleDef definition {PyModuleDef_HEAD_INIT,
                        "uform._uform",
                        "UForm's C ABI, verb by verb.",
                        0,
                        functions,
                        slots,
                        nullptr,
                        nullptr,
                        nullptr};

} // namespace
} // namespace binding

PyMODINIT_FUNC PyInit__uform() { return PyModuleDef_Init(&binding::definition); }
