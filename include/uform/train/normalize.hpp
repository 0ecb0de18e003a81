/**
 *  @file normalize.hpp
 *  @brief Unit rows and the way back through them, over any scalar: y = x / |x|, d_x = (d_y - (d_y . y) y) / |x|.
 *
 *  What every loss over pooled embeddings starts and ends with. A row of zeros stays zeros and passes no gradient; one
 *  whose squares leave float turns to NaN, which refuses the step: its gradient would leave float as well. The
 *  kit's `normalize_rows` is for serving; this one runs on complex numbers too, squares not conjugated, so that complex
 *  step (Squire and Trapp 1998) can check a loss from its raw rows on.
 */
#pragma once
#include <complex>
#include <cstddef>
#include <limits>

#include <uform/train/products.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/squares.hpp>

namespace uform {

inline float real_of(float x) noexcept { return x; }
inline double real_of(double x) noexcept { return x; }
inline double real_of(std::complex<double> x) noexcept { return x.real(); }

/** What a scalar is compared and weighed by: its real part's type. */
template <typename scalar_>
using real_t = decltype(real_of(scalar_()));

/** The greatest real part of a row, in eight interleaved chains. */
template <typename scalar_>
real_t<scalar_> highest_of(std::size_t count, scalar_ const *x) noexcept {
    constexpr std::size_t chains_k = 8;
    real_t<scalar_> highest[chains_k];
    for (std::size_t chain = 0; chain < chains_k; ++chain) highest[chain] = real_of(x[0]);
    std::size_t i = 0;
    for (; i + chains_k <= count; i += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) {
            real_t<scalar_> const value = real_of(x[i + chain]);
            highest[chain] = value > highest[chain] ? value : highest[chain];
        }
    for (; i < count; ++i) highest[0] = real_of(x[i]) > highest[0] ? real_of(x[i]) : highest[0];
    for (std::size_t chain = 1; chain < chains_k; ++chain)
        highest[0] = highest[chain] > highest[0] ? highest[chain] : highest[0];
    return highest[0];
}

/** 1 / |x| of a row whose square is known, or zero for a row of zeros, or NaN. */
template <typename scalar_>
scalar_ inverse_norm_of(std::size_t columns, scalar_ const *x, scalar_ square) noexcept {
    if (squares_scale(float(real_of(square))) == 1) return scalar_(1) / sqrt_of(square);
    for (std::size_t column = 0; column < columns; ++column)
        if (real_of(x[column]) != 0) return scalar_(std::numeric_limits<real_t<scalar_>>::quiet_NaN());
    return scalar_(0);
}
template <typename scalar_>
scalar_ inverse_norm_of(std::size_t columns, scalar_ const *x) noexcept {
    return inverse_norm_of(columns, x, dot(columns, x, x));
}

/** x [rows, columns] with `stride` elements from row to row; y [rows, columns] dense; inverse_norm [rows]. */
template <typename scalar_>
void normalize_rows_to(std::size_t rows, std::size_t columns, std::size_t stride, scalar_ const *x, scalar_ *y,
                       scalar_ *inverse_norm) noexcept {
    dot_rows(rows, columns, x, stride, x, stride, inverse_norm);
    for (std::size_t row = 0; row < rows; ++row) {
        scalar_ const *const from = x + row * stride;
        scalar_ const inverse = inverse_norm[row] = inverse_norm_of(columns, from, inverse_norm[row]);
        for (std::size_t column = 0; column < columns; ++column) y[row * columns + column] = from[column] * inverse;
    }
}

/** One row's way back: d_x_sum [columns] += (d_y - (d_y . y) y) / |x|. */
template <typename scalar_>
void normalize_row_backward(std::size_t columns, scalar_ const *y, scalar_ inverse_norm, scalar_ const *d_y,
                            scalar_ *d_x_sum) noexcept {
    scalar_ const along = dot(columns, d_y, y);
    for (std::size_t column = 0; column < columns; ++column)
        d_x_sum[column] += inverse_norm * (d_y[column] - along * y[column]);
}

} // namespace uform
