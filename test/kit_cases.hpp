/**
 *  @file kit_cases.hpp
 *  @brief Every slot of every class a program names, against the serial kit over double; and the same bits for an item
 *  alone, in any batch, on any number of threads.
 *
 *  A program includes this once and defines `classes()`; those that do not run here are named as skipped.
 *  A case is one generic function, so that the class and the oracle run the very same calls. Tolerances count rounding:
 *  `narrow_k` is half a unit of BFloat16, `wide_k` of float, `depth` the length of the longest sum. Elementwise bounds
 *  scale with the sum of absolute values, which is the oracle on absolute inputs. Arm's BFDOT rounds to odd, off by up
 *  to a whole unit, but only once a pair on the way to the accumulator: `depth * wide_k` again, and 2 `wide_k` for the
 *  pair's own sum, which the longest depth here, shorter than what is granted, leaves room for.
 */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>

using namespace uform;

namespace {

constexpr double narrow_k = 0x1p-8, wide_k = 0x1p-24;
using oracle_t = serial::kit<double>;
using outputs_t = std::vector<std::vector<double>>;

struct shape_t {
    std::size_t rows = 1, columns = 128, depth = 128;
    std::vector<std::uint32_t> lengths = {1};
    bool absolute = false; // for the sums of absolute values that bounds scale with
    std::uint32_t seed = 42;

    std::vector<std::uint32_t> offsets() const {
        std::vector<std::uint32_t> sums = {0};
        for (std::uint32_t length : lengths) sums.push_back(sums.back() + length);
        return sums;
    }
    std::string text() const {
        std::string text;
        for (std::size_t size : {rows, columns, depth}) text.append(std::to_string(size)).append(" ");
        for (std::uint32_t length : lengths) text.append(std::to_string(length)).append(" ");
        return text.append("seed ").append(std::to_string(seed));
    }
};

/** Normal values of one stream, all exactly BFloat16, so that every kit gets the same numbers. */
template <typename scalar_>
std::vector<scalar_> values(shape_t const &shape, std::uint32_t stream, std::size_t count, float scale = 1) {
    std::mt19937 generator(shape.seed * 977 + stream);
    std::normal_distribution<float> normal;
    std::vector<scalar_> result(count);
    for (scalar_ &value : result) {
        bf16_t const rounded = round_to_bf16(normal(generator) * scale);
        float const wide = shape.absolute ? std::fabs(widen(rounded)) : widen(rounded);
        if constexpr (std::is_same_v<scalar_, bf16_t>)
            value = round_to_bf16(wide);
        else
            value = scalar_(wide);
    }
    return result;
}
template <typename scalar_>
std::vector<double> widened(std::vector<scalar_> const &from) {
    std::vector<double> result;
    for (scalar_ value : from)
        if constexpr (std::is_same_v<scalar_, bf16_t>)
            result.push_back(widen(value));
        else
            result.push_back(value);
    return result;
}
template <typename kit_>
using narrow_of_kit = std::vector<typename kit_::narrow_t>;
template <typename kit_>
using wide_of_kit = std::vector<typename kit_::wide_t>;

struct class_t {
    kit_table_t const &table;
    bool runs;
};
std::vector<class_t> classes();

/** A wide lane over plain threads. */
struct team_of_threads_t {
    std::vector<lane_t> workers;
    lane_t lane;

    explicit team_of_threads_t(std::size_t count) : workers(count), lane({run, this, workers.data(), count}) {}
    static void run(void *self, team_t::task_t task, void *context) noexcept {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < static_cast<team_of_threads_t *>(self)->workers.size(); ++i)
            threads.emplace_back(task, context, i);
        for (std::thread &thread : threads) thread.join();
    }
};

// A 64-byte aligned home for packed weights.
struct packing_t {
    buffer_t<std::byte> memory;
    packed_t packed;
    template <typename kit_>
    packing_t(kit_ const &kit, std::size_t outputs, std::size_t inputs, uform_scalar_t scalar = uform_scalar_bf16_k) {
        EXPECT_TRUE(memory.resize(kit.pack_bytes(outputs, inputs, scalar)));
        packed = {memory.data(), outputs, inputs, scalar};
    }
};

