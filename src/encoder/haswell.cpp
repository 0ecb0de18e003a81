/**
 *  @file haswell.cpp
 *  @brief The Intel Haswell class: AVX2 and FMA, 6 x 16 tiles of floats, 4 x 16 of BFloat16, in 16 registers.
 *
 *  The vocabulary is Skylake's at half the width, without masks. Products widen both operands on their way to fused
 *  multiply-adds, so panels stay in BFloat16 and in the layout every class here reads. Everything is included before
 *  the target region, so that no shared inline function is ever compiled with these instructions; kernels have internal
 *  linkage.
 */
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

namespace uform {
namespace {

using f32x_t = __m256;
using pairs_t = __m256i; // two depths of eight columns, BFloat16

constexpr std::size_t lanes_k = 8;
constexpr std::size_t tile_rows_k = 4;
constexpr std::size_t tile_vectors_k = 2;

inline __m256i first_lanes(std::size_t count) {
    __m256i const index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < lanes_k ? int(count) : int(lanes_k)), index);
}

inline f32x_t zero() { return _mm256_setzero_ps(); }
inline f32x_t broadcast(float x) { return _mm256_set1_ps(x); }
inline f32x_t load(float const *x) { return _mm256_loadu_ps(x); }
inline f32x_t load_part(float const *x, std::size_t count) { return _mm256_maskload_ps(x, first_lanes(count)); }
inline void store(float *y, f32x_t x) { _mm256_storeu_ps(y, x); }
inline void store_part(float *y, f32x_t x, std::size_t count) { _mm256_maskstore_ps(y, first_lanes(count), x); }

/** Past the caches, for what is next read when they have seen much else; `y` is aligned to a register. */
inline void store_far(float *y, f32x_t x) { _mm256_stream_ps(y, x); }
inline void finish_far_stores() { _mm_sfence(); }

inline f32x_t load_narrow(bf16_t const *x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((__m128i const *)x)), 16));
}
inline f32x_t load_f16(std::uint16_t const *x) { return _mm256_cvtph_ps(_mm_loadu_si128((__m128i const *)x)); }
inline f32x_t load_narrow_part(bf16_t const *x, std::size_t count) {
    alignas(16) bf16_t staged[lanes_k] = {};
    std::memcpy(staged, x, (count < lanes_k ? count : lanes_k) * sizeof(bf16_t));
    return load_narrow(staged);
}

inline f32x_t multiply_add(f32x_t a, f32x_t b, f32x_t c) { return _mm256_fmadd_ps(a, b, c); }      // a b + c
inline f32x_t subtract_product(f32x_t c, f32x_t a, f32x_t b) { return _mm256_fnmadd_ps(a, b, c); } // c - a b
inline f32x_t larger(f32x_t a, f32x_t b) { return _mm256_max_ps(a, b); }
inline f32x_t smaller(f32x_t a, f32x_t b) { return _mm256_min_ps(a, b); }
inline f32x_t square_root(f32x_t x) { return _mm256_sqrt_ps(x); }
/** x times two to the integer in the low bits of `power`. */
inline f32x_t add_to_exponent(f32x_t x, f32x_t power) {
    __m256i const bits = _mm256_slli_epi32(_mm256_castps_si256(power), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), bits));
}
inline f32x_t exponent_of(f32x_t x) {
    __m256i const biased = _mm256_srli_epi32(_mm256_castps_si256(x), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
}
inline f32x_t mantissa_of(f32x_t x) {
    __m256i const fraction = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffff));
    return _mm256_castsi256_ps(_mm256_or_si256(fraction, _mm256_set1_epi32(0x3f800000)));
}
/** `a` in lanes where `x > y`, else `b`. */
inline f32x_t where_greater(f32x_t x, f32x_t y, f32x_t a, f32x_t b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_GT_OQ));
}
inline f32x_t keep_first(f32x_t x, std::size_t count, f32x_t rest) {
    return _mm256_blendv_ps(rest, x, _mm256_castsi256_ps(first_lanes(count)));
}
inline float reduce_sum(f32x_t x) {
    __m128 const fours = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const twos = _mm_add_ps(fours, _mm_movehl_ps(fours, fours));
    return _mm_cvtss_f32(_mm_add_ss(twos, _mm_movehdup_ps(twos)));
}
inline float reduce_max(f32x_t x) {
    __m128 const fours = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const twos = _mm_max_ps(fours, _mm_movehl_ps(fours, fours));
    return _mm_cvtss_f32(_mm_max_ss(twos, _mm_movehdup_ps(twos)));
}

inline pairs_t load_pairs(bf16_t const *x) { return _mm256_loadu_si256((__m256i const *)x); }
inline void store_pairs(bf16_t *y, pairs_t x) { _mm256_storeu_si256((__m256i *)y, x); }
inline pairs_t zip_rows(bf16_t const *even, bf16_t const *odd) {
    __m256i const low = _mm256_cvtepu16_epi32(_mm_loadu_si128((__m128i const *)even));
    __m256i const high = _mm256_cvtepu16_epi32(_mm_loadu_si128((__m128i const *)odd));
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 16));
}

constexpr std::size_t words_k = 4; // of 64 bits
using words_t = std::uint64_t __attribute__((vector_size(8 * words_k)));

/** Of every lane the lower half times `factor`, in 64 bits. */
inline words_t multiply_words(words_t x, std::uint32_t factor) {
    return (words_t)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(factor));
}

