/**
 *  @file optimizer_unit.cpp
 *  @brief Adafactor against literals by hand and a direct double implementation; stochastic rounding against its odds.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <uform/encoder/serial.hpp>
#include <uform/train/optimizer.hpp>
#include <uform/utilities/rounding.hpp>

#include "reversed_team.hpp"

namespace uform::testing {
namespace {

/** A tensor and its moments in plain vectors. */
struct tensor_t {
    std::size_t rows, columns;
    std::vector<float> master, gradient, row_means, column_means, first_moment;
    std::vector<bf16_t> narrow;

    tensor_t(std::size_t rows, std::size_t columns)
        : rows(rows), columns(columns), master(rows * columns), gradient(rows * columns),
          row_means(moment_sizes(rows, columns).row_means), column_means(moment_sizes(rows, columns).column_means),
          first_moment(moment_sizes(rows, columns).first) {}
    void randomize(std::mt19937 &generator, float scale) {
        std::normal_distribution<float> normal;
        for (float &x : gradient) x = scale * normal(generator);
    }
    void narrow_master() {
        narrow.clear();
        for (float x : master) narrow.push_back(round_to_bf16(x));
    }
    tensor_view_t view(bool decay) {
        tensor_view_t view;
        if (narrow.empty())
            view.master_f32 = master.data();
        else
            view.master_bf16 = narrow.data();
        view.gradient = gradient.data(), view.row_means = row_means.data(), view.column_means = column_means.data();
        view.first_moment = first_moment.data(), view.rows = rows, view.columns = columns, view.decay = decay;
        return view;
    }
};

void update(tensor_t &tensor, bool decay, update_t const &update) {
    lane_t lane;
    poison(lane);
    tensor_view_t const view = tensor.view(decay);
    adafactor(serial_table(), lane, {&view, 1}, update, claim_update(lane, {&view, 1}));
    ASSERT_FALSE(lane.failed());
}

TEST(optimizer_unit, first_step_by_hand) {
    // b2 = 0; r = (12.5, 12.5), c = (4.5, 20.5); u = (3/sqrt(4.5), 4/sqrt(20.5), 0, 5/sqrt(20.5)), whose rms is 1;
    // the corrected first moment of a first step is u itself.
    tensor_t tensor(2, 2);
    tensor.gradient = {3, 4, 0, 5}, tensor.master = {1, 2, 3, 4};
    update(tensor, true, {0.1f, 0, 1, 1});
    EXPECT_FLOAT_EQ(tensor.row_means[0], 12.5f);
    EXPECT_FLOAT_EQ(tensor.column_means[1], 20.5f);
    EXPECT_NEAR(tensor.master[0], 1 - 0.1 * (1.41421356 + 0.01), 1e-6);
    EXPECT_NEAR(tensor.master[1], 2 - 0.1 * (0.88345221 + 0.02), 1e-6);
    EXPECT_NEAR(tensor.master[2], 3 - 0.1 * 0.03, 1e-6);
    EXPECT_NEAR(tensor.master[3], 4 - 0.1 * (1.10431526 + 0.04), 1e-6);
    EXPECT_NEAR(tensor.first_moment[0], 0.141421356, 1e-7);
}

TEST(optimizer_unit, a_vector_keeps_its_full_second_moment) {
    tensor_t tensor(1, 3);
    tensor.gradient = {1e-6f, -2, 0}, tensor.master = {1, 1, 1};
    update(tensor, false, {0.1f, 0, 1, 1});
    EXPECT_NEAR(tensor.master[0], 0.9, 1e-6); // whatever its size, a first gradient's step is its sign
    EXPECT_NEAR(tensor.master[1], 1.1, 1e-6);
    EXPECT_EQ(tensor.master[2], 1);
}

TEST(optimizer_unit, zero_gradient_only_decays) {
    for (std::size_t rows : {1, 3}) {
        tensor_t tensor(rows, 13);
        std::fill(tensor.master.begin(), tensor.master.end(), 2.0f);
        for (std::uint64_t age = 1; age <= 4; ++age) update(tensor, rows > 1, {0.5f, 0, age, age});
        double const expected = rows > 1 ? 2 * std::pow(1 - 0.5 * 0.01, 4) : 2;
        for (float x : tensor.master) EXPECT_NEAR(x, expected, 4 * 4 * 0x1p-23);
    }
}

/** The definition, written out in double. */
struct oracle_t {
    std::size_t rows, columns;
    std::vector<double> master, r, c, m;

