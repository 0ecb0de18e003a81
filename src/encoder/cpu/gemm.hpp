/**
 *  @file gemm.hpp
 *  @brief Products with packed weights: `y = a w^T` in BFloat16 or, with an addend, in float.
 *
 *  A block of rows stays in the second-level cache while the panels of weights stream past it; within a block, one
 *  panel meets all rows before the next one is touched. Blocks and panels of E4M3 products are made of BFloat16 first,
 *  in scratch, so that `multiply_panel` is all a class has to replace.
 */
#pragma once

/** Rounds sums to BFloat16 as they leave the registers. `partial_` guards the last panel's missing columns. */
template <bool partial_>
struct narrow_sink_t {
    static constexpr bool continues_k = false;
    bf16_t *y;
    std::size_t stride, columns;

    narrow_sink_t from(std::size_t row, std::size_t column) const {
        return {y + row * stride + column, stride, columns > column ? columns - column : 0};
    }
    f32x_t start(std::size_t, std::size_t) const { return zero(); }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        bf16_t *target = y + row * stride + column;
        if constexpr (!partial_)
            store_narrow(target, sum);
        else if (column < columns)
            store_narrow_part(target, sum, least(columns - column, lanes_k));
    }
};

template <bool partial_, bool adds_>
struct wide_sink_t {
    static constexpr bool continues_k = false;
    float const *addend;
    float *y;
    std::size_t stride, columns;

    wide_sink_t from(std::size_t row, std::size_t column) const {
        std::size_t const step = row * stride + column;
        return {adds_ ? addend + step : nullptr, y + step, stride, columns > column ? columns - column : 0};
    }
    f32x_t start(std::size_t, std::size_t) const { return zero(); }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        std::size_t const step = row * stride + column;
        if constexpr (!partial_) {
            if constexpr (adds_) sum = load(addend + step) + sum;
            store(y + step, sum);
        } else if (column < columns) {
            std::size_t const count = least(columns - column, lanes_k);
            if constexpr (adds_) sum = load_part(addend + step, count) + sum;
            store_part(y + step, sum, count);
        }
    }
};

/**
 *  Rows of a block, in whole tiles: as many as half the second-level cache holds in BFloat16. The other half is for the
 *  panel that passes. Half and not a quarter, since each block calls all panels from further away, and expands those of
 *  E4M3: at 1 MiB and a depth of 2,048 products of 16 MiB of weights rose from 94 to 96 % of the peak on Genoa.
 */
inline std::size_t block_rows(std::size_t depth, std::size_t cache_bytes) {
    constexpr std::size_t step = multiplier_t<left_rows_t>::rows_k, fewest = 1 << 16, most = 1 << 19;
    std::size_t const elements = cache_bytes / 4 < fewest ? fewest : least(cache_bytes / 4, most);
    return round_up(least(elements / depth + 1, 384), step);
}

/** What one thread computes: a rectangle of the answer, in rows and in panels. */
struct rectangle_t {
    std::size_t first_row, last_row, first_panel, last_panel;
};

/** Rows of an odd depth, copied with a zero at their end, so that the last pair reads nothing foreign. */
inline left_rows_t even_rows(bf16_t const *a, std::size_t rows, std::size_t inputs, bf16_t *staged) {
    if (inputs % 2 == 0) return {a, inputs};
    for (std::size_t row = 0; row < rows; ++row) {
        std::memcpy(staged + row * (inputs + 1), a + row * inputs, inputs * sizeof(bf16_t));
        staged[row * (inputs + 1) + inputs] = {};
    }
    return {staged, inputs + 1};
}

/** What `multiply_panel` reads: a product's operands as they are, or copies of them in a worker's scratch. */
class operands_t {
    packed_t w_;
    bf16_t *left_ = nullptr;  // [block rows, even inputs], where rows are rounded or padded
    bf16_t *right_ = nullptr; // one panel, where weights are expanded

  public:
    bool prepare(lane_t &worker, packed_t w, std::size_t rows) {
        w_ = w;
        if (w.is_e4m3() && !(right_ = claim<bf16_t>(worker, panel_elements(w.inputs)))) return false;
        if (!w.rounds_left() && w.inputs % 2 == 0) return true;
        return (left_ = claim<bf16_t>(worker, rows * round_up(w.inputs, 2)));
    }
    left_rows_t left(bf16_t const *a, std::size_t rows) const {
        return w_.rounds_left() ? round_rows(a, rows, w_.inputs, left_) : even_rows(a, rows, w_.inputs, left_);
    }
    bf16_t const *right(std::size_t panel) const {
        std::size_t const first = panel * panel_elements(w_.inputs);
        if (!w_.is_e4m3()) return static_cast<bf16_t const *>(w_.data) + first;
        expand_panel(static_cast<e4m3_t const *>(w_.data) + first, divide_up(w_.inputs, 2), right_);
        return right_;
    }
};

