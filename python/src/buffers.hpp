/**
 *  @file buffers.hpp
 *  @brief What callers lend: buffers without a copy, arrays of numbers, tapes of items.
 *
 *  A lent buffer stays exported for as long as its object here lives, so that its owner can neither resize nor free it
 *  while a call reads it. Everything is checked here that the library cannot see: sizes, scalars, contiguity.
 */
#pragma once
#include "errors.hpp"
#include "python.hpp"

namespace binding {

/** One exported buffer, released at the end of its scope, with the GIL held. */
class buffer_t {
    Py_buffer view_ {};
    bool held_ = false;

  public:
    buffer_t() noexcept = default;
    buffer_t(buffer_t const &) = delete;
    ~buffer_t() { release(); }
    void release() noexcept {
        if (std::exchange(held_, false)) PyBuffer_Release(&view_);
    }

    /** Borrows a C-contiguous buffer with its format and shape; what is strided otherwise is `unsupported_layout`, what
     *  is no buffer a TypeError. */
    bool borrow(PyObject *object, char const *name) noexcept;
    /** The same of rows that may be strided, as an arena's and a NumPy slice's are. */
    bool borrow_strided(PyObject *object, char const *name) noexcept;

    bool held() const noexcept { return held_; }
    Py_buffer const &view() const noexcept { return view_; }
    void const *data() const noexcept { return view_.buf; }
    std::size_t elements() const noexcept { return view_.itemsize ? std::size_t(view_.len / view_.itemsize) : 0; }
    /** The format's letter, past a byte order that is this machine's; NUL where it has more than one letter. */
    char letter() const noexcept;
    bool is_integer(std::size_t bytes) const noexcept;
    bool is_bytes() const noexcept;
};

/** The scalar of a format's letter: f32, f16, i8 or u8; `unknown` for others. */
uform_scalar_t scalar_of(buffer_t const &buffer) noexcept;

/** Numbers, one per item or edge, copied from a buffer of that scalar or from a sequence: the library trusts what it
 *  checked, and another thread, or whoever submitted a call, may write into a buffer that is merely lent. */
template <typename element_>
class array_t {
    memory_t<element_> copied_;
    std::size_t count_ = 0;

    bool fits(buffer_t const &buffer) const noexcept;
    bool take_buffer(PyObject *value, char const *name) noexcept;

  public:
    /** Absent or None: NULL, of no elements. */
    bool take(PyObject *value, char const *name) noexcept;
    /** The same, and as long as there are items. */
    bool take(PyObject *value, char const *name, std::size_t items) noexcept {
        if (!given(value)) return true;
        if (!take(value, name)) return false;
        return count_ == items ||
               (raise(uform_status_shape_mismatch_k, "%s has %zu elements for %zu items", name, count_, items), false);
    }
    element_ const *data() const noexcept { return copied_.data(); }
    std::size_t count() const noexcept { return count_; }
};
extern template class array_t<std::size_t>;
extern template class array_t<std::uint32_t>;
extern template class array_t<std::int32_t>;
extern template class array_t<float>;

/** Items laid end to end. */
class tape_t {
    buffer_t lent_data_;
    array_t<std::size_t> lent_offsets_;
    memory_t<unsigned char> copied_data_;
    memory_t<std::size_t> copied_offsets_;
    std::size_t count_ = 0;
    uform_tape_view_t view_ {};

    bool lend(PyObject *data, PyObject *offsets, char const *name) noexcept;
    bool gather_bytes(PyObject *items, char const *name, bool texts) noexcept;
    bool gather_samples(PyObject *items, char const *name) noexcept;

  public:
    /** A sequence of texts or files (u8), or of 1-D float32 buffers (f32), gathered with one copy; or a tuple of data,
     *  lent, and offsets, which are a buffer of integers, a list or a tuple. Only where `texts` are meant is a str an
     *  item: of files it would be a path. */
    bool take(PyObject *value, char const *name, uform_scalar_t scalar, bool texts = true) noexcept;
    /** The same, and of as many items. */
    bool take_as_many(PyObject *value, char const *name, uform_scalar_t scalar, std::size_t items) noexcept;

    std::size_t count() const noexcept { return count_; }
    uform_tape_view_t const &view() const noexcept { return view_; }
};

/** Where a str is written as UTF-8, without the copy that CPython would keep inside the str. */
std::size_t utf8_length(PyObject *text) noexcept;                       // SIZE_MAX: a lone surrogate
unsigned char *write_utf8(PyObject *text, unsigned char *out) noexcept; // the end of what was written

} // namespace binding
