/**
 *  @file rows.hpp
 *  @brief Row-wise conversions around the tower: rounding, widening, unit rows, and the byte embedding's two
 *  directions.
 */
#pragma once

struct cast_step_t {
    float const *x;
    bf16_t *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store_narrow(y + i, load(x + i, span), span);
    }
};

struct widen_step_t {
    bf16_t const *x;
    float *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store(y + i, load_narrow(x + i, span), span);
    }
};

struct add_step_t {
    float const *x;
    float *y_sum;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store(y_sum + i, load(y_sum + i, span) + load(x + i, span), span);
    }
};

struct widen_f16_step_t {
    std::uint16_t const *x;
    float *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store(y + i, load_f16(x + i, span), span);
    }
};

struct scale_step_t {
    float const *x;
    float *y;
    f32x_t factor_f32x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store(y + i, load(x + i, span) * factor_f32x, span);
    }
};

void cast_rows(lane_t &lane, std::size_t count, float const *x, bf16_t *y) noexcept {
    lane.rows(count, 4096, [=](std::size_t first, std::size_t last, lane_t &) {
        each_vector(last - first, cast_step_t {x + first, y + first});
    });
}

void widen_f16(lane_t &lane, std::size_t count, std::uint16_t const *x, float *y) noexcept {
    lane.rows(count, 4096, [=](std::size_t first, std::size_t last, lane_t &) {
        each_vector(last - first, widen_f16_step_t {x + first, y + first});
    });
}

void gather_bytes(lane_t &lane, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, bf16_t const *table,
                  float *x) noexcept {
    lane.rows(tokens, 64, [=](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t token = first; token < last; ++token)
            each_vector(hidden, widen_step_t {table + ids[token] * hidden, x + token * hidden});
    });
}

/** Tokens repeat bytes, so threads share out columns, and each walks all tokens in order. */
void scatter_bytes_sum(lane_t &lane, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, float const *d_x,
                       float *d_table_sum) noexcept {
    lane.rows(hidden, 4 * lanes_k, [=](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t token = 0; token < tokens; ++token)
            each_vector(last - first,
                        add_step_t {d_x + token * hidden + first, d_table_sum + ids[token] * hidden + first});
    });
}

/** Some vectors of the sum, in registers while the rows pass. */
template <std::size_t vectors_, typename span_>
void gather_columns_sum(gather_rows_t<float> const &io, std::size_t columns, std::size_t first, span_ span) {
    f32x_t sums_f32x[vectors_];
#pragma GCC unroll 8
    for (std::size_t vector = 0; vector < vectors_; ++vector)
        sums_f32x[vector] = load(io.y_sum + first + vector * lanes_k, span);
    for (std::size_t i = 0; i < io.count; ++i) {
        bf16_t const *const x = io.x + io.rows[i] * columns + first;
        f32x_t const factor_f32x = broadcast(io.factors[i]);
#pragma GCC unroll 8
        for (std::size_t vector = 0; vector < vectors_; ++vector)
            sums_f32x[vector] = multiply_add(load_narrow(x + vector * lanes_k, span), factor_f32x, sums_f32x[vector]);
    }
#pragma GCC unroll 8
    for (std::size_t vector = 0; vector < vectors_; ++vector)
        store(io.y_sum + first + vector * lanes_k, sums_f32x[vector], span);
}

/** Eight vectors at once: with fewer, a row would wait for the sums of the one before it. */
void gather_rows_sum(lane_t &lane, std::size_t columns, gather_rows_t<float> const &io) noexcept {
    lane.rows(columns, 8 * lanes_k, [=](std::size_t first, std::size_t last, lane_t &) {
        for (; first + 8 * lanes_k <= last; first += 8 * lanes_k) gather_columns_sum<8>(io, columns, first, whole_t {});
        for (; first + lanes_k <= last; first += lanes_k) gather_columns_sum<1>(io, columns, first, whole_t {});
        if (first < last) gather_columns_sum<1>(io, columns, first, part_t {last - first});
    });
}

/** Sum of squares of one row, sixty-four columns at a time in four accumulators: the same order for every row. */
inline float sum_of_squares(float const *x, std::size_t columns) {
    f32x_t sums_f32x[4] = {zero(), zero(), zero(), zero()};
    std::size_t i = 0;
    for (; i + 4 * lanes_k <= columns; i += 4 * lanes_k)
#pragma GCC unroll 4
        for (std::size_t part = 0; part < 4; ++part) {
            f32x_t const x_f32x = load(x + i + part * lanes_k);
            sums_f32x[part] = multiply_add(x_f32x, x_f32x, sums_f32x[part]);
        }
    for (; i < columns; i += lanes_k) {
        f32x_t const x_f32x = load_part(x + i, least(columns - i, lanes_k));
        sums_f32x[0] = multiply_add(x_f32x, x_f32x, sums_f32x[0]);
    }
    return reduce_sum((sums_f32x[0] + sums_f32x[1]) + (sums_f32x[2] + sums_f32x[3]));
}

/** `y` may be `x`, so what the factor took is written before it is summed. */
inline void normalize_scaled_row(std::size_t columns, float const *x, float scale, float *y, float *inverse_norm) {
    each_vector(columns, scale_step_t {x, y, broadcast(scale)});
    float const squares = sum_of_squares(y, columns);
    f32x_t const inverse_f32x = squares > 0 ? broadcast(1.0f) / square_root(broadcast(squares)) : zero();
    store_part(inverse_norm, inverse_f32x * broadcast(scale), 1);
    each_vector(columns, scale_step_t {y, y, inverse_f32x});
}

inline void normalize_row(std::size_t columns, float const *x, float *y, float *inverse_norm) {
    float const squares = sum_of_squares(x, columns), scale = squares_scale(squares);
    if (scale != 1) return normalize_scaled_row(columns, x, scale, y, inverse_norm);
    f32x_t const inverse_f32x = broadcast(1.0f) / square_root(broadcast(squares));
    store_part(inverse_norm, inverse_f32x, 1);
    each_vector(columns, scale_step_t {x, y, inverse_f32x});
}

void normalize_rows(lane_t &lane, std::size_t rows, std::size_t columns, std::size_t stride, float const *x, float *y,
                    float *inverse_norm) noexcept {
    lane.rows(rows, 16, [=](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t row = first; row < last; ++row)
            normalize_row(columns, x + row * stride, y + row * stride, inverse_norm + row);
    });
}
