/**
 *  @file squares.hpp
 *  @brief Where a row's plain sum of squares may be trusted, and what the row is multiplied by where it may not.
 *
 *  Squares leave float long before what is squared does: 1e20 overflows, 1e-23 vanishes. From 2^-100 to the largest
 *  float a sum is as good as its additions: up to 2^14 columns whose squares fell below 2^-126 are wrong by less than
 *  2^-135 together. Outside, a power of two, which rounds nothing, brings a row of any length back: the least denormal
 *  to 2^-49, the largest float to 2^28. Ordinary rows therefore keep their bits.
 */
#pragma once
#include <limits>

namespace uform {

inline constexpr float least_squares_k = 0x1p-100f;

/** One, where a sum of squares is sound; else the factor to multiply the row by before it is summed again. */
inline float squares_scale(float squares) noexcept {
    if (squares < least_squares_k) return 0x1p100f;
    return squares <= std::numeric_limits<float>::max() ? 1.0f : 0x1p-100f; // a NaN stays one whatever the factor
}

} // namespace uform
