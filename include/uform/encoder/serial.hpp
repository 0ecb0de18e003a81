/**
 *  @file serial.hpp
 *  @brief The kit in plain loops over any field: the portable floor and the oracle.
 *
 *  `kit<float>` stores activations as BFloat16 and is the class every machine runs, with the same bits on each, since
 *  its exponentials are our own and contraction is off. `kit<double>` and `kit<std::complex<double>>` store what they
 *  compute and check every other kit: the complex step Im F(x + ih) / h has no subtraction, so gradients are exact to
 *  rounding (Squire and Trapp, 1998). Loops sum in index order and split over nothing they sum.
 */
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include <uform/encoder/kit.hpp>
#include <uform/encoder/updated_row.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/rows.hpp>
#include <uform/utilities/squares.hpp>

namespace uform::serial {

template <typename scalar_>
auto real_of(scalar_ x) noexcept {
    if constexpr (std::is_floating_point_v<scalar_>)
        return x;
    else
        return x.real();
}

template <typename wide_>
struct kit {
    using wide_t = wide_;
    using narrow_t = uform::narrow_t<wide_>;
    using wide = wide_t const *;
    using narrow = narrow_t const *;

    char const *name = "serial";

    static wide_t load(narrow_t x) noexcept { return widen(x); }
    static narrow_t store(wide_t x) noexcept { return uform::narrow<wide_t>(x); }
    static wide_t real(double x) noexcept { return wide_t(x); }
    static wide_t sigmoid(wide_t x) noexcept { return wide_t(1) / (wide_t(1) + exp_of(-x)); }

    // E4M3 weights: bytes for float, as in every class; the oracle over double keeps their values as it keeps all
    // else. The complex kit differentiates, which nobody does through a rounding, so it stores what it is given.
    static constexpr bool stores_bytes = std::is_same_v<wide_t, float>;
    using quantized_t = std::conditional_t<stores_bytes, e4m3_t, narrow_t>;

    static wide_t load(e4m3_t x) noexcept { return widen(x); }
    static wide_t load(wide_t x) noexcept
        requires(!std::is_same_v<wide_t, narrow_t>)
    {
        return x;
    }
    static quantized_t quantize(narrow_t x) noexcept {
        if constexpr (stores_bytes)
            return round_to_e4m3(widen(x));
        else if constexpr (std::is_same_v<wide_t, double>)
            return widen(round_to_e4m3(float(x)));
        else
            return x;
    }

    static std::size_t pack_bytes(std::size_t outputs, std::size_t inputs, uform_scalar_t scalar) noexcept {
        std::size_t const narrow_bytes = scalar == uform_scalar_e4m3_k ? sizeof(quantized_t) : sizeof(narrow_t);
        return outputs * inputs * (scalar == uform_scalar_f32_k ? sizeof(wide_t) : narrow_bytes);
    }
    static void pack_wide(wide source, packed_t target) noexcept {
        std::copy_n(source, target.outputs * target.inputs, static_cast<wide_t *>(target.data));
    }
    static void pack(narrow source, std::size_t first, std::size_t count, packed_t target) noexcept {
        if (target.is_e4m3()) {
            quantized_t *stored = static_cast<quantized_t *>(target.data) + first * target.inputs;
            for (std::size_t i = 0; i < count * target.inputs; ++i) stored[i] = quantize(source[i]);
            return;
        }
        std::memcpy(static_cast<narrow_t *>(target.data) + first * target.inputs, source,
                    count * target.inputs * sizeof(narrow_t));
    }
    static void pack_transposed(narrow source, packed_t target) noexcept {
        narrow_t *transposed = static_cast<narrow_t *>(target.data); // [outputs, inputs] of the target
        for (std::size_t row = 0; row < target.inputs; ++row)
            for (std::size_t column = 0; column < target.outputs; ++column)
                transposed[column * target.inputs + row] = source[row * target.outputs + column];
    }

    template <typename left_, typename right_>
    static wide_t dot(std::size_t depth, left_ const *a, right_ const *b) noexcept {
        wide_t sum = 0;
        for (std::size_t i = 0; i < depth; ++i) sum += load(a[i]) * load(b[i]);
        return sum;
    }

