/**
 *  @file choices_unit.cpp
 *  @brief The choices loss by hand: even odds, a Brier score, a sure mistake, one choice, no items, any width of the lane.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <uform/encoder/serial.hpp>
#include <uform/train/choices.hpp>

#include "reversed_team.hpp"

namespace uform::testing {
namespace {

struct answer_t {
    float loss;
    std::vector<float> gradient; // [items, 256]
};

answer_t score(choices_t<float> const &in, std::vector<float> logits) {
    lane_t lane;
    poison(lane);
    serial::kit<float> const kit;
    float const loss = choices_loss(kit, lane, in, logits.data());
    EXPECT_FALSE(lane.failed());
    return {loss, logits};
}

TEST(choices_unit, even_odds_by_hand) {
    std::uint32_t const offsets[] = {0, 2};
    std::uint8_t const choices[] = {'y', 'n'};
    float const targets[] = {0.75f, 0.25f}, scales[] = {1};
    choices_t<float> const in {{offsets}, choices, targets, scales, 2, 0.5f};
    std::vector<float> logits(256, 100); // what is not legal is not read
    logits['y'] = logits['n'] = -3;
    answer_t const answer = score(in, logits);
    // p = (1/2, 1/2): entropy ln 2; Brier (1/4)^2 + (1/4)^2 = 1/8, twice.
    EXPECT_NEAR(answer.loss, std::log(2.0) + 0.25, 1e-6);
    // d entropy = p - t = -1/4. d Brier = 2 p ((p - t) - sum p (p - t)) = 2 * 1/2 * (-1/4 - 0) = -1/4, twice.
    EXPECT_NEAR(answer.gradient['y'], 0.5 * (-0.25 - 2 * 0.25), 1e-7);
    EXPECT_NEAR(answer.gradient['n'], 0.5 * (0.25 + 2 * 0.25), 1e-7);
    EXPECT_EQ(answer.gradient['x'], 0);
}

TEST(choices_unit, temperatures_by_hand) {
    std::uint32_t const offsets[] = {0, 2, 4};
    std::uint8_t const choices[] = {'a', 'b', 'b', 'a'};
    float const targets[] = {1, 0, 1, 0}, scales[] = {2, 0.5f};
    std::vector<float> logits(512, 0);
    float const gap = float(std::log(3.0));
    logits['a'] = gap, logits[256 + 'a'] = gap;
    answer_t const answer = score({{offsets}, choices, targets, scales, 0, 1}, logits);
    // Twice the gap is ln 9, p(a) = 9/10; half of it is ln 3 / 2, p(b) = 1 / (1 + sqrt 3), and b is right.
    double const root = std::sqrt(3.0);
    EXPECT_NEAR(answer.loss, std::log(10.0 / 9) + std::log(1 + root), 1e-6);
    EXPECT_NEAR(answer.gradient['a'], 2 * (0.9 - 1), 1e-6);
    EXPECT_NEAR(answer.gradient['b'], 2 * 0.1, 1e-6);
    EXPECT_NEAR(answer.gradient[256 + 'b'], 0.5 * (1 / (1 + root) - 1), 1e-6);
}

TEST(choices_unit, three_choices_and_a_brier_score_alone) {
    std::uint32_t const offsets[] = {0, 3};
    std::uint8_t const choices[] = {0, 128, 255};
    float const targets[] = {0.5f, 0.5f, 0}, scales[] = {1};
    std::vector<float> logits(256, 0);
    logits[0] = float(std::log(2.0)); // p = 1/2, 1/4, 1/4
    answer_t const with = score({{offsets}, choices, targets, scales, 1, 1}, logits),
                   without = score({{offsets}, choices, targets, scales, 0, 1}, logits);
    EXPECT_NEAR(with.loss - without.loss, 0 + 0.0625 + 0.0625, 1e-6);
    EXPECT_NEAR(without.loss, 0.5 * std::log(2.0) + 0.5 * std::log(4.0), 1e-6);
    // p - t = (0, -1/4, 1/4), whose mean under p is 0: d Brier = 2 p (p - t) = (0, -1/8, 1/8).
    EXPECT_NEAR(with.gradient[0] - without.gradient[0], 0, 1e-7);
    EXPECT_NEAR(with.gradient[128] - without.gradient[128], -0.125, 1e-7);
    EXPECT_NEAR(with.gradient[255] - without.gradient[255], 0.125, 1e-7);
}

TEST(choices_unit, sure_answers_stay_finite) {
    std::uint32_t const offsets[] = {0, 2, 4, 5};
    std::uint8_t const choices[] = {'y', 'n', 'y', 'n', '?'};
    float const targets[] = {1, 0, 0, 1, 1}, scales[] = {1, 1, 1};
    std::vector<float> logits(3 * 256, 0);
    logits['y'] = 1000, logits[256 + 'y'] = 1000;
    answer_t const answer = score({{offsets}, choices, targets, scales, 1, 1}, logits);
    EXPECT_NEAR(answer.loss, 0 + (1000 + 2) + 0, 1e-3); // right; wrong by 1000, Brier 1 + 1; one choice is certain
    EXPECT_EQ(answer.gradient['y'], 0);
    EXPECT_EQ(answer.gradient[256 + 'y'], 1);
    EXPECT_EQ(answer.gradient[256 + 'n'], -1);
    EXPECT_EQ(answer.gradient[512 + '?'], 0);
}

TEST(choices_unit, no_items_are_nothing) {
    lane_t lane;
    serial::kit<float> const kit;
    EXPECT_EQ(choices_loss(kit, lane, choices_t<float> {}, static_cast<float *>(nullptr)), 0);
}

TEST(choices_unit, same_bits_on_any_width) {
    constexpr std::size_t items = 37;
    std::vector<std::uint32_t> offsets {0};
    std::vector<std::uint8_t> choices;
    std::vector<float> targets, scales, logits(items * 256);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = float(i * 7919 % 1000) / 100;
    for (std::size_t item = 0; item < items; ++item) {
        std::size_t const count = 1 + item * 7 % 256;
        for (std::size_t i = 0; i < count; ++i)
            choices.push_back(std::uint8_t(i * 11)), targets.push_back(1 / float(count));
        offsets.push_back(std::uint32_t(choices.size())), scales.push_back(0.5f + float(item % 3));
    }
    choices_t<float> const in {{offsets}, choices.data(), targets.data(), scales.data(), 0.3f, 0.1f};
    answer_t const alone = score(in, logits);
    serial::kit<float> const kit;
    for (std::size_t width : {1, 2, 5}) {
        reversed_team_t team(width);
        lane_t wide(team.team());
        std::vector<float> gradient = logits;
        EXPECT_EQ(choices_loss(kit, wide, in, gradient.data()), alone.loss);
        EXPECT_EQ(gradient, alone.gradient);
    }
}

} // namespace
} // namespace uform::testing
