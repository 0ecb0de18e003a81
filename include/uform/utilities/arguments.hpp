/**
 *  @file arguments.hpp
 *  @brief The checks of arguments that verbs share: views of the C ABI in, checked spans or a refusal out.
 *
 *  Arrow 0 of the data path. A refusal's message is static and names the field, so each check takes the field's name as
 *  a template argument and joins it to the rest when compiling: `check_tape<"texts">` refuses with "texts.offsets must
 *  not decrease". Checks run before a call is queued; the views they accept are read again, unchecked, by the work.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <uform/utilities/names.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** A string literal as a template argument. */
template <std::size_t size_>
struct literal_t {
    char text[size_] = {};
    constexpr literal_t() noexcept = default;
    constexpr literal_t(char const (&source)[size_]) noexcept {
        for (std::size_t i = 0; i < size_; ++i) text[i] = source[i];
    }
};

template <std::size_t first_, std::size_t second_>
constexpr literal_t<first_ + second_ - 1> join(literal_t<first_> a, literal_t<second_> b) noexcept {
    literal_t<first_ + second_ - 1> joined;
    for (std::size_t i = 0; i + 1 < first_; ++i) joined.text[i] = a.text[i];
    for (std::size_t i = 0; i < second_; ++i) joined.text[first_ - 1 + i] = b.text[i];
    return joined;
}

/** `field_` and `rest_` in one static string. */
template <literal_t field_, literal_t rest_>
inline constexpr auto joined_k = join(field_, rest_);

template <literal_t field_, literal_t rest_>
failure_t refuse(status_t status = uform_status_invalid_argument_k) noexcept {
    return fail(status, joined_k<field_, rest_>.text);
}

/** Items of a checked tape: item i is `items[i]`. */
template <typename element_>
class tape_t {
    element_ const *data_ = nullptr;
    std::size_t const *offsets_ = nullptr;
    std::uint32_t const *chosen_ = nullptr; // [count], or null: all
    std::size_t count_ = 0;

  public:
    tape_t() noexcept = default;
    /** The view must have passed `check_tape` with this count. */
    tape_t(uform_tape_view_t view, std::size_t count) noexcept
        : data_(static_cast<element_ const *>(view.data)), offsets_(view.offsets), count_(count) {}
    /** Some of a view's items, as if they were all: item i is the view's `chosen[i]`. The indices are borrowed. */
    tape_t(uform_tape_view_t view, std::span<std::uint32_t const> chosen) noexcept
        : data_(static_cast<element_ const *>(view.data)), offsets_(view.offsets), chosen_(chosen.data()),
          count_(chosen.size()) {}

    std::size_t size() const noexcept { return count_; }
    std::span<element_ const> operator[](std::size_t item) const noexcept {
        std::size_t const at = chosen_ ? chosen_[item] : item;
        return data_ ? std::span(data_ + offsets_[at], offsets_[at + 1] - offsets_[at]) : std::span<element_ const>();
    }
};

/** The most items a verb takes: their offsets must fit an address space. */
inline constexpr std::size_t items_limit_k = PTRDIFF_MAX / sizeof(std::size_t) - 1;

/** The first index at which `offsets[0 .. count]` decrease; zero where they never do. */
inline std::size_t first_decrease(std::size_t const *offsets, std::size_t count) noexcept {
    for (std::size_t i = 1; i <= count; ++i)
        if (offsets[i] < offsets[i - 1]) return i;
    return 0;
}

/** Accepts `count + 1` offsets that never decrease. */
template <literal_t field_>
failure_t check_offsets(std::size_t const *offsets, std::size_t count) noexcept {
    if (count > items_limit_k) return refuse<field_, " has more items than can be addressed">();
    if (!offsets) return refuse<field_, ".offsets must not be NULL">();
    std::size_t const at = first_decrease(offsets, count);
    if (at == 0) return {};
    failure_t failure = fail(uform_status_invalid_argument_k, joined_k<field_, ".offsets must not decrease">.text,
                             "offsets[%zu] is %zu, offsets[%zu] is %zu", at - 1, offsets[at - 1], at, offsets[at]);
    failure.item = at - 1;
    return failure;
}

/** Accepts `count` items of `scalar`, or of no stated scalar. */
template <literal_t field_>
failure_t check_tape(uform_tape_view_t const &view, std::size_t count, uform_scalar_t scalar) noexcept {
    if (view.scalar != uform_scalar_default_k && view.scalar != scalar)
        return fail(uform_status_invalid_argument_k, joined_k<field_, ".scalar is not what the verb takes">.text,
                    "%s, not %s", name_of_scalar(view.scalar), name_of_scalar(scalar));
    if (count == 0) return {};
    if (failure_t const failure = check_offsets<field_>(view.offsets, count)) return failure;
    std::size_t const bytes = scalar == uform_scalar_f32_k ? sizeof(float) : 1; // no verb takes another tape
    if (view.offsets[count] > PTRDIFF_MAX / bytes) return refuse<field_, ".offsets end beyond any memory">();
    if (!view.data && view.offsets[count] != view.offsets[0])
        return refuse<field_, ".data must not be NULL where an item is not empty">();
    if (reinterpret_cast<std::uintptr_t>(view.data) % bytes)
        return refuse<field_, ".data is not aligned to its scalar">();
    return {};
}