auto const gemm_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const a = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.depth);
    auto const w = values<typename kit_t::narrow_t>(shape, 2, shape.columns * shape.depth);
    packing_t packing(kit, shape.columns, shape.depth);
    std::size_t const first = shape.columns > 64 ? 64 : shape.columns; // in two parts, as a loader does
    kit.pack(w.data(), 0, first, packing.packed);
    if (shape.columns > first) kit.pack(w.data() + first * shape.depth, first, shape.columns - first, packing.packed);
    narrow_of_kit<kit_t> y(shape.rows * shape.columns);
    kit.gemm(lane, shape.rows, a.data(), packing.packed, y.data());
    return {widened(y)};
};
auto const gemm_wide_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const a = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.depth);
    auto const w = values<typename kit_t::narrow_t>(shape, 2, shape.columns * shape.depth);
    auto y = values<typename kit_t::wide_t>(shape, 3, shape.rows * shape.columns), bare = y;
    packing_t packing(kit, shape.columns, shape.depth);
    kit.pack_transposed(w.data(), packing.packed);
    kit.gemm_wide(lane, shape.rows, a.data(), packing.packed, y.data(), y.data());
    kit.gemm_wide(lane, shape.rows, a.data(), packing.packed, nullptr, bare.data());
    return {widened(y), widened(bare)};
};
auto const gemm_e4m3_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    // A twentieth: a quarter of the values lie below 2^-6, among E4M3's subnormals.
    auto const a = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.depth, 0.05f);
    auto const w = values<typename kit_t::narrow_t>(shape, 2, shape.columns * shape.depth, 0.05f);
    auto y = values<typename kit_t::wide_t>(shape, 3, shape.rows * shape.columns), bare = y;
    packing_t packing(kit, shape.columns, shape.depth, uform_scalar_e4m3_k);
    std::size_t const first = shape.columns > 64 ? 64 : shape.columns; // in two parts, as a loader does
    kit.pack(w.data(), 0, first, packing.packed);
    if (shape.columns > first) kit.pack(w.data() + first * shape.depth, first, shape.columns - first, packing.packed);
    narrow_of_kit<kit_t> narrow(shape.rows * shape.columns);
    kit.gemm(lane, shape.rows, a.data(), packing.packed, narrow.data());
    kit.gemm_wide(lane, shape.rows, a.data(), packing.packed, y.data(), y.data());
    kit.gemm_wide(lane, shape.rows, a.data(), packing.packed, nullptr, bare.data());
    return {widened(narrow), widened(y), widened(bare)};
};
auto const gemm_backward_weight_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const d_y = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.columns);
    auto const a = values<typename kit_t::narrow_t>(shape, 2, shape.rows * shape.depth);
    auto d_w = values<typename kit_t::wide_t>(shape, 3, shape.columns * shape.depth);
    auto set = values<typename kit_t::wide_t>(shape, 4, shape.columns * shape.depth);
    kit.gemm_backward_weight(lane, shape.rows, shape.columns, shape.depth, d_y.data(), a.data(), d_w.data());
    kit.gemm_backward_weight(lane, shape.rows, shape.columns, shape.depth, d_y.data(), a.data(), {set.data(), false});
    auto of_no_rows = values<typename kit_t::wide_t>(shape, 5, shape.columns * shape.depth);
    kit.gemm_backward_weight(lane, 0, shape.columns, shape.depth, d_y.data(), a.data(), {of_no_rows.data(), false});
    // Aligned, and larger than what counts as a cache: classes may store these past it.
    buffer_t<typename kit_t::wide_t> far;
    if (!far.resize(set.size())) return {};
    std::size_t const cache_bytes = lane.cache_bytes();
    lane.set_cache_bytes(4096);
    kit.gemm_backward_weight(lane, shape.rows, shape.columns, shape.depth, d_y.data(), a.data(), {far.data(), false});
    lane.set_cache_bytes(cache_bytes);
    return {widened(d_w), widened(set), widened(of_no_rows), widened(std::vector(far.begin(), far.end()))};
};
auto const rmsnorm_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const x = values<typename kit_t::wide_t>(shape, 1, shape.rows * shape.columns);
    auto const scale = values<typename kit_t::wide_t>(shape, 2, shape.columns);
    narrow_of_kit<kit_t> y(x.size());
    wide_of_kit<kit_t> inverse(shape.rows);
    kit.rmsnorm(lane, shape.rows, shape.columns, x.data(), scale.data(), y.data(), inverse.data());
    return {widened(y), widened(inverse)};
};
auto const rmsnorm_backward_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const x = values<typename kit_t::wide_t>(shape, 1, shape.rows * shape.columns);
    auto const scale = values<typename kit_t::wide_t>(shape, 2, shape.columns);
    auto inverse = values<typename kit_t::wide_t>(shape, 3, shape.rows);
    for (auto &x : inverse) x = std::fabs(x); // as any inverse of a root is
    auto const d_y = values<typename kit_t::narrow_t>(shape, 4, x.size());
    auto d_x = values<typename kit_t::wide_t>(shape, 5, x.size());
    auto d_scale = values<typename kit_t::wide_t>(shape, 6, shape.columns);
    kit.rmsnorm_backward(lane, shape.rows, shape.columns,
                         {x.data(), scale.data(), inverse.data(), d_y.data(), d_x.data(), d_scale.data()});
    return {widened(d_x), widened(d_scale)};
};
auto const rope_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    std::size_t const heads = shape.columns / 64;
    auto const rotary = values<typename kit_t::wide_t>(shape, 1, shape.rows * 64);
    auto qkv = values<typename kit_t::narrow_t>(shape, 2, shape.rows * 3 * shape.columns), back = qkv;
    kit.rope(lane, shape.rows, heads, rotary.data(), rotation_t::forward_k, qkv.data());
    kit.rope(lane, shape.rows, heads, rotary.data(), rotation_t::backward_k, back.data());
    return {widened(qkv), widened(back)};
};