    void update(std::vector<float> const &g, double rate, std::uint64_t age, double decay) {
        double const b2 = 1 - std::pow(double(age), -0.8);
        for (std::size_t i = 0; i < rows; ++i) r[i] *= b2;
        for (std::size_t j = 0; j < columns; ++j) c[j] *= b2;
        double mean = 0, square = 0;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                double const q = double(g[i * columns + j]) * g[i * columns + j] + 1e-30;
                r[i] += (1 - b2) * q / columns, c[j] += (1 - b2) * q / rows;
            }
        for (double x : r) mean += x / rows;
        std::vector<double> u(g.begin(), g.end());
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                u[i * columns + j] /= std::sqrt(r[i] / mean * c[j]);
                square += u[i * columns + j] * u[i * columns + j] / (rows * columns);
            }
        for (std::size_t i = 0; i < u.size(); ++i) {
            m[i] = 0.9 * m[i] + 0.1 * u[i] / std::max(1.0, std::sqrt(square));
            master[i] -= rate * (m[i] / (1 - std::pow(0.9, double(age))) + decay * master[i]);
        }
    }
};

TEST(optimizer_unit, agrees_with_the_definition) {
    std::mt19937 generator(7);
    for (auto [rows, columns] : {std::pair<std::size_t, std::size_t> {130, 33}, {1, 77}, {65, 128}}) {
        tensor_t tensor(rows, columns);
        tensor.randomize(generator, 1);
        tensor.master = tensor.gradient;
        oracle_t oracle {rows,
                         columns,
                         {tensor.master.begin(), tensor.master.end()},
                         std::vector<double>(rows),
                         std::vector<double>(columns),
                         std::vector<double>(rows * columns)};
        for (std::uint64_t age = 1; age <= 6; ++age) {
            tensor.randomize(generator, age == 4 ? 10.0f : 0.01f); // the fourth is clipped
            oracle.update(tensor.gradient, 0.01, age, rows > 1 ? 0.01 : 0);
            update(tensor, rows > 1, {0.01f, 0, age + 100, age});
        }
        // Per step: a rounding of the weight (below 8), and a step of 0.01 times at most 10 off by some 16 roundings.
        for (std::size_t i = 0; i < oracle.master.size(); ++i)
            EXPECT_NEAR(tensor.master[i], oracle.master[i], 6 * (8 + 0.1 * 16) * 0x1p-24) << rows << 'x' << columns;
    }
}

TEST(optimizer_unit, a_maximum_holds) {
    tensor_t tensor(1, 2);
    tensor.gradient = {-1, 1}, tensor.master = {4.6f, 4.6f};
    lane_t lane;
    poison(lane);
    tensor_view_t view = tensor.view(false);
    view.maximum = 4.60517f;
    adafactor(serial_table(), lane, {&view, 1}, {0.1f, 0, 1, 1}, claim_update(lane, {&view, 1}));
    EXPECT_EQ(tensor.master[0], 4.60517f);
    EXPECT_NEAR(tensor.master[1], 4.5, 1e-6);
}

TEST(optimizer_unit, finds_what_is_not_finite) {
    std::vector<tensor_t> tensors;
    for (std::size_t i = 0; i < 3; ++i) tensors.emplace_back(70, 33);
    for (float bad : {NAN, INFINITY, -INFINITY, 1e30f}) {
        tensors[1].gradient[69 * 33 + 32] = bad;
        std::vector<tensor_view_t> views;
        for (tensor_t &tensor : tensors) views.push_back(tensor.view(true));
        lane_t lane;
        poison(lane);
        EXPECT_EQ(find_non_finite(lane, views, claim_update(lane, views)), 1u) << bad;
        tensors[1].gradient[69 * 33 + 32] = 1e15f;
        EXPECT_EQ(find_non_finite(lane, views, claim_update(lane, views)), no_tensor_k);
    }
}

TEST(optimizer_rounding, draws_are_the_keyed_words) {
    std::uint16_t bits[64];
    rounding_bits({0x123456789abcdef0u, 77, 5}, 0x300000001u, bits);
    keyed_t const keyed(0x123456789abcdef0u, 77, 5);
    for (std::size_t e = 0; e < 64; ++e) {
        std::uint32_t const word = keyed.words(8 * 0x300000001u + e % 8)[e / 8 % 4];
        EXPECT_EQ(bits[e], e / 32 ? word >> 16 : word & 0xffff) << e;
    }
}

TEST(optimizer_rounding, keeps_what_fits_and_the_mean) {
    EXPECT_EQ(round_stochastically(1.5f, 0xffff).bits, round_to_bf16(1.5f).bits);
    EXPECT_EQ(round_stochastically(-1.5f, 0xffff).bits, round_to_bf16(-1.5f).bits);
    std::size_t const count = 64 * 1024;
    std::size_t up = 0;
    std::uint16_t bits[64];
    float const x = 1 + 0.3f * 0x1p-7f;
    for (std::size_t chunk = 0; chunk < count / 64; ++chunk) {
        rounding_bits({1, 2, 3}, chunk, bits);
        for (std::uint16_t draw : bits) up += widen(round_stochastically(x, draw)) > 1;
    }
    EXPECT_NEAR(double(up) / count, 0.3, 5 * std::sqrt(0.3 * 0.7 / count)); // five standard deviations
}

