/**
 *  @file masked_unit.cpp
 *  @brief The masked text loss by hand: equal logits, a sure answer, a sure mistake, nothing masked, in place.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <uform/train/masked.hpp>

#include "reversed_team.hpp"

namespace uform::testing {
namespace {

TEST(masked_unit, by_hand) {
    std::vector<float> logits(3 * 256, 5.0f), gradient(logits.size());
    logits[256 + 7] = 1000, logits[512 + 7] = 1000; // sure of 7: right in row 1, wrong in row 2 by 995
    std::vector<std::uint8_t> const targets = {9, 7, 200};
    lane_t lane;
    poison(lane);
    masked_text_t<float> const in {3, logits.data(), targets.data(), 0.5f};
    float const loss = masked_text(lane, in, gradient.data());
    EXPECT_NEAR(loss, std::log(256.0) + 0 + 995, 1e-3);
    EXPECT_FLOAT_EQ(gradient[8], 0.5f / 256);
    EXPECT_FLOAT_EQ(gradient[9], 0.5f / 256 - 0.5f);
    EXPECT_EQ(gradient[256 + 7], 0);
    EXPECT_EQ(gradient[512 + 7], 0.5f);
    EXPECT_EQ(gradient[512 + 200], -0.5f);
}

TEST(masked_unit, nothing_masked_is_zero) {
    lane_t lane;
    EXPECT_EQ(masked_text(lane, masked_text_t<float> {}, static_cast<float *>(nullptr)), 0);
}

TEST(masked_unit, in_place_and_on_any_width) {
    std::vector<float> logits(37 * 256);
    std::vector<std::uint8_t> targets;
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = float(i * 7919 % 1000) / 100;
    for (std::size_t i = 0; i < 37; ++i) targets.push_back(std::uint8_t(i * 7));
    std::vector<float> apart(logits.size());
    lane_t alone;
    float const loss = masked_text(alone, masked_text_t<float> {37, logits.data(), targets.data(), 1}, apart.data());
    for (std::size_t width : {1, 2, 5}) {
        reversed_team_t team(width);
        lane_t wide(team.team());
        std::vector<float> same = logits;
        EXPECT_EQ(masked_text(wide, masked_text_t<float> {37, same.data(), targets.data(), 1}, same.data()), loss);
        EXPECT_EQ(same, apart);
    }
}

} // namespace
} // namespace uform::testing
