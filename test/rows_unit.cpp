/**
 *  @file rows_unit.cpp
 *  @brief Landing scalars against literals and an exhaustive round trip of all float16 values.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <uform/utilities/rows.hpp>

namespace {

using namespace uform;

TEST(rows_unit, float16_round_trips_every_value) {
    for (unsigned bits = 0; bits < 0x10000u; ++bits) {
        float const value = widen_f16(std::uint16_t(bits));
        if (std::isnan(value))
            EXPECT_TRUE((bits & 0x7c00u) == 0x7c00u && (bits & 0x3ffu));
        else
            EXPECT_EQ(round_to_f16(value), bits);
    }
}

TEST(rows_unit, float16_literals) {
    EXPECT_EQ(round_to_f16(1.0f), 0x3c00);
    EXPECT_EQ(round_to_f16(-2.0f), 0xc000);
    EXPECT_EQ(round_to_f16(65504.0f), 0x7bff);
    EXPECT_EQ(round_to_f16(65519.996f), 0x7bff);
    EXPECT_EQ(round_to_f16(65520.0f), 0x7c00);
    EXPECT_EQ(round_to_f16(1.0f + 0x1p-11f), 0x3c00);     // a tie goes to even
    EXPECT_EQ(round_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02); // and up to even
    EXPECT_EQ(round_to_f16(0x1p-24f), 0x0001);
    EXPECT_EQ(round_to_f16(0x1p-25f), 0x0000); // half of the least: ties to zero
    EXPECT_EQ(round_to_f16(0x1.8p-25f), 0x0001);
    EXPECT_EQ(round_to_f16(0x1.ffcp-15f), 0x0400); // the largest subnormal's upper tie
}

TEST(rows_unit, lands_each_scalar) {
    float const row[] = {1.0f, -0.5f, 0.0f, -1.0f};
    std::int8_t bytes[4];
    EXPECT_TRUE(land_row(uform_scalar_i8_k, row, 4, bytes));
    EXPECT_EQ(bytes[0], 127);
    EXPECT_EQ(bytes[1], -64);
    EXPECT_EQ(bytes[3], -127);
    std::uint16_t narrow[4];
    EXPECT_TRUE(land_row(uform_scalar_bf16_k, row, 4, narrow));
    EXPECT_EQ(narrow[0], 0x3f80);
    EXPECT_EQ(narrow[1], 0xbf00);
    float wide[4];
    EXPECT_TRUE(land_row(uform_scalar_f32_k, row, 4, wide));
    EXPECT_EQ(wide[3], -1.0f);
}

TEST(rows_unit, refuses_what_is_not_finite) {
    float const bad[] = {0.0f, std::numeric_limits<float>::quiet_NaN()};
    float const large[] = {70000.0f};
    float target[2];
    EXPECT_FALSE(land_row(uform_scalar_f32_k, bad, 2, target));
    EXPECT_FALSE(land_row(uform_scalar_f16_k, large, 1, target));
    EXPECT_TRUE(land_row(uform_scalar_f32_k, large, 1, target));
    // The largest BFloat16 is 2^128 - 2^120; halfway to 2^128 rounds to even, which is infinity.
    float const beyond[] = {-0x1.ffp127f}, below[] = {0x1.fefffep127f};
    EXPECT_FALSE(land_row(uform_scalar_bf16_k, beyond, 1, target));
    EXPECT_TRUE(land_row(uform_scalar_bf16_k, below, 1, target));
    EXPECT_TRUE(land_row(uform_scalar_f32_k, beyond, 1, target));
}

} // namespace
