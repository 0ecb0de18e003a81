/**
 *  @file products.hpp
 *  @brief The one dense product of the losses: C += factor * A * B over any scalar, in wide arithmetic.
 *
 *  Losses multiply float32 pooled rows, a few hundred of them, so the encoder's packed BFloat16 products do not serve.
 *  The tile is 4 rows by 8 columns: eight 4-wide registers of sums on baseline x86-64, two of B, one of A. Every sum
 *  runs over the depth in ascending order whatever the tile, so splitting rows over threads changes no bit.
 */
#pragma once
#include <algorithm>
#include <complex>
#include <cstddef>

namespace uform {

/** A strided matrix: element (row, column) is `data[row * row_stride + column * column_stride]`. */
template <typename scalar_>
struct strided_t {
    scalar_ const *data;
    std::size_t row_stride;
    std::size_t column_stride;
};

namespace products {

inline constexpr std::size_t tile_rows_k = 4;
inline constexpr std::size_t tile_columns_k = 8;

template <std::size_t rows_, typename scalar_>
[[gnu::always_inline]] inline void tile_full(std::size_t depth, strided_t<scalar_> a, scalar_ const *b,
                                             std::size_t b_stride, scalar_ factor, scalar_ *c,
                                             std::size_t c_stride) noexcept {
    scalar_ sums[rows_][tile_columns_k] = {};
    for (std::size_t k = 0; k < depth; ++k, b += b_stride, a.data += a.column_stride)
        for (std::size_t row = 0; row < rows_; ++row) {
            scalar_ const left = a.data[row * a.row_stride];
            for (std::size_t column = 0; column < tile_columns_k; ++column) sums[row][column] += left * b[column];
        }
    for (std::size_t row = 0; row < rows_; ++row)
        for (std::size_t column = 0; column < tile_columns_k; ++column)
            c[row * c_stride + column] += factor * sums[row][column];
}

/** Float by name: left to itself the compiler keeps the sums in memory, three times slower. */
template <std::size_t rows_>
[[gnu::always_inline]] inline void tile_full(std::size_t depth, strided_t<float> a, float const *b,
                                             std::size_t b_stride, float factor, float *c,
                                             std::size_t c_stride) noexcept {
    typedef float f32x4_t __attribute__((vector_size(16), aligned(4), may_alias));
    f32x4_t sums_f32x4[rows_][2] = {};
    for (std::size_t k = 0; k < depth; ++k, b += b_stride, a.data += a.column_stride) {
        f32x4_t const low_f32x4 = *reinterpret_cast<f32x4_t const *>(b);
        f32x4_t const high_f32x4 = *reinterpret_cast<f32x4_t const *>(b + 4);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < rows_; ++row) {
            float const left = a.data[row * a.row_stride];
            sums_f32x4[row][0] += left * low_f32x4, sums_f32x4[row][1] += left * high_f32x4;
        }
    }
    for (std::size_t row = 0; row < rows_; ++row) {
        *reinterpret_cast<f32x4_t *>(c + row * c_stride) += factor * sums_f32x4[row][0];
        *reinterpret_cast<f32x4_t *>(c + row * c_stride + 4) += factor * sums_f32x4[row][1];
    }
}

template <typename scalar_>
void tile_edge(std::size_t rows, std::size_t columns, std::size_t depth, strided_t<scalar_> a, scalar_ const *b,
               std::size_t b_stride, scalar_ factor, scalar_ *c, std::size_t c_stride) noexcept {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column) {
            scalar_ sum = 0;
            for (std::size_t k = 0; k < depth; ++k)
                sum += a.data[row * a.row_stride + k * a.column_stride] * b[k * b_stride + column];
            c[row * c_stride + column] += factor * sum;
        }
}

} // namespace products

/** Shapes of one product: A is [rows, depth], B is [depth, columns] with unit column stride, C is [rows, columns]. */
template <typename scalar_>
struct product_t {
    std::size_t rows, columns, depth;
    strided_t<scalar_> a;
    scalar_ const *b;
    std::size_t b_stride;
    scalar_ factor;
    scalar_ *c_sum;
    std::size_t c_stride;
};

