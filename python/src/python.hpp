/**
 *  @file python.hpp
 *  @brief CPython as this binding sees it: owned references, the GIL let go, and the small words every file uses.
 *
 *  Everything here runs with the GIL held unless it says otherwise. Failure is CPython's own way: NULL or false, with an
 *  exception set. No C++ exception is ever thrown, so allocations go through `PyMem_` or `new (std::nothrow)`.
 */
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <uform/uform.h>

namespace binding {

/** One reference, given back at the end of its scope. */
class reference_t {
    PyObject *object_ = nullptr;

  public:
    reference_t() noexcept = default;
    /** Takes over a new reference; NULL is none. */
    explicit reference_t(PyObject *owned) noexcept : object_(owned) {}
    static reference_t borrowed(PyObject *object) noexcept { return reference_t(Py_XNewRef_(object)); }
    reference_t(reference_t &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    reference_t &operator=(reference_t &&other) noexcept {
        PyObject *const old = std::exchange(object_, std::exchange(other.object_, nullptr));
        Py_XDECREF(old);
        return *this;
    }
    ~reference_t() { Py_XDECREF(object_); }

    PyObject *get() const noexcept { return object_; }
    PyObject *release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

  private:
    static PyObject *Py_XNewRef_(PyObject *object) noexcept { return Py_XINCREF(object), object; }
};

/** Lets other Python threads run for a scope; nothing of Python may be touched in it. */
class without_gil_t {
    PyThreadState *state_;

  public:
    without_gil_t() noexcept : state_(PyEval_SaveThread()) {}
    without_gil_t(without_gil_t const &) = delete;
    ~without_gil_t() { PyEval_RestoreThread(state_); }
};

/** Takes the GIL on any thread for a scope. */
class with_gil_t {
    PyGILState_STATE state_;

  public:
    with_gil_t() noexcept : state_(PyGILState_Ensure()) {}
    with_gil_t(with_gil_t const &) = delete;
    ~with_gil_t() { PyGILState_Release(state_); }
};

/** Memory of PyMem, freed at the end of its scope. */
template <typename element_>
class memory_t {
    element_ *data_ = nullptr;

  public:
    memory_t() noexcept = default;
    memory_t(memory_t const &) = delete;
    ~memory_t() { PyMem_Free(data_); }

    /** Room for `count` elements, at least one; false with MemoryError set. */
    bool allocate(std::size_t count) noexcept {
        PyMem_Free(std::exchange(data_, nullptr));
        std::size_t const most = std::size_t(PY_SSIZE_T_MAX) / sizeof(element_);
        if (count <= most) data_ = static_cast<element_ *>(PyMem_Malloc((count ? count : 1) * sizeof(element_)));
        return data_ || (PyErr_NoMemory(), false);
    }
    element_ *data() const noexcept { return data_; }
    element_ &operator[](std::size_t index) const noexcept { return data_[index]; }
};

inline bool given(PyObject *value) noexcept { return value && value != Py_None; }

/** Makes a type of a module from its spec, and puts it there under its last name. */
PyTypeObject *add_type(PyObject *module, PyType_Spec &spec, PyTypeObject *base = nullptr) noexcept;

template <typename object_>
object_ *make(PyTypeObject *type) noexcept {
    return reinterpret_cast<object_ *>(type->tp_alloc(type, 0));
}
/** The end of a deallocation of a heap type: its memory, then its hold on the type. */
inline void forget(PyObject *self) noexcept {
    PyTypeObject *const type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

using fast_t = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
inline PyMethodDef fast(char const *name, fast_t function, char const *doc, int more = 0) noexcept {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
            METH_FASTCALL | METH_KEYWORDS | more, doc};
}

} // namespace binding
