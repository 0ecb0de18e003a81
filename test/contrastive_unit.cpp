/**
 *  @file contrastive_unit.cpp
 *  @brief The pair losses against literals by hand and a second, direct implementation of their formulas.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pair_loss_oracle.hpp"
#include "random_step.hpp"
#include "resident_peak.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

double oracle(random_step_t const &step, pair_loss_t form) {
    double total = 0;
    for (std::size_t width : step.widths) {
        double loss = 0, anchors = 0;
        for (std::size_t i = 0; i < step.items; ++i) {
            std::vector<double> z(step.items);
            std::vector<force_t> w(step.items);
            double attract = 0;
            for (std::size_t j = 0; j < step.items; ++j) {
                double dot = 0, left = 0, right = 0;
                for (std::size_t k = 0; k < width; ++k) {
                    double const x = step.embeddings[i * step.hidden + k], y = step.embeddings[j * step.hidden + k];
                    dot += x * y, left += x * x, right += y * y;
                }
                std::size_t const group = step.groups[i];
                z[j] = std::exp(step.theta[group]) * dot / std::sqrt(left * right) + step.bias[group];
                w[j] = force_of(step, i, j), attract += w[j].attract;
            }
            if (attract > 0) loss += row_loss(form, z, w), anchors += 1;
        }
        total += anchors > 0 ? loss / anchors : 0;
    }
    return total / step.widths.size();
}

class contrastive_unit : public ::testing::TestWithParam<pair_loss_t> {};

TEST_P(contrastive_unit, agrees_with_the_definition) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        random_step_t step(2 + 2 * seed, 24, seed); // up to three blocks of sixteen anchors
        if (seed % 3 == 0) step.ambient = 0;
        lane_t lane;
        poison(lane);
        double const expected = oracle(step, GetParam());
        auto in = step.input<double>(GetParam(), step.embeddings, step.theta, step.bias);
        auto const whole = answer(lane, in, 2);
        EXPECT_NEAR(whole.loss, expected, 1e-12 * (1 + expected)) << "seed " << seed;
        in.block_bytes = 1;
        auto const blocks = answer(lane, in, 2);
        EXPECT_NEAR(blocks.loss, expected, 1e-12 * (1 + expected)) << "seed " << seed;
        for (std::size_t i = 0; i < whole.d_embeddings.size(); ++i)
            ASSERT_NEAR(blocks.d_embeddings[i], whole.d_embeddings[i], 1e-13) << "seed " << seed;

        auto e = cast<float>(step.embeddings), t = cast<float>(step.theta), b = cast<float>(step.bias);
        double const narrow = answer(lane, step.input<float>(GetParam(), e, t, b), 2).loss;
        // A logit of size exp(1.3) keeps the relative error of a cosine of 24 terms; the loss moves by no more.
        EXPECT_NEAR(narrow, expected, 24 * 4 * 0x1p-24 * (4 + expected)) << "seed " << seed;
    }
}

TEST_P(contrastive_unit, permuting_items_permutes_gradients) {
    random_step_t step(12, 24, 7), other = step;
    std::vector<std::uint32_t> to(step.items);
    std::iota(to.begin(), to.end(), 0);
    std::shuffle(to.begin(), to.end(), std::mt19937(3));
    for (auto set : {&random_step_t::attract, &random_step_t::repel, &random_step_t::ignore}) {
        (other.*set).edges.clear();
        for (auto const &[pair, weight] : (step.*set).edges)
            (other.*set).edges[{to[pair.first], to[pair.second]}] = weight;
    }
    for (std::size_t i = 0; i < step.items; ++i) {
        other.groups[to[i]] = step.groups[i];
        for (std::size_t k = 0; k < step.hidden; ++k)
            other.embeddings[to[i] * step.hidden + k] = step.embeddings[i * step.hidden + k];
    }
    lane_t lane;
    poison(lane);
    auto const a = answer(lane, step.input<double>(GetParam(), step.embeddings, step.theta, step.bias), 2);
    auto const b = answer(lane, other.input<double>(GetParam(), other.embeddings, other.theta, other.bias), 2);
    EXPECT_NEAR(a.loss, b.loss, 1e-13 * (1 + a.loss));
    for (std::size_t i = 0; i < step.items; ++i)
        for (std::size_t k = 0; k < step.hidden; ++k)
            EXPECT_NEAR(a.d_embeddings[i * step.hidden + k], b.d_embeddings[to[i] * step.hidden + k], 1e-13);
}

TEST_P(contrastive_unit, equal_and_zero_rows_stay_finite) {
    random_step_t step(8, 24, 4);
    for (double value : {0.25, 0.0}) {
        std::vector<float> e(step.items * step.hidden, float(value)), t = {4.6f, 4.6f}, b = {0, 0};
        lane_t lane;
        poison(lane);
        auto const got = answer(lane, step.input<float>(GetParam(), e, t, b), 2);
        EXPECT_TRUE(std::isfinite(got.loss));
        for (float d : got.d_embeddings) EXPECT_NEAR(d, 0, 100 * 24 * 0x1p-22); // |x| is 1.2, exp(theta) 100
    }
}

/** Rows whose squares float does not hold: a loss that is refused, and no row that passes for zero. */
TEST_P(contrastive_unit, rows_beyond_float_are_not_zeros) {
    random_step_t step(8, 24, 4);
    for (float value : {1e20f, 1e-30f}) {
        auto e = cast<float>(step.embeddings), t = cast<float>(step.theta), b = cast<float>(step.bias);
        for (std::size_t i = 0; i < e.size(); ++i) e[i] = value;
        lane_t lane;
        poison(lane);
        EXPECT_FALSE(std::isfinite(answer(lane, step.input<float>(GetParam(), e, t, b), 2).loss)) << value;
    }
}

