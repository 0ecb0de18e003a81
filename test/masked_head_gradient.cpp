/**
 *  @file masked_head_gradient.cpp
 *  @brief The byte decoder at covered tokens: every partial by complex step, states that nothing covers included.
 */
#include <gtest/gtest.h>

#include <vector>

#include <uform/encoder/serial.hpp>
#include <uform/train/masked_head.hpp>

#include "model_fixture.hpp"

namespace {

using namespace uform;
using complex_t = std::complex<double>;

constexpr std::size_t hidden_k = 8, tokens_k = 5;
constexpr std::uint32_t covered_k[] = {0, 3, 4};
constexpr std::uint8_t targets_k[] = {7, 255, 0};
constexpr double scale_k = 0.25;

/** Weight, bias and states in one vector, so that a partial is an index. */
constexpr std::size_t weight_k = 0, bias_k = 256 * hidden_k, states_k = bias_k + 256,
                      count_k = states_k + tokens_k * hidden_k;

template <typename wide_>
wide_ run(std::vector<wide_> const &x, std::vector<wide_> &gradient) {
    using kit_t = serial::kit<wide_>;
    kit_t const kit;
    lane_t lane;
    std::vector<wide_> forward(256 * hidden_k), backward(256 * hidden_k);
    packed_t const w {forward.data(), 256, hidden_k}, transposed {backward.data(), hidden_k, 256};
    kit_t::pack(x.data() + weight_k, 0, 256, w);
    kit_t::pack_transposed(x.data() + weight_k, transposed);
    covered_t<wide_> covered;
    covered.decoded = {3, covered_k, x.data() + states_k, hidden_k}, covered.targets = targets_k;
    covered.scale = scale_k;
    gradient.assign(count_k, wide_(0));
    return masked_head(kit, lane, decoder_weights_t<wide_> {w, transposed, x.data() + bias_k},
                       decoder_gradients_t<wide_> {gradient.data() + weight_k, gradient.data() + bias_k}, covered,
                       gradient.data() + states_k);
}

TEST(masked_head_gradient, every_partial) {
    constexpr double step_k = 1e-50;
    std::uint64_t state = 3;
    std::vector<double> x(count_k), gradient;
    for (double &value : x) value = test::splitmix(state);
    run(x, gradient);
    std::vector<complex_t> z(x.begin(), x.end()), ignored;
    for (std::size_t i = 0; i < count_k; ++i) {
        z[i].imag(step_k);
        double const expected = scale_k * run(z, ignored).imag() / step_k;
        z[i].imag(0);
        ASSERT_NEAR(gradient[i], expected, 1e-13) << i;
    }
    for (std::size_t j = 0; j < hidden_k; ++j)
        EXPECT_EQ(gradient[states_k + 1 * hidden_k + j], 0); // token 1 is not covered
}

TEST(masked_head_gradient, nothing_covered_is_nothing) {
    lane_t lane;
    serial::kit<double> const kit;
    EXPECT_EQ(masked_head(kit, lane, decoder_weights_t<double> {}, decoder_gradients_t<double> {}, covered_t<double> {},
                          static_cast<double *>(nullptr)),
              0);
}

} // namespace
