/**
 *  @file attention.cpp
 *  @brief Attention of packed items, forward and backward, against the measured peak; and the streams around products.
 *
 *  Counted are the products of scores alone: 4 tokens^2 64 forward, 10 tokens^2 64 backward (one recomputed), a head.
 */
#include "bench.hpp"

namespace {

using namespace bench;

struct heads_t {
    lane_t lane;
    std::vector<std::uint32_t> offsets = {0};
    std::size_t heads, hidden, tokens;
    buffer_t<bf16_t> qkv, d_attended, attended, d_qkv;
    buffer_t<float> lse;

    heads_t(std::size_t length, std::size_t items, std::size_t heads) : heads(heads), hidden(heads * 64) {
        for (std::size_t i = 0; i < items; ++i) offsets.push_back(offsets.back() + std::uint32_t(length));
        tokens = offsets.back();
        qkv = normal_values<bf16_t>(tokens * 3 * hidden);
        d_attended = normal_values<bf16_t>(tokens * hidden);
        attended = normal_values<bf16_t>(tokens * hidden);
        d_qkv = normal_values<bf16_t>(tokens * 3 * hidden);
        lse = normal_values<float>(tokens * heads);
    }
    void forward(kit_table_t const &kit) {
        kit.attention(lane, {offsets}, heads, qkv.data(), attended.data(), lse.data());
    }
    void backward(kit_table_t const &kit) {
        kit.attention_backward(lane, {offsets}, heads,
                               {qkv.data(), attended.data(), lse.data(), d_attended.data(), d_qkv.data()});
    }
};

/** Two answers with one rounding of an operand and one of the result each. */
void verify(kit_table_t const &kit, heads_t &work) {
    work.forward(serial_table());
    work.backward(serial_table());
    buffer_t<bf16_t> const attended = std::move(work.attended), d_qkv = std::move(work.d_qkv);
    work.attended = normal_values<bf16_t>(work.tokens * work.hidden);
    work.d_qkv = normal_values<bf16_t>(work.tokens * 3 * work.hidden);
    work.forward(kit);
    work.backward(kit);
    demand_equal("attention", work.attended, attended, 4 * 0x1p-8);
    demand_equal("attention_backward", work.d_qkv, d_qkv, 4 * 0x1p-8);
}

void measure_attention(kit_table_t const &kit, std::size_t length, std::size_t heads, report_t &report) {
    heads_t small(length, 2, heads);
    verify(kit, small);
    heads_t work(length, std::max<std::size_t>(1, 512 / length), heads);
    double const pairs = double(work.tokens) * double(length) * 64 * double(heads);
    std::string text = " of ";
    text.append(std::to_string(length)).append(" tokens, ").append(std::to_string(heads)).append(" heads");
    report.line("attention" + text, 4 * pairs, [&] { work.forward(kit); });
    report.line("attention_backward" + text, 10 * pairs, [&] { work.backward(kit); });
}

/** Streams of one block at `hidden`: what products wait for. */
void measure_streams(kit_table_t const &kit, std::size_t tokens, std::size_t hidden, report_t &report) {
    std::size_t const inner = 4 * hidden;
    lane_t lane;
    auto x = normal_values<float>(tokens * hidden), d_x = normal_values<float>(tokens * hidden);
    auto scale = normal_values<float>(hidden), d_scale = normal_values<float>(hidden);
    auto inverse = normal_values<float>(tokens), rotary = normal_values<float>(tokens * 64);
    auto y = normal_values<bf16_t>(tokens * inner), wide = normal_values<bf16_t>(tokens * 2 * inner),
         d_wide = normal_values<bf16_t>(tokens * 2 * inner);
    auto const stream = [&](char const *name, double bytes, auto const &body) {
        std::string text = name;
        text.append(" ")
            .append(std::to_string(hidden))
            .append(" wide, ")
            .append(std::to_string(tokens))
            .append(" tokens");
        report.stream(text, double(tokens), bytes * double(tokens), body);
    };
    double const width = double(hidden);
    stream("rmsnorm", 6 * width,
           [&] { kit.rmsnorm(lane, tokens, hidden, x.data(), scale.data(), y.data(), inverse.data()); });
    stream("rmsnorm_backward", 14 * width, [&] {
        kit.rmsnorm_backward(lane, tokens, hidden,
                             {x.data(), scale.data(), inverse.data(), y.data(), d_x.data(), d_scale.data()});
    });
    stream("rope", 8 * width,
           [&] { kit.rope(lane, tokens, hidden / 64, rotary.data(), rotation_t::forward_k, wide.data()); });
    stream("swiglu", 24 * width, [&] { kit.swiglu(lane, tokens, inner, wide.data(), y.data()); });
    stream("swiglu_backward", 40 * width,
           [&] { kit.swiglu_backward(lane, tokens, inner, wide.data(), y.data(), d_wide.data()); });
    stream("cast_rows", 6 * width, [&] { kit.cast_rows(lane, tokens * hidden, x.data(), y.data()); });
    std::vector<std::uint32_t> const offsets = {0, std::uint32_t(tokens / 4), std::uint32_t(tokens)};
    buffer_t<float> alpha = normal_values<float>(tokens * hidden / 64), pooled = normal_values<float>(2 * hidden);
    stream("pool", 4 * width,
           [&] { kit.pool(lane, {offsets}, hidden / 64, y.data(), scale.data(), alpha.data(), pooled.data()); });
    stream("pool_backward", 12 * width, [&] {
        kit.pool_backward(lane, {offsets}, hidden / 64,
                          {y.data(), scale.data(), alpha.data(), pooled.data(), d_x.data(), d_scale.data()});
    });
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    report_t report(each);
    for (std::size_t heads : {2, 8})
        for (std::size_t length : {20, 64, 100, 128, 256, 1024}) measure_attention(each.table, length, heads, report);
    for (std::size_t tokens : {64, 512})
        for (std::size_t hidden : {128, 256, 512}) measure_streams(each.table, tokens, hidden, report);
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}
