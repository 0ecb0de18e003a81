/**
 *  @file e4m3_classes.cpp
 *  @brief What every class makes of each of the 256 codes and of each BFloat16 value, through products by one.
 */
#include <gtest/gtest.h>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/classes.hpp>

#include "e4m3_reference.hpp"

namespace {

using namespace uform;
using namespace uform::test;

std::vector<kit_table_t const *> kits() {
    std::vector<kit_table_t const *> result;
    for (uform_cpu_class_t each = 1; each < 64; ++each) {
        uform_cpu_class_t resolved;
        if (!resolve_class(each, has_kernels, resolved)) result.push_back(kit_of(each));
    }
    EXPECT_FALSE(result.empty());
    return result;
}

/** `a[rows, 1] * w[columns, 1]^T` with E4M3 weights. */
std::vector<float> outer(kit_table_t const &kit, std::vector<bf16_t> const &a, std::vector<bf16_t> const &w,
                         bool keeps_left = false) {
    buffer_t<std::byte> memory;
    EXPECT_TRUE(memory.resize(kit.pack_bytes(w.size(), 1, uform_scalar_e4m3_k)));
    packed_t const packed {memory.data(), w.size(), 1, uform_scalar_e4m3_k, keeps_left};
    kit.pack(w.data(), 0, w.size(), packed);
    std::vector<float> y(a.size() * w.size());
    lane_t lane;
    kit.gemm_wide(lane, a.size(), a.data(), packed, nullptr, y.data());
    return y;
}
std::vector<bf16_t> every_bf16() {
    std::vector<bf16_t> values(0x10000);
    for (unsigned bits = 0; bits < values.size(); ++bits) values[bits] = {std::uint16_t(bits)};
    return values;
}
/** Compared as numbers: products of zeros have signs that no later sum can tell apart. */
bool same(float actual, double expected) {
    return std::isnan(expected) ? std::isnan(actual) : double(actual) == expected;
}

TEST(e4m3_classes, weights_of_every_bfloat16) {
    std::vector<bf16_t> const values = every_bf16();
    for (kit_table_t const *kit : kits()) {
        std::vector<float> const y = outer(*kit, {round_to_bf16(1)}, values);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_TRUE(same(y[i], decode_e4m3(encode_e4m3(widen(values[i]))))) << kit->name << " " << i << " " << y[i];
    }
}

/** Longer sums than one: products are exact in float, and depth times its last place bounds how they add up. */
void expect_sums(bool keeps_left) {
    constexpr std::size_t rows = 5, depth = 33, columns = 70;
    std::vector<bf16_t> a(rows * depth), w(columns * depth);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = round_to_bf16(float(std::sin(double(i * i)) * std::exp2(i % 13) / 64));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = round_to_bf16(float(std::cos(double(i * i)) / 16));
    for (kit_table_t const *kit : kits()) {
        buffer_t<std::byte> memory;
        ASSERT_TRUE(memory.resize(kit->pack_bytes(columns, depth, uform_scalar_e4m3_k)));
        packed_t const packed {memory.data(), columns, depth, uform_scalar_e4m3_k, keeps_left};
        kit->pack(w.data(), 0, columns, packed);
        std::vector<float> y(rows * columns, 1.0f);
        lane_t lane;
        kit->gemm_wide(lane, rows, a.data(), packed, y.data(), y.data());
        for (std::size_t cell = 0; cell < y.size(); ++cell) {
            double sum = 1, magnitude = 1;
            for (std::size_t i = 0; i < depth; ++i) {
                float const left = widen(a[cell / columns * depth + i]);
                double const product = (keeps_left ? left : decode_e4m3(encode_e4m3(left))) *
                                       decode_e4m3(encode_e4m3(widen(w[cell % columns * depth + i])));
                sum += product, magnitude += std::fabs(product);
            }
            EXPECT_NEAR(y[cell], sum, double(depth + 1) * 0x1p-24 * magnitude) << kit->name << " cell " << cell;
        }
    }
}
TEST(e4m3_classes, sums_of_rounded_products) { expect_sums(false); }
TEST(e4m3_classes, sums_of_products_with_rows_as_they_are) { expect_sums(true); }

/** Subnormals may count as zeros, as in every BFloat16 product. */
TEST(e4m3_classes, left_rows_that_stay_as_they_are) {
    std::vector<bf16_t> values = every_bf16();
    std::erase_if(values, [](bf16_t x) { return std::fpclassify(widen(x)) == FP_SUBNORMAL; });
    for (kit_table_t const *kit : kits()) {
        std::vector<float> const y = outer(*kit, values, {round_to_bf16(1)}, true);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_TRUE(same(y[i], widen(values[i]))) << kit->name << " " << i << " " << y[i];
    }
}

TEST(e4m3_classes, left_rows_of_every_bfloat16) {
    std::vector<bf16_t> const values = every_bf16();
    for (kit_table_t const *kit : kits()) {
        std::vector<float> const y = outer(*kit, values, {round_to_bf16(1)});
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_TRUE(same(y[i], decode_e4m3(encode_e4m3(widen(values[i]))))) << kit->name << " " << i << " " << y[i];
    }
}

} // namespace
