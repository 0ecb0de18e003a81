/**
 *  @file tiles_classes.cpp
 *  @brief Sapphire Rapids without one: its headers compiled over emulated tiles, through the cases of every class.
 *
 *  The unit below is that of src/encoder/sapphire.cpp, with `emulated/amx.hpp` for `cpu/amx.hpp`. It needs what Genoa
 *  needs. Where the processor has tiles, its bits are compared with the emulated ones.
 */
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>
#include <uform/utilities/classes.hpp>

#include "kit_cases.hpp"

#if defined(__x86_64__)
#if !defined(__clang__) // GCC 12 warns of its own _mm512_undefined: bug 105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))),        \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

namespace uform {
namespace {

#include "encoder/cpu/avx512.hpp"
#include "encoder/cpu/avx512bf16.hpp"
#include "emulated/amx.hpp"
#include "encoder/cpu/tile.hpp"
#include "encoder/cpu/amx_multiplier.hpp"
#include "encoder/cpu/kernels.hpp"

/** Row 0, column 0 of a product of tiles that are zero but for `left` in its row and `right` in its column. */
float product_of(std::vector<float> const &left, std::vector<float> const &right, float sum) {
    bf16_t a[32] = {}, b[16 * 32] = {};
    float c[16] = {sum};
    for (std::size_t depth = 0; depth < left.size(); ++depth) {
        a[depth] = round_to_bf16(left[depth]);
        b[depth / 2 * 32 + depth % 2] = round_to_bf16(right[depth]);
    }
    tile_shapes_t const shapes(1);
    tile_configure(&shapes);
    tile_load<0>(c, 64), tile_load<4>(a, 64), tile_load<6>(b, 64);
    tile_multiply<0, 4, 6>();
    tile_store<0>(c, 64);
    tile_release();
    return c[0];
}

} // namespace
} // namespace uform

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace {

bool has_bf16_products() { return runs_here(uform_cpu_class_amd_genoa_k); }
kit_table_t const &emulated_table() {
    static kit_table_t const table = table_from(serial_table(), "sapphire-of-emulated-tiles");
    return table;
}
std::vector<class_t> classes() { return {{emulated_table(), has_bf16_products()}}; }

/** Whatever ran: nothing a processor would have refused, and no thread left its tiles live. */
struct nothing_left_t : testing::Environment {
    void TearDown() override {
        EXPECT_EQ(emulated_faults, 0);
        EXPECT_EQ(emulated_live, 0);
    }
};
[[maybe_unused]] testing::Environment *const nothing_left = testing::AddGlobalTestEnvironment(new nothing_left_t);

} // namespace

#define UFORM_NEEDS_BF16_PRODUCTS()                                                                                    \
    if (!has_bf16_products()) GTEST_SKIP() << "SKIPPED emulated tiles: this machine has no AVX-512 BF16"

/** Two sums of 2^24 + 1 + 1 tell the halves: even depths lose each one to rounding, odd depths keep both. */
TEST(tiles, halves_are_summed_apart) {
    UFORM_NEEDS_BF16_PRODUCTS();
    EXPECT_EQ(product_of({0x1p12f, 1, 1, 1}, {0x1p12f, 1, 1, 1}, 0), 0x1p24f + 2);
    EXPECT_EQ(product_of({0x1p12f, 0, 1, 0, 1}, {0x1p12f, 0, 1, 0, 1}, 0), 0x1p24f);
    EXPECT_EQ(product_of({1, 1}, {1, 1}, 0x1p24f), 0x1p24f + 2) << "halves meet before they meet the sum";
    EXPECT_EQ(product_of({3, -5}, {7, 0.5f}, 100), 118.5f);
}
TEST(tiles, denormals_are_zeros) {
    UFORM_NEEDS_BF16_PRODUCTS();
    EXPECT_EQ(product_of({0x1p-127f}, {0x1p100f}, 0), 0) << "read";
    EXPECT_EQ(product_of({0x1p-100f}, {0x1p-27f}, 0), 0) << "written";
    EXPECT_EQ(product_of({0x1p-100f}, {0x1p-26f}, 0), 0x1p-126f) << "the smallest that is kept";
    EXPECT_EQ(product_of({0}, {0}, 0x1p-130f), 0) << "in the sum";
}
TEST(tiles, what_a_processor_refuses_is_counted) {
    UFORM_NEEDS_BF16_PRODUCTS();
    tile_zero<0>();
    EXPECT_EQ(emulated_faults, 1) << "no configuration";
    tile_shapes_t shapes(5);
    shapes.rows[6] = 15; // of sixteen pairs
    tile_configure(&shapes);
    EXPECT_EQ(emulated_live, 1);
    tile_multiply<0, 4, 6>();
    EXPECT_EQ(emulated_faults, 2) << "depths that do not match";
    tile_release();
    emulated_faults = 0;
}

