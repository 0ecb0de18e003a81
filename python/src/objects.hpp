/**
 *  @file objects.hpp
 *  @brief The Python objects over the C handles, and how they are made from one another.
 */
#pragma once
#include "call.hpp"
#include "python.hpp"

namespace binding {

struct executor_object_t {
    PyObject_HEAD uform_executor_t handle; // NULL once closed
    bool on_devices;
};

struct arena_object_t {
    PyObject_HEAD uform_arena_t handle;
    PyObject *executor;       // where it computes, or NULL
    Py_ssize_t exports;       // buffers over its outputs that somebody holds
    std::uint64_t generation; // of the call that last named it; views of another are stale
    call_t *current;          // the call that last named it, until it was answered
};

struct model_object_t {
    PyObject_HEAD uform_model_t handle;
};

struct mesh_object_t {
    PyObject_HEAD uform_mesh_t handle;
    PyObject *executor;
};

struct trainer_object_t {
    PyObject_HEAD uform_trainer_t handle;
    PyObject *executor, *mesh; // either may be NULL
};

/** A receiver other than the model or the trainer: `on` and `deferred` of either. */
struct receiver_object_t {
    PyObject_HEAD PyObject *handle, *executor;
};

extern PyTypeObject *executor_type, *arena_type, *model_type, *mesh_type, *trainer_type;

bool add_executor(PyObject *module) noexcept;
bool add_arena(PyObject *module) noexcept;
bool add_views(PyObject *module) noexcept;
bool add_encoding(PyObject *module) noexcept; // the verbs, their receivers and the model
bool add_training(PyObject *module) noexcept;

/** An executor that is open, NULL for absent or None; TypeError otherwise. */
bool to_executor(PyObject *value, executor_object_t *&out) noexcept;
bool to_arena(PyObject *value, reference_t &out) noexcept;

/** Makes the views of the arena's last call stale and this call its own; ContendedError while one is exported or
 *  another call writes into it. */
bool rewind(arena_object_t &arena, call_t &call) noexcept;

/** An output as `uform.ArenaBuffer`, `flat` where its one column is no axis. */
PyObject *make_rows(call_t const &call, uform_rows_t const &rows, bool flat = false) noexcept;
/** An output as `uform.RowsTape`, of `items` items. */
PyObject *make_rows_tape(call_t const &call, uform_rows_tape_t const &rows, std::size_t items,
                         bool flat = false) noexcept;
/** `uform.Encoded`; NULL pointers are surfaces that were left out. */
PyObject *make_encoded(call_t const &call, uform_rows_t const *embeddings, uform_rows_tape_t const *states,
                       uform_rows_tape_t const *token_vectors, std::size_t items) noexcept;

class buffer_t;
/** Rows to read: an output as the library landed it, or a 2-D buffer of float32, float16 or int8. `arena` is named where
 *  the rows live in one. */
bool to_rows(PyObject *value, char const *name, buffer_t &buffer, uform_rows_t &out, PyObject *&arena) noexcept;
/** The offsets of a `RowsTape`, a new reference; NULL without an exception where it is none. */
PyObject *offsets_of(PyObject *value) noexcept;

} // namespace binding
