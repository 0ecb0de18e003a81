/**
 *  @file extremes_unit.cpp
 *  @brief Every class, serial included, on finite numbers near the ends of float, against answers worked out by hand.
 *
 *  Values are small whole numbers times powers of two, which rounding leaves alone, so that what is expected holds at
 *  any magnitude.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/classes.hpp>

namespace {

using namespace uform;

constexpr float infinity_k = std::numeric_limits<float>::infinity();

std::vector<kit_table_t const *> kits() {
    std::vector<kit_table_t const *> kits;
    for (class_row_t const &row : class_rows())
        if (has_kernels(row.cpu_class) && runs_here(row.cpu_class)) kits.push_back(kit_of(row.cpu_class));
    return kits;
}

/** A row that is zeros but for 3 and 4, in the first column and in the last, times 2^exponent. */
std::vector<float> three_and_four(std::size_t columns, int exponent) {
    std::vector<float> row(columns);
    row.front() = std::ldexp(3.0f, exponent), row.back() = std::ldexp(4.0f, exponent);
    return row;
}

TEST(extremes, rows_of_any_length_become_unit_rows) {
    lane_t lane;
    for (kit_table_t const *kit : kits())
        for (std::size_t columns : {2, 5, 128, 600})
            for (int exponent = -149; exponent <= 125; ++exponent) {
                auto row = three_and_four(columns, exponent);
                float inverse;
                kit->normalize_rows(lane, 1, columns, columns, row.data(), row.data(), &inverse);
                // A root, a quotient and a product, each rounded; the sum of two squares is exact.
                ASSERT_NEAR(row.front(), 0.6, 3 * 0x1p-24) << kit->name << " " << columns << " 2^" << exponent;
                ASSERT_NEAR(row.back(), 0.8, 3 * 0x1p-24) << kit->name << " " << columns << " 2^" << exponent;
            }
}

TEST(extremes, rows_of_nothing_stay_and_rows_of_infinity_are_none) {
    lane_t lane;
    for (kit_table_t const *kit : kits()) {
        std::vector<float> rows(2 * 128);
        rows[130] = infinity_k, rows[131] = 1;
        float inverse[2];
        kit->normalize_rows(lane, 2, 128, 128, rows.data(), rows.data(), inverse);
        for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(rows[i], 0) << kit->name;
        EXPECT_EQ(inverse[0], 0) << kit->name;
        EXPECT_TRUE(std::isnan(rows[130])) << kit->name;
    }
}

TEST(extremes, rmsnorm_of_large_rows) {
    lane_t lane;
    std::size_t const columns = 128, rows = 17; // the large one has neighbours
    std::vector<float> const scale(columns, 1);
    for (kit_table_t const *kit : kits())
        for (int exponent = 12; exponent <= 125; ++exponent) { // from where epsilon is below 2^-40 of the mean
            std::vector<float> x(rows * columns, 1), inverse(rows);
            std::vector<bf16_t> y(rows * columns);
            auto const row = three_and_four(columns, exponent);
            std::copy(row.begin(), row.end(), x.begin() + 5 * columns);
            kit->rmsnorm(lane, rows, columns, x.data(), scale.data(), y.data(), inverse.data());
            double const rms = std::sqrt(25.0 / 128);
            EXPECT_NEAR(widen(y[5 * columns]), 3 / rms, 3 / rms * 0x1p-8) << kit->name << " 2^" << exponent;
            EXPECT_NEAR(widen(y[6 * columns - 1]), 4 / rms, 4 / rms * 0x1p-8) << kit->name << " 2^" << exponent;
            EXPECT_EQ(widen(y[4 * columns]), 1) << kit->name;
            EXPECT_EQ(widen(y[6 * columns]), 1) << kit->name;
        }
}

TEST(extremes, rmsnorm_has_no_gradient_where_float_holds_none) {
    lane_t lane;
    std::vector<float> const scale(128, 1);
    std::vector<bf16_t> const d_y(128, round_to_bf16(1));
    for (kit_table_t const *kit : kits())
        for (int exponent : {0, 50, 64, 100, 125}) {
            auto const x = three_and_four(128, exponent);
            std::vector<bf16_t> y(128);
            std::vector<float> d_x(128), d_scale(128);
            float inverse;
            kit->rmsnorm(lane, 1, 128, x.data(), scale.data(), y.data(), &inverse);
            kit->rmsnorm_backward(lane, 1, 128,
                                  {x.data(), scale.data(), &inverse, d_y.data(), d_x.data(), d_scale.data()});
            EXPECT_EQ(std::isfinite(d_x[64]), exponent <= 50) << kit->name << " 2^" << exponent;
        }
}

/** Keys of -2 and 1 but for one of 3, in its own tile, against queries of 2^exponent: a gap of 2^(exponent - 2). */
struct far_attention_t {
    static constexpr std::size_t tokens = 130, best = 100, twin = 20;
    std::vector<bf16_t> qkv = std::vector<bf16_t>(tokens * 192), attended = std::vector<bf16_t>(tokens * 64),
                        d_qkv = qkv;
    std::vector<float> lse = std::vector<float>(tokens);
    std::uint32_t offsets[2] = {0, tokens};
    lane_t lane;