TEST(optimizer_rounding, small_updates_move_the_mean) {
    tensor_t tensor(64, 1024);
    std::fill(tensor.master.begin(), tensor.master.end(), 1.0f);
    std::fill(tensor.gradient.begin(), tensor.gradient.end(), 1.0f);
    tensor.narrow_master();
    for (std::uint64_t step = 1; step <= 4; ++step) update(tensor, false, {1e-4f, 9, step, step});
    double mean = 0;
    for (bf16_t x : tensor.narrow) mean += widen(x) / double(tensor.narrow.size());
    // Below 1 a unit is 2^-8; each step rounds with at most a standard deviation of half a unit over 65,536 draws.
    EXPECT_NEAR(mean, 1 - 4e-4, 5 * std::sqrt(4.0) * 0.5 * 0x1p-8 / 256);
}

TEST(optimizer_rounding, every_element_takes_its_own_draw) {
    for (std::size_t columns : {64, 100, 7}) {
        tensor_t narrow(131, columns), wide(131, columns);
        for (tensor_t *tensor : {&narrow, &wide}) {
            std::fill(tensor->master.begin(), tensor->master.end(), 1.0f);
            std::fill(tensor->gradient.begin(), tensor->gradient.end(), 1.0f);
        }
        narrow.narrow_master();
        update(narrow, false, {1e-3f, 21, 8, 1}), update(wide, false, {1e-3f, 21, 8, 1});
        for (std::size_t e = 0; e < wide.master.size(); ++e) {
            std::uint16_t bits[64];
            rounding_bits({21, 0, 8}, e / 64, bits);
            ASSERT_EQ(narrow.narrow[e].bits, round_stochastically(wide.master[e], bits[e % 64]).bits) << e;
        }
    }
}

TEST(optimizer_rounding, keys) {
    auto run = [](std::uint64_t seed, std::uint32_t stream, std::uint64_t step) {
        tensor_t tensor(3, 64);
        std::fill(tensor.master.begin(), tensor.master.end(), 1.0f);
        std::fill(tensor.gradient.begin(), tensor.gradient.end(), 1.0f);
        tensor.narrow_master();
        tensor_view_t view = tensor.view(false);
        view.stream = stream;
        lane_t lane;
        poison(lane);
        adafactor(serial_table(), lane, {&view, 1}, {1e-3f, seed, step, 1}, claim_update(lane, {&view, 1}));
        std::vector<std::uint16_t> bits;
        for (bf16_t x : tensor.narrow) bits.push_back(x.bits);
        return bits;
    };
    EXPECT_EQ(run(1, 2, 3), run(1, 2, 3));
    EXPECT_NE(run(1, 2, 3), run(2, 2, 3));
    EXPECT_NE(run(1, 2, 3), run(1, 3, 3));
    EXPECT_NE(run(1, 2, 3), run(1, 2, 4));
}

TEST(optimizer_threads, same_bits_on_any_width) {
    auto run = [](lane_t &lane) {
        std::mt19937 generator(3);
        std::vector<tensor_t> tensors;
        for (auto [rows, columns] : {std::pair<std::size_t, std::size_t> {300, 100}, {1, 77}, {513, 128}, {64, 7}}) {
            tensor_t &tensor = tensors.emplace_back(rows, columns);
            tensor.randomize(generator, 1);
            tensor.master = tensor.gradient;
            if (rows > 1) tensor.narrow_master();
        }
        for (std::uint64_t step = 1; step <= 3; ++step) {
            std::vector<tensor_view_t> views;
            for (tensor_t &tensor : tensors) tensor.randomize(generator, 0.1f), views.push_back(tensor.view(true));
            adafactor(serial_table(), lane, views, {0.01f, 5, step, step}, claim_update(lane, views));
        }
        std::vector<float> all;
        for (tensor_t &tensor : tensors) {
            all.insert(all.end(), tensor.master.begin(), tensor.master.end());
            for (bf16_t x : tensor.narrow) all.push_back(widen(x));
            all.insert(all.end(), tensor.first_moment.begin(), tensor.first_moment.end());
            all.insert(all.end(), tensor.column_means.begin(), tensor.column_means.end());
        }
        return all;
    };
    lane_t alone;
    auto const expected = run(alone);
    for (std::size_t width : {2, 3, 7}) {
        reversed_team_t team(width);
        lane_t wide(team.team());
        EXPECT_EQ(run(wide), expected) << width;
    }
}

} // namespace
} // namespace uform::testing
