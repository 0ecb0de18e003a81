/**
 *  @file late_interaction_gradient.cpp
 *  @brief Late interaction by complex step, from the states and the projection on, over random graphs and sides.
 */
#include <gtest/gtest.h>

#include <uform/encoder/heads.hpp>
#include <uform/train/token_head.hpp>

#include "random_interaction.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

constexpr std::size_t hidden_k = 5;
/** Partials are sums of under a few thousand terms of order one. */
constexpr double tolerance_k = 1e-12;

/** States, projection, theta and bias in one vector, so that a partial is an index. */
struct layout_t {
    std::size_t projection, theta, bias, count;
    explicit layout_t(random_interaction_t const &step)
        : projection(step.tokens() * hidden_k), theta(projection + step.width * hidden_k), bias(theta + 2),
          count(bias + 2) {}
};

template <typename wide_>
std::vector<wide_> slice(std::vector<wide_> const &x, std::size_t first, std::size_t last) {
    return std::vector<wide_>(x.begin() + first, x.begin() + last);
}

template <typename wide_>
wide_ run(random_interaction_t &step, pair_loss_t form, lane_t &lane, std::vector<wide_> const &x,
          std::vector<wide_> &gradient) {
    using kit_t = serial::kit<wide_>;
    kit_t const kit;
    layout_t const at(step);
    std::size_t const tokens = step.tokens(), width = step.width;
    std::vector<wide_> forward(width * hidden_k), backward(width * hidden_k), vectors(tokens * width), norms(tokens);
    packed_t const w {forward.data(), width, hidden_k}, transposed {backward.data(), hidden_k, width};
    kit_t::pack(x.data() + at.projection, 0, width, w);
    kit_t::pack_transposed(x.data() + at.projection, transposed);
    token_vectors_forward(kit, lane, w, tokens, x.data(), vectors.data(), norms.data());
    auto const theta = slice(x, at.theta, at.bias), bias = slice(x, at.bias, at.count);
    late_answer_t<wide_> const got = late_answer(kit, lane, step.late<wide_>(form, vectors, theta, bias), tokens);
    gradient.assign(at.count, wide_(0));
    std::copy(got.d_theta.begin(), got.d_theta.end(), gradient.begin() + at.theta);
    std::copy(got.d_bias.begin(), got.d_bias.end(), gradient.begin() + at.bias);
    token_vectors_backward(kit, lane,
                           token_head_backward_t<wide_> {tokens, hidden_k, transposed, x.data(), vectors.data(),
                                                         norms.data(), got.d_vectors.data(),
                                                         gradient.data() + at.projection, gradient.data()});
    return got.loss;
}

class late_interaction_gradient : public ::testing::TestWithParam<pair_loss_t> {};

TEST_P(late_interaction_gradient, every_partial) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        random_interaction_t step(16, 8, seed);
        ASSERT_TRUE(step.queries.size() && step.documents.size());
        layout_t const at(step);
        std::mt19937 generator(seed);
        std::normal_distribution<double> normal;
        std::vector<double> x(at.count), gradient;
        for (double &value : x) value = normal(generator);
        lane_t lane;
        poison(lane);
        double const loss = run(step, GetParam(), lane, x, gradient);
        ASSERT_TRUE(std::isfinite(loss));
        EXPECT_GT(loss, 0);
        std::vector<complex_t> z = cast<complex_t>(x), ignored;
        for (std::size_t i = 0; i < at.count; ++i) {
            z[i] += complex_t(0, step_k);
            double const expected = run(step, GetParam(), lane, z, ignored).imag() / step_k;
            EXPECT_NEAR(gradient[i], expected, tolerance_k) << i << ", seed " << seed;
            z[i] = x[i];
        }
        EXPECT_TRUE(gradient[at.theta] != 0 || gradient[at.theta + 1] != 0);
        EXPECT_EQ(gradient[at.bias] == 0 && gradient[at.bias + 1] == 0, bias_cancels(GetParam()));
    }
}

TEST_P(late_interaction_gradient, adds_to_what_is_there) {
    random_interaction_t step(10, 8, 5);
    serial::kit<double> const kit;
    lane_t lane;
    auto const in = step.late<double>(GetParam(), step.vectors, step.theta, step.bias);
    auto const once = late_answer(kit, lane, in, step.tokens());
    auto twice = once;
    late_interaction(kit, lane, in, {twice.d_vectors.data(), twice.d_theta.data(), twice.d_bias.data()});
    double moved = 0;
    for (std::size_t i = 0; i < once.d_vectors.size(); ++i) {
        EXPECT_NEAR(twice.d_vectors[i], 2 * once.d_vectors[i], tolerance_k);
        moved += std::abs(once.d_vectors[i]);
    }
    EXPECT_GT(moved, 0);
    EXPECT_NEAR(twice.d_theta[0], 2 * once.d_theta[0], tolerance_k);
}

INSTANTIATE_TEST_SUITE_P(forms, late_interaction_gradient, ::testing::ValuesIn(forms_k));

} // namespace
} // namespace uform::testing
