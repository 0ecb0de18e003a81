/**
 *  @file mesh.cpp
 *  @brief `uform.Mesh`: this process's half of a run's transport.
 */
#include "records.hpp"
#include "training.hpp"

namespace binding {

PyTypeObject *mesh_type = nullptr;

namespace {

struct bootstrap_call_t : call_t {
    uform_mesh_bootstrap_t arguments {};
    uform_mesh_t mesh = nullptr;
    reference_t options;

    ~bootstrap_call_t() override { uform_mesh_free(mesh); }
    void enter(uform_completion_t completion) noexcept override {
        arguments.mesh = &mesh, arguments.executor = executor_handle, arguments.outcome = &outcome;
        arguments.completion = completion, arguments.options.progress = progress();
        uform_mesh_bootstrap(&arguments);
    }
    PyObject *result() noexcept override {
        auto *const self = make<mesh_object_t>(mesh_type);
        if (!self) return nullptr;
        self->handle = std::exchange(mesh, nullptr), self->executor = executor.release();
        return reinterpret_cast<PyObject *>(self);
    }
};

PyObject *bootstrap(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"executor", "options", "progress"};
    PyObject *values[3];
    receiver_t receiver;
    if (!parse({"bootstrap", words, 3, 2, 0}, given_, count, names, values) ||
        !to_executor(values[0], receiver.executor))
        return nullptr;
    auto *const call = new (std::nothrow) bootstrap_call_t;
    if (!call) return PyErr_NoMemory();
    if (!call->receive(receiver) ||
        !to_record(record_mesh_options_k, values[1], "options", call->options, &call->arguments.options) ||
        !call->take_handler(values[2]))
        return delete call, nullptr;
    return run(call, uform_completion_blocking_k);
}

PyObject *describe(PyObject *self, PyObject *) noexcept {
    uform_outcome_t outcome;
    uform_mesh_description_t description {};
    uform_mesh_describe_t call {reinterpret_cast<mesh_object_t *>(self)->handle, &outcome, &description};
    uform_mesh_describe(&call);
    return outcome.status == uform_status_success_k ? from_record(record_mesh_description_k, &description)
                                                    : raise(outcome);
}

void deallocate(PyObject *object) noexcept { // trainers over it hold a reference, so none is left
    auto *const self = reinterpret_cast<mesh_object_t *>(object);
    {
        without_gil_t const others; // it waits a moment for its peers to leave too
        uform_mesh_free(self->handle);
    }
    Py_XDECREF(self->executor);
    forget(object);
}

PyMethodDef methods[] = {
    fast("bootstrap", bootstrap,
         "bootstrap(executor=None, options=None, *, progress=None)\n--\n\nJoins this process to a run, as a "
         "uform.MeshOptions says. `progress(completed, total)` counts processes that joined.\n\nRaises "
         "ConfigMismatchError where processes disagree, InputOutputError where a peer does not come in time.",
         METH_STATIC),
    {"describe", describe, METH_NOARGS,
     "describe($self, /)\n--\n\nWhat the run agreed on, as a uform.MeshDescription."},
    {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char *>("The process-wide half of a run's transport. Dropping it leaves "
                                                      "the run.")},
                       {0, nullptr}};
PyType_Spec spec {"uform.Mesh", sizeof(mesh_object_t), 0, Py_TPFLAGS_DEFAULT, slots};

} // namespace

bool add_mesh(PyObject *module) noexcept { return (mesh_type = add_type(module, spec)) != nullptr; }

} // namespace binding
