/**
 *  @file norm.hpp
 *  @brief RMS normalization of rows (Zhang and Sennrich, 2019), forward and backward.
 */
#pragma once

struct rmsnorm_step_t {
    float const *x, *scale;
    bf16_t *y;
    f32x_t inverse_f32x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store_narrow(y + i, load(x + i, span) * inverse_f32x * load(scale + i, span), span);
    }
};

/** Adds up (x factor)^2 of one row. */
struct scaled_squares_step_t {
    float const *x;
    f32x_t factor_f32x, *sum_f32x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const x_f32x = load(x + i, span) * factor_f32x;
        *sum_f32x = multiply_add(x_f32x, x_f32x, *sum_f32x);
    }
};

/** Where the sum of squares is beyond float; epsilon is nothing beside such a mean. */
inline float inverse_rms_of_large(std::size_t columns, float const *x, float scale) {
    f32x_t sum_f32x = zero();
    each_vector(columns, scaled_squares_step_t {x, broadcast(scale), &sum_f32x});
    float inverse[lanes_k];
    store(inverse, broadcast(scale) / square_root(broadcast(reduce_sum(sum_f32x) / float(columns))));
    return inverse[0];
}

/** At most `lanes_k` rows: their roots and quotients take one instruction each, with a row to a lane. */
inline void rmsnorm_rows(std::size_t rows, std::size_t columns, float const *x, float const *scale, bf16_t *y,
                         float *inverse_rms) {
    float squares[lanes_k] = {}, inverse[lanes_k];
    for (std::size_t row = 0; row < rows; ++row) squares[row] = sum_of_squares(x + row * columns, columns);
    f32x_t const mean_f32x = load(squares) / broadcast(float(columns));
    f32x_t const inverse_f32x = broadcast(1.0f) / square_root(mean_f32x + broadcast(rmsnorm_epsilon_k));
    store(inverse, inverse_f32x);
    for (std::size_t row = 0; row < rows; ++row)
        if (float const scale = squares_scale(squares[row]); scale < 1)
            inverse[row] = inverse_rms_of_large(columns, x + row * columns, scale);
    store_part(inverse_rms, load(inverse), rows);
    for (std::size_t row = 0; row < rows; ++row)
        each_vector(columns, rmsnorm_step_t {x + row * columns, scale, y + row * columns, broadcast(inverse[row])});
}

void rmsnorm(lane_t &lane, std::size_t rows, std::size_t columns, float const *x, float const *scale, bf16_t *y,
             float *inverse_rms) noexcept {
    lane.rows(rows, lanes_k, [=](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t row = first; row < last; row += lanes_k)
            rmsnorm_rows(least(last - row, lanes_k), columns, x + row * columns, scale, y + row * columns,
                         inverse_rms + row);
    });
}

/** Adds up <d_y scale, x> of one row. */
struct scaled_dot_step_t {
    bf16_t const *d_y;
    float const *scale, *x;
    f32x_t *sum_f32x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const g_f32x = load_narrow(d_y + i, span) * load(scale + i, span);
        *sum_f32x = multiply_add(g_f32x, load(x + i, span), *sum_f32x);
    }
};

/** d_x += r (d_y scale - x shrink). */
struct rmsnorm_backward_step_t {
    bf16_t const *d_y;
    float const *scale, *x;
    float *d_x_sum;
    f32x_t inverse_f32x, shrink_f32x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const g_f32x = load_narrow(d_y + i, span) * load(scale + i, span);
        f32x_t const step_f32x = subtract_product(g_f32x, load(x + i, span), shrink_f32x);
        store(d_x_sum + i, multiply_add(inverse_f32x, step_f32x, load(d_x_sum + i, span)), span);
    }
};

inline void rmsnorm_backward_row(std::size_t columns, rmsnorm_backward_t<float> const &io, std::size_t row) {
    float const *x = io.x + row * columns;
    bf16_t const *d_y = io.d_y + row * columns;
    f32x_t dot_f32x = zero();
    each_vector(columns, scaled_dot_step_t {d_y, io.scale, x, &dot_f32x});
    float const inverse = io.inverse_rms[row];
    f32x_t const inverse_f32x = broadcast(inverse < least_inverse_rms_k ? no_gradient_k : inverse);
    f32x_t const mean_f32x = broadcast(reduce_sum(dot_f32x) * (1.0f / float(columns)));
    f32x_t const shrink_f32x = inverse_f32x * inverse_f32x * mean_f32x;
    each_vector(columns,
                rmsnorm_backward_step_t {d_y, io.scale, x, io.d_x_sum + row * columns, inverse_f32x, shrink_f32x});
}

/** d_scale of one vector of columns, summed over all rows in their order. */
struct rmsnorm_scale_step_t {
    rmsnorm_backward_t<float> const &io;
    std::size_t rows, columns, first;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        std::size_t const column = first + i;
        f32x_t sum_f32x = load(io.d_scale_sum + column, span);
        for (std::size_t row = 0; row < rows; ++row) {
            std::size_t const cell = row * columns + column;
            f32x_t const d_y_f32x = load_narrow(io.d_y + cell, span) * broadcast(io.inverse_rms[row]);
            sum_f32x = multiply_add(d_y_f32x, load(io.x + cell, span), sum_f32x);
        }
        store(io.d_scale_sum + column, sum_f32x, span);
    }
};

void rmsnorm_backward(lane_t &lane, std::size_t rows, std::size_t columns,
                      rmsnorm_backward_t<float> const &io) noexcept {
    lane.rows(rows, 16, [&](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t row = first; row < last; ++row) rmsnorm_backward_row(columns, io, row);
    });
    lane.rows(columns, 4 * lanes_k, [&](std::size_t first, std::size_t last, lane_t &) {
        each_vector(last - first, rmsnorm_scale_step_t {io, rows, columns, first});
    });
}
