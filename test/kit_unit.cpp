/**
 *  @file kit_unit.cpp
 *  @brief The kit's operations against literals worked out by hand, on numbers chosen so that a pencil suffices.
 *
 *  The double kit is the oracle that every class is compared with; these are what it is held to itself.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <uform/encoder/serial.hpp>

namespace {

using namespace uform;
using kit_t = serial::kit<double>;

constexpr double ln_2_k = 0.693147180559945309, ln_3_k = 1.098612288668109691;
constexpr double near_k = 1e-15;

struct one_item_t {
    std::uint32_t offsets[2];
    explicit one_item_t(std::uint32_t tokens) : offsets {0, tokens} {}
    items_t items() const { return {offsets}; }
};

TEST(kit_unit, products) {
    lane_t lane;
    double const a[] = {1, 2}, w[] = {3, 4, 5, 6}, addend[] = {100, 200};
    double packed[4], transposed[4], y[2];
    packed_t const forward {packed, 2, 2}, backward {transposed, 2, 2};
    kit_t::pack(w, 0, 2, forward);
    kit_t::pack_transposed(w, backward);
    kit_t::gemm(lane, 1, a, forward, y);
    EXPECT_EQ(y[0], 11); // 1 * 3 + 2 * 4
    EXPECT_EQ(y[1], 17); // 1 * 5 + 2 * 6
    kit_t::gemm_wide(lane, 1, a, forward, addend, y);
    EXPECT_EQ(y[0], 111);
    EXPECT_EQ(y[1], 217);
    kit_t::gemm(lane, 1, a, backward, y);
    EXPECT_EQ(y[0], 13); // 1 * 3 + 2 * 5
    EXPECT_EQ(y[1], 16); // 1 * 4 + 2 * 6
    double d_w[] = {1, 1, 1, 1};
    double const d_y[] = {1, 10, 2, 20}, x[] = {1, 2, 3, 4}; // two rows
    kit_t::gemm_backward_weight(lane, 2, 2, 2, d_y, x, d_w);
    EXPECT_EQ(d_w[0], 1 + 1 * 1 + 2 * 3);
    EXPECT_EQ(d_w[1], 1 + 1 * 2 + 2 * 4);
    EXPECT_EQ(d_w[2], 1 + 10 * 1 + 20 * 3);
    EXPECT_EQ(d_w[3], 1 + 10 * 2 + 20 * 4);
    kit_t::gemm_backward_weight(lane, 2, 2, 2, d_y, x, {d_w, false});
    EXPECT_EQ(d_w[0], 1 * 1 + 2 * 3);
    EXPECT_EQ(d_w[3], 10 * 2 + 20 * 4);
}

TEST(kit_unit, rmsnorm) {
    lane_t lane;
    double const x[] = {3, 4}, scale[] = {1, 2};
    double y[2], inverse[1];
    kit_t::rmsnorm(lane, 1, 2, x, scale, y, inverse);
    // The mean of squares is 12.5; epsilon takes 4e-8 of 1 / sqrt(12.5) = 0.282842712.
    EXPECT_NEAR(inverse[0], 0.28284271247 * (1 - 4e-8), 1e-10);
    EXPECT_NEAR(y[0], 0.84852813742 * (1 - 4e-8), 1e-9);
    EXPECT_NEAR(y[1], 2.26274169980 * (1 - 4e-8), 1e-9);
}

TEST(kit_unit, activations) {
    lane_t lane;
    double const gate_up[] = {ln_3_k, 0, 2, 5}; // sigmoid(ln 3) = 3/4
    double y[2];
    kit_t::swiglu(lane, 1, 2, gate_up, y);
    EXPECT_NEAR(y[0], ln_3_k * 0.75 * 2, near_k);
    EXPECT_EQ(y[1], 0);
    kit_t::silu(lane, 2, gate_up, y);
    EXPECT_NEAR(y[0], ln_3_k * 0.75, near_k);
    EXPECT_EQ(y[1], 0);
}

TEST(kit_unit, rope_turns_pairs_half_a_head_apart) {
    lane_t lane;
    std::vector<double> qkv(3 * head_width_k), rotary(head_width_k);
    for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = double(i);
    for (std::size_t j = 0; j < head_pairs_k; ++j) rotary[j] = 0, rotary[head_pairs_k + j] = 1; // a quarter turn
    kit_t::rope(lane, 1, 1, rotary.data(), rotation_t::forward_k, qkv.data());
    EXPECT_EQ(qkv[0], -32); // q: (0, 32) becomes (-32, 0)
    EXPECT_EQ(qkv[32], 0);
    EXPECT_EQ(qkv[64], -96); // k: (64, 96) becomes (-96, 64)
    EXPECT_EQ(qkv[96], 64);
    EXPECT_EQ(qkv[128], 128); // v stays
    kit_t::rope(lane, 1, 1, rotary.data(), rotation_t::backward_k, qkv.data());
    for (std::size_t i = 0; i < qkv.size(); ++i) EXPECT_EQ(qkv[i], double(i));
}

TEST(kit_unit, attention) {
    lane_t lane;
    std::vector<double> qkv(2 * 3 * head_width_k), attended(2 * head_width_k), lse(2);
    auto at = [&](std::size_t token, std::size_t part) { return qkv.data() + (token * 3 + part) * head_width_k; };
    at(0, 0)[0] = 8;      // q of token 0; token 1 asks nothing
    at(0, 1)[0] = ln_3_k; // k: its score is 8 ln 3 / 8 against 0
    at(0, 2)[5] = 1, at(1, 2)[5] = 9;
    kit_t::attention(lane, one_item_t(2).items(), 1, qkv.data(), attended.data(), lse.data());
    EXPECT_NEAR(attended[5], 0.75 * 1 + 0.25 * 9, 4 * near_k);
    EXPECT_NEAR(lse[0], 2 * ln_2_k, near_k);                // ln(3 + 1)
    EXPECT_NEAR(attended[head_width_k + 5], 5, 8 * near_k); // the mean
    EXPECT_NEAR(lse[1], ln_2_k, near_k);
}

TEST(kit_unit, pool) {
    lane_t lane;
    std::vector<double> states(2 * head_width_k), query(head_width_k), weights(2), pooled(head_width_k);
    states[0] = ln_3_k, states[7] = 1, states[head_width_k + 7] = 9;
    query[0] = 8;
    kit_t::pool(lane, one_item_t(2).items(), 1, states.data(), query.data(), weights.data(), pooled.data());
    EXPECT_NEAR(weights[0], 0.75, near_k);
    EXPECT_NEAR(weights[1], 0.25, near_k);
    EXPECT_NEAR(pooled[7], 3, 4 * near_k);
    EXPECT_NEAR(pooled[0], 0.75 * ln_3_k, near_k);
}

TEST(kit_unit, rows) {
    lane_t lane;
    double const x[] = {3, 4, 0, 0};
    double y[4], inverse[2];
    kit_t::normalize_rows(lane, 2, 2, 2, x, y, inverse);
    EXPECT_NEAR(y[0], 0.6, near_k);
    EXPECT_NEAR(y[1], 0.8, near_k);
    EXPECT_EQ(y[2], 0); // a row of zeros stays
    EXPECT_NEAR(inverse[0], 0.2, near_k);
    double const table[] = {1, 2, 3, 4, 5, 6};
    std::uint16_t const ids[] = {2, 0};
    kit_t::gather_bytes(lane, 2, 2, ids, table, y);
    EXPECT_EQ(y[0], 5);
    EXPECT_EQ(y[3], 2);
    double d_table[6] = {};
    std::uint16_t const twice[] = {1, 1};
    kit_t::scatter_bytes_sum(lane, 2, 2, twice, x, d_table);
    EXPECT_EQ(d_table[2], 3);
    EXPECT_EQ(d_table[3], 4);
    EXPECT_EQ(d_table[0], 0);
    double sums[2] = {1, 1}, factors[] = {2, -1, 0.5};
    std::uint32_t const listed[] = {2, 0, 2};
    kit_t::gather_rows_sum(lane, 2, {3, listed, factors, table, sums});
    EXPECT_EQ(sums[0], 1 + 2 * 5 - 1 + 0.5 * 5);
    EXPECT_EQ(sums[1], 1 + 2 * 6 - 2 + 0.5 * 6);
}

TEST(kit_unit, winning_products) {
    lane_t lane;
    double const query[] = {1, 0, /**/ 0, 2, /**/ -1, -1};
    double const document[] = {-4, -5, /**/ -3, -1, /**/ -3, -1};
    double packed[6], largest[3];
    std::uint16_t winners[3];
    packed_t const operand {packed, 3, 2};
    kit_t::pack(query, 0, 3, operand);
    kit_t::winning_products(lane, 3, document, operand, largest, winners);
    EXPECT_EQ(largest[0], -3); // of -4 and twice -3: below zero, where padding would have won
    EXPECT_EQ(winners[0], 1);  // the first of two
    EXPECT_EQ(largest[1], -2);
    EXPECT_EQ(winners[1], 1);
    EXPECT_EQ(largest[2], 9);
    EXPECT_EQ(winners[2], 0);
    double const broken[] = {NAN, NAN, /**/ 7, 7};
    kit_t::winning_products(lane, 2, broken, operand, largest, winners);
    EXPECT_EQ(largest[0], 7);
    EXPECT_EQ(winners[0], 1); // what is no number does not win
    kit_t::winning_products(lane, 1, broken, operand, largest, winners);
    EXPECT_EQ(largest[1], -HUGE_VAL);
    EXPECT_EQ(winners[1], 0);
}

