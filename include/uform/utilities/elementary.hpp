/**
 *  @file elementary.hpp
 *  @brief Our own exp, log, sin, cos: the same bits on every machine, compiler and C library.
 *
 *  Used wherever a result must not depend on libm: rotary tables, keyed normals, losses, the serial kernels. Everything
 *  is +, -, *, / and bit operations in double, which IEEE 754 defines to the last bit (contraction is off
 *  project-wide). A float argument is computed in double and rounded once, so it is the nearest float in all but about
 *  one case in 10^7. Polynomials are Taylor's: below 1 ulp of double for exp and log, sin and
 *  cos likewise for |x| <= 2^20 radians, beyond which they answer NaN instead of noise. `std::complex<double>` is for
 *  oracles: it uses the standard library. Nothing here reads errno, the rounding mode's name, or knows what it is used
 *  for.
 */
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace uform {
namespace elementary {

inline constexpr double ln2_high_k =
    6.93147180369123816490e-01; // its low 21 bits are zero: multiples by |k| < 2^20 are exact
inline constexpr double ln2_low_k = 1.90821492927058770002e-10;
inline constexpr double rounding_shift_k = 0x1.8p52; // adding it rounds to an integer, kept in the low bits
inline constexpr double angle_limit_k = 0x1p20;

/** 2^k for k in [-1022, 1023]. */
inline double power_of_two(std::int64_t k) noexcept { return std::bit_cast<double>(std::uint64_t(k + 1023) << 52); }

/** x = quarters * pi/2 + high + low with |high| <= pi/4; pi/2 is subtracted in three pieces, 118 bits of it. */
struct reduced_angle_t {
    std::uint64_t quarters; // modulo 4
    double high, low;
};
inline reduced_angle_t reduce_angle(double x) noexcept {
    double const shifted = x * 6.36619772367581382433e-01 + rounding_shift_k;
    double const quarters = shifted - rounding_shift_k;
    double const first = x - quarters * 1.57079632673412561417e+00; // exact: 33 bits times fewer than 20
    double const second_piece = quarters * 6.07710050630396597660e-11;
    double const second = first - second_piece;
    double const rest = quarters * 2.02226624879595063154e-21 - ((first - second) - second_piece);
    double const high = second - rest;
    return {std::bit_cast<std::uint64_t>(shifted) & 3u, high, (second - high) - rest};
}
/** a0 + x (a1 + x (a2 + ...)). */
template <std::size_t count_>
constexpr double horner(double x, double const (&coefficients)[count_]) noexcept {
    double sum = coefficients[count_ - 1];
    for (std::size_t i = count_ - 1; i-- > 0;) sum = coefficients[i] + x * sum;
    return sum;
}

// Taylor coefficients: 1/n! with alternating signs for the odd and the even powers from the third on. Below pi/4 the
// first term left out is under 2^-63 of the sum.
inline constexpr double sin_series_k[] = {-1.0 / 6,          1.0 / 120,           -1.0 / 5040,         1.0 / 362880,
                                          -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0,
                                          1.0 / 355687428096000.0};
inline constexpr double cos_series_k[] = {1.0 / 24,           -1.0 / 720,           1.0 / 40320,
                                          -1.0 / 3628800.0,   1.0 / 479001600.0,    -1.0 / 87178291200.0,
                                          1.0 / 20922789888000.0, -1.0 / 6402373705728000.0};

/** sin(x + low), |x| <= pi/4 and low below an ulp of it. */
inline double sin_kernel(double x, double low) noexcept {
    double const square = x * x;
    return x + (x * square * horner(square, sin_series_k) + low * (1.0 - 0.5 * square));
}
/** cos(x + low): what rounding takes from 1 - x^2/2 is given back with the smaller terms. */
inline double cos_kernel(double x, double low) noexcept {
    double const square = x * x, half = 0.5 * square, head = 1.0 - half, lost = (1.0 - head) - half;
    return head + (lost + square * square * horner(square, cos_series_k) - x * low);
}
// e^r = 1 + r + r^2 (1/2! + r/3! + ...), |r| <= ln(2)/2; the first term left out is under 2^-57 of the sum.
inline constexpr double exp_series_k[] = {1.0 / 2,        1.0 / 6,         1.0 / 24,          1.0 / 120,
                                          1.0 / 720,      1.0 / 5040,      1.0 / 40320,       1.0 / 362880,
                                          1.0 / 3628800., 1.0 / 39916800., 1.0 / 479001600.0, 1.0 / 6227020800.0};
// atanh(s) = s + s^3 (1/3 + s^2/5 + ...), |s| <= 0.1716.
inline constexpr double atanh_series_k[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                            1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};

/** cos(x) where `turn` is 1, sin(x) where it is 0: the two differ by a quarter turn. */
inline double turned_sin(double x, std::uint64_t turn) noexcept {
    if (!(x >= -angle_limit_k && x <= angle_limit_k)) return std::numeric_limits<double>::quiet_NaN();
    reduced_angle_t const angle = reduce_angle(x);
    std::uint64_t const quarter = angle.quarters + turn;
    double const value = quarter & 1u ? cos_kernel(angle.high, angle.low) : sin_kernel(angle.high, angle.low);
    return quarter & 2u ? -value : value;
}

} // namespace elementary

/** e^x: 0 below -745.2, infinity above 709.8, NaN for NaN; branch-free, so that loops over it vectorize. */
inline double exp_of(double x) noexcept {
    using namespace elementary;
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    double const shifted = x * 1.44269504088896338700e+00 + rounding_shift_k;
    double const whole = shifted - rounding_shift_k;
    double const high = x - whole * ln2_high_k, low = whole * ln2_low_k;
    double const r = high - low;
    double const fraction = 1.0 + (high + (r * r * horner(r, exp_series_k) - low));
    // Twice half the exponent: one factor alone could not reach the subnormals nor 2^1024.
    std::uint64_t const power = std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(rounding_shift_k);
    std::int64_t const exponent = whole == whole ? std::int64_t(power) : 0;
    std::int64_t const half = exponent / 2;
    return fraction * power_of_two(half) * power_of_two(exponent - half);
}

/** Natural logarithm: -infinity at zero, NaN below it. */
inline double log_of(double x) noexcept {
    using namespace elementary;
    if (!(x > 0.0)) {
        double const infinity = std::numeric_limits<double>::infinity();
        return x == 0.0 ? -infinity : std::numeric_limits<double>::quiet_NaN();
    }
    if (x > std::numeric_limits<double>::max()) return x;
    double power = 0.0;
    if (x < std::numeric_limits<double>::min()) x *= 0x1p54, power = -54.0;
    // x = 2^power * m with m in [sqrt(1/2), sqrt(2)): the upper word counts from that of sqrt(1/2).
    std::uint64_t const root_half = std::uint64_t(0x3fe6a09e) << 32, one = std::uint64_t(0x3ff00000) << 32;
    std::uint64_t const bits = std::bit_cast<std::uint64_t>(x) + (one - root_half);
    power += double(std::int64_t(bits >> 52) - 1023);
    double const m = std::bit_cast<double>((bits & ((std::uint64_t(1) << 52) - 1)) + root_half);
    // log m = 2 atanh(s), s = (m - 1) / (m + 1); the division's remainder restores the bits that s lacks.
    double const f = m - 1.0, s = f / (2.0 + f), square = s * s;
    double const remainder = ((f - 2.0 * s) - s * f) / (2.0 + f);
    double const tail = 2.0 * (remainder + s * square * horner(square, atanh_series_k));
    return power * ln2_high_k + (2.0 * s + (tail + power * ln2_low_k));
}

/** log(1 + x) without losing a small x: Kahan's correction of the rounding in 1 + x. */
inline double log1p_of(double x) noexcept {
    double const sum = 1.0 + x;
    if (sum == 1.0) return x;
    if (!(sum > 0.0) || sum > std::numeric_limits<double>::max()) return log_of(sum);
    return log_of(sum) * (x / (sum - 1.0));
}

inline double sin_of(double x) noexcept { return elementary::turned_sin(x, 0); }
inline double cos_of(double x) noexcept { return elementary::turned_sin(x, 1); }
inline double sqrt_of(double x) noexcept { return std::sqrt(x); } // IEEE 754 rounds it correctly everywhere

inline float exp_of(float x) noexcept { return float(exp_of(double(x))); }
inline float log_of(float x) noexcept { return float(log_of(double(x))); }
inline float log1p_of(float x) noexcept { return float(log1p_of(double(x))); }
inline float sin_of(float x) noexcept { return float(sin_of(double(x))); }
inline float cos_of(float x) noexcept { return float(cos_of(double(x))); }
inline float sqrt_of(float x) noexcept { return std::sqrt(x); }

inline std::complex<double> exp_of(std::complex<double> x) noexcept { return std::exp(x); }
inline std::complex<double> log_of(std::complex<double> x) noexcept { return std::log(x); }
inline std::complex<double> log1p_of(std::complex<double> x) noexcept { return std::log(1.0 + x); }
inline std::complex<double> sin_of(std::complex<double> x) noexcept { return std::sin(x); }
inline std::complex<double> cos_of(std::complex<double> x) noexcept { return std::cos(x); }
inline std::complex<double> sqrt_of(std::complex<double> x) noexcept { return std::sqrt(x); }

namespace elementary {
inline double real_part(double x) noexcept { return x; }
inline double real_part(std::complex<double> x) noexcept { return x.real(); }

template <typename field_>
field_ softplus(field_ x) noexcept {
    return real_part(x) > 0.0 ? x + log1p_of(exp_of(-x)) : log1p_of(exp_of(x));
}
template <typename field_>
field_ sigmoid(field_ x) noexcept {
    if (real_part(x) >= 0.0) return 1.0 / (1.0 + exp_of(-x));
    field_ const e = exp_of(x);
    return e / (1.0 + e);
}
} // namespace elementary

/** log(1 + e^x), for any x without overflow. */
inline double softplus_of(double x) noexcept { return elementary::softplus(x); }
inline float softplus_of(float x) noexcept { return float(elementary::softplus(double(x))); }
inline std::complex<double> softplus_of(std::complex<double> x) noexcept { return elementary::softplus(x); }

/** 1 / (1 + e^-x), the derivative of softplus. */
inline double sigmoid_of(double x) noexcept { return elementary::sigmoid(x); }
inline float sigmoid_of(float x) noexcept { return float(elementary::sigmoid(double(x))); }
inline std::complex<double> sigmoid_of(std::complex<double> x) noexcept { return elementary::sigmoid(x); }

} // namespace uform
