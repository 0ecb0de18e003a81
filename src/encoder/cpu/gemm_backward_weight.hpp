/**
 *  @file gemm_backward_weight.hpp
 *  @brief Gradients of weights: `d_w_sum += d_y^T a`, a product whose depth is the batch's rows.
 *
 *  Both operands lie across the depth, so both are zipped into panels first: 1,024 rows at a time into scratch. All of
 *  them are one product, since a sum's way to memory and back costs more than panels that come from the second-level
 *  cache. Every element's sum starts from what the buffer holds, or from zero, and walks the rows upwards, so neither
 *  blocking nor the number of threads changes it.
 */
#pragma once

constexpr std::size_t zipped_rows_k = 1024;

/** Sums of a panel that has fewer than 64 columns. */
template <bool adds_>
struct edge_sums_sink_t {
    static constexpr bool continues_k = adds_;
    float *sums;
    std::size_t stride, columns;

    edge_sums_sink_t from(std::size_t row, std::size_t column) const {
        return {sums + row * stride + column, stride, columns > column ? columns - column : 0};
    }
    std::size_t count(std::size_t column) const { return column < columns ? least(columns - column, lanes_k) : 0; }
    f32x_t start(std::size_t row, std::size_t column) const {
        if constexpr (adds_)
            if (count(column)) return load_part(sums + row * stride + column, count(column));
        return zero();
    }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        if (count(column)) store_part(sums + row * stride + column, sum, count(column));
    }
};

/** Whether a matrix of sums takes more than half of the second-level cache, as its operands want the rest, so that no
 *  line of it need be fetched to be written; and lies as whole registers do. */
inline bool is_far(std::size_t outputs, std::size_t inputs, float const *sums, std::size_t cache_bytes) {
    constexpr std::size_t register_bytes = lanes_k * sizeof(float);
    bool const is_aligned = reinterpret_cast<std::uintptr_t>(sums) % register_bytes == 0 && inputs % lanes_k == 0;
    return is_aligned && outputs * inputs * sizeof(float) > cache_bytes / 2;
}

/** A matrix as panels of 64 columns: [columns / 64][rows / 2][64][2]. */
struct zipped_t {
    bf16_t const *source; // [rows, columns]
    std::size_t columns;
    bf16_t *panels;

    std::size_t count() const { return divide_up(columns, panel_columns_k); }
    bf16_t *panel(std::size_t index) const { return panels + index * panel_elements(zipped_rows_k); }
    void zip(std::size_t index, std::size_t first, std::size_t rows) const {
        std::size_t const column = index * panel_columns_k;
        pack_rows(source + first * columns + column, columns, rows, least(columns - column, panel_columns_k),
                  panel(index));
    }
};

using zipped_multiplier_t = multiplier_t<left_panel_t>;

template <typename sink_>
void multiply_zipped(zipped_multiplier_t &multiplier, zipped_t const &d_y, zipped_t const &a, std::size_t unit,
                     std::size_t rows, float *d_w_sum) {
    std::size_t const output = unit / a.count() * panel_columns_k, input = unit % a.count() * panel_columns_k;
    std::size_t const outputs = least(d_y.columns - output, panel_columns_k), inputs = a.columns - input;
    float *sums = d_w_sum + output * a.columns + input;
    left_panel_t const left {d_y.panel(unit / a.count())};
    bf16_t const *right = a.panel(unit % a.count());
    if (inputs >= panel_columns_k)
        multiplier.multiply(outputs, left, right, divide_up(rows, 2), sink_ {sums, a.columns});
    else
        multiplier.multiply(outputs, left, right, divide_up(rows, 2),
                            edge_sums_sink_t<sink_::continues_k> {sums, a.columns, inputs});
}

void gemm_backward_weight(lane_t &lane, std::size_t rows, std::size_t outputs, std::size_t inputs, bf16_t const *d_y,
                          bf16_t const *a, weight_sum_t<float> d_w_sum) noexcept {
    scratch_scope_t scope(lane);
    zipped_t left {d_y, outputs, nullptr}, right {a, inputs, nullptr};
    left.panels = claim<bf16_t>(lane, left.count() * panel_elements(zipped_rows_k));
    right.panels = claim<bf16_t>(lane, right.count() * panel_elements(zipped_rows_k));
    if (!left.panels || !right.panels) return;
    if (rows == 0 && !d_w_sum.continues) std::memset(d_w_sum.data, 0, outputs * inputs * sizeof(float));
    for (std::size_t row = 0; row < rows; row += zipped_rows_k) {
        bool const adds = d_w_sum.continues || row > 0;
        bool const is_last = row + zipped_rows_k >= rows;
        auto const multiply_these = adds ? multiply_zipped<sums_sink_t<true>>
                                    : is_last && is_far(outputs, inputs, d_w_sum.data, lane.cache_bytes())
                                        ? multiply_zipped<sums_sink_t<false, true>>
                                        : multiply_zipped<sums_sink_t<false>>;
        std::size_t const step = least(rows - row, zipped_rows_k);
        lane.rows(left.count() + right.count(), 1, [&](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t unit = first; unit < last; ++unit)
                if (unit < left.count()) {
                    left.zip(unit, row, step);
                    zipped_multiplier_t::arrange_left(left.panel(unit), divide_up(step, 2));
                } else {
                    right.zip(unit - left.count(), row, step);
                    zipped_multiplier_t::arrange_right(right.panel(unit - left.count()), divide_up(step, 2));
                }
        });
        lane.rows(left.count() * right.count(), 1, [&](std::size_t first, std::size_t last, lane_t &) {
            zipped_multiplier_t multiplier;
            for (std::size_t unit = first; unit < last; ++unit)
                multiply_these(multiplier, left, right, unit, step, d_w_sum.data);
            finish_far_stores();
        });
    }
}
