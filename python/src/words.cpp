/**
 *  @file words.cpp
 *  @brief Bodies of words.hpp.
 */
#include "words.hpp"
#include "errors.hpp"

namespace binding {
namespace {

bool too_many(signature_t const &signature, Py_ssize_t positional) noexcept {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments by position, %zd were given", signature.callable,
                 signature.positional, positional);
    return false;
}

bool take_keyword(signature_t const &signature, PyObject *name, PyObject *value, PyObject **values) noexcept {
    for (std::size_t index = 0; index < signature.count; ++index) {
        if (PyUnicode_CompareWithASCIIString(name, signature.names[index]) != 0) continue;
        if (!values[index]) return values[index] = value, true;
        PyErr_Format(PyExc_TypeError, "%s() got '%U' twice", signature.callable, name);
        return false;
    }
    PyErr_Format(PyExc_TypeError, "%s() takes no '%U'", signature.callable, name);
    return false;
}

bool complete(signature_t const &signature, PyObject **values) noexcept {
    for (std::size_t index = 0; index < signature.required; ++index)
        if (!values[index])
            return PyErr_Format(PyExc_TypeError, "%s() needs '%s'", signature.callable, signature.names[index]), false;
    return true;
}

bool take_positional(signature_t const &signature, PyObject *const *arguments, Py_ssize_t positional,
                     PyObject **values) noexcept {
    if (std::size_t(positional) > signature.positional) return too_many(signature, positional);
    std::memset(values, 0, signature.count * sizeof(*values));
    for (Py_ssize_t index = 0; index < positional; ++index) values[index] = arguments[index];
    return true;
}

} // namespace

bool parse(signature_t const &signature, PyObject *const *arguments, Py_ssize_t positional, PyObject *names,
           PyObject **values) noexcept {
    if (!take_positional(signature, arguments, positional, values)) return false;
    Py_ssize_t const named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t index = 0; index < named; ++index)
        if (!take_keyword(signature, PyTuple_GET_ITEM(names, index), arguments[positional + index], values))
            return false;
    return complete(signature, values);
}

bool parse(signature_t const &signature, PyObject *arguments, PyObject *keywords, PyObject **values) noexcept {
    PyObject *const *const items = &PyTuple_GET_ITEM(arguments, 0);
    if (!take_positional(signature, items, PyTuple_GET_SIZE(arguments), values)) return false;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &name, &value);)
        if (!take_keyword(signature, name, value, values)) return false;
    return complete(signature, values);
}

bool to_u64(PyObject *value, char const *name, std::uint64_t &out) noexcept {
    if (!given(value)) return true;
    if (!PyIndex_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s must be an integer, not %.100s", name, Py_TYPE(value)->tp_name), false;
    reference_t const integer(PyNumber_Index(value));
    if (!integer) return false;
    unsigned long long const got = PyLong_AsUnsignedLongLong(integer.get());
    if (got == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
        PyErr_Clear();
        return raise(uform_status_invalid_argument_k, "%s must be from 0 to 2^64 - 1", name), false;
    }
    return out = got, true;
}

bool to_size(PyObject *value, char const *name, std::size_t &out) noexcept {
    std::uint64_t wide = out;
    if (!to_u64(value, name, wide)) return false;
    return out = std::size_t(wide), true;
}

bool to_f32(PyObject *value, char const *name, float &out) noexcept {
    if (!given(value)) return true;
    if (!PyNumber_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s must be a number, not %.100s", name, Py_TYPE(value)->tp_name), false;
    double const got = PyFloat_AsDouble(value);
    if (got == -1.0 && PyErr_Occurred()) return false;
    if (got - got == 0 && float(got) - float(got) != 0)
        return raise(uform_status_invalid_argument_k, "%s is beyond float32", name), false;
    return out = float(got), true;
}

reference_t to_items(PyObject *value, char const *name) noexcept {
    if (Py_TYPE(value)->tp_iter || PySequence_Check(value)) return reference_t(PySequence_Tuple(value));
    PyErr_Format(PyExc_TypeError, "%s must be a sequence, not %.100s", name, Py_TYPE(value)->tp_name);
    return reference_t();
}

bool to_path(PyObject *value, reference_t &keep, uform_bytes_view_t &out) noexcept {
    if (!given(value)) return true;
    reference_t path(PyOS_FSPath(value));
    if (path && PyUnicode_Check(path.get())) path = reference_t(PyUnicode_EncodeFSDefault(path.get()));
    if (!path) return false;
    out = {PyBytes_AS_STRING(path.get()), std::size_t(PyBytes_GET_SIZE(path.get()))};
    return keep = std::move(path), true;
}

bool to_bytes(PyObject *value, char const *name, reference_t &keep, uform_bytes_view_t &out) noexcept {
    if (!given(value)) return true;
    reference_t bytes;
    if (PyUnicode_Check(value))
        bytes = reference_t(PyUnicode_AsUTF8String(value));
    else if (PyBytes_Check(value))
        bytes = reference_t::borrowed(value);
    else
        PyErr_Format(PyExc_TypeError, "%s must be a str or bytes, not %.100s", name, Py_TYPE(value)->tp_name);
    if (!bytes) return false;
    out = {PyBytes_AS_STRING(bytes.get()), std::size_t(PyBytes_GET_SIZE(bytes.get()))};
    return keep = std::move(bytes), true;
}

} // namespace binding
