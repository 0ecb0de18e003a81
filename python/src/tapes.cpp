/**
 *  @file tapes.cpp
 *  @brief Tapes: lent as they are, or gathered from a sequence with one copy.
 */
#include "buffers.hpp"
#include "words.hpp"

namespace binding {
namespace {

/** Whether these are data and offsets rather than two items: no item is a list, a tuple or a buffer of wide integers. */
bool is_pair(PyObject *value) noexcept {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) return false;
    PyObject *const offsets = PyTuple_GET_ITEM(value, 1);
    if (PyList_Check(offsets) || PyTuple_Check(offsets)) return true;
    if (!PyObject_CheckBuffer(offsets) || PyBytes_Check(offsets)) return false;
    buffer_t marks;
    if (!marks.borrow_strided(offsets, "offsets")) return PyErr_Clear(), true; // lend() says why
    return marks.view().itemsize > 1 && marks.is_integer(std::size_t(marks.view().itemsize));
}

/** Borrows an item that is neither str nor bytes. */
bool borrow_item(buffer_t &buffer, PyObject *item, std::size_t index, char const *name, bool texts) noexcept {
    if (!PyObject_CheckBuffer(item)) {
        PyErr_Format(PyExc_TypeError, "%s must hold %sbytes-like items, not %.100s", name, texts ? "str or " : "",
                     Py_TYPE(item)->tp_name);
        return blame_item(index);
    }
    if (!buffer.borrow(item, name)) return blame_item(index);
    if (buffer.is_bytes()) return true;
    PyErr_Format(PyExc_TypeError, "%s must hold buffers of uint8", name);
    return blame_item(index);
}

bool measure(PyObject *item, std::size_t index, char const *name, bool texts, std::size_t &length) noexcept {
    if (PyBytes_Check(item)) return length = std::size_t(PyBytes_GET_SIZE(item)), true;
    if (texts && PyUnicode_Check(item)) {
        if ((length = utf8_length(item)) != SIZE_MAX) return true;
        return raise_item(uform_status_invalid_argument_k, index, "%s: a str holds half of a surrogate pair", name),
               false;
    }
    buffer_t buffer;
    if (!borrow_item(buffer, item, index, name, texts)) return false;
    return length = std::size_t(buffer.view().len), true;
}

/** Copies an item that was measured; false where it has changed its length since. */
bool copy(PyObject *item, std::size_t index, char const *name, unsigned char *out, std::size_t length) noexcept {
    if (PyUnicode_Check(item)) return write_utf8(item, out), true;
    if (PyBytes_Check(item)) return std::memcpy(out, PyBytes_AS_STRING(item), length), true;
    buffer_t buffer;
    if (!buffer.borrow(item, name)) return blame_item(index);
    if (std::size_t(buffer.view().len) != length)
        return raise_item(uform_status_invalid_argument_k, index, "%s: a buffer changed while it was read", name),
               false;
    return length == 0 || std::memcpy(out, buffer.data(), length), true;
}

} // namespace

bool tape_t::lend(PyObject *data, PyObject *offsets, char const *name) noexcept {
    char offsets_name[64];
    PyOS_snprintf(offsets_name, sizeof(offsets_name), "%s.offsets", name);
    if (!lent_data_.borrow(data, name)) return false;
    bool const fits = view_.scalar == uform_scalar_u8_k ? lent_data_.is_bytes() : lent_data_.letter() == 'f';
    if (!fits)
        return PyErr_Format(PyExc_TypeError, "%s: the data must be of %s", name, uform_scalar_name(view_.scalar)),
               false;
    if (!lent_offsets_.take(offsets, offsets_name)) return false;
    if (lent_offsets_.count() == 0)
        return raise(uform_status_invalid_argument_k, "%s are one more than the items, so at least one", offsets_name),
               false;
    count_ = lent_offsets_.count() - 1;
    view_.data = lent_data_.data(), view_.offsets = lent_offsets_.data();
    // The library refuses offsets that decrease, but cannot know where the data ends.
    if (view_.offsets[count_] > lent_data_.elements())
        return raise(uform_status_invalid_argument_k, "%s end at %zu, %s.data at %zu", offsets_name,
                     view_.offsets[count_], name, lent_data_.elements()),
               false;
    return true;
}

bool tape_t::gather_bytes(PyObject *items, char const *name, bool texts) noexcept {
    std::size_t total = 0;
    for (std::size_t index = 0; index < count_; ++index) {
        std::size_t length = 0;
        if (!measure(PyTuple_GET_ITEM(items, index), index, name, texts, length)) return false;
        copied_offsets_[index] = total, total += length;
    }
    copied_offsets_[count_] = total;
    if (!copied_data_.allocate(total)) return false;
    for (std::size_t index = 0; index < count_; ++index) {
        std::size_t const start = copied_offsets_[index];
        if (!copy(PyTuple_GET_ITEM(items, index), index, name, copied_data_.data() + start,
                  copied_offsets_[index + 1] - start))
            return false;
    }
    return true;
}

bool tape_t::gather_samples(PyObject *items, char const *name) noexcept {
    memory_t<buffer_t> buffers;
    if (!buffers.allocate(count_)) return false;
    std::size_t taken = 0, total = 0;
    bool right = true;
    for (; right && taken < count_; ++taken) {
        buffer_t *const buffer = new (&buffers[taken]) buffer_t;
        right = buffer->borrow(PyTuple_GET_ITEM(items, taken), name);
        if (right && (buffer->letter() != 'f' || buffer->view().ndim > 1))
            PyErr_Format(PyExc_TypeError, "%s must be 1-D buffers of float32", name), right = false;
        if (!right) blame_item(taken);
        if (right) copied_offsets_[taken] = total, total += buffer->elements();
    }
    right = right && copied_data_.allocate(total * sizeof(float));
    for (std::size_t index = 0; index < taken; ++index) {
        std::size_t const bytes = std::size_t(buffers[index].view().len);
        if (right && bytes)
            std::memcpy(copied_data_.data() + copied_offsets_[index] * sizeof(float), buffers[index].data(), bytes);
        buffers[index].~buffer_t();
    }
    if (right) copied_offsets_[count_] = total;
    return right;
}

bool tape_t::take(PyObject *value, char const *name, uform_scalar_t scalar, bool texts) noexcept {
    view_.scalar = scalar;
    if (is_pair(value)) return lend(PyTuple_GET_ITEM(value, 0), PyTuple_GET_ITEM(value, 1), name);
    if (PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s must be a sequence of items, not one %.100s", name,
                            Py_TYPE(value)->tp_name),
               false;
    reference_t const items(to_items(value, name));
    if (!items) return false;
    count_ = std::size_t(PyTuple_GET_SIZE(items.get()));
    if (!copied_offsets_.allocate(count_ + 1)) return false;
    if (!(scalar == uform_scalar_u8_k ? gather_bytes(items.get(), name, texts) : gather_samples(items.get(), name)))
        return false;
    view_.data = copied_data_.data(), view_.offsets = copied_offsets_.data();
    return true;
}

bool tape_t::take_as_many(PyObject *value, char const *name, uform_scalar_t scalar, std::size_t items) noexcept {
    if (!take(value, name, scalar)) return false;
    return count_ == items ||
           (raise(uform_status_shape_mismatch_k, "%s has %zu items for %zu", name, count_, items), false);
}

} // namespace binding
