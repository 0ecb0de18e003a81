/**
 *  @file utf8.cpp
 *  @brief Writing a str as UTF-8 straight into a tape.
 *
 *  `PyUnicode_AsUTF8AndSize` would keep a second copy of every text that is not ASCII inside the caller's str, for as
 *  long as the str lives: a corpus held as strs would double.
 */
#include "buffers.hpp"

namespace binding {
namespace {

template <typename unit_>
std::size_t length_of(unit_ const *units, Py_ssize_t count) noexcept {
    std::size_t bytes = std::size_t(count);
    for (Py_ssize_t index = 0; index < count; ++index) {
        Py_UCS4 const point = units[index];
        if (point >= 0xD800 && point < 0xE000) return SIZE_MAX;
        bytes += std::size_t(point >= 0x80) + std::size_t(point >= 0x800) + std::size_t(point >= 0x10000);
    }
    return bytes;
}

template <typename unit_>
unsigned char *write(unit_ const *units, Py_ssize_t count, unsigned char *out) noexcept {
    constexpr unsigned leads[] = {0, 0xC0, 0xE0, 0xF0};
    for (Py_ssize_t index = 0; index < count; ++index) {
        Py_UCS4 const point = units[index];
        if (point < 0x80) {
            *out++ = static_cast<unsigned char>(point);
            continue;
        }
        int const more = 1 + (point >= 0x800) + (point >= 0x10000); // bytes that continue
        *out++ = static_cast<unsigned char>(leads[more] | point >> 6 * more);
        for (int left = more - 1; left >= 0; --left)
            *out++ = static_cast<unsigned char>(0x80 | (point >> 6 * left & 0x3F));
    }
    return out;
}

} // namespace

std::size_t utf8_length(PyObject *text) noexcept {
    Py_ssize_t const count = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_ASCII(text)) return std::size_t(count);
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return length_of(PyUnicode_1BYTE_DATA(text), count);
    case PyUnicode_2BYTE_KIND:
        return length_of(PyUnicode_2BYTE_DATA(text), count);
    default:
        return length_of(PyUnicode_4BYTE_DATA(text), count);
    }
}

unsigned char *write_utf8(PyObject *text, unsigned char *out) noexcept {
    Py_ssize_t const count = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_ASCII(text)) return std::memcpy(out, PyUnicode_1BYTE_DATA(text), std::size_t(count)), out + count;
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return write(PyUnicode_1BYTE_DATA(text), count, out);
    case PyUnicode_2BYTE_KIND:
        return write(PyUnicode_2BYTE_DATA(text), count, out);
    default:
        return write(PyUnicode_4BYTE_DATA(text), count, out);
    }
}

} // namespace binding