/** Queries, keys and values whose scores spread over a few units, so that some weights dominate. */
template <typename scalar_>
std::vector<scalar_> qkv_values(shape_t const &shape) {
    return values<scalar_>(shape, 1, shape.offsets().back() * 3 * shape.columns, 1.5f);
}
auto const attention_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const offsets = shape.offsets();
    auto const qkv = qkv_values<typename kit_t::narrow_t>(shape);
    narrow_of_kit<kit_t> attended(offsets.back() * shape.columns);
    wide_of_kit<kit_t> lse(offsets.back() * shape.columns / 64);
    kit.attention(lane, {offsets}, shape.columns / 64, qkv.data(), attended.data(), lse.data());
    return {widened(attended), widened(lse)};
};
/** What the forward leaves to the backward, from the oracle and as stored, the same for every kit. */
outputs_t const &forward_of(shape_t const &shape) {
    static std::map<std::string, outputs_t> cache;
    outputs_t &entry = cache[shape.text() + std::to_string(shape.columns)];
    if (!entry.empty()) return entry;
    lane_t lane;
    entry = attention_case(oracle_t {}, lane, shape);
    for (double &value : entry[0]) value = widen(round_to_bf16(float(value)));
    for (double &value : entry[1]) value = float(value);
    return entry;
}
auto const attention_backward_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const offsets = shape.offsets();
    auto const qkv = qkv_values<typename kit_t::narrow_t>(shape);
    auto const d_attended = values<typename kit_t::narrow_t>(shape, 2, offsets.back() * shape.columns);
    narrow_of_kit<kit_t> attended, d_qkv(qkv.size());
    for (double value : forward_of(shape)[0]) attended.push_back(narrow(typename kit_t::wide_t(value)));
    wide_of_kit<kit_t> const lse(forward_of(shape)[1].begin(), forward_of(shape)[1].end());
    kit.attention_backward(lane, {offsets}, shape.columns / 64,
                           {qkv.data(), attended.data(), lse.data(), d_attended.data(), d_qkv.data()});
    outputs_t thirds(3);
    for (std::size_t i = 0; i < d_qkv.size(); ++i)
        thirds[i / shape.columns % 3].push_back(widened(std::vector {d_qkv[i]})[0]);
    return thirds;
};
auto const swiglu_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const gate_up = values<typename kit_t::narrow_t>(shape, 1, shape.rows * 2 * shape.columns, 4);
    narrow_of_kit<kit_t> y(shape.rows * shape.columns);
    kit.swiglu(lane, shape.rows, shape.columns, gate_up.data(), y.data());
    return {widened(y)};
};
auto const swiglu_backward_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const gate_up = values<typename kit_t::narrow_t>(shape, 1, shape.rows * 2 * shape.columns, 4);
    auto const d_y = values<typename kit_t::narrow_t>(shape, 2, shape.rows * shape.columns);
    narrow_of_kit<kit_t> d_gate_up(gate_up.size());
    kit.swiglu_backward(lane, shape.rows, shape.columns, gate_up.data(), d_y.data(), d_gate_up.data());
    return {widened(d_gate_up)};
};
auto const silu_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const x = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.columns, 4);
    narrow_of_kit<kit_t> y(x.size());
    kit.silu(lane, x.size(), x.data(), y.data());
    return {widened(y)};
};
auto const silu_backward_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const x = values<typename kit_t::narrow_t>(shape, 1, shape.rows * shape.columns, 4);
    auto const d_y = values<typename kit_t::narrow_t>(shape, 2, x.size());
    narrow_of_kit<kit_t> d_x(x.size());
    kit.silu_backward(lane, x.size(), x.data(), d_y.data(), d_x.data());
    return {widened(d_x)};
};

