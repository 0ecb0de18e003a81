/**
 *  @file wide_multiplier.hpp
 *  @brief Products with packed weights where operands are floats first: the multiplier of Haswell.
 *
 *  Included between panel.hpp and the kernels. Of a pair of BFloat16 both depths at once cost registers, so that 4 x 16
 *  is the largest tile that sixteen of them hold, and widening takes three in ten of its instructions. Here rows are
 *  widened once for a block of them, and panels sixteen columns at a time, once for all rows of the block:
 *
 *      strip [depth][16 columns] f32, from one panel's [pairs][16 of 64 columns][2]
 *
 *  What is left is a tile of 6 x 16 of two loads and six broadcasts, all from memory, for twelve multiply-adds. A sum
 *  still adds one depth after another, so its bits are those of the narrow tile; few rows stay with that one, since a
 *  strip costs what the multiply-adds of two rows do.
 */
#pragma once

template <>
constexpr std::size_t rows_of_tile_k<float> = 6;

/** Rounds to BFloat16 what stays a float. */
inline void store_narrow(float *y, f32x_t x) {
    store(y, _mm256_castsi256_ps(_mm256_and_si256(round_upper(x), _mm256_set1_epi32(int(0xffff0000u)))));
}

/** Pairs of eight columns, as the two rows of a float panel. */
inline void widen_pairs(bf16_t const *pairs, float *even, float *odd) {
    right_t const right = load_right(pairs);
    store(even, right.even_f32x8);
    store(odd, right.odd_f32x8);
}

inline void widen_row(bf16_t const *narrow, std::size_t depth, float *wide) {
    std::size_t i = 0;
    for (; i + lanes_k <= depth; i += lanes_k) store(wide + i, load_narrow(narrow + i));
    if (i < depth) store(wide + i, load_narrow_part(narrow + i, depth - i));
}

inline wide_rows_t stage_rows(left_rows_t rows, std::size_t count, std::size_t depth, float *staged) {
    for (std::size_t row = 0; row < count; ++row) widen_row(rows.at(row), depth, staged + row * depth);
    return {staged, depth};
}

/** Panels of floats, [depth][64 columns]: of whole vectors along the source's rows; columns are turned as pairs first. */
inline void pack_rows(bf16_t const *source, std::size_t stride, std::size_t rows, std::size_t columns, float *panel) {
    for (std::size_t row = 0; row < rows; ++row)
        widen_row(source + row * stride, columns, panel + row * panel_columns_k);
}
inline void pack_columns(bf16_t const *source, std::size_t stride, std::size_t columns, std::size_t depth,
                         float *panel) {
    constexpr std::size_t step = 2 * lanes_k;
    alignas(64) bf16_t turned[lanes_k * panel_stride_k];
    for (std::size_t first = 0; first < depth; first += step, panel += step * panel_columns_k) {
        std::size_t const depths = least(depth - first, step);
        pack_columns(source + first, stride, columns, depths, turned);
        for (std::size_t row = 0; row < depths; row += 2)
            for (std::size_t column = 0; column < columns; column += lanes_k) {
                float *even = panel + row * panel_columns_k + column;
                widen_pairs(turned + row * panel_columns_k + 2 * column, even, even + panel_columns_k);
            }
    }
}

template <>
struct multiplier_t<left_rows_t> {
    using attention_element_t = float;
    static constexpr std::size_t rows_k = rows_of_tile_k<float>;
    static constexpr std::size_t columns_k = tile_vectors_k * lanes_k;
    static constexpr std::size_t least_rows_k = 24; // fewer are multiplied as they are

    /**
     *  Room for widened rows and one strip. Rows lie two vectors further apart than they are long, since at a depth that
     *  is a power of two they would compete for the same sets of the cache.
     */
    bool prepare(lane_t &worker, std::size_t rows, std::size_t pairs) {
        if (rows < least_rows_k) return true;
        stride_ = round_up(2 * pairs, lanes_k) + 2 * lanes_k;
        left_ = claim<float>(worker, rows * stride_);
        strip_ = claim<float>(worker, 2 * pairs * columns_k);
        return left_ && strip_;
    }

    void meet(std::size_t rows, left_rows_t left, std::size_t pairs) {
        if (rows < least_rows_k) return;
        for (std::size_t row = 0; row < rows; ++row) widen_row(left.at(row), 2 * pairs, left_ + row * stride_);
    }

    template <typename sink_>
    void multiply(std::size_t rows, left_rows_t left, bf16_t const *panel, std::size_t pairs, sink_ sink) {
        if (rows < least_rows_k) return multiply_panel(rows, left, panel, pairs, sink);
        for (std::size_t column = 0; column < panel_columns_k; column += columns_k) {
            bool const last = column + columns_k == panel_columns_k;
            widen_strip(panel + 2 * column, pairs);
            multiply_strip(rows, last ? panel + pairs * panel_stride_k : panel + 2 * (column + columns_k), pairs,
                           sink.from(0, column));
        }
    }

  private:
    float *left_ = nullptr;  // [rows, stride], rows of 2 * pairs
    float *strip_ = nullptr; // [2 * pairs, 16]
    std::size_t stride_ = 0;

    void widen_strip(bf16_t const *panel, std::size_t pairs) {
        float *strip = strip_;
        for (std::size_t pair = 0; pair < pairs; ++pair, panel += panel_stride_k, strip += 2 * columns_k)
            for (std::size_t column = 0; column < columns_k; column += lanes_k)
                widen_pairs(panel + 2 * column, strip + column, strip + columns_k + column);
    }

    /** `next` is where the next strip's pairs are, or would be: each tile asks for as many as make all with the last. */
    template <typename sink_>
    void multiply_strip(std::size_t rows, bf16_t const *next, std::size_t pairs, sink_ sink) {
        std::size_t const share = divide_up(pairs * rows_k, rows);
        wide_rows_t const left {left_, stride_};
        float const *strip = strip_;
        for (std::size_t row = 0, pair = 0; row < rows; row += rows_k) {
            for (std::size_t const end = least(pair + share, pairs); pair < end; ++pair)
                __builtin_prefetch(next + pair * panel_stride_k);
            multiply_rows<rows_k, tile_vectors_k, columns_k>(least(rows - row, rows_k), left.from(row), strip,
                                                             2 * pairs, sink.from(row, 0));
        }
    }
};
