/**
 *  @file winners.hpp
 *  @brief Of every column of a table that comes in tiles of rows: the largest value, and the first row that reaches it.
 *
 *  Maxima go first, eight rows at a time, without a thought of where they came from: that is a load and a maximum per
 *  value. Where a group of rows beats all before it, its row is looked for once a tile. NaN never wins, but may
 *  hide the values of its group: callers that may meet it look for it themselves.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <uform/train/normalize.hpp>

namespace uform {

template <typename scalar_>
struct winners_t {
    std::size_t columns = 0;
    scalar_ *best = nullptr;         // [columns]
    std::uint32_t *rows = nullptr;   // [columns], counted over all tiles; zero where nothing won
    std::uint32_t *groups = nullptr; // [columns], scratch
};

namespace winners {

inline constexpr std::size_t group_rows_k = 8;
inline constexpr std::uint32_t none_k = UINT32_MAX;

/** Columns from `column` on. Strictly greater, so that of equals the first stays. */
template <std::size_t rows_, typename scalar_>
void raise_columns(std::size_t column, scalar_ const *values, std::uint32_t group,
                   winners_t<scalar_> const &out) noexcept {
    for (; column < out.columns; ++column) {
        scalar_ top = values[column];
        for (std::size_t row = 1; row < rows_; ++row) {
            scalar_ const value = values[row * out.columns + column];
            top = real_of(value) > real_of(top) ? value : top;
        }
        bool const better = real_of(top) > real_of(out.best[column]);
        out.best[column] = better ? top : out.best[column];
        out.groups[column] = better ? group : out.groups[column];
    }
}
template <std::size_t rows_, typename scalar_>
void raise(scalar_ const *values, std::uint32_t group, winners_t<scalar_> const &out) noexcept {
    raise_columns<rows_>(0, values, group, out);
}

/** Float by name: left to itself the compiler compares one value at a time, five times slower. */
template <std::size_t rows_>
void raise(float const *values, std::uint32_t group, winners_t<float> const &out) noexcept {
    typedef float f32x4_t __attribute__((vector_size(16), aligned(4), may_alias));
    typedef std::int32_t i32x4_t __attribute__((vector_size(16), aligned(4), may_alias));
    std::size_t column = 0;
    std::int32_t const number = std::int32_t(group);
    i32x4_t const group_i32x4 = {number, number, number, number};
    for (; column + 4 <= out.columns; column += 4) {
        f32x4_t top_f32x4 = *reinterpret_cast<f32x4_t const *>(values + column);
#pragma GCC unroll 8
        for (std::size_t row = 1; row < rows_; ++row) {
            f32x4_t const value_f32x4 = *reinterpret_cast<f32x4_t const *>(values + row * out.columns + column);
            top_f32x4 = value_f32x4 > top_f32x4 ? value_f32x4 : top_f32x4;
        }
        f32x4_t &best_f32x4 = *reinterpret_cast<f32x4_t *>(out.best + column);
        i32x4_t &groups_i32x4 = *reinterpret_cast<i32x4_t *>(out.groups + column);
        i32x4_t const better_i32x4 = top_f32x4 > best_f32x4;
        best_f32x4 = better_i32x4 ? top_f32x4 : best_f32x4;
        groups_i32x4 = better_i32x4 ? group_i32x4 : groups_i32x4;
    }
    raise_columns<rows_>(column, values, group, out);
}

} // namespace winners

template <typename scalar_>
void start_winners(winners_t<scalar_> const &out) noexcept {
    std::fill(out.best, out.best + out.columns, -std::numeric_limits<real_t<scalar_>>::infinity());
    std::fill(out.rows, out.rows + out.columns, 0u);
}

/** One tile [rows, columns], whose first row is row `first` of the table. */
template <typename scalar_>
void keep_winners(std::size_t rows, std::uint32_t first, scalar_ const *tile, winners_t<scalar_> const &out) noexcept {
    using namespace winners;
    std::fill(out.groups, out.groups + out.columns, none_k);
    std::size_t row = 0;
    for (; row + group_rows_k <= rows; row += group_rows_k)
        raise<group_rows_k>(tile + row * out.columns, std::uint32_t(row), out);
    for (; row < rows; ++row) raise<1>(tile + row * out.columns, std::uint32_t(row), out);
    for (std::size_t column = 0; column < out.columns; ++column) {
        std::size_t won = out.groups[column];
        if (won == none_k) continue;
        while (real_of(tile[won * out.columns + column]) != real_of(out.best[column])) ++won;
        out.rows[column] = first + std::uint32_t(won);
    }
}

} // namespace uform