std::vector<std::uint16_t> ids_of(shape_t const &shape) {
    std::mt19937 generator(shape.seed);
    std::vector<std::uint16_t> ids(shape.rows);
    for (std::uint16_t &id : ids) id = std::uint16_t(generator() % vocabulary_k);
    return ids;
}
auto const gather_bytes_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const table = values<typename kit_t::narrow_t>(shape, 1, vocabulary_k * shape.columns);
    wide_of_kit<kit_t> x(shape.rows * shape.columns);
    kit.gather_bytes(lane, shape.rows, shape.columns, ids_of(shape).data(), table.data(), x.data());
    return {widened(x)};
};
auto const scatter_bytes_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const d_x = values<typename kit_t::wide_t>(shape, 1, shape.rows * shape.columns);
    auto d_table = values<typename kit_t::wide_t>(shape, 2, vocabulary_k * shape.columns);
    kit.scatter_bytes_sum(lane, shape.rows, shape.columns, ids_of(shape).data(), d_x.data(), d_table.data());
    return {widened(d_table)};
};
/** Rows repeat, and a second sum starts where the first ended. */
auto const gather_rows_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const x = values<typename kit_t::narrow_t>(shape, 1, vocabulary_k * shape.columns);
    auto y = values<typename kit_t::wide_t>(shape, 2, shape.columns);
    auto const factors = values<typename kit_t::wide_t>(shape, 3, shape.rows);
    auto const ids = ids_of(shape);
    std::vector<std::uint32_t> const listed(ids.begin(), ids.end());
    std::size_t const half = shape.rows / 2, rest = shape.rows - half;
    kit.gather_rows_sum(lane, shape.columns, {half, listed.data(), factors.data(), x.data(), y.data()});
    kit.gather_rows_sum(lane, shape.columns, {rest, listed.data() + half, factors.data() + half, x.data(), y.data()});
    return {widened(y)};
};
auto const pool_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const offsets = shape.offsets();
    auto const states = values<typename kit_t::narrow_t>(shape, 1, offsets.back() * shape.columns);
    auto const query = values<typename kit_t::wide_t>(shape, 2, shape.columns, 2);
    wide_of_kit<kit_t> attention(offsets.back() * shape.columns / 64), pooled(shape.lengths.size() * shape.columns);
    kit.pool(lane, {offsets}, shape.columns / 64, states.data(), query.data(), attention.data(), pooled.data());
    return {widened(pooled), widened(attention)};
};
auto const pool_backward_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const offsets = shape.offsets();
    auto const states = values<typename kit_t::narrow_t>(shape, 1, offsets.back() * shape.columns);
    auto const query = values<typename kit_t::wide_t>(shape, 2, shape.columns);
    auto const attention = values<typename kit_t::wide_t>(shape, 3, offsets.back() * shape.columns / 64, 0.1f);
    auto const d_pooled = values<typename kit_t::wide_t>(shape, 4, shape.lengths.size() * shape.columns);
    auto d_states = values<typename kit_t::wide_t>(shape, 5, states.size());
    auto d_query = values<typename kit_t::wide_t>(shape, 6, shape.columns);
    kit.pool_backward(
        lane, {offsets}, shape.columns / 64,
        {states.data(), query.data(), attention.data(), d_pooled.data(), d_states.data(), d_query.data()});
    return {widened(d_states), widened(d_query)};
};
auto const normalize_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    std::size_t const stride = shape.columns + 3;
    auto x = values<typename kit_t::wide_t>(shape, 1, shape.rows * stride);
    std::fill(x.begin(), x.begin() + std::ptrdiff_t(shape.columns), 0); // a row of zeros stays zeros
    wide_of_kit<kit_t> y(x.size()), inverse(shape.rows);
    kit.normalize_rows(lane, shape.rows, shape.columns, stride, x.data(), y.data(), inverse.data());
    return {widened(y), widened(inverse)};
};
/** Neither slot has a form in double: integers have one answer, and the update's operations are one by one, in float. */
template <typename kit_>
kit_table_t const &table_of(kit_ const &kit) {
    if constexpr (std::is_same_v<kit_, kit_table_t>)
        return kit;
    else
        return serial_table();
}
auto const draws_case = [](auto const &kit, lane_t &, shape_t const &shape) -> outputs_t {
    std::vector<std::uint16_t> draws(shape.rows * rounding_chunk_k);
    outputs_t outputs;
    for (std::uint64_t const first : {std::uint64_t(0), std::uint64_t(0x1fffffff), std::uint64_t(0x300000001)}) {
        rounding_key_t const key {0xfedcba9876543210u + shape.seed, 0x80000001u, 0x1ffffffffu};
        table_of(kit).draw_rounding(key, first, shape.rows, draws.data());
        outputs.push_back(widened(draws));
    }
    return outputs;
};
auto const update_case = [](auto const &kit, lane_t &, shape_t const &shape) -> outputs_t {
    std::size_t const columns = shape.columns;
    auto const gradient = values<float>(shape, 1, columns), scales = values<float>(shape, 2, columns);
    auto moment = values<float>(shape, 3, columns, 0x1p-3f);
    auto master = values<bf16_t>(shape, 4, columns);
    std::vector<std::uint16_t> draws(columns + rounding_chunk_k);
    serial_table().draw_rounding({shape.seed, 1, 2}, 0, columns / rounding_chunk_k + 1, draws.data());
    updated_row_t row;
    row.columns = columns, row.gradient = gradient.data(), row.column_scales = scales.data(), row.row_scale = 0.7f;
    row.first_decay = 0.9f, row.correction = 1.3f, row.learning_rate = 0.01f, row.decay = 0.1f;
    row.draws = draws.data(), row.first_moment = moment.data(), row.master = master.data();
    table_of(kit).update_row(row);
    return {widened(moment), widened(master)};
};
auto const cast_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto x = values<typename kit_t::wide_t>(shape, 1, shape.rows * shape.columns);
    for (auto &value : x) value *= 1.00390625f; // no longer exactly BFloat16, ties among them
    narrow_of_kit<kit_t> y(x.size());
    kit.cast_rows(lane, x.size(), x.data(), y.data());
    return {widened(y)};
};
auto const widen_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const values_bf16 = values<bf16_t>(shape, 1, shape.rows * shape.columns);
    std::vector<std::uint16_t> x;
    for (bf16_t const value : values_bf16) x.push_back(round_to_f16(widen(value)));
    for (std::size_t i = 0; i < x.size(); i += 7) x[i] &= 0x83ff; // below the least normal one
    wide_of_kit<kit_t> y(x.size());
    kit.widen_f16(lane, x.size(), x.data(), y.data());
    return {widened(y)};
};

