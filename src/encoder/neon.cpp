/**
 *  @file neon.cpp
 *  @brief The class of every AArch64 processor: Advanced SIMD, four floats a register, 5 x 16 tiles in 20 of 32
 *  registers.
 *
 *  The vocabulary is Haswell's at half the width. Products widen both operands on their way to fused multiply-adds, so
 *  panels stay in BFloat16 and in the layout every class here reads; the eight registers of a widened right operand are
 *  what a sixth row would have needed. Advanced SIMD is a part of AArch64 itself, so this unit opens no target region.
 */
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>

#if defined(__aarch64__)
#include <arm_neon.h>

namespace uform {
namespace {

using f32x_t = float32x4_t;
using pairs_t = uint32x4_t; // two depths of four columns, BFloat16

constexpr std::size_t lanes_k = 4;
constexpr std::size_t tile_rows_k = 5;
constexpr std::size_t tile_vectors_k = 4;

inline uint32x4_t first_lanes(std::size_t count) {
    uint32x4_t const index = {0, 1, 2, 3};
    return vcgtq_u32(vdupq_n_u32(std::uint32_t(count < lanes_k ? count : lanes_k)), index);
}

inline f32x_t zero() { return vdupq_n_f32(0); }
inline f32x_t broadcast(float x) { return vdupq_n_f32(x); }
inline f32x_t load(float const *x) { return vld1q_f32(x); }
inline f32x_t load_part(float const *x, std::size_t count) {
    float staged[lanes_k] = {};
    std::memcpy(staged, x, (count < lanes_k ? count : lanes_k) * sizeof(float));
    return load(staged);
}
inline void store(float *y, f32x_t x) { vst1q_f32(y, x); }
inline void store_part(float *y, f32x_t x, std::size_t count) {
    float staged[lanes_k];
    store(staged, x);
    std::memcpy(y, staged, (count < lanes_k ? count : lanes_k) * sizeof(float));
}

/** As any other: GCC has no name for stores that pass the caches. */
inline void store_far(float *y, f32x_t x) { store(y, x); }
inline void finish_far_stores() {}

inline uint16x4_t load_halves(bf16_t const *x) { return vld1_u16((std::uint16_t const *)x); }
inline f32x_t load_narrow(bf16_t const *x) { return vreinterpretq_f32_u32(vshll_n_u16(load_halves(x), 16)); }
inline f32x_t load_f16(std::uint16_t const *x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }
inline f32x_t load_narrow_part(bf16_t const *x, std::size_t count) {
    bf16_t staged[lanes_k] = {};
    std::memcpy(staged, x, (count < lanes_k ? count : lanes_k) * sizeof(bf16_t));
    return load_narrow(staged);
}

inline f32x_t multiply_add(f32x_t a, f32x_t b, f32x_t c) { return vfmaq_f32(c, a, b); }     // a b + c
inline f32x_t subtract_product(f32x_t c, f32x_t a, f32x_t b) { return vfmsq_f32(c, a, b); } // c - a b
inline f32x_t larger(f32x_t a, f32x_t b) { return vmaxq_f32(a, b); }
inline f32x_t smaller(f32x_t a, f32x_t b) { return vminq_f32(a, b); }
inline f32x_t square_root(f32x_t x) { return vsqrtq_f32(x); }
/** x times two to the integer in the low bits of `power`. */
inline f32x_t add_to_exponent(f32x_t x, f32x_t power) {
    uint32x4_t const bits = vshlq_n_u32(vreinterpretq_u32_f32(power), 23);
    return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(x), bits));
}
inline f32x_t exponent_of(f32x_t x) {
    int32x4_t const biased = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 23));
    return vcvtq_f32_s32(vsubq_s32(biased, vdupq_n_s32(127)));
}
inline f32x_t mantissa_of(f32x_t x) {
    uint32x4_t const fraction = vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x7fffff));
    return vreinterpretq_f32_u32(vorrq_u32(fraction, vdupq_n_u32(0x3f800000)));
}
/** `a` in lanes where `x > y`, else `b`. */
inline f32x_t where_greater(f32x_t x, f32x_t y, f32x_t a, f32x_t b) { return vbslq_f32(vcgtq_f32(x, y), a, b); }
inline f32x_t keep_first(f32x_t x, std::size_t count, f32x_t rest) { return vbslq_f32(first_lanes(count), x, rest); }
inline float reduce_sum(f32x_t x) { return vaddvq_f32(x); }
inline float reduce_max(f32x_t x) { return vmaxvq_f32(x); }

inline pairs_t load_pairs(bf16_t const *x) { return vreinterpretq_u32_u16(vld1q_u16((std::uint16_t const *)x)); }
inline void store_pairs(bf16_t *y, pairs_t x) { vst1q_u16((std::uint16_t *)y, vreinterpretq_u16_u32(x)); }
inline pairs_t zip_rows(bf16_t const *even, bf16_t const *odd) {
    uint16x4x2_t const zipped = vzip_u16(load_halves(even), load_halves(odd));
    return vreinterpretq_u32_u16(vcombine_u16(zipped.val[0], zipped.val[1]));
}

