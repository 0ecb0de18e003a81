/**
 *  @file reconstruction_unit.cpp
 *  @brief The loss of reconstructed patches against literals and against its definition, written again in long double.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <uform/train/reconstruction.hpp>

#include "model_fixture.hpp"

namespace {

using namespace uform;

TEST(reconstruction, of_two_values_by_hand) {
    // (1, 3): mean 2, variance 1, so the target is -+ 1 / sqrt(1 + 1e-6). (5, 5) has no variance: (0, 0).
    double const targets[] = {5, 5, 1, 3}, unit = 1 / std::sqrt(1.000001);
    std::uint32_t const rows[] = {1, 0};
    double predictions[] = {0, 2, 3, -1};
    lane_t lane;
    double const loss = reconstruct<double>(lane, {2, 2, rows, targets, 0.5}, predictions);
    EXPECT_NEAR(loss, (unit * unit + (2 - unit) * (2 - unit)) / 2 + (9 + 1) / 2.0, 1e-14);
    double const expected[] = {unit / 2, (2 - unit) / 2, 1.5, -0.5}; // scale * 2 / values of each error
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(predictions[i], expected[i], 1e-14) << i;
}

TEST(reconstruction, whoever_answers_zeros_errs_by_one) {
    std::uint64_t state = 1;
    std::vector<double> targets(3 * 48), predictions(3 * 48, 0.0);
    for (double &value : targets) value = test::splitmix(state);
    std::uint32_t const rows[] = {0, 1, 2};
    lane_t lane;
    EXPECT_NEAR(reconstruct<double>(lane, {3, 48, rows, targets.data(), 1}, predictions.data()), 3, 3e-5); // epsilon's
}

TEST(reconstruction, nothing_hidden_is_nothing) {
    lane_t lane;
    EXPECT_EQ(reconstruct<float>(lane, {}, nullptr), 0);
    EXPECT_FALSE(lane.failed());
}

/** Float over BFloat16 targets, as a step runs it, against the definition. */
TEST(reconstruction, float_stays_near_its_definition) {
    std::size_t const values = 1024, positions = 5;
    std::uint64_t state = 9;
    std::vector<bf16_t> targets(8 * values);
    std::vector<float> predictions(positions * values);
    for (std::size_t i = 0; i < targets.size(); ++i) // of very different contrast, row by row, and bright
        targets[i] = round_to_bf16(float(0.5 + test::splitmix(state) / double(1 << i / values)));
    for (float &value : predictions) value = float(test::splitmix(state));
    std::uint32_t const rows[positions] = {7, 0, 3, 6, 1};
    std::vector<long double> slopes;
    long double expected = 0;
    for (std::size_t row = 0; row < positions; ++row) {
        long double mean = 0, variance = 0, error = 0;
        bf16_t const *const target = targets.data() + rows[row] * values;
        for (std::size_t i = 0; i < values; ++i) mean += widen(target[i]) / (long double)values;
        for (std::size_t i = 0; i < values; ++i) variance += std::pow(widen(target[i]) - mean, 2) / (long double)values;
        for (std::size_t i = 0; i < values; ++i) {
            long double const wanted = (widen(target[i]) - mean) / std::sqrt(variance + 1e-6L);
            slopes.push_back(2 * (predictions[row * values + i] - wanted) / (long double)values * 0.25L);
            error += std::pow(predictions[row * values + i] - wanted, 2);
        }
        expected += error / (long double)values;
    }
    lane_t lane;
    float const loss = reconstruct<float>(lane, {positions, values, rows, targets.data(), 0.25f}, predictions.data());
    // Means of BFloat16 values this near each other are exact. A sum of 1024 squares in eight chains takes 128 roundings
    // of 2^-24 at most, 2^-17 in all; the target's deviation has half of it, the loss's sum another.
    EXPECT_NEAR(loss, double(expected), double(expected) * 0x1p-16);
    for (std::size_t i = 0; i < slopes.size(); ++i) // targets reach 4, and a slope is half an error over the values
        ASSERT_NEAR(predictions[i], double(slopes[i]), 4 * 0x1p-18 / double(values)) << i;
}

} // namespace