/** How far an answer may be from the oracle's: `stored` of its own size, plus `summed` of the sums behind it. */
struct tolerance_t {
    double stored = 0, summed = 0;
    // Compare norms of whole buffers where terms cancel and elementwise bounds say nothing; `summed` then scales with
    // the largest of an operation's answers, since one token's d_q and d_k cancel to nothing at all.
    bool norms = false;
};
double norm_of(std::vector<double> const &x) {
    double sum = 0;
    for (double value : x) sum += value * value;
    return std::sqrt(sum);
}

void expect_close(std::vector<double> const &actual, std::vector<double> const &expected,
                  std::vector<double> const &magnitude, double largest, tolerance_t tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    double error = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        double const difference = std::fabs(actual[i] - expected[i]);
        error += difference * difference;
        ASSERT_TRUE(std::isfinite(actual[i])) << "element " << i;
        if (tolerance.norms) continue;
        ASSERT_LE(difference, tolerance.stored * std::fabs(expected[i]) + tolerance.summed * magnitude[i])
            << "element " << i << " is " << actual[i] << ", not " << expected[i];
    }
    if (tolerance.norms) {
        EXPECT_LE(std::sqrt(error), tolerance.stored * norm_of(expected) + tolerance.summed * largest);
    }
}

/** Every class against the oracle, and a wide lane against a narrow one, which must agree bit for bit. */
template <typename case_>
void check(case_ const &run, tolerance_t tolerance, std::vector<shape_t> const &shapes) {
    for (shape_t const &shape : shapes) {
        shape_t absolute = shape;
        absolute.absolute = true;
        lane_t lane;
        outputs_t const expected = run(oracle_t {}, lane, shape);
        outputs_t const magnitude = tolerance.norms ? expected : run(oracle_t {}, lane, absolute);
        for (class_t const &each : classes()) {
            if (!each.runs) continue;
            SCOPED_TRACE(std::string(each.table.name) + " " + shape.text());
            outputs_t const actual = run(each.table, lane, shape);
            double largest = 0;
            for (std::vector<double> const &output : expected) largest = std::max(largest, norm_of(output));
            for (std::size_t i = 0; i < expected.size(); ++i)
                expect_close(actual[i], expected[i], magnitude[i], largest, tolerance);
            team_of_threads_t two(2), seven(7);
            EXPECT_EQ(actual, run(each.table, two.lane, shape));
            EXPECT_EQ(actual, run(each.table, seven.lane, shape));
        }
    }
}

std::vector<shape_t> product_shapes() {
    return {{.rows = 1, .columns = 1, .depth = 1},      {.rows = 7, .columns = 65, .depth = 3},
            {.rows = 13, .columns = 130, .depth = 97},  {.rows = 101, .columns = 128, .depth = 320},
            {.rows = 24, .columns = 256, .depth = 128}, {.rows = 131, .columns = 100, .depth = 1030},
            {.rows = 1029, .columns = 64, .depth = 66}};
}
template <typename element_, typename kit_>
outputs_t max_products_answers(kit_ const &kit, lane_t &lane, shape_t const &shape) {
    std::size_t const stride = shape.depth + 3; // rows with something foreign between them
    auto const query = values<element_>(shape, 1, shape.columns * shape.depth);
    auto const document = values<element_>(shape, 2, shape.rows * stride);
    wide_of_kit<kit_> largest(shape.columns);
    if constexpr (std::is_same_v<element_, typename kit_::wide_t>) {
        packing_t packing(kit, shape.columns, shape.depth, uform_scalar_f32_k);
        kit.pack_wide(query.data(), packing.packed);
        kit.max_products_wide(lane, shape.rows, stride, document.data(), packing.packed, largest.data());
    } else {
        packing_t packing(kit, shape.columns, shape.depth);
        kit.pack(query.data(), 0, shape.columns, packing.packed);
        kit.max_products(lane, shape.rows, stride, document.data(), packing.packed, largest.data());
    }
    return {widened(largest)};
}
auto const max_products_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    return max_products_answers<typename std::remove_cvref_t<decltype(kit)>::narrow_t>(kit, lane, shape);
};
auto const max_products_wide_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    return max_products_answers<typename std::remove_cvref_t<decltype(kit)>::wide_t>(kit, lane, shape);
};

