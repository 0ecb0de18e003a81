/**
 *  @file rows.hpp
 *  @brief Rows that depend on an item's bytes alone, and how they land as each scalar.
 *
 *  The hash is FNV-1a over 64 bits: h = 0xcbf29ce484222325, then h = (h ^ byte) * 0x100000001b3 for the surface's
 *  letter ('e' embeddings, 's' states, 't' token vectors, 'c' choices) and for each byte of the item, as cut to the context.
 *  Element i of row r is 2 u - 1, u = (2 (z >> 12) + 1) / 2^53, z = splitmix64(splitmix64(h + r) + i): never zero, so
 *  every row has a length. Unit rows are divided by it, in double.
 */
#pragma once
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <uform/types.h>

namespace uform_stub {

inline std::uint64_t hash_of(char surface, std::string_view bytes) noexcept {
    std::uint64_t hash = (0xcbf29ce484222325u ^ static_cast<unsigned char>(surface)) * 0x100000001b3u;
    for (char const byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return hash;
}

inline std::uint64_t splitmix64(std::uint64_t z) noexcept {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u, z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** In (-1, 1), never zero. */
inline double drawn(std::uint64_t hash, std::size_t row, std::size_t i) noexcept {
    return double(2 * (splitmix64(splitmix64(hash + row) + i) >> 12) + 1) * 0x1p-52 - 1.0;
}

/** The first `columns` of a row, scaled to `length`: a narrower row is a prefix of the wider one, rescaled. */
inline std::vector<float> row_of(std::uint64_t hash, std::size_t row, std::size_t columns, double length) {
    std::vector<float> values(columns);
    double squares = 0;
    for (std::size_t i = 0; i < columns; ++i) {
        double const value = drawn(hash, row, i);
        squares += value * value;
        values[i] = float(value);
    }
    for (float &value : values) value = float(value * (length / std::sqrt(squares)));
    return values;
}

inline std::uint16_t bf16_of(float x) noexcept {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(x);
    return std::uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline float widen_bf16(std::uint16_t bits) noexcept { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

/** Eleven significant bits, fewer below 2^-14, to nearest even. */
inline std::uint16_t f16_of(float x) noexcept {
    std::uint16_t const sign = std::signbit(x) ? 0x8000 : 0;
    int exponent = 0;
    std::frexp(x, &exponent);
    if (exponent < -13) exponent = -13;
    auto const steps = std::uint32_t(std::nearbyint(std::ldexp(std::fabs(double(x)), 11 - exponent)));
    if (steps < 1024) return std::uint16_t(sign | steps);
    // 2048 steps carry into the exponent by themselves.
    std::uint32_t const bits = (std::uint32_t(exponent + 14) << 10) + (steps - 1024);
    return std::uint16_t(sign | (bits < 0x7c00 ? bits : 0x7c00));
}
inline float widen_f16(std::uint16_t bits) noexcept {
    int const exponent = bits >> 10 & 31, fraction = bits & 1023;
    float const magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                            : exponent == 0 ? std::ldexp(float(fraction), -24)
                                            : std::ldexp(float(1024 + fraction), exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

/** False where a finite value would round to infinity. */
inline bool fits(float x, uform_scalar_t scalar) noexcept {
    if (scalar == uform_scalar_bf16_k) return std::isfinite(widen_bf16(bf16_of(x)));
    return scalar != uform_scalar_f16_k || std::isfinite(widen_f16(f16_of(x)));
}

/** Stores a row of finite values where it lands. */
inline void land(std::vector<float> const &row, uform_scalar_t scalar, std::byte *target) noexcept {
    for (std::size_t i = 0; i < row.size(); ++i) switch (scalar) {
        case uform_scalar_bf16_k:
            reinterpret_cast<std::uint16_t *>(target)[i] = bf16_of(row[i]);
            break;
        case uform_scalar_f16_k:
            reinterpret_cast<std::uint16_t *>(target)[i] = f16_of(row[i]);
            break;
        case uform_scalar_i8_k:
            reinterpret_cast<std::int8_t *>(target)[i] = std::int8_t(std::nearbyint(row[i] * 127));
            break;
        default:
            reinterpret_cast<float *>(target)[i] = row[i];
        }
}

} // namespace uform_stub
