/**
 *  @file choices_gradient.cpp
 *  @brief Choices from states to loss: every partial by complex step, and the value against direct loops in double.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include <uform/encoder/serial.hpp>
#include <uform/train/choices_head.hpp>

#include "model_fixture.hpp"
#include "reversed_team.hpp"

namespace {

using namespace uform;
using complex_t = std::complex<double>;

constexpr std::size_t hidden_k = 8, tokens_k = 6, items_k = 3;
constexpr std::uint32_t masks_k[items_k] = {0, 2, 5};
constexpr std::uint32_t offsets_k[items_k + 1] = {0, 2, 3, 8};
constexpr std::uint8_t choices_k[8] = {'n', 'y', 7, 0, 255, 'a', 'b', 128};
constexpr float targets_k[8] = {0.75f, 0.25f, 1, 0.5f, 0, 0.125f, 0.25f, 0.125f};
constexpr double temperatures_k[items_k] = {1, 3, 0.5}, scale_k = 0.25, brier_k = 0.75;

/** Weight, bias and states in one vector, so that a partial is an index. */
constexpr std::size_t weight_k = 0, bias_k = 256 * hidden_k, states_k = bias_k + 256,
                      count_k = states_k + tokens_k * hidden_k;

template <typename wide_>
wide_ run(std::vector<wide_> const &x, std::vector<wide_> &gradient) {
    using kit_t = serial::kit<wide_>;
    kit_t const kit;
    lane_t lane;
    uform::testing::poison(lane);
    std::vector<wide_> forward(256 * hidden_k), backward(256 * hidden_k);
    packed_t const w {forward.data(), 256, hidden_k}, transposed {backward.data(), hidden_k, 256};
    kit_t::pack(x.data() + weight_k, 0, 256, w);
    kit_t::pack_transposed(x.data() + weight_k, transposed);
    std::vector<wide_> const scales(temperatures_k, temperatures_k + items_k);
    choosing_t<wide_> choosing;
    choosing.decoded = {items_k, masks_k, x.data() + states_k, hidden_k};
    choosing.choices = {{offsets_k}, choices_k, targets_k, scales.data(), brier_k, scale_k};
    gradient.assign(count_k, wide_(0));
    return choices_head(kit, lane, decoder_weights_t<wide_> {w, transposed, x.data() + bias_k},
                        decoder_gradients_t<wide_> {gradient.data() + weight_k, gradient.data() + bias_k}, choosing,
                        gradient.data() + states_k);
}

/** The definition, one sum after another; nothing of it is shared with the engine. */
double oracle(std::vector<double> const &x) {
    double loss = 0;
    for (std::size_t item = 0; item < items_k; ++item) {
        auto const scaled = [&](std::size_t choice) {
            double logit = x[bias_k + choices_k[choice]];
            for (std::size_t j = 0; j < hidden_k; ++j)
                logit += x[weight_k + choices_k[choice] * hidden_k + j] * x[states_k + masks_k[item] * hidden_k + j];
            return temperatures_k[item] * logit;
        };
        double norm = 0;
        for (std::size_t i = offsets_k[item]; i < offsets_k[item + 1]; ++i) norm += std::exp(scaled(i));
        for (std::size_t i = offsets_k[item]; i < offsets_k[item + 1]; ++i) {
            double const p = std::exp(scaled(i)) / norm;
            loss += -targets_k[i] * std::log(p) + brier_k * (p - targets_k[i]) * (p - targets_k[i]);
        }
    }
    return loss;
}

std::vector<double> draw(double spread) {
    std::uint64_t state = 5;
    std::vector<double> x(count_k);
    for (double &value : x) value = spread * test::splitmix(state);
    return x;
}

TEST(choices_gradient, value_against_direct_loops) {
    for (double const spread : {0.1, 1.0, 2.0}) {
        std::vector<double> const x = draw(spread);
        std::vector<double> gradient;
        double const expected = oracle(x);
        EXPECT_NEAR(run(x, gradient), expected, 64 * 0x1p-52 * (1 + expected)) << spread; // some 50 roundings an item
    }
}

TEST(choices_gradient, every_partial) {
    constexpr double step_k = 1e-50;
    for (double const spread : {1.0, 4.0}) { // the latter with probabilities down to 1e-20
        std::vector<double> const x = draw(spread);
        std::vector<double> gradient;
        run(x, gradient);
        std::vector<complex_t> z(x.begin(), x.end()), ignored;
        for (std::size_t i = 0; i < count_k; ++i) {
            z[i].imag(step_k);
            double const expected = scale_k * run(z, ignored).imag() / step_k;
            z[i].imag(0);
            ASSERT_NEAR(gradient[i], expected, 1e-13 * spread) << i;
        }
        for (std::size_t token : {1, 3, 4})
            for (std::size_t j = 0; j < hidden_k; ++j)
                EXPECT_EQ(gradient[states_k + token * hidden_k + j], 0) << "no item's MASK";
        EXPECT_EQ(gradient[bias_k + 'z'], 0) << "legal nowhere";
        EXPECT_EQ(gradient[bias_k + 7], 0) << "one choice is certain";
    }
}

} // namespace
