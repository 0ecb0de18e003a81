/**
 *  @file cursor.hpp
 *  @brief A fuzzer's bytes read as fields: mostly usual values, now and then the worst a caller could put there.
 *
 *  Past its end every byte reads as zero, and zero is always the usual value: a short input is a well-behaved call, and
 *  every byte that a fuzzer adds spoils one more field.
 */
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace uform_fuzz {

class cursor_t {
    std::uint8_t const *at_, *end_;

  public:
    cursor_t(std::uint8_t const *data, std::size_t size) noexcept : at_(data), end_(data + size) {}

    bool empty() const noexcept { return at_ == end_; }
    std::uint8_t byte() noexcept { return at_ == end_ ? 0 : *at_++; }
    std::uint64_t word() noexcept {
        std::uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word |= std::uint64_t(byte()) << 8 * i;
        return word;
    }
    /** Below `limit`, at most 256. */
    std::size_t below(std::size_t limit) noexcept { return byte() % limit; }
    /** Whether the next field is to be a bad one. */
    bool hostile() noexcept { return byte() >= 0xe0; }
    /** A fair coin that falls on false at the end. */
    bool coin() noexcept { return byte() & 1; }

    /** The usual size, or one around the ends of an address space and its shares, or any. */
    std::size_t size(std::size_t usual) noexcept {
        if (!hostile()) return usual;
        constexpr std::size_t half = std::size_t(PTRDIFF_MAX);
        std::size_t const sizes[] = {0, SIZE_MAX, half, half + 1, half / 4, half / 4 + 1, half / 8, half / 8 + 1};
        std::size_t const kind = below(std::size(sizes) + 1);
        return kind < std::size(sizes) ? sizes[kind] + std::size_t(std::int8_t(byte())) : std::size_t(word());
    }
    /** An enumerator from zero to `last`, or any integer at all. */
    std::int32_t enumerator(std::int32_t last) noexcept {
        if (!hostile()) return std::int32_t(below(std::size_t(last) + 1));
        return coin() ? std::int32_t(word()) : last + 1 - std::int32_t(below(std::size_t(last) + 3));
    }
    /** The usual number, or what arithmetic goes wrong on. */
    float real(float usual) noexcept {
        if (!hostile()) return usual;
        float const reals[] = {NAN, INFINITY, -INFINITY, -1.0f, -0.0f, 1e-45f, 3.4e38f, 1.5f};
        std::size_t const kind = below(std::size(reals) + 1);
        if (kind < std::size(reals)) return reals[kind];
        std::uint32_t const bits = std::uint32_t(word());
        float any;
        std::memcpy(&any, &bits, sizeof(any));
        return any;
    }
};

} // namespace uform_fuzz
