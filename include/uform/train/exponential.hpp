/**
 *  @file exponential.hpp
 *  @brief exp and softplus for rows of a loss: single precision by 4-wide polynomials, the oracles as they are.
 *
 *  `exp_of(float)` computes in double and a loop over it is scalar on baseline x86-64; a step of the masked objective
 *  takes a million of them. Here everything is +, -, *, / and integer additions in float, so a loop vectorizes and
 *  every machine answers the same bits, within two units in the last place. Below -87 exp answers 0, above 88 it stays
 *  at exp(88): losses shift by a row's maximum first.
 */
#pragma once
#include <bit>
#include <complex>
#include <cstdint>

#include <uform/train/normalize.hpp>
#include <uform/utilities/elementary.hpp>

namespace uform {

/** `x` where the condition holds, else `y`. */
template <typename scalar_>
[[gnu::always_inline]] inline scalar_ select(bool condition, scalar_ x, scalar_ y) noexcept {
    return condition ? x : y;
}
/** By bits: the compiler threads conditions into branches, and a loop with them is not vectorized, five times slower. */
template <>
[[gnu::always_inline]] inline float select(bool condition, float x, float y) noexcept {
    std::uint32_t const mask = 0u - std::uint32_t(condition);
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & mask) | (std::bit_cast<std::uint32_t>(y) & ~mask));
}

[[gnu::always_inline]] inline float exponential(float x) noexcept {
    constexpr float shift_k = 0x1.8p23f; // adding it rounds to an integer, kept in the low bits
    // At -88 the exponent's bits are zero, and so is the power.
    float const clamped = select(x < -87.0f, -88.0f, select(x > 88.0f, 88.0f, x));
    float const shifted = clamped * 1.44269504088896341f + shift_k, whole = shifted - shift_k;
    float const r = (clamped - whole * 0.693359375f) - whole * -2.12194440e-4f; // the first product is exact
    // Taylor's series to r^7, |r| <= ln(2)/2: the first term left out is below 2^-27 of the sum.
    float const series =
        1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040)))));
    float const fraction = (r * r * series + r) + 1.0f;
    std::uint32_t const exponent = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(shift_k);
    return fraction * std::bit_cast<float>((exponent + 127) << 23);
}
inline double exponential(double x) noexcept { return exp_of(x); }
inline std::complex<double> exponential(std::complex<double> x) noexcept { return exp_of(x); }

/** softplus and its slope, from one exponential. */
template <typename scalar_>
struct soft_t {
    scalar_ value, slope;
};

template <typename scalar_>
[[gnu::always_inline]] inline soft_t<scalar_> soft(scalar_ x) noexcept {
    bool const positive = real_of(x) > 0;
    scalar_ const e = exponential(positive ? -x : x), one = 1, zero = 0;
    return {(positive ? x : zero) + log1p_of(e), (positive ? one : e) / (one + e)};
}

/**
 *  log(1 + e) for e in [0, 1] is 2 atanh(s), s = e / (2 + e) <= 1/3: the series' first term left out is below 2e-8 of
 *  it.
 */
template <>
[[gnu::always_inline]] inline soft_t<float> soft(float x) noexcept {
    float const magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu);
    float const e = exponential(-magnitude), top = select(x > 0, 1.0f, e), hinge = select(x > 0, x, 0.0f);
    float const s = e / (2.0f + e), z = s * s;
    float const series =
        1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9 + z * (1.0f / 11 + z / 13))));
    return {hinge + 2.0f * (s + s * z * series), top / (1.0f + e)};
}

} // namespace uform