/** `sinks_` makes the sink of a panel's first row: `whole(column)` where all 64 columns exist, else `part(column)`. */
template <typename sinks_>
void multiply_rectangle(lane_t &worker, rectangle_t area, bf16_t const *a, packed_t w, sinks_ sinks) {
    std::size_t const step = block_rows(w.inputs, worker.cache_bytes()), pairs = divide_up(w.inputs, 2);
    scratch_scope_t scope(worker);
    operands_t operands;
    multiplier_t<left_rows_t> multiplier;
    std::size_t const most = least(step, area.last_row - area.first_row);
    if (!operands.prepare(worker, w, most) || !multiplier.prepare(worker, most, pairs)) return;
    for (std::size_t first = area.first_row; first < area.last_row; first += step) {
        std::size_t const rows = least(area.last_row - first, step);
        left_rows_t const left = operands.left(a + first * w.inputs, rows);
        multiplier.meet(rows, left, pairs);
        for (std::size_t panel = area.first_panel; panel < area.last_panel; ++panel) {
            bf16_t const *right = operands.right(panel);
            std::size_t const column = panel * panel_columns_k;
            if (column + panel_columns_k <= w.outputs)
                multiplier.multiply(rows, left, right, pairs, sinks.whole(first, column));
            else
                multiplier.multiply(rows, left, right, pairs, sinks.part(first, column));
        }
    }
}

/**
 *  Whether threads share out panels and not rows: where that leaves the busiest of them clearly fewer tiles. Few rows cut
 *  into shares end in part tiles: 64 rows on two threads are six tiles each of six rows, for a loss of 9 %.
 */
inline bool deals_panels(std::size_t rows, std::size_t panels, std::size_t width, std::size_t grain) {
    constexpr std::size_t tile = multiplier_t<left_rows_t>::rows_k;
    std::size_t const share = least(rows, divide_up(divide_up(rows, grain), width) * grain);
    std::size_t const by_rows = divide_up(share, tile) * panels;
    std::size_t const by_panels = divide_up(rows, tile) * divide_up(panels, width);
    return by_panels + by_panels / 64 < by_rows;
}

/** Deals rows, or panels where those come out even and rows do not. */
template <typename sinks_>
void multiply_packed(lane_t &lane, std::size_t rows, bf16_t const *a, packed_t w, sinks_ sinks) {
    std::size_t const panels = divide_up(w.outputs, panel_columns_k), grain = 2 * multiplier_t<left_rows_t>::rows_k;
    if (!deals_panels(rows, panels, lane.width(), grain))
        return lane.rows(rows, grain, [&](std::size_t first, std::size_t last, lane_t &worker) {
            multiply_rectangle(worker, {first, last, 0, panels}, a, w, sinks);
        });
    lane.rows(panels, 1, [&](std::size_t first, std::size_t last, lane_t &worker) {
        multiply_rectangle(worker, {0, rows, first, last}, a, w, sinks);
    });
}

struct narrow_sinks_t {
    bf16_t *y;
    std::size_t outputs;

    narrow_sink_t<false> whole(std::size_t row, std::size_t column) const {
        return {y + row * outputs + column, outputs, panel_columns_k};
    }
    narrow_sink_t<true> part(std::size_t row, std::size_t column) const {
        return {y + row * outputs + column, outputs, outputs - column};
    }
};

template <bool adds_>
struct wide_sinks_t {
    float const *addend;
    float *y;
    std::size_t outputs;

    template <bool partial_>
    wide_sink_t<partial_, adds_> at(std::size_t row, std::size_t column) const {
        std::size_t const step = row * outputs + column;
        return {adds_ ? addend + step : nullptr, y + step, outputs, outputs - column};
    }
    wide_sink_t<false, adds_> whole(std::size_t row, std::size_t column) const { return at<false>(row, column); }
    wide_sink_t<true, adds_> part(std::size_t row, std::size_t column) const { return at<true>(row, column); }
};

void gemm(lane_t &lane, std::size_t rows, bf16_t const *a, packed_t w, bf16_t *y) noexcept {
    multiply_packed(lane, rows, a, w, narrow_sinks_t {y, w.outputs});
}

void gemm_wide(lane_t &lane, std::size_t rows, bf16_t const *a, packed_t w, float const *addend, float *y) noexcept {
    if (addend) return multiply_packed(lane, rows, a, w, wide_sinks_t<true> {addend, y, w.outputs});
    multiply_packed(lane, rows, a, w, wide_sinks_t<false> {nullptr, y, w.outputs});
}
