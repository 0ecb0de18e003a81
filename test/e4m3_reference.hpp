/**
 *  @file e4m3_reference.hpp
 *  @brief E4M3 by its definition: decoding by powers of two, rounding by a search through all 256 codes.
 */
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace uform::test {

/** OCP 8-bit floating point, E4M3: (-1)^s 2^(e - 7) (1 + m / 8), or 2^-6 m / 8 where e is 0; all ones are a NaN. */
inline double decode_e4m3(unsigned code) {
    double const sign = code & 0x80 ? -1 : 1;
    int const exponent = int(code >> 3 & 15), mantissa = int(code & 7);
    if (exponent == 15 && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
    return sign * (exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9));
}

/** The nearest of all codes to `x`, and of two equally near the one whose last bit is zero. */
inline unsigned encode_e4m3(double x) {
    unsigned const sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return sign | 0x7f;
    unsigned best = 0;
    double const magnitude = std::fmin(std::fabs(x), 1e9); // infinity is as far from one code as from another
    for (unsigned code = 1; code < 0x7f; ++code) {
        double const distance = std::fabs(magnitude - decode_e4m3(code)),
                     least = std::fabs(magnitude - decode_e4m3(best));
        if (distance < least || (distance == least && code % 2 == 0)) best = code;
    }
    return sign | best;
}

} // namespace uform::test
