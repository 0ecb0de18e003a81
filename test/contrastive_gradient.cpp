/**
 *  @file contrastive_gradient.cpp
 *  @brief Every partial of the pair losses by complex step, over random graphs with weights, groups and widths.
 */
#include <gtest/gtest.h>

#include "random_step.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

class contrastive_gradient : public ::testing::TestWithParam<pair_loss_t> {};

/** Partials are sums of under a few hundred terms of order one: a thousand roundings of double. */
constexpr double tolerance_k = 1e-12;

TEST_P(contrastive_gradient, every_partial) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        random_step_t step(9, 24, seed);
        lane_t lane;
        poison(lane);
        answer_t<double> const got =
            answer(lane, step.input<double>(GetParam(), step.embeddings, step.theta, step.bias), 2);
        ASSERT_TRUE(std::isfinite(got.loss));
        EXPECT_GT(got.loss, 0);
        auto e = cast<complex_t>(step.embeddings), t = cast<complex_t>(step.theta), b = cast<complex_t>(step.bias);
        auto check = [&](std::vector<complex_t> &x, std::vector<double> const &gradient, char const *name) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                x[i] += complex_t(0, step_k);
                auto const in = step.input<complex_t>(GetParam(), e, t, b);
                double const expected = answer(lane, in, 2).loss.imag() / step_k;
                EXPECT_NEAR(gradient[i], expected, tolerance_k) << name << '[' << i << "], seed " << seed;
                x[i] = x[i].real();
            }
        };
        check(e, got.d_embeddings, "embeddings");
        check(t, got.d_theta, "theta");
        check(b, got.d_bias, "bias");
        EXPECT_NE(got.d_theta[0], 0);
        EXPECT_EQ(got.d_bias[0] == 0 && got.d_bias[1] == 0, bias_cancels(GetParam()));
    }
}

TEST_P(contrastive_gradient, adds_to_what_is_there) {
    random_step_t step(6, 12, 5);
    lane_t lane;
    poison(lane);
    auto const in = step.input<double>(GetParam(), step.embeddings, step.theta, step.bias);
    answer_t<double> const once = answer(lane, in, 2);
    answer_t<double> twice = once;
    contrastive_gradient_t<double> const sums {twice.d_embeddings.data(), twice.d_theta.data(), twice.d_bias.data()};
    contrastive(lane, in, sums);
    for (std::size_t i = 0; i < once.d_embeddings.size(); ++i)
        EXPECT_NEAR(twice.d_embeddings[i], 2 * once.d_embeddings[i], tolerance_k);
}

INSTANTIATE_TEST_SUITE_P(forms, contrastive_gradient, ::testing::ValuesIn(forms_k));

} // namespace
} // namespace uform::testing
