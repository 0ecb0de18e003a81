/**
 *  @file scalar.hpp
 *  @brief Storage scalars and their conversions: BFloat16 as its 16 bits, E4M3 as its 8, both rounded to nearest even.
 *
 *  `__bf16` arithmetic needs newer compilers than ours, so the bits are an ordinary struct and all arithmetic happens in
 *  float. `narrow_of` and `widen` let a loop written once over a scalar store what that scalar is stored as: float
 *  stores BFloat16, the oracles double and complex<double> store themselves.
 */
#pragma once
#include <bit>
#include <complex>
#include <cstdint>

namespace uform {

/** BFloat16: the upper half of a float32. */
struct bf16_t {
    std::uint16_t bits;
};
static_assert(sizeof(bf16_t) == 2);

inline float widen(bf16_t x) noexcept { return std::bit_cast<float>(std::uint32_t(x.bits) << 16); }
inline double widen(double x) noexcept { return x; }
inline std::complex<double> widen(std::complex<double> x) noexcept { return x; }

/** Rounds to nearest, ties to even; a NaN stays a NaN (quiet), an overflow becomes infinity. */
inline bf16_t round_to_bf16(float x) noexcept {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {std::uint16_t((bits >> 16) | 0x40u)};
    return {std::uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/** OCP E4M3 FN: sign, 4 bits of exponent with bias 7, 3 of mantissa; 448 is the largest, there is no infinity. */
struct e4m3_t {
    std::uint8_t bits;
};
static_assert(sizeof(e4m3_t) == 1);

/** Every E4M3 value is a BFloat16: the exponent moves by 120, and what is below 2^-6, m 2^-9, gets a leading bit. */
constexpr bf16_t to_bf16(e4m3_t x) noexcept {
    unsigned const sign = unsigned(x.bits & 0x80u) << 8, magnitude = x.bits & 0x7fu;
    if (magnitude == 0x7fu) return {std::uint16_t(sign | 0x7fc0u)};
    if (magnitude >= 8 || magnitude == 0) return {std::uint16_t(sign | (magnitude ? (magnitude << 4) + 0x3c00u : 0))};
    unsigned const leading = unsigned(std::bit_width(magnitude)) - 1;
    return {std::uint16_t(sign | (118u + leading) << 7 | (magnitude << (7 - leading) & 0x7fu))};
}
inline float widen(e4m3_t x) noexcept { return widen(to_bf16(x)); }

/** The BFloat16 of every magnitude, for classes that look them up. */
struct e4m3_table_t {
    alignas(64) bf16_t values[128] = {};
    constexpr e4m3_table_t() noexcept {
        for (unsigned code = 0; code < 128; ++code) values[code] = to_bf16({std::uint8_t(code)});
    }
};

/**
 *  Rounds to nearest, ties to even, and to 448 whatever is beyond; a NaN stays a NaN. Added to two to the exponent + 20,
 *  or + 14 below the least normal, a magnitude loses in float's own rounding just the bits that E4M3 has no room for,
 *  and the sum's last bits are the mantissa.
 */
inline e4m3_t round_to_e4m3(float x) noexcept {
    constexpr std::uint32_t least_normal = 121u << 23, largest = 0x43e00000u; // 2^-6 and 448
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(x), sign = bits >> 24 & 0x80u, all = bits & 0x7fffffffu;
    std::uint32_t const magnitude = all < largest ? all : largest, exponent = magnitude & 0x7f800000u;
    std::uint32_t const floor = exponent > least_normal ? exponent : least_normal, base = floor + (20u << 23);
    float const sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(base);
    std::uint32_t const code = (std::bit_cast<std::uint32_t>(sum) - base) + ((floor - least_normal) >> 20);
    return {std::uint8_t(sign | (all > 0x7f800000u ? 0x7fu : code))};
}

template <typename scalar_>
struct narrow_of;
template <>
struct narrow_of<float> {
    using type = bf16_t;
    static type from(float x) noexcept { return round_to_bf16(x); }
};
template <>
struct narrow_of<double> {
    using type = double;
    static type from(double x) noexcept { return x; }
};
template <>
struct narrow_of<std::complex<double>> {
    using type = std::complex<double>;
    static type from(type x) noexcept { return x; }
};

/** The scalar that `wide_` is stored as between operations: BFloat16 for float, itself for the oracles. */
template <typename wide_>
using narrow_t = typename narrow_of<wide_>::type;

template <typename wide_>
narrow_t<wide_> narrow(wide_ x) noexcept {
    return narrow_of<wide_>::from(x);
}

} // namespace uform
