/**
 *  @file arena.cpp
 *  @brief `uform.Arena`: the memory outputs land in, and who may name it now.
 */
#include "objects.hpp"
#include "words.hpp"

namespace binding {

PyTypeObject *arena_type = nullptr;

namespace {

arena_object_t *of(PyObject *object) noexcept { return reinterpret_cast<arena_object_t *>(object); }

PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords) noexcept {
    static char const *const words[] = {"executor"};
    PyObject *value;
    executor_object_t *executor = nullptr;
    if (!parse({"Arena", words, 1, 1, 0}, arguments, keywords, &value) || !to_executor(value, executor)) return nullptr;
    if (executor && !executor->handle) return raise(uform_status_invalid_argument_k, "executor is closed");
    reference_t made(type->tp_alloc(type, 0));
    if (!made) return nullptr;
    arena_object_t *const self = of(made.get());
    uform_outcome_t outcome;
    uform_arena_init_t call {&self->handle, executor ? executor->handle : nullptr, &outcome};
    uform_arena_init(&call); // makes an empty one: nothing to let others run for
    if (outcome.status != uform_status_success_k) return raise(outcome);
    self->executor = reference_t::borrowed(reinterpret_cast<PyObject *>(executor)).release();
    return made.release();
}

void deallocate(PyObject *object) noexcept { // calls and exported views hold a reference, so none is left
    arena_object_t *const self = of(object);
    uform_arena_free(self->handle);
    Py_XDECREF(self->executor);
    forget(object);
}

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(construct)},
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_doc, const_cast<char *>(
                    "Arena(executor=None)\n--\n\nThe memory that outputs land in, where `executor` computes, or host "
                    "pages.\n\nEvery call that names it, even one that fails, makes the views of the call before "
                    "stale: reading one raises InvalidArgumentError. A NumPy array or memoryview over an output pins "
                    "it: the next call that names it raises ContendedError until the last of them is gone.")},
    {0, nullptr}};
PyType_Spec spec {"uform.Arena", sizeof(arena_object_t), 0, Py_TPFLAGS_DEFAULT, slots};

} // namespace

bool rewind(arena_object_t &arena, call_t &call) noexcept {
    if (arena.exports > 0)
        return raise(uform_status_contended_k,
                     "arena is pinned by %zd exported views; release the arrays or memoryviews over its outputs",
                     arena.exports),
               false;
    if (arena.current && arena.current->status() == uform_status_deferred_k && !arena.current->lost())
        return raise(uform_status_contended_k, "arena serves another call"), false;
    arena.current = &call, call.generation = ++arena.generation;
    return true;
}

bool to_arena(PyObject *value, reference_t &out) noexcept {
    if (Py_TYPE(value) != arena_type)
        return PyErr_Format(PyExc_TypeError, "arena must be a uform.Arena, not %.100s", Py_TYPE(value)->tp_name), false;
    return out = reference_t::borrowed(value), true;
}

bool add_arena(PyObject *module) noexcept { return (arena_type = add_type(module, spec)) != nullptr; }

} // namespace binding