    far_attention_t(int exponent, bool tied) {
        for (std::size_t token = 0; token < tokens; ++token) {
            bf16_t *const row = qkv.data() + token * 192;
            bool const wins = token == best || (tied && token == twin);
            row[0] = round_to_bf16(std::ldexp(1.0f, exponent));
            row[64] = round_to_bf16(wins ? 3.0f : token % 2 ? 1.0f : -2.0f);
            for (std::size_t i = 0; i < 64; ++i) row[128 + i] = round_to_bf16(float(token % 64 + i));
        }
    }
    float value(std::size_t token, std::size_t part, std::size_t i) const {
        return widen(d_qkv[token * 192 + part * 64 + i]);
    }
};

TEST(extremes, attention_over_scores_far_from_zero) {
    for (kit_table_t const *kit : kits())
        for (int exponent = 10; exponent <= 120; ++exponent)
            for (bool tied : {false, true}) {
                SCOPED_TRACE(testing::Message() << kit->name << " 2^" << exponent << " tied " << tied);
                far_attention_t io(exponent, tied);
                kit->attention(io.lane, {io.offsets}, 1, io.qkv.data(), io.attended.data(), io.lse.data());
                for (std::size_t token : {std::size_t(0), std::size_t(77), io.tokens - 1}) {
                    double const expected = std::ldexp(3.0, exponent - 3) + (tied ? std::log(2.0) : 0);
                    ASSERT_NEAR(io.lse[token], expected, expected * 0x1p-22);
                    for (std::size_t i : {0, 63}) {
                        double const first = double(io.best % 64 + i), second = double(io.twin % 64 + i);
                        // Weights and answers are rounded to BFloat16, and tops to a 2^-10th of a weight at most.
                        double const mean = tied ? (first + second) / 2 : first;
                        ASSERT_NEAR(widen(io.attended[token * 64 + i]), mean, mean * 0x1p-7);
                    }
                }
            }
}

TEST(extremes, attention_backward_over_scores_far_from_zero) {
    for (kit_table_t const *kit : kits())
        for (int exponent = 10; exponent <= 80; ++exponent) {
            SCOPED_TRACE(testing::Message() << kit->name << " 2^" << exponent);
            far_attention_t io(exponent, false);
            kit->attention(io.lane, {io.offsets}, 1, io.qkv.data(), io.attended.data(), io.lse.data());
            std::vector<bf16_t> const d_attended(io.tokens * 64, round_to_bf16(1));
            kit->attention_backward(
                io.lane, {io.offsets}, 1,
                {io.qkv.data(), io.attended.data(), io.lse.data(), d_attended.data(), io.d_qkv.data()});
            // All queries attend to one value alone: it gets their gradients, and no score moves anything.
            for (std::size_t i : {0, 63}) {
                ASSERT_NEAR(io.value(io.best, 2, i), 130, 130 * 0x1p-7);
                for (std::size_t token : {0, 20, 99, 129}) ASSERT_NEAR(io.value(token, 2, i), 0, 0x1p-100);
            }
            // What is left of a weight of 2^-126 and a slope below 2^13, over 130 rows, times the query.
            for (std::size_t token : {0, 20, 99, 129})
                ASSERT_NEAR(io.value(token, 1, 0), 0, std::ldexp(1.0, exponent - 100));
        }
}

TEST(extremes, pool_over_scores_far_below_zero) {
    lane_t lane;
    std::uint32_t const offsets[] = {0, 20};
    for (kit_table_t const *kit : kits())
        for (int exponent : {10, 100, 110, 120}) {
            std::vector<bf16_t> states(20 * 64);
            std::vector<float> query(64), attention(20), pooled(64);
            query[0] = std::ldexp(-1.0f, exponent);
            for (std::size_t token = 0; token < 20; ++token)
                states[token * 64] = round_to_bf16(token == 11 ? 1.0f : 2.0f),
                               states[token * 64 + 1] = round_to_bf16(float(token));
            kit->pool(lane, {offsets}, 1, states.data(), query.data(), attention.data(), pooled.data());
            for (std::size_t token = 0; token < 20; ++token)
                EXPECT_NEAR(attention[token], token == 11, 0x1p-126) << kit->name << " 2^" << exponent;
            EXPECT_EQ(pooled[1], 11) << kit->name << " 2^" << exponent;
        }
}

TEST(extremes, choices_at_any_temperature) {
    lane_t lane;
    std::uint32_t const offsets[] = {0, 3};
    std::uint8_t const choices[] = {7, 200, 9};
    std::vector<float> logits(256);
    logits[7] = -21, logits[200] = -20, logits[9] = -22;
    for (kit_table_t const *kit : kits())
        for (float scale : {200.0f, 1e29f, 1e30f, 1e31f, 1e36f}) {
            float answers[3];
            kit->choices_softmax(lane, {items_t {offsets}, choices, logits.data(), &scale, answers});
            EXPECT_EQ(answers[0], 0) << kit->name << " " << scale; // e^-200 is below float's least
            EXPECT_EQ(answers[1], 1) << kit->name << " " << scale;
            EXPECT_EQ(answers[2], 0) << kit->name << " " << scale;
        }
}

} // namespace