TEST_P(contrastive_unit, huge_logits_stay_finite) {
    random_step_t step(8, 24, 4);
    auto e = cast<float>(step.embeddings);
    std::vector<float> t = {12, 12}, b = {0, 0}; // exp(12) = 162,755: exponentials of logits overflow a double
    lane_t lane;
    poison(lane);
    auto const got = answer(lane, step.input<float>(GetParam(), e, t, b), 2);
    EXPECT_TRUE(std::isfinite(got.loss));
    for (float d : got.d_embeddings) EXPECT_TRUE(std::isfinite(d));
    std::vector<double> const hot = {12, 12}, cold = {0, 0};
    auto const wide = answer(lane, step.input<double>(GetParam(), step.embeddings, hot, cold), 2);
    EXPECT_NEAR(got.loss, wide.loss, 24 * 4 * 0x1p-24 * std::exp(12.0));
    for (double d : wide.d_embeddings) EXPECT_TRUE(std::isfinite(d));
}

TEST_P(contrastive_unit, no_negatives) {
    // Two items, one anchor, its only partner attracts: a cosine of 0.6 at inverse temperature 1 without bias.
    random_step_t step(2, 8, 1);
    step.attract.edges = {{{0, 1}, 1.0f}}, step.repel.edges.clear(), step.ignore.edges.clear();
    step.widths = {8}, step.theta = {0, 0}, step.bias = {0, 0};
    step.embeddings.assign(16, 0);
    step.embeddings[0] = 2, step.embeddings[8] = 0.3, step.embeddings[9] = 0.4;
    lane_t lane;
    poison(lane);
    double const loss = answer(lane, step.input<double>(GetParam(), step.embeddings, step.theta, step.bias), 2).loss;
    EXPECT_NEAR(loss, bias_cancels(GetParam()) ? 0 : 0.437487950485886, 1e-14); // log(1 + exp(-0.6))
}

TEST_P(contrastive_unit, no_anchor_is_zero) {
    random_step_t step(3, 24, 1);
    step.attract.edges = {{{0, 0}, 1.0f}, {{1, 2}, 0.0f}, {{2, 1}, 3.0f}}, step.ignore.edges = {{{2, 1}, 1.0f}};
    lane_t lane;
    poison(lane);
    auto const got = answer(lane, step.input<double>(GetParam(), step.embeddings, step.theta, step.bias), 2);
    EXPECT_EQ(got.loss, 0);
    EXPECT_EQ(got.d_embeddings, std::vector<double>(3 * 24));
}

INSTANTIATE_TEST_SUITE_P(forms, contrastive_unit, ::testing::ValuesIn(forms_k));