/** Exchanges rows and columns of a square of 32-bit units: twice within 128-bit halves, once between them. */
inline void transpose(pairs_t (&square)[lanes_k]) {
    pairs_t turned[lanes_k];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; i += 2) {
        turned[i] = _mm256_unpacklo_epi32(square[i], square[i + 1]);
        turned[i + 1] = _mm256_unpackhi_epi32(square[i], square[i + 1]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; i += 4)
#pragma GCC unroll 2
        for (std::size_t j = 0; j < 2; ++j) {
            square[i + 2 * j] = _mm256_unpacklo_epi64(turned[i + j], turned[i + j + 2]);
            square[i + 2 * j + 1] = _mm256_unpackhi_epi64(turned[i + j], turned[i + j + 2]);
        }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        pairs_t const low = square[i], high = square[i + 4];
        square[i] = _mm256_permute2x128_si256(low, high, 0x20);
        square[i + 4] = _mm256_permute2x128_si256(low, high, 0x31);
    }
}

// Both depths of a pair as floats: the even one shifted up, the odd one with its neighbour masked off.
struct right_t {
    f32x_t even_f32x8, odd_f32x8;
};
using pair_t = right_t; // one pair of depths, in every lane

inline right_t split(pairs_t pairs) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)),
            _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(int(0xffff0000u))))};
}
inline pair_t broadcast_pair(bf16_t const *x) {
    int pair;
    std::memcpy(&pair, x, sizeof(pair));
    return split(_mm256_set1_epi32(pair));
}
inline right_t load_right(bf16_t const *x) { return split(load_pairs(x)); }
inline f32x_t add_product(f32x_t sum_f32x8, pair_t left, right_t right) {
    sum_f32x8 = _mm256_fmadd_ps(left.even_f32x8, right.even_f32x8, sum_f32x8);
    return _mm256_fmadd_ps(left.odd_f32x8, right.odd_f32x8, sum_f32x8);
}

/** Rounds to nearest even in the upper half of every lane; what is below it stays noise. */
inline __m256i round_upper(f32x_t x) {
    __m256i const bits = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);
    __m256i const odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i const rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i const quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
inline __m128i narrow_bits(f32x_t x) {
    __m256i const low = _mm256_srli_epi32(round_upper(x), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
inline void store_narrow(bf16_t *y, f32x_t x) { _mm_storeu_si128((__m128i *)y, narrow_bits(x)); }
inline void store_narrow_part(bf16_t *y, f32x_t x, std::size_t count) {
    alignas(16) bf16_t staged[lanes_k];
    store_narrow(staged, x);
    std::memcpy(y, staged, (count < lanes_k ? count : lanes_k) * sizeof(bf16_t));
}
inline pairs_t zip_narrow(f32x_t even, f32x_t odd) {
    __m256i const upper = _mm256_and_si256(round_upper(odd), _mm256_set1_epi32(int(0xffff0000u)));
    return _mm256_or_si256(_mm256_srli_epi32(round_upper(even), 16), upper);
}

constexpr std::size_t expanded_k = 32;

/**
 *  32 bytes of E4M3 as BFloat16, made as low and high bytes. A normal's low byte is the code's low four bits moved up,
 *  its high byte 0x3c and the exponent's upper three bits; the eight magnitudes below 2^-6 are looked up. The NaN comes
 *  out as 480 would and gets the rest of its exponent.
 */
inline void expand(e4m3_t const *codes, bf16_t *values) {
    __m256i const low_table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, char(0x80), char(0xc0), 0, 0x20, 0x40, 0x60, 0, 0, 0, 0, 0, 0, 0, 0));
    __m256i const high_table =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c, 0, 0, 0, 0, 0, 0, 0, 0));
    // Unpacking works within halves, so the middle quarters change places first.
    __m256i const code = _mm256_permute4x64_epi64(_mm256_loadu_si256((__m256i const *)codes), 0xd8);
    __m256i const magnitude = _mm256_and_si256(code, _mm256_set1_epi8(0x7f));
    __m256i const sign = _mm256_xor_si256(code, magnitude);
    __m256i const small = _mm256_cmpgt_epi8(_mm256_set1_epi8(8), magnitude);
    __m256i const nan = _mm256_cmpeq_epi8(magnitude, _mm256_set1_epi8(0x7f));
    __m256i low = _mm256_and_si256(_mm256_slli_epi16(code, 4), _mm256_set1_epi8(char(0xf0)));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(magnitude, 4), _mm256_set1_epi8(0x0f));
    high = _mm256_add_epi8(high, _mm256_set1_epi8(0x3c));
    low = _mm256_blendv_epi8(low, _mm256_shuffle_epi8(low_table, magnitude), small);
    high = _mm256_blendv_epi8(high, _mm256_shuffle_epi8(high_table, magnitude), small);
    high = _mm256_or_si256(_mm256_or_si256(high, sign), _mm256_and_si256(nan, magnitude));
    _mm256_storeu_si256((__m256i *)values, _mm256_unpacklo_epi8(low, high));
    _mm256_storeu_si256((__m256i *)(values + 16), _mm256_unpackhi_epi8(low, high));
}

#include "cpu/tile.hpp"
#include "cpu/panel.hpp"
#include "cpu/wide_multiplier.hpp"
#include "cpu/kernels.hpp"

} // namespace
} // namespace uform

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace uform {
kit_table_t const &haswell_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "haswell");
    return table;
}
} // namespace uform
#endif