TEST(kit_unit, max_products) {
    lane_t lane;
    double const query[] = {1, 0, /**/ 0, 2, /**/ -1, -1};
    double const document[] = {-3, -5, 99, /**/ -4, -1, 99}; // rows of two, three apart
    double packed[6], largest[3];
    packed_t const operand {packed, 3, 2}, wide {packed, 3, 2, uform_scalar_f32_k};
    kit_t::pack(query, 0, 3, operand);
    kit_t::max_products(lane, 2, 3, document, operand, largest);
    EXPECT_EQ(largest[0], -3); // of -3 and -4: below zero, where padding would have won
    EXPECT_EQ(largest[1], -2); // of -10 and -2
    EXPECT_EQ(largest[2], 8);  // of 8 and 5
    largest[0] = largest[1] = largest[2] = 77;
    kit_t::pack_wide(query, wide);
    kit_t::max_products_wide(lane, 2, 3, document, wide, largest);
    EXPECT_EQ(largest[0], -3);
    EXPECT_EQ(largest[1], -2);
    EXPECT_EQ(largest[2], 8);
    double const broken[] = {-HUGE_VAL, -5, 99, /**/ -4, -1, 99}; // smaller than all, and must not be forgotten
    kit_t::max_products(lane, 2, 3, broken, operand, largest);
    for (double x : largest) EXPECT_TRUE(std::isnan(x)); // also of the second token, which it meets with a zero
}

TEST(kit_unit, choices_softmax) {
    lane_t lane;
    std::vector<double> logits(3 * byte_values_k, 1000); // of bytes that are not legal
    logits['y'] = 2 * ln_3_k, logits['n'] = 0;
    logits[2 * byte_values_k + 255] = 700;
    std::uint32_t const offsets[] = {0, 2, 2, 3}; // the second item has none
    std::uint8_t const choices[] = {'n', 'y', 255};
    double const scales[] = {0.5, 7, 3};
    double probabilities[3];
    kit_t::choices_softmax(lane, {items_t {offsets}, choices, logits.data(), scales, probabilities});
    EXPECT_NEAR(probabilities[0], 0.25, near_k); // 1 : 3, in the order of the choices
    EXPECT_NEAR(probabilities[1], 0.75, near_k);
    EXPECT_EQ(probabilities[2], 1); // though e^2100 is beyond a double
}

} // namespace
