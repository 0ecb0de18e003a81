/**
 *  @file random_unit.cpp
 *  @brief Philox against its authors' known answers (Random123, kat_vectors), and the moments of what is drawn from it.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <uform/utilities/random.hpp>

using uform::keyed_t;
using uform::philox;
using uform::philox_words_t;

TEST(random, philox_gives_the_published_answers) {
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (philox_words_t {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              (philox_words_t {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (philox_words_t {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(random, draws_are_placed_as_documented) {
    keyed_t const draws(0x299f31d0'a4093822, 0x13198a2e, 0x03707344);
    std::uint64_t const quartet = 0x05a308d3'243f6a88; // the fourth multiple of it does not overflow
    philox_words_t const expected = philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
    for (std::uint64_t word = 0; word < 4; ++word) {
        EXPECT_EQ(draws.bits(4 * quartet + word), expected[word]);
        EXPECT_EQ(draws.uniform(4 * quartet + word), double(expected[word]) / 4294967296.0);
    }
}

TEST(random, every_part_of_the_key_matters) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t const seed : {std::uint64_t(1), std::uint64_t(2), std::uint64_t(1) << 32})
        for (std::uint32_t const stream : {0u, 1u})
            for (std::uint64_t const step : {0u, 1u})
                for (std::uint64_t const index :
                     {std::uint64_t(0), std::uint64_t(1), std::uint64_t(4), std::uint64_t(1) << 34})
                    seen.insert(keyed_t(seed, stream, step).bits(index));
    EXPECT_EQ(seen.size(), 48u);
}

TEST(random, uniforms_have_their_moments) {
    keyed_t const draws(7, 1, 1);
    std::size_t const count = 100'000;
    double sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        double const x = draws.uniform(i);
        ASSERT_TRUE(x >= 0.0 && x < 1.0) << x;
        sum += x, squares += x * x;
    }
    double const deviations = 5.0 / std::sqrt(double(count)); // five standard errors
    EXPECT_NEAR(sum / count, 0.5, deviations * std::sqrt(1.0 / 12));
    EXPECT_NEAR(squares / count, 1.0 / 3, deviations * std::sqrt(4.0 / 45));
}

TEST(random, normals_have_their_moments_and_tails) {
    keyed_t const draws(7, 2, 1);
    std::size_t const count = 400'000;
    double moments[5] = {}, neighbours = 0.0;
    std::size_t beyond_two = 0;
    for (std::size_t i = 0; i < count; ++i) {
        double const x = draws.normal(i);
        for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x, power);
        beyond_two += std::fabs(x) > 2.0;
        neighbours += x * draws.normal(i + 1);
    }
    double const deviations = 5.0 / std::sqrt(double(count));
    EXPECT_NEAR(moments[1] / count, 0.0, deviations);
    EXPECT_NEAR(moments[2] / count, 1.0, deviations * std::sqrt(2.0));
    EXPECT_NEAR(moments[3] / count, 0.0, deviations * std::sqrt(15.0));
    EXPECT_NEAR(moments[4] / count, 3.0, deviations * std::sqrt(96.0));
    EXPECT_NEAR(neighbours / count, 0.0, deviations);
    EXPECT_NEAR(double(beyond_two) / count, 0.0455003, deviations * std::sqrt(0.0455));
}

TEST(random, integers_below_a_bound_cover_it_evenly) {
    keyed_t const draws(7, 3, 1);
    std::size_t counts[5] = {};
    for (std::size_t i = 0; i < 50'000; ++i) ++counts[draws.below(i, 5)];
    for (std::size_t const seen : counts) EXPECT_NEAR(double(seen), 10'000.0, 5.0 * std::sqrt(8'000.0));
}

TEST(random, streams_of_names_are_told_apart) {
    EXPECT_EQ(uform::stream_of_name(""), 2166136261u | 0x80000000u);
    EXPECT_EQ(uform::stream_of_name("a"), 0xe40c292cu); // FNV-1a's published answer, its upper bit already set
    EXPECT_NE(uform::stream_of_name("blocks.1.mlp.up"), uform::stream_of_name("blocks.2.mlp.up"));
}
