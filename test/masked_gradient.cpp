/**
 *  @file masked_gradient.cpp
 *  @brief The masked text loss: every partial by complex step, at logits of ordinary and of extreme size.
 */
#include <gtest/gtest.h>

#include <random>

#include <uform/train/masked.hpp>

#include "random_step.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

TEST(masked_gradient, every_partial) {
    for (double spread : {1.0, 30.0}) {
        std::size_t const positions = 3;
        std::mt19937 generator(2);
        std::normal_distribution<double> normal(0, spread);
        std::vector<double> logits(positions * 256), gradient(logits.size());
        for (double &x : logits) x = normal(generator);
        std::vector<std::uint8_t> const targets = {0, 255, 65};
        lane_t lane;
        poison(lane);
        masked_text(lane, masked_text_t<double> {positions, logits.data(), targets.data(), 0.125}, gradient.data());
        auto z = cast<complex_t>(logits);
        std::vector<complex_t> ignored(z.size());
        for (std::size_t i = 0; i < z.size(); ++i) {
            z[i] += complex_t(0, step_k);
            masked_text_t<complex_t> const in {positions, z.data(), targets.data(), 1};
            double const expected = 0.125 * masked_text(lane, in, ignored.data()).imag() / step_k;
            EXPECT_NEAR(gradient[i], expected, 1e-15) << i;
            z[i] = logits[i];
        }
    }
}

} // namespace
} // namespace uform::testing
