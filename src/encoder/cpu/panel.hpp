/**
 *  @file panel.hpp
 *  @brief Packing: row-major BFloat16 into the panels of tile.hpp, with the columns or the depth along the source's
 *  rows.
 *
 *  One layout serves every class here: weights packed by one could be read by another. Past the source's edge a panel
 *  holds zeros, so products of any size run whole pairs and whole vectors.
 */
#pragma once

alignas(64) constexpr bf16_t zero_row_k[panel_columns_k] = {};

/** Loads `lanes_k` rows of `lanes_k` pairs, with zeros past the last row and past `depth`. */
inline void load_edge(bf16_t const *source, std::size_t stride, std::size_t rows, std::size_t depth,
                      pairs_t (&square)[lanes_k]) {
    alignas(64) bf16_t staged[2 * lanes_k] = {};
    for (std::size_t row = 0; row < lanes_k; ++row) {
        if (row < rows && depth >= 2 * lanes_k) {
            square[row] = load_pairs(source + row * stride);
            continue;
        }
        std::memset(staged, 0, sizeof(staged));
        if (row < rows) std::memcpy(staged, source + row * stride, least(depth, 2 * lanes_k) * sizeof(bf16_t));
        square[row] = load_pairs(staged);
    }
}

/**
 *  panel(d, c) = source[c, d]: each source row becomes a column. Columns are written up to the next whole vector.
 *  Pairs move as 32-bit units, so squares of `lanes_k` of them are transposed in registers.
 */
inline void pack_columns(bf16_t const *source, std::size_t stride, std::size_t columns, std::size_t depth,
                         bf16_t *panel) {
    std::size_t const pairs = divide_up(depth, 2);
    for (std::size_t column = 0; column < columns; column += lanes_k)
        for (std::size_t pair = 0; pair < pairs; pair += lanes_k) {
            bf16_t const *corner = source + column * stride + 2 * pair;
            pairs_t square[lanes_k];
            if (column + lanes_k <= columns && 2 * (pair + lanes_k) <= depth)
#pragma GCC unroll 16
                for (std::size_t row = 0; row < lanes_k; ++row) square[row] = load_pairs(corner + row * stride);
            else
                load_edge(corner, stride, columns - column, depth - 2 * pair, square);
            transpose(square);
            bf16_t *target = panel + pair * panel_stride_k + 2 * column;
            if (pair + lanes_k <= pairs)
#pragma GCC unroll 16
                for (std::size_t row = 0; row < lanes_k; ++row) store_pairs(target + row * panel_stride_k, square[row]);
            else
                for (std::size_t row = 0; row < pairs - pair; ++row)
                    store_pairs(target + row * panel_stride_k, square[row]);
        }
}

constexpr std::size_t expected_rows_k = 16; // ahead of those being packed

/** Two rows are asked for by name, since no processor foresees rows that lie pages apart. */
inline void expect_rows(bf16_t const *row, std::size_t stride) {
    for (bf16_t const *each : {row, row + stride})
        for (std::size_t column = 0; column < panel_columns_k; column += 32) __builtin_prefetch(each + column);
}

/** panel(d, c) = source[d, c]: neighbouring source rows are zipped into pairs. */
inline void pack_rows(bf16_t const *source, std::size_t stride, std::size_t rows, std::size_t columns, bf16_t *panel) {
    for (std::size_t row = 0; row < rows; row += 2, panel += panel_stride_k) {
        bf16_t const *even = source + row * stride, *odd = row + 1 < rows ? even + stride : zero_row_k;
        if (columns == panel_columns_k) {
            expect_rows(even + expected_rows_k * stride, stride);
            for (std::size_t column = 0; column < panel_columns_k; column += lanes_k)
                store_pairs(panel + 2 * column, zip_rows(even + column, odd + column));
            continue;
        }
        for (std::size_t column = 0; column < panel_columns_k; ++column) {
            panel[2 * column] = column < columns ? even[column] : bf16_t {};
            panel[2 * column + 1] = column < columns ? odd[column] : bf16_t {};
        }
    }
}

/** Rows where they lie: what a class that keeps them otherwise copies first. */
inline left_rows_t stage_rows(left_rows_t rows, std::size_t, std::size_t, bf16_t *) { return rows; }

inline std::size_t panel_elements(std::size_t depth) { return round_up(depth, 2) * panel_columns_k; }
