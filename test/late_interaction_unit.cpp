/**
 *  @file late_interaction_unit.cpp
 *  @brief Late interaction against literals by hand, direct loops over its formulas, and its bounds of memory.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <uform/utilities/classes.hpp>

#include "pair_loss_oracle.hpp"
#include "random_interaction.hpp"
#include "reversed_team.hpp"

namespace uform::testing {
namespace {

/** S(q, d) = 1/|q| sum over t of max over s of <q_t, d_s>. */
double score(random_interaction_t const &step, scored_item_t const &query, scored_item_t const &document) {
    double sum = 0;
    for (std::size_t t = 0; t < query.count; ++t) {
        double largest = -INFINITY;
        for (std::size_t s = 0; s < document.count; ++s) {
            double product = 0;
            for (std::size_t i = 0; i < step.width; ++i)
                product += step.vectors[(query.first + t) * step.width + i] *
                           step.vectors[(document.first + s) * step.width + i];
            largest = std::max(largest, product);
        }
        sum += largest;
    }
    return sum / query.count;
}

double oracle(random_interaction_t const &step, pair_loss_t form) {
    double loss = 0, anchors = 0;
    for (scored_item_t const &query : step.queries) {
        std::vector<double> z;
        std::vector<force_t> w;
        double attract = 0;
        for (scored_item_t const &document : step.documents) {
            std::size_t const group = step.groups[query.item];
            z.push_back(std::exp(step.theta[group]) * score(step, query, document) + step.bias[group]);
            w.push_back(force_of(step, query.item, document.item));
            attract += w.back().attract;
        }
        if (attract > 0) loss += row_loss(form, z, w), anchors += 1;
    }
    return anchors > 0 ? step.weight * loss / anchors : 0;
}

class late_interaction_unit : public ::testing::TestWithParam<pair_loss_t> {};

TEST_P(late_interaction_unit, agrees_with_the_definition) {
    int with_anchors = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        random_interaction_t step(2 + seed, 8, seed);
        if (seed % 3 == 0) step.ambient = 0;
        if (seed % 4 == 0) step.vectors.assign(step.vectors.size(), 0.25); // every token of a document wins
        lane_t lane;
        poison(lane);
        double const expected = oracle(step, GetParam());
        auto const in = step.late<double>(GetParam(), step.vectors, step.theta, step.bias);
        EXPECT_NEAR(late_answer(serial::kit<double>(), lane, in, step.tokens()).loss, expected, 1e-12 * (1 + expected))
            << "seed " << seed;
        with_anchors += expected > 0;
    }
    EXPECT_GT(with_anchors, 12);
}

/** Every class this machine runs, over BFloat16 vectors: products of 8 terms, a mean, then the losses' float. */
TEST_P(late_interaction_unit, classes_agree_with_the_definition) {
    for (std::int32_t number = uform_cpu_class_serial_k; number <= uform_cpu_class_wasm_simd_k; ++number) {
        auto const cpu_class = uform_cpu_class_t(number);
        kit_table_t const *kit = kit_of(cpu_class);
        if (!kit || (cpu_class != uform_cpu_class_serial_k && !runs_here(cpu_class))) continue;
        random_interaction_t step(14, 8, 3);
        std::vector<bf16_t> narrow;
        for (double &value : step.vectors) {
            narrow.push_back(round_to_bf16(float(value)));
            value = widen(narrow.back());
        }
        lane_t lane;
        poison(lane);
        auto const t = cast<float>(step.theta), b = cast<float>(step.bias);
        double const expected = oracle(step, GetParam());
        // |z| is at most exp(1.3) |q| |d|, under 4 * 60; its relative error is that of sums of 8 and then of 9 terms.
        double const got = late_answer(*kit, lane, step.late<float>(GetParam(), narrow, t, b), step.tokens()).loss;
        EXPECT_NEAR(got, expected, (8 + 9) * 4 * 0x1p-24 * (240 + expected)) << kit->name;
    }
}

INSTANTIATE_TEST_SUITE_P(forms, late_interaction_unit, ::testing::ValuesIn(forms_k));

/** Two tokens ask two documents; the second's tokens are equal, so the first of them wins. */
struct by_hand_t : random_interaction_t {
    by_hand_t() : random_interaction_t(3, 2, 1) {
        attract.edges = {{{0, 1}, 1.0f}}, repel.edges.clear(), ignore.edges.clear(), ambient = 1, weight = 2;
        groups = {0, 0, 0}, theta = {std::log(2.0), 0}, bias = {0.5, 0};
        queries = {{0, 2, 0}}, documents = {{1, 2, 2}, {2, 2, 4}}, offsets = {0, 2, 4, 6};
        vectors = {1,   0,  0,  1, /* wins the first */ 0.5, 0, /* wins the second */ 0.25, 1, /* equal */ -1,
                   0.5, -1, 0.5};
    }
};

