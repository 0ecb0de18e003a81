/**
 *  @file coding_rate_gradient.cpp
 *  @brief The coding-rate and Lipschitz terms: every partial by complex step, values by hand, the same on any lane.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <uform/train/coding_rate.hpp>
#include <uform/train/lipschitz.hpp>

#include "random_step.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

std::vector<double> random_rows(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> x(count);
    for (double &value : x) value = normal(generator);
    return x;
}

template <typename scalar_>
coding_rate_t<scalar_> rate_of(std::size_t items, std::size_t hidden, std::vector<scalar_> const &e,
                               float epsilon_squared = 0) {
    return {items, hidden, e.data(), 0.25f, epsilon_squared};
}

TEST(coding_rate_gradient, every_partial) {
    // Fewer rows than columns and more; one panel of the factor, several, one that is not full.
    for (auto [items, hidden] : {std::pair<std::size_t, std::size_t> {5, 12}, {21, 8}, {3, 70}}) {
        lane_t lane;
        poison(lane);
        std::vector<double> const x = random_rows(items * hidden, 3);
        std::vector<double> gradient(x.size());
        coding_rate(lane, rate_of(items, hidden, x), gradient.data());
        auto z = cast<complex_t>(x);
        std::vector<complex_t> ignored(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            z[i] += complex_t(0, step_k);
            double const expected = coding_rate(lane, rate_of(items, hidden, z), ignored.data()).imag() / step_k;
            EXPECT_NEAR(gradient[i], expected, 1e-13) << items << 'x' << hidden << ' ' << i;
            z[i] = x[i];
        }
    }
}

TEST(coding_rate_gradient, values_by_hand) {
    // Two equal rows along one axis of two: M = diag(1 + 2/(2 * 0.5) * 2, 1), log det = log 5; orthogonal rows:
    // 2 log 3.
    lane_t lane;
    poison(lane);
    std::vector<double> equal = {3, 0, 5, 0}, apart = {2, 0, 0, 7}, gradient(4);
    EXPECT_NEAR(coding_rate(lane, rate_of(2, 2, equal), gradient.data()), -0.125 * std::log(5.0), 1e-15);
    EXPECT_NEAR(coding_rate(lane, rate_of(2, 2, apart), gradient.data()), -0.25 * std::log(3.0), 1e-15);
    EXPECT_NEAR(coding_rate(lane, rate_of(2, 2, apart, 1.0f), gradient.data()), -0.25 * std::log(2.0), 1e-15);
    EXPECT_NEAR(effective_rank(lane, 2, 2, equal.data()), 1, 1e-14);
    EXPECT_NEAR(effective_rank(lane, 2, 2, apart.data()), 2, 1e-14);
    std::vector<double> zeros(4), none(4);
    EXPECT_EQ(coding_rate(lane, rate_of(2, 2, zeros), none.data()), 0);
    EXPECT_EQ(none, zeros);
}

TEST(coding_rate_gradient, same_bits_on_any_width) {
    std::size_t const items = 37, hidden = 128;
    auto const e = cast<float>(random_rows(items * hidden, 9));
    auto run = [&](lane_t &lane) {
        std::vector<float> gradient(e.size());
        gradient.push_back(coding_rate(lane, rate_of(items, hidden, e), gradient.data()));
        return gradient;
    };
    lane_t alone;
    auto const expected = run(alone);
    for (std::size_t width : {2, 3, 5}) {
        reversed_team_t team(width);
        lane_t wide(team.team());
        EXPECT_EQ(run(wide), expected);
    }
    // Float against double: 128 pivots, each a sum of up to 128 products of order one.
    std::vector<double> const wide(e.begin(), e.end());
    std::vector<double> gradient(e.size());
    double const loss = coding_rate(alone, rate_of(items, hidden, wide), gradient.data());
    EXPECT_NEAR(expected.back(), loss, 128 * 128 * 0x1p-24 * 0.25);
}

TEST(lipschitz_gradient, every_partial) {
    // The direction is held constant, so the step is taken on a loss whose direction real parts alone decide.
    std::size_t const items = 6, hidden = 10;
    std::vector<double> const x = random_rows(items * hidden, 5);
    std::vector<double> gradient(x.size());
    lane_t lane;
    poison(lane);
    double const loss = lipschitz(lane, lipschitz_t<double> {items, hidden, x.data(), 0.5f, 1, 2}, gradient.data());
    EXPECT_GT(loss, 0);
    auto z = cast<complex_t>(x);
    std::vector<complex_t> ignored(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        z[i] += complex_t(0, step_k);
        double const expected =
            lipschitz(lane, lipschitz_t<complex_t> {items, hidden, z.data(), 0.5f, 1, 2}, ignored.data()).imag() /
            step_k;
        EXPECT_NEAR(gradient[i], expected, 1e-13) << i;
        z[i] = x[i];
    }
}

TEST(lipschitz_gradient, values_by_hand) {
    // Three equal rows: the direction is theirs, Z^T Z has the eigenvalue 3. Nine along x, one along y: within a few
    // powers of 1/9 of 9.
    lane_t lane;
    poison(lane);
    std::vector<double> equal = {3, 4, 6, 8, 0.3, 0.4}, gradient(20);
    EXPECT_NEAR(lipschitz(lane, lipschitz_t<double> {3, 2, equal.data(), 2, 1, 1}, gradient.data()), 6, 1e-14);
    std::vector<double> mostly(20);
    for (std::size_t i = 0; i < 9; ++i) mostly[2 * i] = 1;
    mostly[19] = 1;
    EXPECT_NEAR(lipschitz(lane, lipschitz_t<double> {10, 2, mostly.data(), 1, 1, 1}, gradient.data()), 9, 0.01);
    std::vector<double> zeros(20);
    EXPECT_EQ(lipschitz(lane, lipschitz_t<double> {10, 2, zeros.data(), 1, 1, 1}, gradient.data()), 0);
}

} // namespace
} // namespace uform::testing
