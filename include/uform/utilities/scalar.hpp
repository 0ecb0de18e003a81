/**
 *  @file scalar.hpp
 *  @brief Storage scalars and their conversions: BFloat16 as its 16 bits, rounded to nearest even.
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