/** Small whole numbers: products are exact, so the first of many equal ones must win everywhere. */
auto const winning_products_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    auto const whole = [&](std::uint64_t stream, std::size_t count) {
        auto numbers = values<typename kit_t::narrow_t>(shape, stream, count);
        for (auto &value : numbers) {
            double const rounded = std::round(widened(std::vector {value})[0]);
            if constexpr (std::is_same_v<typename kit_t::narrow_t, bf16_t>)
                value = round_to_bf16(float(rounded));
            else
                value = rounded;
        }
        return numbers;
    };
    auto const query = whole(1, shape.columns * shape.depth), document = whole(2, shape.rows * shape.depth);
    packing_t packing(kit, shape.columns, shape.depth);
    kit.pack(query.data(), 0, shape.columns, packing.packed);
    wide_of_kit<kit_t> largest(shape.columns);
    std::vector<std::uint16_t> winners(shape.columns);
    kit.winning_products(lane, shape.rows, document.data(), packing.packed, largest.data(), winners.data());
    return {widened(largest), {winners.begin(), winners.end()}};
};

auto const choices_softmax_case = [](auto const &kit, lane_t &lane, shape_t const &shape) -> outputs_t {
    using kit_t = std::remove_cvref_t<decltype(kit)>;
    std::vector<std::uint32_t> offsets {0};
    for (std::uint32_t length : shape.lengths) offsets.push_back(offsets.back() + std::min(length, 256u) - 1);
    std::size_t const count = shape.lengths.size();
    std::vector<std::uint8_t> choices(offsets.back());
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = std::uint8_t(i * 11); // odd steps: all different
    auto const logits = values<typename kit_t::wide_t>(shape, 1, count * 256);
    auto const scales = values<typename kit_t::wide_t>(shape, 2, count);
    wide_of_kit<kit_t> probabilities(choices.size());
    kit.choices_softmax(lane, {items_t {offsets}, choices.data(), logits.data(), scales.data(), probabilities.data()});
    return {widened(probabilities)};
};

std::vector<shape_t> row_shapes() {
    return {{.rows = 1, .columns = 1},
            {.rows = 5, .columns = 37},
            {.rows = 33, .columns = 128},
            {.rows = 3, .columns = 600},
            {.rows = 70, .columns = 65}};
}
// Emulation is two orders slower: its longest item is past one chunk of query rows, and one that long is enough.
#if defined(UFORM_EMULATED)
constexpr std::size_t longest_item_k = 515;
#else
constexpr std::size_t longest_item_k = 4096;
#endif
std::vector<shape_t> item_shapes(std::size_t longest) {
    std::vector<std::uint32_t> many;
    for (std::uint32_t length = 1; length <= 40; ++length) many.push_back(length);
    std::vector<shape_t> shapes = {{.columns = 64, .lengths = {1}},
                                   {.columns = 128, .lengths = many},
                                   {.columns = 192, .lengths = {64, 65, 128, 63, 127, 200}},
                                   {.columns = 64, .lengths = {std::uint32_t(std::min(longest, longest_item_k))}}};
    if (longest_item_k > 600) shapes.push_back({.columns = 128, .lengths = {3, 600, 1, 515}});
    return shapes;
}

/** Documents of rows, queries of columns, of a width that is the depth. */
std::vector<shape_t> score_shapes() {
    return {{.rows = 1, .columns = 1, .depth = 1},      {.rows = 7, .columns = 65, .depth = 3},
            {.rows = 13, .columns = 130, .depth = 97},  {.rows = 101, .columns = 32, .depth = 320},
            {.rows = 700, .columns = 64, .depth = 128}, {.rows = 1531, .columns = 17, .depth = 127}};
}
constexpr double longest_width_k = 320;
// A probability's relative error is its exponent's absolute one: three roundings of a scaled logit below 2^5 in size,
// twice over with the largest, then two units of the exponential's own and 256 of the sum.
constexpr double choice_k = (2 * 3 * 32 + 2 + 256) * wide_k;

constexpr double longest_product_k = 1030;                         // depth or rows: no sum of a product below is longer
constexpr double attended_k = 2 * narrow_k + 2 * 64 * wide_k * 64; // operand and result, and 64-term scores up to 64
constexpr double row_sum_k = 600 * wide_k;

