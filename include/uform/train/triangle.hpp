/**
 *  @file triangle.hpp
 *  @brief Symmetric matrices by strips of rows: each is computed from its diagonal on, and threads get as much each.
 *
 *      strip 0      ■■■■■■■■■    Strips `i` and `last - i` are dealt together: the first threads of a team would have the
 *      strip 1        ■■■■■■■    long ones else, of two threads the first three quarters of all cells.
 *      strip last          ■■
 *
 *  Who computes a strip changes no bit, since no strip reads another.
 */
#pragma once
#include <algorithm>
#include <cstddef>

#include <uform/utilities/lane.hpp>

namespace uform {

/** Rows, and columns where both are cut, that one thread takes at once. */
inline constexpr std::size_t strip_rows_k = 16;

/** to [columns, rows] = from [rows, columns] turned. */
template <typename scalar_>
void turn(std::size_t rows, std::size_t columns, scalar_ const *from, std::size_t from_stride, scalar_ *to,
          std::size_t to_stride) noexcept {
    for (std::size_t column = 0; column < columns; ++column)
        for (std::size_t row = 0; row < rows; ++row) to[column * to_stride + row] = from[row * from_stride + column];
}

/** Float by name: squares of four in registers, where the compiler moves one value at a time. */
inline void turn_four(float const *from, std::size_t from_stride, float *to, std::size_t to_stride) noexcept {
    typedef float f32x4_t __attribute__((vector_size(16), aligned(4), may_alias));
    auto const at = [&](std::size_t row) { return *reinterpret_cast<f32x4_t const *>(from + row * from_stride); };
    f32x4_t const low_01 = __builtin_shufflevector(at(0), at(1), 0, 4, 1, 5),
                  low_23 = __builtin_shufflevector(at(2), at(3), 0, 4, 1, 5);
    f32x4_t const high_01 = __builtin_shufflevector(at(0), at(1), 2, 6, 3, 7),
                  high_23 = __builtin_shufflevector(at(2), at(3), 2, 6, 3, 7);
    *reinterpret_cast<f32x4_t *>(to) = __builtin_shufflevector(low_01, low_23, 0, 1, 4, 5);
    *reinterpret_cast<f32x4_t *>(to + to_stride) = __builtin_shufflevector(low_01, low_23, 2, 3, 6, 7);
    *reinterpret_cast<f32x4_t *>(to + 2 * to_stride) = __builtin_shufflevector(high_01, high_23, 0, 1, 4, 5);
    *reinterpret_cast<f32x4_t *>(to + 3 * to_stride) = __builtin_shufflevector(high_01, high_23, 2, 3, 6, 7);
}
inline void turn(std::size_t rows, std::size_t columns, float const *from, std::size_t from_stride, float *to,
                 std::size_t to_stride) noexcept {
    std::size_t const whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    for (std::size_t row = 0; row < whole_rows; row += 4)
        for (std::size_t column = 0; column < whole_columns; column += 4)
            turn_four(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride);
    turn<float>(rows, columns - whole_columns, from + whole_columns, from_stride, to + whole_columns * to_stride,
                to_stride);
    turn<float>(rows - whole_rows, whole_columns, from + whole_rows * from_stride, from_stride, to + whole_rows,
                to_stride);
}

/** Calls `body(first, last)` for strips of rows that cover `[0, rows)`. */
template <typename body_>
void triangle_rows(lane_t &lane, std::size_t rows, body_ const &body) noexcept {
    std::size_t const strips = (rows + strip_rows_k - 1) / strip_rows_k;
    auto const take = [&](std::size_t strip) noexcept {
        body(strip * strip_rows_k, std::min(rows, (strip + 1) * strip_rows_k));
    };
    lane.rows((strips + 1) / 2, 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
        for (std::size_t strip = first; strip < last; ++strip) {
            take(strip);
            if (std::size_t const other = strips - 1 - strip; other != strip) take(other);
        }
    });
}

} // namespace uform
