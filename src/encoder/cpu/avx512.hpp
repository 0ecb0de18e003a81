/**
 *  @file avx512.hpp
 *  @brief The vocabulary of AVX-512 classes: sixteen floats a register, everything but BFloat16 products and rounding.
 *
 *  Included inside a class unit's target region, before the skeletons. Arithmetic operators are the compiler's own on
 *  vectors; fused operations are written by name.
 */
#pragma once

using f32x_t = __m512;
using pairs_t = __m512i; // two depths of sixteen columns, BFloat16

constexpr std::size_t lanes_k = 16;

inline __mmask16 first_lanes(std::size_t count) { return __mmask16(count >= 16 ? 0xffffu : (1u << count) - 1u); }

inline f32x_t zero() { return _mm512_setzero_ps(); }
inline f32x_t broadcast(float x) { return _mm512_set1_ps(x); }
inline f32x_t load(float const *x) { return _mm512_loadu_ps(x); }
inline f32x_t load_part(float const *x, std::size_t count) { return _mm512_maskz_loadu_ps(first_lanes(count), x); }
inline void store(float *y, f32x_t x) { _mm512_storeu_ps(y, x); }
inline void store_part(float *y, f32x_t x, std::size_t count) { _mm512_mask_storeu_ps(y, first_lanes(count), x); }

/** Past the caches, for what is next read when they have seen much else; `y` is aligned to a register. */
inline void store_far(float *y, f32x_t x) { _mm512_stream_ps(y, x); }
inline void finish_far_stores() { _mm_sfence(); }

inline f32x_t widen_bits(__m256i x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16)); }
inline f32x_t load_narrow(bf16_t const *x) { return widen_bits(_mm256_loadu_si256((__m256i const *)x)); }
inline f32x_t load_f16(std::uint16_t const *x) { return _mm512_cvtph_ps(_mm256_loadu_si256((__m256i const *)x)); }
inline f32x_t load_narrow_part(bf16_t const *x, std::size_t count) {
    return widen_bits(_mm256_maskz_loadu_epi16(first_lanes(count), x));
}

inline f32x_t multiply_add(f32x_t a, f32x_t b, f32x_t c) { return _mm512_fmadd_ps(a, b, c); }      // a b + c
inline f32x_t subtract_product(f32x_t c, f32x_t a, f32x_t b) { return _mm512_fnmadd_ps(a, b, c); } // c - a b
inline f32x_t larger(f32x_t a, f32x_t b) { return _mm512_max_ps(a, b); }
inline f32x_t smaller(f32x_t a, f32x_t b) { return _mm512_min_ps(a, b); }
inline f32x_t square_root(f32x_t x) { return _mm512_sqrt_ps(x); }
/** x times two to the integer in the low bits of `power`. */
inline f32x_t add_to_exponent(f32x_t x, f32x_t power) {
    __m512i const bits = _mm512_slli_epi32(_mm512_castps_si512(power), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), bits));
}
inline f32x_t exponent_of(f32x_t x) { return _mm512_getexp_ps(x); }
inline f32x_t mantissa_of(f32x_t x) { return _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
/** `a` in lanes where `x > y`, else `b`. */
inline f32x_t where_greater(f32x_t x, f32x_t y, f32x_t a, f32x_t b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_GT_OQ), b, a);
}
inline f32x_t keep_first(f32x_t x, std::size_t count, f32x_t rest) {
    return _mm512_mask_blend_ps(first_lanes(count), rest, x);
}
inline float reduce_sum(f32x_t x) { return _mm512_reduce_add_ps(x); }
inline float reduce_max(f32x_t x) { return _mm512_reduce_max_ps(x); }

inline pairs_t load_pairs(bf16_t const *x) { return _mm512_loadu_si512(x); }
inline void store_pairs(bf16_t *y, pairs_t x) { _mm512_storeu_si512(y, x); }
inline pairs_t zip_rows(bf16_t const *even, bf16_t const *odd) {
    __m512i const low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((__m256i const *)even));
    __m512i const high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((__m256i const *)odd));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

constexpr std::size_t words_k = 8; // of 64 bits
using words_t = std::uint64_t __attribute__((vector_size(8 * words_k)));

/** Of every lane the lower half times `factor`, in 64 bits. */
inline words_t multiply_words(words_t x, std::uint32_t factor) {
    return (words_t)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(factor));
}

/** Exchanges rows and columns of a square of 32-bit units: twice within 128-bit quarters, twice between them. */
inline void transpose(pairs_t (&square)[lanes_k]) {
    pairs_t turned[lanes_k];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; i += 2) {
        turned[i] = _mm512_unpacklo_epi32(square[i], square[i + 1]);
        turned[i + 1] = _mm512_unpackhi_epi32(square[i], square[i + 1]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; i += 4)
#pragma GCC unroll 2
        for (std::size_t j = 0; j < 2; ++j) {
            square[i + 2 * j] = _mm512_unpacklo_epi64(turned[i + j], turned[i + j + 2]);
            square[i + 2 * j + 1] = _mm512_unpackhi_epi64(turned[i + j], turned[i + j + 2]);
        }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i)
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            turned[8 * half + i] = _mm512_shuffle_i32x4(square[8 * half + i], square[8 * half + i + 4], 0x88);
            turned[8 * half + i + 4] = _mm512_shuffle_i32x4(square[8 * half + i], square[8 * half + i + 4], 0xdd);
        }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
        square[i] = _mm512_shuffle_i32x4(turned[i], turned[i + 8], 0x88);
        square[i + 8] = _mm512_shuffle_i32x4(turned[i], turned[i + 8], 0xdd);
    }
}

constexpr e4m3_table_t e4m3_table_k;
constexpr std::size_t expanded_k = 32;

/** 32 bytes of E4M3 as BFloat16: two lookups of 64 magnitudes, chosen by bit 6, then the sign. */
inline void expand(e4m3_t const *codes, bf16_t *values) {
    __m512i const *table = (__m512i const *)e4m3_table_k.values;
    __m512i const code = _mm512_cvtepi8_epi16(_mm256_loadu_si256((__m256i const *)codes));
    __m512i const below_2 = _mm512_permutex2var_epi16(table[0], code, table[1]); // codes of magnitudes under 2
    __m512i const others = _mm512_permutex2var_epi16(table[2], code, table[3]);
    __mmask32 const large = _mm512_test_epi16_mask(code, _mm512_set1_epi16(0x40));
    __m512i const sign = _mm512_and_si512(code, _mm512_set1_epi16(short(0x8000)));
    _mm512_storeu_si512(values, _mm512_or_si512(_mm512_mask_blend_epi16(large, below_2, others), sign));
}