    /** Calls `keep(cell, product)` for every cell of a row of the answer. */
    template <typename weight_, typename left_, typename keep_>
    static void multiply_row(std::size_t row, left_ const *a, packed_t w, keep_ const &keep) noexcept {
        weight_ const *weights = static_cast<weight_ const *>(w.data);
        for (std::size_t output = 0; output < w.outputs; ++output)
            keep(row * w.outputs + output, dot(w.inputs, a, weights + output * w.inputs));
    }
    template <typename keep_>
    static void multiply(lane_t &lane, std::size_t rows, narrow a, packed_t w, keep_ const &keep) noexcept {
        lane.rows(rows, 1, [=](std::size_t first, std::size_t last, lane_t &worker) {
            if (!w.rounds_left()) {
                for (std::size_t row = first; row < last; ++row)
                    w.is_e4m3() ? multiply_row<quantized_t>(row, a + row * w.inputs, w, keep)
                                : multiply_row<narrow_t>(row, a + row * w.inputs, w, keep);
                return;
            }
            scratch_scope_t scope(worker);
            quantized_t *const rounded = worker.claim<quantized_t>(w.inputs);
            if (!rounded) return;
            for (std::size_t row = first; row < last; ++row) {
                for (std::size_t i = 0; i < w.inputs; ++i) rounded[i] = quantize(a[row * w.inputs + i]);
                multiply_row<quantized_t>(row, rounded, w, keep);
            }
        });
    }
    static void gemm(lane_t &lane, std::size_t rows, narrow a, packed_t w, narrow_t *y) noexcept {
        multiply(lane, rows, a, w, [=](std::size_t cell, wide_t product) { y[cell] = store(product); });
    }
    static void gemm_wide(lane_t &lane, std::size_t rows, narrow a, packed_t w, wide addend, wide_t *y) noexcept {
        multiply(lane, rows, a, w,
                 [=](std::size_t cell, wide_t product) { y[cell] = addend ? addend[cell] + product : product; });
    }
    static void gemm_backward_weight(lane_t &lane, std::size_t rows, std::size_t outputs, std::size_t inputs,
                                     narrow d_y, narrow a, weight_sum_t<wide_t> d_w_sum) noexcept {
        lane.rows(outputs, 1, [=](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t output = first; output < last; ++output)
                for (std::size_t input = 0; input < inputs; ++input) {
                    wide_t sum = 0;
                    for (std::size_t row = 0; row < rows; ++row)
                        sum += load(d_y[row * outputs + output]) * load(a[row * inputs + input]);
                    wide_t &gathered = d_w_sum.data[output * inputs + input];
                    gathered = (d_w_sum.continues ? gathered : wide_t(0)) + sum;
                }
        });
    }