/** Accepts rows of vectors, at least one of them: a scalar that products take, a width, a stride that holds a row. */
template <literal_t field_, typename view_>
failure_t check_vectors(view_ const &view) noexcept {
    std::size_t const bytes = uform_scalar_bytes(view.scalar);
    switch (view.scalar) {
    case uform_scalar_f32_k:
    case uform_scalar_bf16_k:
    case uform_scalar_f16_k:
    case uform_scalar_i8_k: break;
    default:
        return fail(uform_status_invalid_argument_k, joined_k<field_, ".scalar must be f32, bf16, f16 or i8">.text,
                    "%s", name_of_scalar(view.scalar));
    }
    if (view.count == 0) return refuse<field_, ".count is zero, and there is nothing to compare">(uform_status_shape_mismatch_k);
    if (view.columns == 0) return refuse<field_, ".columns must be above zero">(uform_status_shape_mismatch_k);
    if (!view.data) return refuse<field_, ".data must not be NULL">();
    if (view.columns > PTRDIFF_MAX / bytes || view.stride < view.columns * bytes)
        return fail(uform_status_shape_mismatch_k, joined_k<field_, ".stride is less than a row">.text,
                    "%zu bytes for %zu columns", view.stride, view.columns);
    if (view.stride % bytes || reinterpret_cast<std::uintptr_t>(view.data) % bytes)
        return refuse<field_, ".data or .stride is not aligned to its scalar">();
    if (view.count > PTRDIFF_MAX / view.stride) return refuse<field_, ".count is more rows than can be addressed">();
    return {};
}

/** The first item whose lengths in two checked tapes differ, such as choices and their targets; `count` where none. */
inline std::size_t first_length_difference(uform_tape_view_t const &a, uform_tape_view_t const &b,
                                           std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (a.offsets[i + 1] - a.offsets[i] != b.offsets[i + 1] - b.offsets[i]) return i;
    return count;
}

/** Accepts the legal bytes of one item, none of them twice. */
inline failure_t refuse_twins(std::span<unsigned char const> choices) noexcept {
    bool seen[256] = {};
    for (unsigned char const choice : choices)
        if (std::exchange(seen[choice], true))
            return fail(uform_status_invalid_argument_k, "choices of one item must be all different",
                        "byte %u comes twice", unsigned(choice));
    return {};
}

/** Accepts any pointer where `length` is zero. */
template <literal_t field_>
failure_t check_bytes(uform_bytes_view_t view) noexcept {
    if (view.length > PTRDIFF_MAX) return refuse<field_, ".length is beyond any memory">();
    if (!view.data && view.length) return refuse<field_, ".data must not be NULL">();
    return {};
}

enum class presence_t { required_k, optional_k };

/** Accepts a path: not empty unless optional, without a NUL byte. */
template <literal_t field_>
failure_t check_path(uform_bytes_view_t view, presence_t presence = presence_t::required_k) noexcept {
    if (failure_t failure = check_bytes<field_>(view)) return failure;
    if (view.length == 0)
        return presence == presence_t::optional_k ? failure_t {} : refuse<field_, " must not be empty">();
    if (void const *const nul = std::memchr(view.data, 0, view.length))
        return fail(uform_status_invalid_argument_k, joined_k<field_, " must not hold a NUL byte">.text, "at byte %zu",
                    std::size_t(static_cast<char const *>(nul) - static_cast<char const *>(view.data)));
    return {};
}

/** Accepts scalars that rows can land as; i8 is for unit rows alone. */
inline failure_t check_outputs_scalar(uform_scalar_t scalar, bool unit_rows_only) noexcept {
    switch (scalar) {
    case uform_scalar_default_k:
    case uform_scalar_f32_k:
    case uform_scalar_bf16_k:
    case uform_scalar_f16_k: return {};
    case uform_scalar_i8_k:
        if (unit_rows_only) return {};
        return fail(uform_status_unsupported_k, "outputs_scalar i8 holds unit rows alone");
    default:
        return fail(uform_status_invalid_argument_k,
                    unit_rows_only ? "outputs_scalar must be f32, bf16, f16 or i8"
                                   : "outputs_scalar must be f32, bf16 or f16",
                    "%s", name_of_scalar(scalar));
    }
}

} // namespace uform