struct slot_t {
    std::size_t offset;
    void (*check)();
};
#define UFORM_SLOT(name) offsetof(kit_table_t, name)
std::vector<slot_t> slots() {
    return {
        {UFORM_SLOT(pack_bytes),
         [] {
             check(gemm_case, {narrow_k, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(pack),
         [] {
             check(gemm_case, {narrow_k, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(pack_transposed),
         [] {
             check(gemm_wide_case, {0, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(gemm),
         [] {
             check(gemm_case, {narrow_k, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(gemm_wide),
         [] {
             check(gemm_wide_case, {0, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(gemm_backward_weight),
         [] {
             check(gemm_backward_weight_case, {0, longest_product_k * wide_k}, product_shapes());
         }},
        {UFORM_SLOT(rmsnorm),
         [] {
             check(rmsnorm_case, {narrow_k + row_sum_k, 0}, row_shapes());
         }},
        {UFORM_SLOT(rmsnorm_backward),
         [] {
             check(rmsnorm_backward_case, {row_sum_k, 0, true}, row_shapes());
         }},
        {UFORM_SLOT(rope),
         [] {
             check(rope_case, {narrow_k, 3 * wide_k}, {{.rows = 1, .columns = 64}, {.rows = 45, .columns = 192}});
         }},
        {UFORM_SLOT(attention),
         [] {
             check(attention_case, {attended_k, 0, true}, item_shapes(4096));
         }},
        {UFORM_SLOT(attention_backward),
         [] {
             check(attention_backward_case, {attended_k, 64 * wide_k, true}, item_shapes(1024));
         }},
        {UFORM_SLOT(swiglu),
         [] {
             check(swiglu_case, {narrow_k + 8 * wide_k, 0}, row_shapes());
         }},
        {UFORM_SLOT(swiglu_backward),
         [] {
             check(swiglu_backward_case, {narrow_k, 8 * wide_k}, row_shapes());
         }},
        {UFORM_SLOT(silu),
         [] {
             check(silu_case, {narrow_k + 8 * wide_k, 0}, row_shapes());
         }},
        {UFORM_SLOT(silu_backward),
         [] {
             check(silu_backward_case, {narrow_k, 8 * wide_k}, row_shapes());
         }},
        {UFORM_SLOT(gather_bytes), [] { check(gather_bytes_case, {}, row_shapes()); }},
        {UFORM_SLOT(scatter_bytes_sum),
         [] {
             check(scatter_bytes_case, {0, 70 * wide_k}, row_shapes());
         }},
        {UFORM_SLOT(gather_rows_sum),
         [] {
             check(gather_rows_case, {0, 2 * 70 * wide_k}, row_shapes());
         }},
        {UFORM_SLOT(pool),
         [] {
             check(pool_case, {2 * 64 * wide_k * 64, 0, true}, item_shapes(4096));
         }},
        {UFORM_SLOT(pool_backward),
         [] {
             check(pool_backward_case, {2 * 64 * wide_k, 0, true}, item_shapes(4096));
         }},
        {UFORM_SLOT(normalize_rows),
         [] {
             check(normalize_case, {row_sum_k, 0}, row_shapes());
         }},
        {UFORM_SLOT(pack_wide),
         [] {
             check(max_products_wide_case, {0, longest_width_k * wide_k}, score_shapes());
         }},
        {UFORM_SLOT(max_products),
         [] {
             check(max_products_case, {0, longest_width_k * wide_k}, score_shapes());
         }},
        {UFORM_SLOT(max_products_wide),
         [] {
             check(max_products_wide_case, {0, longest_width_k * wide_k}, score_shapes());
         }},
        {UFORM_SLOT(winning_products), [] { check(winning_products_case, {}, score_shapes()); }},
        {UFORM_SLOT(choices_softmax),
         [] {
             check(choices_softmax_case, {choice_k, 0}, item_shapes(256));
         }},
        {UFORM_SLOT(draw_rounding), [] { check(draws_case, {}, row_shapes()); }},
        {UFORM_SLOT(update_row), [] { check(update_case, {}, row_shapes()); }},
        {UFORM_SLOT(cast_rows),
         [] {
             check(cast_case, {narrow_k, 0}, row_shapes());
         }},
        {UFORM_SLOT(widen_f16), [] { check(widen_case, {}, row_shapes()); }},
    };
}
#undef UFORM_SLOT

} // namespace

TEST(kit_classes, classes_this_machine_runs) {
    std::string missing;
    for (class_t const &each : classes())
        if (!each.runs) missing.append(" ").append(each.table.name);
    if (!missing.empty()) GTEST_SKIP() << "SKIPPED classes that this machine does not run:" << missing;
}

/** A slot added to the table and not to the list above, or left to serial by a class, fails here. */
TEST(kit_classes, every_slot_is_listed_and_overridden) {
    using slot_pointer_t = void (*)();
    std::size_t offset = offsetof(kit_table_t, pack_bytes);
    for (slot_t const &slot : slots()) {
        EXPECT_EQ(offset, slot.offset) << "the list follows the table's order";
        for (class_t const &each : classes())
            EXPECT_NE(0, std::memcmp(reinterpret_cast<char const *>(&each.table) + slot.offset,
                                     reinterpret_cast<char const *>(&serial_table()) + slot.offset,
                                     sizeof(slot_pointer_t)))
                << each.table.name << " leaves the slot at " << slot.offset << " to serial";
        offset += sizeof(slot_pointer_t);
    }
    EXPECT_EQ(sizeof(kit_table_t), offset);
}

TEST(kit_classes, every_slot_agrees_with_the_oracle) {
    for (slot_t const &slot : slots()) {
        SCOPED_TRACE("slot at " + std::to_string(slot.offset));
        slot.check();
    }
}

/** Weights and left rows rounded to E4M3: no slot of its own, but another way through those of products. */
TEST(kit_classes, e4m3_products_agree_with_the_oracle) {
    check(gemm_e4m3_case, {narrow_k, longest_product_k * wide_k}, product_shapes());
}

/** Rows alone, at every remainder of a tile and from every offset, against the same rows within 64. */
TEST(kit_classes, rows_do_not_know_their_neighbours) {
    constexpr std::size_t rows = 64, depth = 130, columns = 192;
    shape_t const shape;
    auto const a = values<bf16_t>(shape, 1, rows * depth), w = values<bf16_t>(shape, 2, columns * depth);
    auto const x = values<float>(shape, 3, rows * columns), scale = values<float>(shape, 4, columns);
    auto const gate_up = values<bf16_t>(shape, 5, rows * 2 * columns);
    for (class_t const &each : classes()) {
        if (!each.runs) continue;
        packing_t packing(each.table, columns, depth);
        each.table.pack(w.data(), 0, columns, packing.packed);
        packing_t bytes(each.table, columns, depth, uform_scalar_e4m3_k);
        each.table.pack(w.data(), 0, columns, bytes.packed);
        auto const run = [&](std::size_t first, std::size_t count) {
            lane_t lane;
            std::vector<bf16_t> product(count * columns), normed(product), gated(product);
            std::vector<float> wide(count * columns), rounded(wide), inverse(count);
            each.table.gemm(lane, count, a.data() + first * depth, packing.packed, product.data());
            each.table.gemm_wide(lane, count, a.data() + first * depth, packing.packed, x.data() + first * columns,
                                 wide.data());
            each.table.gemm_wide(lane, count, a.data() + first * depth, bytes.packed, nullptr, rounded.data());
            each.table.rmsnorm(lane, count, columns, x.data() + first * columns, scale.data(), normed.data(),
                               inverse.data());
            each.table.swiglu(lane, count, columns, gate_up.data() + first * 2 * columns, gated.data());
            return outputs_t {widened(product), widened(normed), widened(gated), widened(wide), widened(rounded)};
        };
        outputs_t const together = run(0, rows);
        for (std::size_t count = 1; count <= 13; ++count)
            for (std::size_t first = 0; first + count <= rows; first += 5) {
                outputs_t const alone = run(first, count);
                for (std::size_t i = 0; i < alone.size(); ++i)
                    ASSERT_TRUE(std::equal(alone[i].begin(), alone[i].end(),
                                           together[i].begin() + std::ptrdiff_t(first * columns)))
                        << each.table.name << " rows " << first << " + " << count << " output " << i;
            }
    }
}

/** Items of every short length and around whole tiles: attention, its backward and the pool, alone and packed. */
TEST(kit_classes, items_do_not_know_their_neighbours) {
    constexpr std::size_t heads = 3, hidden = heads * 64;
    shape_t shape {.columns = hidden, .lengths = {}};
    for (std::uint32_t length = 1; length <= 13; ++length) shape.lengths.push_back(length);
    for (std::uint32_t length : {63, 64, 65, 129}) shape.lengths.push_back(length);
    if (longest_item_k > 600) shape.lengths.push_back(600);
    std::vector<std::uint32_t> const offsets = shape.offsets();
    auto const qkv = qkv_values<bf16_t>(shape), d_attended = values<bf16_t>(shape, 2, offsets.back() * hidden);
    auto const query = values<float>(shape, 3, hidden);
    for (class_t const &each : classes()) {
        if (!each.runs) continue;
        auto const run = [&](std::vector<std::uint32_t> const &offsets, std::size_t begin) {
            lane_t lane;
            std::size_t const tokens = offsets.back();
            std::vector<bf16_t> attended(tokens * hidden), d_qkv(tokens * 3 * hidden);
            std::vector<float> lse(tokens * heads), alpha(lse), pooled((offsets.size() - 1) * hidden);
            bf16_t const *from = qkv.data() + begin * 3 * hidden;
            each.table.attention(lane, {offsets}, heads, from, attended.data(), lse.data());
            each.table.attention_backward(
                lane, {offsets}, heads,
                {from, attended.data(), lse.data(), d_attended.data() + begin * hidden, d_qkv.data()});
            each.table.pool(lane, {offsets}, heads, attended.data(), query.data(), alpha.data(), pooled.data());
            return outputs_t {widened(attended), widened(lse), widened(d_qkv), widened(pooled)};
        };
        outputs_t const together = run(offsets, 0);
        for (std::size_t item = 0; item + 1 < offsets.size(); ++item) {
            std::size_t const begin = offsets[item];
            outputs_t const alone = run({0, offsets[item + 1] - offsets[item]}, begin);
            std::size_t const starts[] = {begin * hidden, begin * heads, begin * 3 * hidden, item * hidden};
            for (std::size_t i = 0; i < alone.size(); ++i)
                EXPECT_TRUE(
                    std::equal(alone[i].begin(), alone[i].end(), together[i].begin() + std::ptrdiff_t(starts[i])))
                    << each.table.name << " item " << item << " output " << i;
        }
    }
}