constexpr std::size_t words_k = 2; // of 64 bits
using words_t = uint64x2_t;

/** Of every lane the lower half times `factor`, in 64 bits. */
inline words_t multiply_words(words_t x, std::uint32_t factor) { return vmull_n_u32(vmovn_u64(x), factor); }

/** Exchanges rows and columns of a square of 32-bit units: each round of zips moves one bit of a row's number. */
inline void transpose(pairs_t (&square)[lanes_k]) {
#pragma GCC unroll 2
    for (std::size_t round = 0; round < 2; ++round) {
        pairs_t const turned[lanes_k] = {vzip1q_u32(square[0], square[2]), vzip2q_u32(square[0], square[2]),
                                         vzip1q_u32(square[1], square[3]), vzip2q_u32(square[1], square[3])};
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) square[i] = turned[i];
    }
}

// Both depths of a pair as floats: the even one shifted up, the odd one with its neighbour masked off.
struct right_t {
    f32x_t even_f32x4, odd_f32x4;
};
using pair_t = float32x2_t; // one pair of depths: products name the lane, so that a row costs one register

inline right_t load_right(bf16_t const *x) {
    pairs_t const pairs = load_pairs(x);
    return {vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16)),
            vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000u)))};
}
inline pair_t broadcast_pair(bf16_t const *x) {
    std::uint32_t pair;
    std::memcpy(&pair, x, sizeof(pair));
    return vget_low_f32(vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u32(vdup_n_u32(pair)), 16)));
}
inline f32x_t add_product(f32x_t sum_f32x4, pair_t left, right_t right) {
    sum_f32x4 = vfmaq_lane_f32(sum_f32x4, right.even_f32x4, left, 0);
    return vfmaq_lane_f32(sum_f32x4, right.odd_f32x4, left, 1);
}

/** Rounds to nearest even in the upper half of every lane; what is below it stays noise. */
inline uint32x4_t round_upper(f32x_t x) {
    uint32x4_t const bits = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t const rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    uint32x4_t const quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vbslq_u32(vceqq_f32(x, x), rounded, quiet);
}
inline uint16x4_t narrow_bits(f32x_t x) { return vshrn_n_u32(round_upper(x), 16); }
inline void store_narrow(bf16_t *y, f32x_t x) { vst1_u16((std::uint16_t *)y, narrow_bits(x)); }
inline void store_narrow_part(bf16_t *y, f32x_t x, std::size_t count) {
    bf16_t staged[lanes_k];
    store_narrow(staged, x);
    std::memcpy(y, staged, (count < lanes_k ? count : lanes_k) * sizeof(bf16_t));
}
inline pairs_t zip_narrow(f32x_t even, f32x_t odd) { return vsriq_n_u32(round_upper(odd), round_upper(even), 16); }

constexpr std::size_t expanded_k = 16;

/**
 *  16 bytes of E4M3 as BFloat16, made as low and high bytes and interleaved by the store. From 16 on, a magnitude's low
 *  byte is the code's low four bits moved up, its high byte 0x3c and the exponent's upper three bits; magnitudes below
 *  are looked up, and a lookup past its table leaves what was there. The NaN comes out as 480 would and gets the rest of
 *  its exponent.
 */
inline void expand(e4m3_t const *codes, bf16_t *values) {
    uint8x16_t const low_table = {0,    0,    0x80, 0xc0, 0,    0x20, 0x40, 0x60,
                                  0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0, 0xe0, 0xf0};
    uint8x16_t const high_table = {0,    0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c,
                                   0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c};
    uint8x16_t const code = vld1q_u8((std::uint8_t const *)codes);
    uint8x16_t const magnitude = vandq_u8(code, vdupq_n_u8(0x7f)), sign = veorq_u8(code, magnitude);
    uint8x16_t const nan = vandq_u8(vceqq_u8(magnitude, vdupq_n_u8(0x7f)), magnitude);
    uint8x16_t const high = vaddq_u8(vshrq_n_u8(magnitude, 4), vdupq_n_u8(0x3c));
    uint8x16x2_t bytes;
    bytes.val[0] = vqtbx1q_u8(vshlq_n_u8(code, 4), low_table, magnitude);
    bytes.val[1] = vorrq_u8(vqtbx1q_u8(high, high_table, magnitude), vorrq_u8(sign, nan));
    vst2q_u8((std::uint8_t *)values, bytes);
}

#include "cpu/kernels.hpp"

} // namespace

kit_table_t const &neon_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "neon");
    return table;
}

} // namespace uform
#endif