/** 33 rows of 40 depths by 64 columns: 32 rows are two squares of four tiles, one more is a strip of four. */
TEST(tiles, products_go_through_tiles) {
    UFORM_NEEDS_BF16_PRODUCTS();
    lane_t lane;
    emulated_products = 0;
    gemm_case(emulated_table(), lane, {.rows = 33, .columns = 64, .depth = 40});
    EXPECT_EQ(emulated_products, (2 * 4 + 4) * 2);
    emulated_products = 0;
    gemm_wide_case(emulated_table(), lane, {.rows = 3, .columns = 128, .depth = 32}); // with an addend and without
    EXPECT_EQ(emulated_products, 2 * 2 * 4);
    // Of 64 x 64 weights over 40 rows, added and set in two ways: each four squares of four, two steps.
    emulated_products = 0;
    gemm_backward_weight_case(emulated_table(), lane, {.rows = 40, .columns = 64, .depth = 64});
    EXPECT_EQ(emulated_products, 3 * 4 * 4 * 2);
}

/** Every height of a rectangle up to three tiles and every depth around a step, of integers: sums are exact. What is
 *  read past an operand is for AddressSanitizer to see, since no answer shows it. */
TEST(tiles, integers_are_exact_at_every_edge) {
    UFORM_NEEDS_BF16_PRODUCTS();
    lane_t lane;
    auto const left = [](std::size_t row, std::size_t d) { return float((row * 5 + d * 3) % 17) - 8; };
    auto const right = [](std::size_t column, std::size_t d) { return float((column * 7 + d * 11) % 13) - 6; };
    constexpr std::size_t columns = 70;
    std::vector<std::size_t> heights = {384 + 1, 384 + 15, 384 + 17}; // blocks of rows whose last is short
    for (std::size_t rows = 1; rows <= 49; ++rows) heights.push_back(rows);
    for (std::size_t depth : {1, 2, 31, 32, 33, 34, 63, 64, 66, 95})
        for (std::size_t rows : heights) {
            std::vector<bf16_t> a(rows * depth), w(columns * depth);
            for (std::size_t i = 0; i < a.size(); ++i) a[i] = round_to_bf16(left(i / depth, i % depth));
            for (std::size_t i = 0; i < w.size(); ++i) w[i] = round_to_bf16(right(i / depth, i % depth));
            packing_t packing(emulated_table(), columns, depth);
            emulated_table().pack(w.data(), 0, columns, packing.packed);
            std::vector<float> y(rows * columns, 1000);
            emulated_table().gemm_wide(lane, rows, a.data(), packing.packed, y.data(), y.data());
            for (std::size_t i = 0; i < y.size(); ++i) {
                float sum = 1000;
                for (std::size_t d = 0; d < depth; ++d) sum += left(i / columns, d) * right(i % columns, d);
                ASSERT_EQ(y[i], sum) << rows << " rows of depth " << depth << ", element " << i;
            }
        }
}

TEST(tiles, the_processor_agrees_bit_for_bit) {
    if (!runs_here(uform_cpu_class_intel_sapphire_rapids_k))
        GTEST_SKIP() << "SKIPPED intel-sapphire-rapids: this machine has no tiles, or its system keeps them";
    lane_t lane;
    for (shape_t const &shape : product_shapes()) {
        SCOPED_TRACE(shape.text());
        EXPECT_EQ(gemm_wide_case(sapphire_table(), lane, shape), gemm_wide_case(emulated_table(), lane, shape));
        EXPECT_EQ(gemm_backward_weight_case(sapphire_table(), lane, shape),
                  gemm_backward_weight_case(emulated_table(), lane, shape));
    }
}
#else
namespace {
std::vector<class_t> classes() { return {}; }
} // namespace

TEST(tiles, need_another_processor) { GTEST_SKIP() << "SKIPPED emulated tiles: this machine has no AVX-512 BF16"; }
#endif