template <typename scalar_>
void product_sum(product_t<scalar_> const &p) noexcept {
    using namespace products;
    for (std::size_t row = 0; row < p.rows; row += tile_rows_k) {
        std::size_t const tall = std::min(tile_rows_k, p.rows - row);
        strided_t<scalar_> const a {p.a.data + row * p.a.row_stride, p.a.row_stride, p.a.column_stride};
        scalar_ *const c = p.c_sum + row * p.c_stride;
        for (std::size_t column = 0; column < p.columns; column += tile_columns_k) {
            std::size_t const broad = std::min(tile_columns_k, p.columns - column);
            if (tall == tile_rows_k && broad == tile_columns_k)
                tile_full<tile_rows_k>(p.depth, a, p.b + column, p.b_stride, p.factor, c + column, p.c_stride);
            else
                tile_edge(tall, broad, p.depth, a, p.b + column, p.b_stride, p.factor, c + column, p.c_stride);
        }
    }
}

/** Sum of an array in eight interleaved chains, then pairwise: fixed for a count, and wide enough to vectorize. */
template <typename scalar_>
scalar_ sum_of(std::size_t count, scalar_ const *x) noexcept {
    constexpr std::size_t chains_k = 8;
    scalar_ sums[chains_k] = {};
    std::size_t i = 0;
    for (; i + chains_k <= count; i += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) sums[chain] += x[i + chain];
    for (; i < count; ++i) sums[i % chains_k] += x[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/** Inner product in the same eight chains; bilinear, so a complex argument is not conjugated. One may be real. */
template <typename scalar_, typename other_>
scalar_ dot(std::size_t count, scalar_ const *x, other_ const *y) noexcept {
    constexpr std::size_t chains_k = 8;
    scalar_ sums[chains_k] = {};
    std::size_t i = 0;
    for (; i + chains_k <= count; i += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) sums[chain] += x[i + chain] * y[i + chain];
    for (; i < count; ++i) sums[i % chains_k] += x[i] * y[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/**
 *  Four rows' inner products with four others, or with one where `y_stride` is zero, each as `dot` takes it: together they
 *  hide each other's latency.
 */
template <typename scalar_, typename other_>
void dot_four(std::size_t count, scalar_ const *x, std::size_t stride, other_ const *y, std::size_t y_stride,
              scalar_ *products) noexcept {
    constexpr std::size_t chains_k = 8, rows_k = 4;
    scalar_ sums[rows_k][chains_k];
    for (std::size_t row = 0; row < rows_k; ++row)
        for (std::size_t chain = 0; chain < chains_k; ++chain) sums[row][chain] = 0;
    std::size_t i = 0;
    for (; i + chains_k <= count; i += chains_k)
        for (std::size_t row = 0; row < rows_k; ++row)
            for (std::size_t chain = 0; chain < chains_k; ++chain)
                sums[row][chain] += x[row * stride + i + chain] * y[row * y_stride + i + chain];
    for (; i < count; ++i)
        for (std::size_t row = 0; row < rows_k; ++row)
            sums[row][i % chains_k] += x[row * stride + i] * y[row * y_stride + i];
    for (std::size_t row = 0; row < rows_k; ++row) {
        scalar_ const *const s = sums[row];
        products[row] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
}

/** Rows' inner products, four rows at a time: products[row] = dot of row `row` of x with that of y, or with y. */
template <typename scalar_, typename other_>
void dot_rows(std::size_t rows, std::size_t count, scalar_ const *x, std::size_t stride, other_ const *y,
              std::size_t y_stride, scalar_ *products) noexcept {
    std::size_t const fours = rows / 4 * 4;
    for (std::size_t row = 0; row < fours; row += 4)
        dot_four(count, x + row * stride, stride, y + row * y_stride, y_stride, products + row);
    for (std::size_t row = fours; row < rows; ++row) products[row] = dot(count, x + row * stride, y + row * y_stride);
}

} // namespace uform
