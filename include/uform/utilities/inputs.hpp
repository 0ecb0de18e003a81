/**
 *  @file inputs.hpp
 *  @brief Refusing inputs that live in the arena their call is about to rewind.
 *
 *  Arrow 0 of the data path, the last of a verb's checks: what a call before landed in an arena dies as the next one
 *  takes it, so a call that reads from its own arena would read freed memory. The arena knows its blocks' addresses.
 *  Views come here checked.
 */
#pragma once
#include <initializer_list>

#include <uform/utilities/call.hpp>

namespace uform {

/** Bytes that a call reads, and the field that says so. */
struct input_t {
    char const *field;
    void const *data;
    std::size_t bytes;
};

/** The items of a tape of bytes. */
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

/** Refuses inputs of the arena's own memory. An arena in use is refused here already: its blocks may be moving. */
inline failure_t check_inputs(uform_arena_t arena, std::initializer_list<input_t> inputs) noexcept {
    if (!arena) return {};
    if (!arena->arena.try_look()) return refuse_held<"arena">(arena->arena.torn_by_fork());
    failure_t failure;
    for (input_t const &input : inputs)
        if (!failure && arena->arena.holds(input.data, input.bytes))
            failure = fail(uform_status_invalid_argument_k, "arena holds what the call reads", "%s", input.field);
    arena->arena.release();
    return failure;
}

} // namespace uform
