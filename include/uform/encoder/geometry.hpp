/**
 *  @file geometry.hpp
 *  @brief The sizes of one model, and the slice of a batch that an operation works on.
 *
 *  `geometry_t` is what a checkpoint's metadata says; `items_t` is the ragged structure every operation that looks
 *  beyond one token needs: item i owns tokens `[offsets[i], offsets[i + 1])`.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace uform {

inline constexpr std::size_t head_width_k = 64;  // one constant: every tier's heads are 64 wide
inline constexpr std::size_t head_pairs_k = 32;  // rotary pairs (v[j], v[j + 32]) of a head
inline constexpr std::size_t vocabulary_k = 258; // 256 byte values, MASK, PAD
inline constexpr std::uint16_t mask_token_k = 256;
inline constexpr std::uint16_t pad_token_k = 257;
inline constexpr std::size_t byte_values_k = 256; // what the decoder can answer
inline constexpr float rmsnorm_epsilon_k = 1e-6f;

struct geometry_t {
    std::size_t hidden = 0;  // d, a multiple of 128
    std::size_t depth = 0;   // L
    std::size_t context = 0; // tokens of one item at most

    std::size_t heads() const noexcept { return hidden / head_width_k; }
    std::size_t inner() const noexcept { return 4 * hidden; }
};

/** The items of one packed slice: offsets are relative to the slice and start at zero. */
struct items_t {
    std::span<std::uint32_t const> offsets; // [count + 1]

    std::size_t count() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
    std::size_t tokens() const noexcept { return offsets.empty() ? 0 : offsets.back(); }
};

} // namespace uform
