/**
 *  @file verbs.hpp
 *  @brief The verbs over a model, as methods that `Model`, `On` and `DeferredOn` share.
 */
#pragma once
#include "objects.hpp"
#include "words.hpp"

namespace binding {

/** Who `self` is: a model on the calling thread, on an executor, or submitting to one. */
receiver_t receiver_of(PyObject *self) noexcept;

PyObject *text_encode(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *image_encode(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *image_encode_pixels(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *video_encode(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *audio_encode(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *audio_encode_samples(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *text_choose(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
/** Of a receiver, or of the module with an executor by keyword, as reranking takes no model. */
PyObject *rerank(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *rerank_alone(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;

/** The static constructors of `uform.Model`, one per load verb. */
PyObject *load_ram(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *load_ram_buffer(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *load_vram(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;
PyObject *load_vram_buffer(PyObject *, PyObject *const *, Py_ssize_t, PyObject *) noexcept;

} // namespace binding
