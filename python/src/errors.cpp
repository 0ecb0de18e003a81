/**
 *  @file errors.cpp
 *  @brief Bodies of errors.hpp.
 */
#include "errors.hpp"
#include "enums.hpp"

#include <cstdarg>

namespace binding {
namespace {

constexpr std::size_t statuses_k = uform_status_invalid_argument_k + 1;
PyObject *base_class = nullptr, *invalid_type_class = nullptr, *classes[statuses_k] = {};

struct class_t {
    uform_status_t status;
    char const *name, *doc;
    PyObject *const *builtin; // NULL: Error alone
};

class_t const table[] = {
    {uform_status_out_of_memory_k, "OutOfMemoryError", "Host or device memory ran out.", &PyExc_MemoryError},
    {uform_status_shape_mismatch_k, "ShapeMismatchError", "Sizes disagree with each other or with a capacity.",
     &PyExc_ValueError},
    {uform_status_unsupported_layout_k, "UnsupportedLayoutError", "Valid, but laid out as nothing here reads.",
     &PyExc_ValueError},
    {uform_status_unknown_kind_k, "UnknownKindError", "The content's format is not recognized.", &PyExc_ValueError},
    {uform_status_io_k, "InputOutputError", "The operating system failed to open, read, map or write.", &PyExc_OSError},
    {uform_status_device_k, "DeviceError", "An accelerator failed, or memory is not where it must be.", nullptr},
    {uform_status_malformed_k, "MalformedError", "The content breaks its own format, or holds NaN or infinity.",
     &PyExc_ValueError},
    {uform_status_internal_k, "InternalError", "The library broke its own promise: a bug to report.", nullptr},
    {uform_status_config_mismatch_k, "ConfigMismatchError", "Processes, or a run and its checkpoint, disagree.",
     &PyExc_ValueError},
    {uform_status_contended_k, "ContendedError", "Another call or an exported view holds what was named.", nullptr},
    {uform_status_cancelled_k, "CancelledError", "The progress handler answered False.", nullptr},
    {uform_status_unsupported_k, "UnsupportedError", "Valid, but nothing this build, machine or model can do.",
     &PyExc_NotImplementedError},
    {uform_status_invalid_argument_k, "InvalidArgumentError", "An argument no build would accept.", &PyExc_ValueError},
};

/** What instances show where nothing set it: the class's status, no item, no detail. */
PyObject *defaults(uform_status_t status) noexcept {
    reference_t const member(from_enum(enum_status_k, status));
    return member ? Py_BuildValue("{sOsOss}", "status", member.get(), "item", Py_None, "detail", "") : nullptr;
}

PyObject *make_class(PyObject *module, char const *name, char const *doc, uform_status_t status,
                     PyObject *bases) noexcept {
    char qualified[64];
    PyOS_snprintf(qualified, sizeof(qualified), "uform.%s", name);
    reference_t const attributes(defaults(status));
    PyObject *const made = attributes ? PyErr_NewExceptionWithDoc(qualified, doc, bases, attributes.get()) : nullptr;
    if (!made) return nullptr;
    Py_INCREF(made);
    if (PyModule_AddObject(module, name, made) == 0) return made;
    Py_DECREF(made);
    return nullptr;
}

PyObject *raise_with(uform_status_t status, char const *message, char const *detail, std::size_t item) noexcept {
    PyObject *const type =
        status >= 0 && std::size_t(status) < statuses_k && classes[status] ? classes[status] : base_class;
    reference_t const told(PyUnicode_DecodeUTF8(detail, Py_ssize_t(std::strlen(detail)), "replace"));
    reference_t text(told ? PyUnicode_FromFormat(*detail ? "%s: %U" : "%s", message, told.get()) : nullptr);
    if (text && item != SIZE_MAX) text = reference_t(PyUnicode_FromFormat("%U (item %zu)", text.get(), item));
    reference_t const error(text ? PyObject_CallFunctionObjArgs(type, text.get(), nullptr) : nullptr);
    reference_t const member(from_enum(enum_status_k, status));
    reference_t const index(item == SIZE_MAX ? reference_t::borrowed(Py_None).release() : PyLong_FromSize_t(item));
    if (!error || !member || !index || PyObject_SetAttrString(error.get(), "status", member.get()) ||
        PyObject_SetAttrString(error.get(), "item", index.get()) ||
        PyObject_SetAttrString(error.get(), "detail", told.get()))
        return nullptr;
    PyErr_SetObject(type, error.get());
    return nullptr;
}

PyObject *raise_formatted(uform_status_t status, std::size_t item, char const *format, std::va_list rest) noexcept {
    char message[512];
    PyOS_vsnprintf(message, sizeof(message), format, rest);
    return raise_with(status, message, "", item);
}

} // namespace

PyObject *raise(uform_outcome_t const &outcome) noexcept {
    return raise_with(outcome.status, outcome.message, outcome.detail, outcome.item);
}

PyObject *raise(uform_status_t status, char const *format, ...) noexcept {
    std::va_list rest;
    va_start(rest, format);
    raise_formatted(status, SIZE_MAX, format, rest);
    va_end(rest);
    return nullptr;
}

PyObject *raise_item(uform_status_t status, std::size_t item, char const *format, ...) noexcept {
    std::va_list rest;
    va_start(rest, format);
    raise_formatted(status, item, format, rest);
    va_end(rest);
    return nullptr;
}

PyObject *take_exception() noexcept {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback && value) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type), Py_XDECREF(traceback);
    return value;
}

bool blame_item(std::size_t item) noexcept {
    bool const ours = PyErr_ExceptionMatches(base_class);
    if (!ours && !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    reference_t const before(take_exception());
    auto *const type = ours ? reinterpret_cast<PyObject *>(Py_TYPE(before.get())) : invalid_type_class;
    reference_t const text(PyUnicode_FromFormat("%S (item %zu)", before.get(), item)), index(PyLong_FromSize_t(item));
    reference_t const error(text ? PyObject_CallFunctionObjArgs(type, text.get(), nullptr) : nullptr);
    if (error && index && PyObject_SetAttrString(error.get(), "item", index.get()) == 0)
        PyErr_SetObject(type, error.get());
    return false;
}

bool add_errors(PyObject *module) noexcept {
    base_class =
        make_class(module, "Error",
                   "Every failure of the library, and every fault found on its behalf.\n\n"
                   "`status` is its uform.Status, `item` the index of the item at fault or None, `detail` what "
                   "varies: a tensor's name, both values, a rank.",
                   uform_status_internal_k, PyExc_RuntimeError);
    if (!base_class) return false;
    for (class_t const &row : table) {
        reference_t const bases(row.builtin ? PyTuple_Pack(2, base_class, *row.builtin) : PyTuple_Pack(1, base_class));
        classes[row.status] = bases ? make_class(module, row.name, row.doc, row.status, bases.get()) : nullptr;
        if (!classes[row.status]) return false;
    }
    reference_t const both(PyTuple_Pack(2, classes[uform_status_invalid_argument_k], PyExc_TypeError));
    invalid_type_class = both ? make_class(module, "InvalidTypeError",
                                           "An item of a list is of a type that none can be; `item` says which.",
                                           uform_status_invalid_argument_k, both.get())
                              : nullptr;
    return invalid_type_class != nullptr;
}

} // namespace binding
