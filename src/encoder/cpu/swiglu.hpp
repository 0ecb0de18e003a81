/**
 *  @file swiglu.hpp
 *  @brief SiLU and its gated product, forward and backward, on any number of elements.
 */
#pragma once

struct swiglu_step_t {
    bf16_t const *gate, *up;
    bf16_t *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const gate_f32x = load_narrow(gate + i, span);
        store_narrow(y + i, gate_f32x * load_narrow(up + i, span) / one_plus_exp_of_minus(gate_f32x), span);
    }
};

struct silu_step_t {
    bf16_t const *x;
    bf16_t *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const x_f32x = load_narrow(x + i, span);
        store_narrow(y + i, x_f32x / one_plus_exp_of_minus(x_f32x), span);
    }
};

/** d silu(x) / dx = s (1 + x (1 - s)) with s = sigmoid(x). */
inline f32x_t silu_slope(f32x_t x, f32x_t s) { return s * multiply_add(x, broadcast(1.0f) - s, broadcast(1.0f)); }

struct swiglu_backward_step_t {
    bf16_t const *gate, *up, *d_y;
    bf16_t *d_gate, *d_up;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const gate_f32x = load_narrow(gate + i, span), d_y_f32x = load_narrow(d_y + i, span);
        f32x_t const sigmoid_f32x = broadcast(1.0f) / one_plus_exp_of_minus(gate_f32x);
        f32x_t const slope_f32x = silu_slope(gate_f32x, sigmoid_f32x);
        store_narrow(d_gate + i, d_y_f32x * load_narrow(up + i, span) * slope_f32x, span);
        store_narrow(d_up + i, d_y_f32x * gate_f32x * sigmoid_f32x, span);
    }
};

struct silu_backward_step_t {
    bf16_t const *x, *d_y;
    bf16_t *d_x;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        f32x_t const x_f32x = load_narrow(x + i, span);
        f32x_t const sigmoid_f32x = broadcast(1.0f) / one_plus_exp_of_minus(x_f32x);
        store_narrow(d_x + i, load_narrow(d_y + i, span) * silu_slope(x_f32x, sigmoid_f32x), span);
    }
};

inline void swiglu_rows(std::size_t first, std::size_t last, std::size_t inner, bf16_t const *gate_up, bf16_t *y) {
    for (std::size_t row = first; row < last; ++row) {
        bf16_t const *gate = gate_up + row * 2 * inner;
        each_vector(inner, swiglu_step_t {gate, gate + inner, y + row * inner});
    }
}

void swiglu(lane_t &lane, std::size_t rows, std::size_t inner, bf16_t const *gate_up, bf16_t *y) noexcept {
    lane.rows(rows, 8,
              [=](std::size_t first, std::size_t last, lane_t &) { swiglu_rows(first, last, inner, gate_up, y); });
}

inline void swiglu_backward_rows(std::size_t first, std::size_t last, std::size_t inner, bf16_t const *gate_up,
                                 bf16_t const *d_y, bf16_t *d_gate_up) {
    for (std::size_t row = first; row < last; ++row) {
        bf16_t const *gate = gate_up + row * 2 * inner;
        bf16_t *d_gate = d_gate_up + row * 2 * inner;
        each_vector(inner, swiglu_backward_step_t {gate, gate + inner, d_y + row * inner, d_gate, d_gate + inner});
    }
}

void swiglu_backward(lane_t &lane, std::size_t rows, std::size_t inner, bf16_t const *gate_up, bf16_t const *d_y,
                     bf16_t *d_gate_up) noexcept {
    lane.rows(rows, 8, [=](std::size_t first, std::size_t last, lane_t &) {
        swiglu_backward_rows(first, last, inner, gate_up, d_y, d_gate_up);
    });
}

void silu(lane_t &lane, std::size_t count, bf16_t const *x, bf16_t *y) noexcept {
    lane.rows(count, 4096, [=](std::size_t first, std::size_t last, lane_t &) {
        each_vector(last - first, silu_step_t {x + first, y + first});
    });
}

void silu_backward(lane_t &lane, std::size_t count, bf16_t const *x, bf16_t const *d_y, bf16_t *d_x) noexcept {
    lane.rows(count, 4096, [=](std::size_t first, std::size_t last, lane_t &) {
        each_vector(last - first, silu_backward_step_t {x + first, d_y + first, d_x + first});
    });
}