TEST(late_interaction_literals, by_hand) {
    by_hand_t step;
    // S(q, 1) = (.5 + 1) / 2 = .75, S(q, 2) = (-1 + .5) / 2 = -.25; z = 2, 0.
    double const expected[5] = {0, 2 * (0.126928011 + 0.693147181), 2 * 0.126928011, 2 * (0.126928011 + 0.693147181),
                                2 * 0.126928011}; // softplus(-2), softplus(0) = log 2
    for (pair_loss_t form : forms_k) {
        lane_t lane;
        poison(lane);
        auto const in = step.late<double>(form, step.vectors, step.theta, step.bias);
        auto const got = late_answer(serial::kit<double>(), lane, in, 6);
        EXPECT_NEAR(got.loss, expected[int(form)], 1e-8) << int(form);
        // d loss / d z of the repelled document: 2 * sigmoid(0) = 1, or 2 * sigmoid(-2); a token's share is t / 2 of it.
        double const slope = bias_cancels(form) ? 2 * 0.119202922 : 1;
        EXPECT_NEAR(got.d_vectors[4 * 2 + 0], slope, 1e-8); // both query tokens met the first of the equals
        EXPECT_NEAR(got.d_vectors[4 * 2 + 1], slope, 1e-8);
        EXPECT_EQ(got.d_vectors[5 * 2 + 0], 0);
        EXPECT_EQ(got.d_vectors[5 * 2 + 1], 0);
        EXPECT_EQ(got.d_theta[1], 0);
        EXPECT_EQ(got.d_bias[1], 0);
    }
}

TEST(late_interaction_literals, no_side_no_anchor_no_loss) {
    by_hand_t step;
    lane_t lane;
    auto const loss = [&] {
        auto const in = step.late<double>(pair_loss_t::sigmoid_k, step.vectors, step.theta, step.bias);
        auto const got = late_answer(serial::kit<double>(), lane, in, 6);
        EXPECT_EQ(got.d_vectors, std::vector<double>(12));
        return got.loss;
    };
    by_hand_t const whole = step;
    step.attract.edges = {{{1, 0}, 1.0f}}; // from a document to a query: not a pair of this term
    EXPECT_EQ(loss(), 0);
    step = whole, step.queries.clear();
    EXPECT_EQ(loss(), 0);
    step = whole, step.documents.clear();
    EXPECT_EQ(loss(), 0);
    step = whole, step.documents = {{2, 2, 4}}; // what the query is attracted to is no document
    EXPECT_EQ(loss(), 0);
}

TEST(late_interaction_literals, a_value_that_is_not_finite_shows) {
    lane_t lane;
    for (pair_loss_t form : forms_k)
        for (std::size_t token : {0, 5}) { // of the query, and one that never wins
            by_hand_t step;
            step.vectors[token * 2] = token ? NAN : INFINITY;
            auto const in = step.late<double>(form, step.vectors, step.theta, step.bias);
            EXPECT_FALSE(std::isfinite(late_answer(serial::kit<double>(), lane, in, 6).loss)) << token;
        }
}

/** Pairs without a force leave their winners as memory was; a force that is no number must not look for them there. */
TEST(late_interaction_literals, what_is_not_finite_reads_no_winners_that_were_never_set) {
    random_interaction_t step(37, 32, 11);
    std::vector<bf16_t> v;
    for (double value : step.vectors) v.push_back(round_to_bf16(float(value)));
    auto const t = cast<float>(step.theta), b = cast<float>(step.bias);
    for (std::size_t token = 0; token < step.tokens(); token += 5) v[token * 32] = round_to_bf16(NAN);
    for (pair_loss_t form : forms_k) {
        lane_t lane;
        poison(lane);
        auto const in = step.late<float>(form, v, t, b);
        EXPECT_FALSE(std::isfinite(late_answer(*kit_of(uform_cpu_class_serial_k), lane, in, step.tokens()).loss));
    }
}

TEST(late_interaction_threads, same_bits_on_any_width) {
    random_interaction_t step(37, 32, 11);
    std::vector<bf16_t> v;
    for (double value : step.vectors) v.push_back(round_to_bf16(float(value)));
    auto const t = cast<float>(step.theta), b = cast<float>(step.bias);
    kit_table_t const &kit = *kit_of(uform_cpu_class_serial_k);
    for (pair_loss_t form : forms_k) {
        lane_t alone;
        poison(alone);
        auto const expected = late_answer(kit, alone, step.late<float>(form, v, t, b), step.tokens());
        EXPECT_GT(expected.loss, 0);
        for (std::size_t width : {2, 3, 5}) {
            reversed_team_t team(width);
            lane_t wide(team.team());
            EXPECT_TRUE(late_answer(kit, wide, step.late<float>(form, v, t, b), step.tokens()) == expected);
        }
    }
}

} // namespace
} // namespace uform::testing
