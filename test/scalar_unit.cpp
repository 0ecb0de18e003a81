/**
 *  @file scalar_unit.cpp
 *  @brief E4M3 against literals of the standard, a decoder by its definition, and a search for every BFloat16.
 */
#include <gtest/gtest.h>

#include <uform/utilities/scalar.hpp>

#include "e4m3_reference.hpp"

namespace {

using namespace uform;
using namespace uform::test;

TEST(scalar_unit, e4m3_literals) {
    EXPECT_EQ(widen(e4m3_t {0x38}), 1.0f);
    EXPECT_EQ(widen(e4m3_t {0x7e}), 448.0f); // the largest
    EXPECT_EQ(widen(e4m3_t {0xfe}), -448.0f);
    EXPECT_EQ(widen(e4m3_t {0x08}), 0x1p-6f); // the least normal
    EXPECT_EQ(widen(e4m3_t {0x07}), 0.875f * 0x1p-6f);
    EXPECT_EQ(widen(e4m3_t {0x01}), 0x1p-9f); // the least
    EXPECT_TRUE(std::isnan(widen(e4m3_t {0x7f})));
    EXPECT_TRUE(std::signbit(widen(e4m3_t {0x80})));
    EXPECT_EQ(round_to_e4m3(1.0625f).bits, 0x38); // halfway to 1.125: down to even
    EXPECT_EQ(round_to_e4m3(1.1875f).bits, 0x3a); // halfway from 1.125: up to even
    EXPECT_EQ(round_to_e4m3(0x1p-10f).bits, 0x00);
    EXPECT_EQ(round_to_e4m3(0x1.8p-9f).bits, 0x02);
    EXPECT_EQ(round_to_e4m3(464.0f).bits, 0x7e);
    EXPECT_EQ(round_to_e4m3(-1e30f).bits, 0xfe);
    EXPECT_EQ(round_to_e4m3(std::numeric_limits<float>::infinity()).bits, 0x7e);
}

TEST(scalar_unit, e4m3_decodes_every_code) {
    e4m3_table_t const table;
    for (unsigned code = 0; code < 256; ++code) {
        double const expected = decode_e4m3(code), actual = widen(e4m3_t {std::uint8_t(code)});
        EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected))) << code;
        EXPECT_EQ(std::signbit(actual), code >= 0x80) << code;
        EXPECT_EQ(round_to_e4m3(float(actual)).bits, code);
        if (code < 128) {
            EXPECT_EQ(table.values[code].bits, to_bf16({std::uint8_t(code)}).bits);
        }
    }
}

TEST(scalar_unit, e4m3_rounds_every_bfloat16_and_its_neighbours) {
    for (unsigned bits = 0; bits < 0x10000u; ++bits) {
        float const value = widen(bf16_t {std::uint16_t(bits)});
        ASSERT_EQ(round_to_e4m3(value).bits, encode_e4m3(value)) << value;
        if (bits % 16) continue; // floats just off what has few bits: ties of E4M3 are among them
        for (float const next : {std::nextafter(value, 1e9f), std::nextafter(value, -1e9f)})
            ASSERT_EQ(round_to_e4m3(next).bits, encode_e4m3(next)) << next;
    }
}

} // namespace
