/**
 *  @file words.hpp
 *  @brief Arguments by position and by keyword, as every method and constructor takes them, and their simple values.
 */
#pragma once
#include "python.hpp"

namespace binding {

/** The parameters of one callable: `names[0, positional)` may come by position, `names[0, required)` must come. */
struct signature_t {
    char const *callable;
    char const *const *names;
    std::size_t count, positional, required;
};

/** Sorts a vectorcall's arguments into `values[count]`, NULL where absent; TypeError where they do not fit. */
bool parse(signature_t const &signature, PyObject *const *arguments, Py_ssize_t positional, PyObject *names,
           PyObject **values) noexcept;
/** The same of a constructor's tuple and dict. */
bool parse(signature_t const &signature, PyObject *arguments, PyObject *keywords, PyObject **values) noexcept;

/** A count; absent or None leaves it. Negative is `invalid_argument`, as it would wrap to what the library refuses. */
bool to_size(PyObject *value, char const *name, std::size_t &out) noexcept;
bool to_u64(PyObject *value, char const *name, std::uint64_t &out) noexcept;
bool to_f32(PyObject *value, char const *name, float &out) noexcept;

/** The items of any iterable, in a tuple of our own: a list may change while its items are looked at. */
reference_t to_items(PyObject *value, char const *name) noexcept;

/** A path as `os.fsencode` gives its bytes, kept alive by `keep`. */
bool to_path(PyObject *value, reference_t &keep, uform_bytes_view_t &out) noexcept;
/** A str as UTF-8, or bytes as they are, kept alive by `keep`. */
bool to_bytes(PyObject *value, char const *name, reference_t &keep, uform_bytes_view_t &out) noexcept;

} // namespace binding