/** Anchor 0 with cosine 0.6 to its positive 1, 0 to the repelled 2 (weight 2), -1 to the ambient 3 (weight 1/2). */
TEST(contrastive_literals, by_hand) {
    random_step_t step(4, 8, 1);
    step.attract.edges = {{{0, 1}, 1.0f}}, step.repel.edges = {{{0, 2}, 2.0f}}, step.ignore.edges.clear();
    step.widths = {8}, step.theta = {std::log(2.0), 0}, step.bias = {0.5, 0}, step.groups = {0, 1, 1, 1};
    step.embeddings.assign(32, 0);
    step.embeddings[0] = 1, step.embeddings[8] = 3, step.embeddings[9] = 4,
    step.embeddings[17] = 7, step.embeddings[24] = -1;
    // z: 1.7, 0.5, -1.5; softplus(-1.7) = .16779, softplus(.5) = .97408, softplus(-1.5) = .20141
    double const sigmoid = 0.167786029 + 2 * 0.974076984 + 0.5 * 0.201413278;
    double const balanced = 0.167786029 + (2 * 0.974076984 + 0.5 * 0.201413278) / 2.5;
    double const ranked = (2 * 0.263282467 + 0.5 * 0.039953334) / 2.5;   // softplus(-1.2), softplus(-3.2)
    double const softmax = std::log(1 + 2 * 0.301194212 + 0.5 * 0.040762204); // exp(-1.2), exp(-3.2)
    double const expected[5] = {0, balanced, ranked, sigmoid, softmax};
    for (pair_loss_t form : forms_k) {
        lane_t lane;
        poison(lane);
        auto const got = answer(lane, step.input<double>(form, step.embeddings, step.theta, step.bias), 2);
        EXPECT_NEAR(got.loss, expected[int(form)], 1e-8) << int(form);
        EXPECT_EQ(got.d_theta[1], 0);
        EXPECT_EQ(got.d_bias[1], 0);
    }
}

/** Two units in the last place of the exponential, and some five roundings after it. */
TEST(contrastive_literals, softplus_in_float) {
    for (double x = -86.5; x <= 86.5; x += 0.03125) {
        soft_t<float> const got = soft(float(x));
        EXPECT_NEAR(got.value, softplus(x), softplus(x) * 9 * 0x1p-24) << x;
        EXPECT_NEAR(got.slope, 1 / (1 + std::exp(-x)), 9 * 0x1p-24 / (1 + std::exp(-x))) << x;
        EXPECT_NEAR(exponential(float(x)), std::exp(x), 4 * 0x1p-24 * std::exp(x)) << x;
    }
    EXPECT_EQ(exponential(-1e30f), 0);
    EXPECT_TRUE(std::isnan(exponential(float(NAN))));
    EXPECT_TRUE(std::isnan(soft(float(NAN)).value));
    EXPECT_EQ(soft(1e30f).value, 1e30f);
    EXPECT_EQ(soft(-1e30f).value, 0);
}

TEST(contrastive_threads, same_bits_on_any_width) {
    random_step_t step(37, 48, 11);
    auto e = cast<float>(step.embeddings), t = cast<float>(step.theta), b = cast<float>(step.bias);
    for (pair_loss_t form : forms_k)
        for (bool const blocks : {false, true}) {
            auto in = step.input<float>(form, e, t, b);
            if (blocks) in.block_bytes = 1;
            lane_t alone;
            auto const expected = answer(alone, in, 2);
            for (std::size_t width : {2, 3, 5}) {
                reversed_team_t team(width);
                lane_t wide(team.team());
                auto const got = answer(wide, in, 2);
                EXPECT_EQ(got.loss, expected.loss);
                EXPECT_EQ(got.d_embeddings, expected.d_embeddings);
                EXPECT_EQ(got.d_theta, expected.d_theta);
            }
        }
}

/** 4,096 items at two widths, whose cells would be 64 MiB a square, of which there would be three. */
TEST(contrastive_memory, grows_with_items_and_not_with_pairs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory grows with the program's";
#endif
    auto const peak_of = [](std::size_t items) {
        return test::resident_peak_of([=] {
            random_step_t step(2, 16, 1);
            step.items = items, step.widths = {8, 16}, step.ignore.edges.clear(), step.repel.edges.clear();
            step.groups.assign(items, 0), step.embeddings.assign(items * 16, 0), step.attract.edges.clear();
            for (std::uint32_t i = 0; i < items; ++i) step.attract.edges[{i, std::uint32_t(items - 1 - i)}] = 1;
            std::mt19937 generator(1);
            for (double &value : step.embeddings) value = double(generator()) * 0x1p-32 - 0.5;
            auto e = cast<float>(step.embeddings), t = cast<float>(step.theta), b = cast<float>(step.bias);
            lane_t lane;
            auto const got = answer(lane, step.input<float>(pair_loss_t::softmax_k, e, t, b), 2);
            return std::isfinite(got.loss) && got.loss > 0;
        });
    };
    std::size_t const few = peak_of(64), many = peak_of(4096);
    ASSERT_TRUE(few && many);
    std::printf("%.1f MiB for 64 items, %.1f for 4096\n", double(few) / 0x1p20, double(many) / 0x1p20);
    EXPECT_LT(many - few, std::size_t(48) << 20); // a block of 32 MiB, and rows
}

} // namespace
} // namespace uform::testing
