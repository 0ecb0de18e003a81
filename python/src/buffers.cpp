/**
 *  @file buffers.cpp
 *  @brief Borrowing buffers and arrays of numbers.
 */
#include "buffers.hpp"
#include "words.hpp"

#include <type_traits>

namespace binding {

bool buffer_t::borrow(PyObject *object, char const *name) noexcept {
    release();
    if (!PyObject_CheckBuffer(object))
        return PyErr_Format(PyExc_TypeError, "%s must be a buffer, not %.100s", name, Py_TYPE(object)->tp_name), false;
    if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) return held_ = true;
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return false;
    PyErr_Clear();
    // Asked again without a word of layout, to tell a strided buffer from one that refuses for a reason of its own.
    if (!borrow_strided(object, name)) return false;
    if (PyBuffer_IsContiguous(&view_, 'C')) return true;
    release();
    return raise(uform_status_unsupported_layout_k, "%s must be C-contiguous", name), false;
}

bool buffer_t::borrow_strided(PyObject *object, char const *name) noexcept {
    release();
    if (!PyObject_CheckBuffer(object))
        return PyErr_Format(PyExc_TypeError, "%s must be a buffer, not %.100s", name, Py_TYPE(object)->tp_name), false;
    return held_ = PyObject_GetBuffer(object, &view_, PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0;
}

char buffer_t::letter() const noexcept {
    char const *format = view_.format ? view_.format : "B";
    char const own_order = PY_LITTLE_ENDIAN ? '<' : '>';
    if (*format == '@' || *format == '=' || *format == own_order) ++format;
    return format[0] && !format[1] ? format[0] : '\0';
}

bool buffer_t::is_integer(std::size_t bytes) const noexcept {
    char const name = letter();
    return name && std::strchr("bBhHiIlLqQnN", name) && std::size_t(view_.itemsize) == bytes;
}

bool buffer_t::is_bytes() const noexcept {
    char const name = letter();
    return view_.itemsize == 1 && (name == 'B' || name == 'c' || name == 's');
}

uform_scalar_t scalar_of(buffer_t const &buffer) noexcept {
    switch (buffer.letter()) {
    case 'f':
        return uform_scalar_f32_k;
    case 'e':
        return uform_scalar_f16_k;
    case 'b':
        return uform_scalar_i8_k;
    case 'B':
        return uform_scalar_u8_k;
    default:
        return uform_scalar_unknown_k;
    }
}

template <typename element_>
bool array_t<element_>::fits(buffer_t const &buffer) const noexcept {
    if (buffer.view().ndim > 1) return false;
    if constexpr (std::is_floating_point_v<element_>)
        return buffer.letter() == 'f';
    else
        return buffer.is_integer(sizeof(element_));
}

template <typename element_>
bool array_t<element_>::take_buffer(PyObject *value, char const *name) noexcept {
    buffer_t lent;
    if (!lent.borrow(value, name)) return false;
    if (!fits(lent))
        return PyErr_Format(PyExc_TypeError, "%s must be a 1-D buffer of %s, or a sequence", name,
                            std::is_floating_point_v<element_> ? "float32"
                            : sizeof(element_) == 8            ? "8-byte integers"
                                                               : "4-byte integers"),
               false;
    if (!copied_.allocate(lent.elements())) return false;
    count_ = lent.elements();
    return count_ == 0 || std::memcpy(copied_.data(), lent.data(), count_ * sizeof(element_)), true;
}

/** One number of a sequence; false where it is beyond the type, or, with an exception set, none. */
template <typename element_>
bool to_element(PyObject *item, char const *name, element_ &out) noexcept {
    if constexpr (std::is_floating_point_v<element_>) {
        float got = 0;
        return given(item) ? to_f32(item, name, got) && (out = got, true)
                           : (PyErr_Format(PyExc_TypeError, "%s must hold numbers, not None", name), false);
    } else {
        if (!PyIndex_Check(item))
            return PyErr_Format(PyExc_TypeError, "%s must hold integers, not %.100s", name, Py_TYPE(item)->tp_name),
                   false;
        reference_t const number(PyNumber_Index(item));
        if (!number) return false;
        long long const got = PyLong_AsLongLong(number.get());
        if (got == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
        return out = element_(got), std::in_range<element_>(got);
    }
}

template <typename element_>
bool array_t<element_>::take(PyObject *value, char const *name) noexcept {
    if (!given(value)) return true;
    if (PyObject_CheckBuffer(value)) return take_buffer(value, name);
    reference_t const items(to_items(value, name));
    if (!items) return false;
    count_ = std::size_t(PyTuple_GET_SIZE(items.get()));
    if (!copied_.allocate(count_)) return false;
    for (std::size_t index = 0; index < count_; ++index) {
        if (to_element(PyTuple_GET_ITEM(items.get(), index), name, copied_[index])) continue;
        if (PyErr_Occurred()) return blame_item(index);
        return raise_item(uform_status_invalid_argument_k, index, "%s holds a number out of range", name), false;
    }
    return true;
}
template class array_t<std::size_t>;
template class array_t<std::uint32_t>;
template class array_t<std::int32_t>;
template class array_t<float>;

} // namespace binding
