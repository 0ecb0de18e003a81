/**
 *  @file training.hpp
 *  @brief The verbs over a trainer, as methods that `Trainer`, `TrainerOn` and `TrainerDeferredOn` share.
 */
#pragma once
#include "objects.hpp"
#include "words.hpp"

namespace binding {

receiver_t trainer_receiver_of(PyObject *self) noexcept;

PyObject *init_ram(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *init_vram(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *step(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *save(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;

bool add_mesh(PyObject *module) noexcept;

} // namespace binding
