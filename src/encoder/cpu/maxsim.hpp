/**
 *  @file maxsim.hpp
 *  @brief Late interaction: for every query token the largest product with any document token, on the product's tile.
 *
 *  The query is the packed right operand, document rows are read where they lie, and a tile's sums leave its registers
 *  into 64 running maxima, so no table of token pairs exists. A maximum forgets NaN and takes -infinity for smaller than
 *  all, so beside it runs the sum of products times zero: zero while all are finite, NaN from the first that is not.
 *  For training the row that won goes along, and callers look for what is not finite: its sums are the product's own.
 *  Floats walk the same tile one depth at a time; that is half as many operations an instruction as BFloat16 pairs have.
 */
#pragma once

struct largest_sink_t {
    float *largest, *poison; // [64] each

    largest_sink_t from(std::size_t, std::size_t column) const { return {largest + column, poison + column}; }
    f32x_t start(std::size_t, std::size_t) const { return zero(); }
    void finish(std::size_t, std::size_t column, f32x_t sum) const {
        store(largest + column, larger(load(largest + column), sum));
        store(poison + column, multiply_add(sum, zero(), load(poison + column)));
    }
};

/** Rows of a block, where they lie or, of an odd width, copied with a zero behind each. */
inline left_rows_t document_rows(bf16_t const *a, std::size_t rows, std::size_t stride, std::size_t width,
                                 bf16_t *staged) {
    if (width % 2 == 0) return {a, stride};
    for (std::size_t row = 0; row < rows; ++row) {
        std::memcpy(staged + row * (width + 1), a + row * stride, width * sizeof(bf16_t));
        staged[row * (width + 1) + width] = {};
    }
    return {staged, width + 1};
}
inline wide_rows_t document_rows(float const *a, std::size_t, std::size_t stride, std::size_t, float *) {
    return {a, stride};
}

/** One panel of query tokens against all rows, `step` of them at a time, so that a narrow tile finds them in cache. */
template <typename element_>
void keep_largest(std::size_t step, std::size_t rows, std::size_t stride, element_ const *a, std::size_t width, element_ const *panel,
                  std::size_t columns, element_ *staged, float *largest) {
    alignas(64) float tops[panel_columns_k], poisons[panel_columns_k];
    for (std::size_t i = 0; i < panel_columns_k; ++i) tops[i] = -__builtin_inff(), poisons[i] = 0;
    std::size_t const units = divide_up(width, unit_of(panel));
    for (std::size_t first = 0; first < rows; first += step) {
        std::size_t const count = least(rows - first, step);
        multiply_panel(count, columns, document_rows(a + first * stride, count, stride, width, staged), panel, units,
                       largest_sink_t {tops, poisons});
    }
    for (std::size_t i = 0; i < columns; ++i) largest[i] = tops[i] + poisons[i];
}

template <typename element_>
void max_products_of(lane_t &lane, std::size_t rows, std::size_t stride, element_ const *a, packed_t query,
                     float *largest) {
    std::size_t const width = query.inputs, unit = unit_of(a), odd = width % unit;
    std::size_t const step = block_rows(width, lane.cache_bytes());
    scratch_scope_t scope(lane);
    element_ *const staged = odd ? claim<element_>(lane, step * (width + 1)) : nullptr;
    if (odd && !staged) return;
    element_ const *panel = static_cast<element_ const *>(query.data);
    for (std::size_t token = 0; token < query.outputs; token += panel_columns_k) {
        keep_largest(step, rows, stride, a, width, panel, least(query.outputs - token, panel_columns_k), staged,
                     largest + token);
        panel += round_up(width, unit) * panel_columns_k;
    }
}

void max_products(lane_t &lane, std::size_t rows, std::size_t stride, bf16_t const *a, packed_t query,
                  float *largest) noexcept {
    max_products_of(lane, rows, stride, a, query, largest);
}
void max_products_wide(lane_t &lane, std::size_t rows, std::size_t stride, float const *a, packed_t query,
                       float *largest) noexcept {
    max_products_of(lane, rows, stride, a, query, largest);
}

/** Running maxima and, as floats, the rows that reached them first: sums come row by row, whatever the multiplier. */
struct winner_sink_t {
    static constexpr bool continues_k = false;
    float *largest, *winners; // [64] each
    std::size_t first;        // what row zero is counted as

    winner_sink_t from(std::size_t row, std::size_t column) const {
        return {largest + column, winners + column, first + row};
    }
    f32x_t start(std::size_t, std::size_t) const { return zero(); }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        f32x_t const top = load(largest + column), winner = load(winners + column);
        store(largest + column, where_greater(sum, top, sum, top));
        store(winners + column, where_greater(sum, top, broadcast(float(first + row)), winner));
    }
};

void winning_products(lane_t &lane, std::size_t rows, bf16_t const *a, packed_t query, float *largest,
                      std::uint16_t *winners) noexcept {
    std::size_t const width = query.inputs, pairs = divide_up(width, 2);
    std::size_t const step = least(rows, block_rows(width, lane.cache_bytes()));
    alignas(64) float tops[panel_columns_k], places[panel_columns_k];
    scratch_scope_t scope(lane);
    multiplier_t<left_rows_t> multiplier;
    bf16_t *const staged = width % 2 ? claim<bf16_t>(lane, step * (width + 1)) : nullptr;
    if ((width % 2 && !staged) || !multiplier.prepare(lane, step, pairs)) return;
    bf16_t const *panel = static_cast<bf16_t const *>(query.data);
    for (std::size_t token = 0; token < query.outputs; token += panel_columns_k, panel += panel_elements(width)) {
        for (std::size_t i = 0; i < panel_columns_k; ++i) tops[i] = -__builtin_inff(), places[i] = 0;
        for (std::size_t first = 0; first < rows; first += step) {
            std::size_t const count = least(rows - first, step);
            left_rows_t const left = document_rows(a + first * width, count, width, width, staged);
            multiplier.meet(count, left, pairs);
            multiplier.multiply(count, left, panel, pairs, winner_sink_t {tops, places, first});
        }
        for (std::size_t i = 0; i < least(query.outputs - token, panel_columns_k); ++i)
            largest[token + i] = tops[i], winners[token + i] = std::uint16_t(places[i]);
    }
}

/** panel(d, c) = source[c, d]; a query is short, so columns are moved one value at a time. */
void pack_wide(float const *source, packed_t target) noexcept {
    float *panel = static_cast<float *>(target.data);
    for (std::size_t first = 0; first < target.outputs; first += panel_columns_k) {
        for (std::size_t depth = 0; depth < target.inputs; ++depth, panel += panel_columns_k)
            for (std::size_t column = 0; column < panel_columns_k; ++column)
                panel[column] =
                    first + column < target.outputs ? source[(first + column) * target.inputs + depth] : 0.0f;
    }
}
