/**
 *  @file sve.cpp
 *  @brief The AWS Graviton3 class: SVE at that processor's 256 bits with BFloat16 products, 6 x 32 tiles in 24 of 32
 *  registers.
 *
 *  Registers have to lie in arrays and structs, so their length is fixed when this file is compiled
 *  (cmake/classes.cmake), and detection demands it. A BFDOT adds two products, then their sum to the accumulator, each
 *  rounded to odd, and takes denormals as zeros. What a machine must have: SVE, vectors of 256 bits, BF16. Everything
 *  is included before the target region, so that no shared inline function is ever compiled with these instructions;
 *  kernels have internal linkage.
 */
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>

#if UFORM_HAS_SVE
#include <arm_sve.h>

#pragma GCC push_options
#pragma GCC target("+sve+bf16")

namespace uform {
namespace {

using f32x_t = svfloat32_t __attribute__((arm_sve_vector_bits(256)));
using pairs_t = svuint32_t __attribute__((arm_sve_vector_bits(256))); // two depths of eight columns, BFloat16
using right_t = pairs_t;
using pair_t = pairs_t; // one pair of depths, in every lane

constexpr std::size_t lanes_k = 8;
constexpr std::size_t tile_rows_k = 6;
constexpr std::size_t tile_vectors_k = 4;

inline svbool_t all_lanes() { return svptrue_b32(); }
inline svbool_t first_lanes(std::size_t count) { return svwhilelt_b32(std::uint64_t(0), std::uint64_t(count)); }

inline f32x_t zero() { return svdup_n_f32(0); }
inline f32x_t broadcast(float x) { return svdup_n_f32(x); }
inline f32x_t load(float const *x) { return svld1_f32(all_lanes(), x); }
inline f32x_t load_part(float const *x, std::size_t count) { return svld1_f32(first_lanes(count), x); }
inline void store(float *y, f32x_t x) { svst1_f32(all_lanes(), y, x); }
inline void store_part(float *y, f32x_t x, std::size_t count) { svst1_f32(first_lanes(count), y, x); }

/** Past the caches, for what is next read when they have seen much else. */
inline void store_far(float *y, f32x_t x) { svstnt1_f32(all_lanes(), y, x); }
inline void finish_far_stores() {}

/** One BFloat16 to a lane, in its lower half. */
inline pairs_t load_halves(svbool_t lanes, bf16_t const *x) { return svld1uh_u32(lanes, (std::uint16_t const *)x); }
inline f32x_t widen_halves(pairs_t x) { return svreinterpret_f32_u32(svlsl_n_u32_x(all_lanes(), x, 16)); }
inline f32x_t load_narrow(bf16_t const *x) { return widen_halves(load_halves(all_lanes(), x)); }
inline f32x_t load_f16(std::uint16_t const *x) { // converts the low half of every 32 bits
    svbool_t const all = all_lanes();
    return svcvt_f32_f16_x(all, svreinterpret_f16_u32(svld1uh_u32(all, x)));
}
inline f32x_t load_narrow_part(bf16_t const *x, std::size_t count) {
    return widen_halves(load_halves(first_lanes(count), x));
}

inline f32x_t multiply_add(f32x_t a, f32x_t b, f32x_t c) { return svmla_f32_x(all_lanes(), c, a, b); }     // a b + c
inline f32x_t subtract_product(f32x_t c, f32x_t a, f32x_t b) { return svmls_f32_x(all_lanes(), c, a, b); } // c - a b
inline f32x_t larger(f32x_t a, f32x_t b) { return svmax_f32_x(all_lanes(), a, b); }
inline f32x_t smaller(f32x_t a, f32x_t b) { return svmin_f32_x(all_lanes(), a, b); }
inline f32x_t square_root(f32x_t x) { return svsqrt_f32_x(all_lanes(), x); }
/** x times two to the integer in the low bits of `power`. */
inline f32x_t add_to_exponent(f32x_t x, f32x_t power) {
    svuint32_t const bits = svlsl_n_u32_x(all_lanes(), svreinterpret_u32_f32(power), 23);
    return svreinterpret_f32_u32(svadd_u32_x(all_lanes(), svreinterpret_u32_f32(x), bits));
}
inline f32x_t exponent_of(f32x_t x) {
    svuint32_t const biased = svlsr_n_u32_x(all_lanes(), svreinterpret_u32_f32(x), 23);
    return svcvt_f32_s32_x(all_lanes(), svsub_n_s32_x(all_lanes(), svreinterpret_s32_u32(biased), 127));
}
inline f32x_t mantissa_of(f32x_t x) {
    svuint32_t const fraction = svand_n_u32_x(all_lanes(), svreinterpret_u32_f32(x), 0x7fffff);
    return svreinterpret_f32_u32(svorr_n_u32_x(all_lanes(), fraction, 0x3f800000));
}
/** `a` in lanes where `x > y`, else `b`. */
inline f32x_t where_greater(f32x_t x, f32x_t y, f32x_t a, f32x_t b) {
    return svsel_f32(svcmpgt_f32(all_lanes(), x, y), a, b);
}
inline f32x_t keep_first(f32x_t x, std::size_t count, f32x_t rest) { return svsel_f32(first_lanes(count), x, rest); }
inline float reduce_sum(f32x_t x) { return svaddv_f32(all_lanes(), x); }
inline float reduce_max(f32x_t x) { return svmaxv_f32(all_lanes(), x); }

// Vectors of pairs are stored as the halves they are made of, since an address need not be a multiple of four.
inline pairs_t load_pairs(bf16_t const *x) {
    return svreinterpret_u32_u16(svld1_u16(svptrue_b16(), (std::uint16_t const *)x));
}
inline void store_pairs(bf16_t *y, pairs_t x) {
    svst1_u16(svptrue_b16(), (std::uint16_t *)y, svreinterpret_u16_u32(x));
}
inline pairs_t zip_rows(bf16_t const *even, bf16_t const *odd) {
    svuint32_t const upper = svlsl_n_u32_x(all_lanes(), load_halves(all_lanes(), odd), 16);
    return svorr_u32_x(all_lanes(), load_halves(all_lanes(), even), upper);
}

constexpr std::size_t words_k = 4; // of 64 bits
using words_t = std::uint64_t __attribute__((vector_size(8 * words_k)));

/** Of every lane the lower half times `factor`, in 64 bits. */
inline words_t multiply_words(words_t x, std::uint32_t factor) { return (x & 0xffffffff) * factor; }

/** Exchanges rows and columns of a square of 32-bit units: each round of zips moves one bit of a row's number. */
inline void transpose(pairs_t (&square)[lanes_k]) {
#pragma GCC unroll 3
    for (std::size_t round = 0; round < 3; ++round) {
        pairs_t turned[lanes_k];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) {
            turned[2 * i] = svzip1_u32(square[i], square[i + 4]);
            turned[2 * i + 1] = svzip2_u32(square[i], square[i + 4]);
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) square[i] = turned[i];
    }
}

inline pair_t broadcast_pair(bf16_t const *x) {
    std::uint32_t pair;
    std::memcpy(&pair, x, sizeof(pair));
    return svdup_n_u32(pair);
}
inline right_t load_right(bf16_t const *x) { return load_pairs(x); }
inline f32x_t add_product(f32x_t sum_f32x8, pair_t left_bf16x16, right_t right_bf16x16) {
    return svbfdot_f32(sum_f32x8, svreinterpret_bf16_u32(left_bf16x16), svreinterpret_bf16_u32(right_bf16x16));
}

/** Rounded to nearest even in the lower half of every lane, zeros above. */
inline svbfloat16_t narrow_halves(f32x_t x) { return svcvt_bf16_f32_x(all_lanes(), x); }
inline void store_narrow(bf16_t *y, f32x_t x) {
    svst1h_u32(all_lanes(), (std::uint16_t *)y, svreinterpret_u32_bf16(narrow_halves(x)));
}
inline void store_narrow_part(bf16_t *y, f32x_t x, std::size_t count) {
    svst1h_u32(first_lanes(count), (std::uint16_t *)y, svreinterpret_u32_bf16(narrow_halves(x)));
}
inline pairs_t zip_narrow(f32x_t even, f32x_t odd) {
    return svreinterpret_u32_bf16(svcvtnt_bf16_f32_x(narrow_halves(even), all_lanes(), odd));
}

constexpr std::size_t expanded_k = 32;

/**
 *  32 bytes of E4M3 as BFloat16, made as low and high bytes and interleaved by the store. A normal's low byte is the
 *  code's low four bits moved up, its high byte 0x3c and the exponent's upper three bits; the eight magnitudes below
 *  2^-6 are looked up. The NaN comes out as 480 would and gets the rest of its exponent.
 */
inline void expand(e4m3_t const *codes, bf16_t *values) {
    svbool_t const all = svptrue_b8();
    svuint8_t const low_table = svdupq_n_u8(0, 0, 0x80, 0xc0, 0, 0x20, 0x40, 0x60, 0, 0, 0, 0, 0, 0, 0, 0);
    svuint8_t const high_table = svdupq_n_u8(0, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c, 0, 0, 0, 0, 0, 0, 0, 0);
    svuint8_t const code = svld1_u8(all, (std::uint8_t const *)codes);
    svuint8_t const magnitude = svand_n_u8_x(all, code, 0x7f), sign = svand_n_u8_x(all, code, 0x80);
    svbool_t const small = svcmplt_n_u8(all, magnitude, 8);
    svuint8_t low = svlsl_n_u8_x(all, code, 4);
    svuint8_t high = svadd_n_u8_x(all, svlsr_n_u8_x(all, magnitude, 4), 0x3c);
    low = svsel_u8(small, svtbl_u8(low_table, magnitude), low);
    high = svsel_u8(small, svtbl_u8(high_table, magnitude), high);
    high = svorr_n_u8_m(svcmpeq_n_u8(all, magnitude, 0x7f), high, 0x7f);
    svst2_u8(all, (std::uint8_t *)values, svcreate2_u8(low, svorr_u8_x(all, high, sign)));
}

#include "cpu/kernels.hpp"

} // namespace
} // namespace uform

#pragma GCC pop_options

namespace uform {
kit_table_t const &graviton3_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "aws-graviton3");
    return table;
}
} // namespace uform
#endif