    /** Of x times `scale`. */
    static wide_t sum_of_squares(std::size_t columns, wide x, wide_t scale) noexcept {
        wide_t squares = 0;
        for (std::size_t i = 0; i < columns; ++i) squares += (x[i] * scale) * (x[i] * scale);
        return squares;
    }
    /** Where the plain sum is beyond float, epsilon is nothing beside the mean. */
    static wide_t inverse_rms_of(std::size_t columns, wide x) noexcept {
        wide_t const squares = sum_of_squares(columns, x, 1), count = real(double(columns));
        float const scale = squares_scale(float(real_of(squares)));
        if (scale < 1) return real(scale) / sqrt_of(sum_of_squares(columns, x, real(scale)) / count);
        return wide_t(1) / sqrt_of(squares / count + real(rmsnorm_epsilon_k));
    }
    static void rmsnorm(lane_t &lane, std::size_t rows, std::size_t columns, wide x, wide scale, narrow_t *y,
                        wide_t *inverse_rms) noexcept {
        lane.rows(rows, 1, [=](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t row = first; row < last; ++row) {
                wide from = x + row * columns;
                wide_t const inverse = inverse_rms_of(columns, from);
                inverse_rms[row] = inverse;
                for (std::size_t i = 0; i < columns; ++i) y[row * columns + i] = store(from[i] * inverse * scale[i]);
            }
        });
    }
    /** Zhang and Sennrich, 2019: d_x = r (g - x r^2 <g, x> / columns) with g = d_y * scale. */
    static void rmsnorm_backward(lane_t &, std::size_t rows, std::size_t columns,
                                 rmsnorm_backward_t<wide_t> const &io) noexcept {
        for (std::size_t row = 0; row < rows; ++row) {
            wide x = io.x + row * columns;
            narrow d_y = io.d_y + row * columns;
            wide_t inverse = io.inverse_rms[row];
            if (real_of(inverse) < least_inverse_rms_k) inverse = real(no_gradient_k);
            wide_t dot_sum = 0;
            for (std::size_t i = 0; i < columns; ++i) {
                dot_sum += load(d_y[i]) * io.scale[i] * x[i];
                io.d_scale_sum[i] += load(d_y[i]) * x[i] * inverse;
            }
            wide_t const shrink = inverse * inverse * dot_sum / real(double(columns));
            for (std::size_t i = 0; i < columns; ++i)
                io.d_x_sum[row * columns + i] += inverse * (load(d_y[i]) * io.scale[i] - x[i] * shrink);
        }
    }

    static void rope(lane_t &lane, std::size_t tokens, std::size_t heads, wide rotary, rotation_t direction,
                     narrow_t *qkv) noexcept {
        wide_t const sign = direction == rotation_t::forward_k ? real(1) : real(-1);
        lane.rows(tokens, 1, [=](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t token = first; token < last; ++token)
                for (std::size_t head = 0; head < 2 * heads; ++head) { // q heads, then k heads
                    narrow_t *pair = qkv + (token * 3 * heads + head) * head_width_k;
                    wide cosines = rotary + token * head_width_k, sines = cosines + head_pairs_k;
                    for (std::size_t j = 0; j < head_pairs_k; ++j) {
                        wide_t const low = load(pair[j]), high = load(pair[j + head_pairs_k]);
                        wide_t const sine = sign * sines[j];
                        pair[j] = store(low * cosines[j] - high * sine);
                        pair[j + head_pairs_k] = store(high * cosines[j] + low * sine);
                    }
                }
        });
    }

    /** Scaled scores of one query row against its item's keys, then their softmax in place; answers the lse. */
    static wide_t probabilities(std::size_t tokens, std::size_t stride, narrow q, narrow keys,
                                wide_t *scores) noexcept {
        for (std::size_t t = 0; t < tokens; ++t) scores[t] = dot(head_width_k, q, keys + t * stride) * real(0.125);
        auto top = real_of(scores[0]);
        for (std::size_t t = 1; t < tokens; ++t) top = std::max(top, real_of(scores[t]));
        wide_t sum = 0;
        for (std::size_t t = 0; t < tokens; ++t) sum += scores[t] = exp_of(scores[t] - wide_t(top));
        for (std::size_t t = 0; t < tokens; ++t) scores[t] = scores[t] / sum;
        return wide_t(top) + log_of(sum);
    }
    template <typename body_>
    static void each_item_head(lane_t &lane, items_t items, std::size_t heads, body_ const &body) noexcept {
        lane.rows(items.count() * heads, 1, [&](std::size_t first, std::size_t last, lane_t &worker) {
            for (std::size_t unit = first; unit < last; ++unit) {
                std::size_t const item = unit / heads, begin = items.offsets[item];
                scratch_scope_t scope(worker);
                if (std::size_t const tokens = items.offsets[item + 1] - begin)
                    body(begin, tokens, unit % heads, worker);
            }
        });
    }
    static void attention(lane_t &lane, items_t items, std::size_t heads, narrow qkv, narrow_t *attended,
                          wide_t *lse) noexcept {
        std::size_t const hidden = heads * head_width_k, stride = 3 * hidden;
        each_item_head(
            lane, items, heads, [=](std::size_t begin, std::size_t tokens, std::size_t head, lane_t &worker) {
                wide_t *weights = worker.claim<wide_t>(tokens);
                if (!weights) return;
                narrow q = qkv + begin * stride + head * head_width_k, k = q + hidden, v = k + hidden;
                for (std::size_t row = 0; row < tokens; ++row) {
                    lse[(begin + row) * heads + head] = probabilities(tokens, stride, q + row * stride, k, weights);
                    for (std::size_t j = 0; j < head_width_k; ++j) {
                        wide_t sum = 0;
                        for (std::size_t t = 0; t < tokens; ++t) sum += weights[t] * load(v[t * stride + j]);
                        attended[(begin + row) * hidden + head * head_width_k + j] = store(sum);
                    }
                }
            });
    }
    /** Dao et al., 2022, appendix B: d_s = p (d_p - <d_o, o>), replayed from the lse. */
    static void attention_backward(lane_t &lane, items_t items, std::size_t heads,
                                   attention_backward_t<wide_t> const &io) noexcept {
        std::size_t const hidden = heads * head_width_k, stride = 3 * hidden;
        each_item_head(
            lane, items, heads, [=](std::size_t begin, std::size_t tokens, std::size_t head, lane_t &worker) {
                std::size_t const size = tokens * head_width_k;
                wide_t *d_head = worker.claim<wide_t>(3 * size); // d_q, d_k, d_v, each [tokens, 64]
                if (!d_head) return;
                std::fill(d_head, d_head + 3 * size, wide_t(0));
                std::size_t const column = head * head_width_k;
                narrow q = io.qkv + begin * stride + column, k = q + hidden, v = k + hidden;
                narrow output = io.attended + begin * hidden + column,
                       d_output = io.d_attended + begin * hidden + column;
                for (std::size_t row = 0; row < tokens; ++row) {
                    wide_t const delta = dot(head_width_k, output + row * hidden, d_output + row * hidden);
                    wide_t const lse = io.lse[(begin + row) * heads + head];
                    for (std::size_t t = 0; t < tokens; ++t) {
                        wide_t const score = dot(head_width_k, q + row * stride, k + t * stride) * real(0.125);
                        wide_t const p = exp_of(score - lse);
                        wide_t const d_p = dot(head_width_k, d_output + row * hidden, v + t * stride);
                        wide_t const d_score = p * (d_p - delta) * real(0.125);
                        for (std::size_t j = 0; j < head_width_k; ++j) {
                            d_head[row * head_width_k + j] += d_score * load(k[t * stride + j]);
                            d_head[size + t * head_width_k + j] += d_score * load(q[row * stride + j]);
                            d_head[2 * size + t * head_width_k + j] += p * load(d_output[row * hidden + j]);
                        }
                    }
                }
                narrow_t *d_qkv = io.d_qkv + begin * stride + column;
                for (std::size_t part = 0; part < 3; ++part)
                    for (std::size_t t = 0; t < tokens; ++t)
                        for (std::size_t j = 0; j < head_width_k; ++j)
                            d_qkv[t * stride + part * hidden + j] = store(d_head[part * size + t * head_width_k + j]);
            });
    }

    /** Shazeer, 2020: silu(gate) * up. */
    static void swiglu(lane_t &lane, std::size_t rows, std::size_t inner, narrow gate_up, narrow_t *y) noexcept {
        lane.rows(rows, 1, [=](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t row = first; row < last; ++row)
                for (std::size_t i = 0; i < inner; ++i) {
                    wide_t const gate = load(gate_up[row * 2 * inner + i]);
                    y[row * inner + i] = store(gate * sigmoid(gate) * load(gate_up[(row * 2 + 1) * inner + i]));
                }
        });
    }
    static void swiglu_backward(lane_t &lane, std::size_t rows, std::size_t inner, narrow gate_up, narrow d_y,
                                narrow_t *d_gate_up) noexcept {
        lane.rows(rows, 1, [=](std::size_t first, std::size_t last, lane_t &) {
            for (std::size_t row = first; row < last; ++row)
                for (std::size_t i = 0; i < inner; ++i) {
                    std::size_t const gate_cell = row * 2 * inner + i, up_cell = gate_cell + inner;
                    wide_t const gate = load(gate_up[gate_cell]), up = load(gate_up[up_cell]);
                    wide_t const d = load(d_y[row * inner + i]), s = sigmoid(gate);
                    d_gate_up[gate_cell] = store(d * up * s * (wide_t(1) + gate * (wide_t(1) - s)));
                    d_gate_up[up_cell] = store(d * gate * s);
                }
        });
    }
    static void silu(lane_t &, std::size_t count, narrow x, narrow_t *y) noexcept {
        for (std::size_t i = 0; i < count; ++i) y[i] = store(load(x[i]) * sigmoid(load(x[i])));
    }
    static void silu_backward(lane_t &, std::size_t count, narrow x, narrow d_y, narrow_t *d_x) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            wide_t const value = load(x[i]), s = sigmoid(value);
            d_x[i] = store(load(d_y[i]) * s * (wide_t(1) + value * (wide_t(1) - s)));
        }
    }

    static void gather_bytes(lane_t &, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, narrow table,
                             wide_t *x) noexcept {
        for (std::size_t token = 0; token < tokens; ++token)
            for (std::size_t i = 0; i < hidden; ++i) x[token * hidden + i] = load(table[ids[token] * hidden + i]);
    }
    static void scatter_bytes_sum(lane_t &, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, wide d_x,
                                  wide_t *d_table_sum) noexcept {
        for (std::size_t token = 0; token < tokens; ++token)
            for (std::size_t i = 0; i < hidden; ++i) d_table_sum[ids[token] * hidden + i] += d_x[token * hidden + i];
    }

    static void gather_rows_sum(lane_t &, std::size_t columns, gather_rows_t<wide_t> const &io) noexcept {
        for (std::size_t row = 0; row < io.count; ++row) {
            narrow const x = io.x + io.rows[row] * columns;
            for (std::size_t i = 0; i < columns; ++i) io.y_sum[i] += io.factors[row] * load(x[i]);
        }
    }

    static void pool(lane_t &lane, items_t items, std::size_t heads, narrow states, wide query, wide_t *attention,
                     wide_t *pooled) noexcept {
        std::size_t const hidden = heads * head_width_k;
        for (std::size_t unit = 0; unit < items.count() * heads; ++unit) {
            std::size_t const item = unit / heads, head = unit % heads;
            std::size_t const begin = items.offsets[item], tokens = items.offsets[item + 1] - begin;
            scratch_scope_t scope(lane);
            wide_t *weights = lane.claim<wide_t>(tokens + 1);
            if (!weights) return;
            narrow slice = states + begin * hidden + head * head_width_k;
            softmax_scores(tokens, hidden, slice, query + head * head_width_k, weights);
            for (std::size_t j = 0; j < head_width_k; ++j) {
                wide_t sum = 0;
                for (std::size_t t = 0; t < tokens; ++t) sum += weights[t] * load(slice[t * hidden + j]);
                pooled[item * hidden + head * head_width_k + j] = sum;
            }
            for (std::size_t t = 0; t < tokens; ++t) attention[(begin + t) * heads + head] = weights[t];
        }
    }
    static void softmax_scores(std::size_t tokens, std::size_t hidden, narrow slice, wide query,
                               wide_t *weights) noexcept {
        if (tokens == 0) return;
        for (std::size_t t = 0; t < tokens; ++t) {
            wide_t sum = 0;
            for (std::size_t j = 0; j < head_width_k; ++j) sum += load(slice[t * hidden + j]) * query[j];
            weights[t] = sum * real(0.125);
        }
        auto top = real_of(weights[0]);
        for (std::size_t t = 1; t < tokens; ++t) top = std::max(top, real_of(weights[t]));
        wide_t sum = 0;
        for (std::size_t t = 0; t < tokens; ++t) sum += weights[t] = exp_of(weights[t] - wide_t(top));
        for (std::size_t t = 0; t < tokens; ++t) weights[t] = weights[t] / sum;
    }
    static void pool_backward(lane_t &lane, items_t items, std::size_t heads,
                              pool_backward_t<wide_t> const &io) noexcept {
        std::size_t const hidden = heads * head_width_k;
        for (std::size_t unit = 0; unit < items.count() * heads; ++unit) {
            std::size_t const item = unit / heads, column = unit % heads * head_width_k;
            std::size_t const begin = items.offsets[item], tokens = items.offsets[item + 1] - begin;
            scratch_scope_t scope(lane);
            wide_t *d_weights = lane.claim<wide_t>(tokens + 1);
            if (!d_weights) return;
            wide_t mean = 0;
            for (std::size_t t = 0; t < tokens; ++t) {
                wide_t sum = 0;
                for (std::size_t j = 0; j < head_width_k; ++j)
                    sum += load(io.states[(begin + t) * hidden + column + j]) * io.d_pooled[item * hidden + column + j];
                d_weights[t] = sum;
                mean += io.attention[(begin + t) * heads + unit % heads] * sum;
            }
            for (std::size_t t = 0; t < tokens; ++t) {
                wide_t const weight = io.attention[(begin + t) * heads + unit % heads];
                wide_t const d_score = weight * (d_weights[t] - mean) * real(0.125);
                for (std::size_t j = 0; j < head_width_k; ++j) {
                    std::size_t const cell = (begin + t) * hidden + column + j;
                    io.d_states_sum[cell] +=
                        weight * io.d_pooled[item * hidden + column + j] + d_score * io.query[column + j];
                    io.d_query_sum[column + j] += d_score * load(io.states[cell]);
                }
            }
        }
    }

    static void normalize_rows(lane_t &, std::size_t rows, std::size_t columns, std::size_t stride, wide x, wide_t *y,
                               wide_t *inverse_norm) noexcept {
        for (std::size_t row = 0; row < rows; ++row) {
            wide from = x + row * stride;
            wide_t squares = sum_of_squares(columns, from, 1);
            wide_t const scale = real(squares_scale(float(real_of(squares))));
            if (real_of(scale) != 1) squares = sum_of_squares(columns, from, scale);
            wide_t const inverse = real_of(squares) > 0 ? wide_t(1) / sqrt_of(squares) : wide_t(0);
            inverse_norm[row] = inverse * scale;
            for (std::size_t i = 0; i < columns; ++i) y[row * stride + i] = (from[i] * scale) * inverse;
        }
    }

    /** A maximum forgets a NaN, so products times zero are summed beside it: zero while all are finite. */
    template <typename element_>
    static void largest_products(std::size_t rows, std::size_t stride, element_ const *a, packed_t query,
                                 wide_t *largest) noexcept {
        element_ const *tokens = static_cast<element_ const *>(query.data);
        for (std::size_t token = 0; token < query.outputs; ++token) {
            wide_t top = -std::numeric_limits<wide_t>::infinity(), poison = 0;
            for (std::size_t row = 0; row < rows; ++row) {
                wide_t const product = dot(query.inputs, a + row * stride, tokens + token * query.inputs);
                if (product > top) top = product;
                poison += product * wide_t(0);
            }
            largest[token] = top + poison;
        }
    }

    static void max_products(lane_t &, std::size_t rows, std::size_t stride, narrow a, packed_t query,
                             wide_t *largest) noexcept {
        largest_products(rows, stride, a, query, largest);
    }
    static void max_products_wide(lane_t &, std::size_t rows, std::size_t stride, wide a, packed_t query,
                                  wide_t *largest) noexcept {
        largest_products(rows, stride, a, query, largest);
    }

    static void winning_products(lane_t &, std::size_t rows, narrow a, packed_t query, wide_t *largest,
                                 std::uint16_t *winners) noexcept {
        narrow const tokens = static_cast<narrow>(query.data);
        for (std::size_t token = 0; token < query.outputs; ++token) {
            largest[token] = -std::numeric_limits<decltype(real_of(wide_t()))>::infinity(), winners[token] = 0;
            for (std::size_t row = 0; row < rows; ++row) {
                wide_t const product = dot(query.inputs, a + row * query.inputs, tokens + token * query.inputs);
                if (real_of(product) > real_of(largest[token]))
                    largest[token] = product, winners[token] = std::uint16_t(row);
            }
        }
    }

    static void choices_softmax(lane_t &, choices_softmax_t<wide_t> const &io) noexcept {
        for (std::size_t item = 0; item < io.items.count(); ++item) {
            std::size_t const first = io.items.offsets[item], last = io.items.offsets[item + 1];
            if (first == last) continue;
            wide logits = io.logits + item * byte_values_k;
            auto top = real_of(io.scales[item] * logits[io.choices[first]]);
            for (std::size_t i = first; i < last; ++i)
                top = std::max(top, real_of(io.scales[item] * logits[io.choices[i]]));
            wide_t sum = 0;
            for (std::size_t i = first; i < last; ++i)
                sum += io.probabilities[i] = exp_of(io.scales[item] * logits[io.choices[i]] - wide_t(top));
            for (std::size_t i = first; i < last; ++i) io.probabilities[i] = io.probabilities[i] / sum;
        }
    }

    static void cast_rows(lane_t &, std::size_t count, wide x, narrow_t *y) noexcept {
        for (std::size_t i = 0; i < count; ++i) y[i] = store(x[i]);
    }
    static void widen_f16(lane_t &, std::size_t count, std::uint16_t const *x, wide_t *y) noexcept {
        for (std::size_t i = 0; i < count; ++i) y[i] = wide_t(uform::widen_f16(x[i]));
    }
};

} // namespace uform::serial

namespace uform {
/** The table every CPU class starts from. */
kit_table_t const &serial_table() noexcept;
} // namespace uform
