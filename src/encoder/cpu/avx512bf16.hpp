/**
 *  @file avx512bf16.hpp
 *  @brief What AVX-512 BF16 adds to the vocabulary of avx512.hpp: the product of pairs, rounding, the shape of tiles.
 *
 *  Included after avx512.hpp, inside a target region. A product instruction rounds once after two multiplications and
 *  treats denormals as zero. 6 x 64 tiles take 24 of 32 registers.
 */
#pragma once

using right_t = pairs_t;
using pair_t = __m512i; // one pair of depths, in every lane

constexpr std::size_t tile_rows_k = 6;
constexpr std::size_t tile_vectors_k = 4;

inline pair_t broadcast_pair(bf16_t const *x) {
    int pair;
    std::memcpy(&pair, x, sizeof(pair));
    return _mm512_set1_epi32(pair);
}
inline right_t load_right(bf16_t const *x) { return load_pairs(x); }
inline f32x_t add_product(f32x_t sum_f32x16, pair_t left_bf16x32, right_t right_bf16x32) {
    return _mm512_dpbf16_ps(sum_f32x16, (__m512bh)left_bf16x32, (__m512bh)right_bf16x32);
}
inline __m256i narrow_bits(f32x_t x) { return (__m256i)_mm512_cvtneps_pbh(x); }
inline void store_narrow(bf16_t *y, f32x_t x) { _mm256_storeu_si256((__m256i *)y, narrow_bits(x)); }
inline void store_narrow_part(bf16_t *y, f32x_t x, std::size_t count) {
    _mm256_mask_storeu_epi16(y, first_lanes(count), narrow_bits(x));
}
inline pairs_t zip_narrow(f32x_t even, f32x_t odd) {
    __m512i const low = _mm512_cvtepu16_epi32(narrow_bits(even)), high = _mm512_cvtepu16_epi32(narrow_bits(odd));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
