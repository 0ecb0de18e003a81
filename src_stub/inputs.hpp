/**
 *  @file inputs.hpp
 *  @brief Refusing inputs that live in the arena their call is about to rewind: the last of a verb's checks.
 *
 *  Views come here checked. An arena that another call holds is refused here already, as its blocks may be moving.
 */
#pragma once
#include <initializer_list>

#include "failure.hpp"
#include "handles.hpp"

namespace uform_stub {

/** Bytes that a call reads, and the field that says so. */
struct input_t {
    char const *field;
    void const *data;
    std::size_t bytes;
};

/** The bytes of a tape's items. */
inline input_t input_of(char const *field, uform_tape_view_t const &view, std::size_t count) noexcept {
    if (!count || !view.data) return {field, nullptr, 0};
    return {field, static_cast<std::byte const *>(view.data) + view.offsets[0], view.offsets[count] - view.offsets[0]};
}
/** Rows `[first, last)` of a matrix, without the padding behind the last one. */
template <typename view_>
input_t input_of(char const *field, view_ const &view, std::size_t first, std::size_t last) noexcept {
    if (first == last) return {field, nullptr, 0};
    return {field, static_cast<std::byte const *>(view.data) + first * view.stride,
            (last - first - 1) * view.stride + view.columns * uform_scalar_bytes(view.scalar)};
}
/** An array of `count` elements, or none at all. */
template <typename element_>
input_t input_of(char const *field, element_ const *data, std::size_t count) noexcept {
    return {field, data, data ? count * sizeof(element_) : 0};
}
/** The `count + 1` offsets of a tape that has items. */
inline input_t offsets_of(char const *field, std::size_t const *offsets, std::size_t count) noexcept {
    return input_of(field, count ? offsets : nullptr, count + 1);
}

inline void check_inputs(uform_arena_t arena, std::initializer_list<input_t> inputs) {
    if (!arena) return;
    if (!arena->hold.try_hold()) fail(uform_status_contended_k, "arena serves another call");
    char const *inside = nullptr;
    for (input_t const &input : inputs)
        if (!inside && arena->holds(input.data, input.bytes)) inside = input.field;
    arena->hold.leave();
    if (inside) refuse("arena holds what the call reads", inside);
}

} // namespace uform_stub
