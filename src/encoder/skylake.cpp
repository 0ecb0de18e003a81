/**
 *  @file skylake.cpp
 *  @brief The Intel Skylake class: AVX-512 without BFloat16, 5 x 64 tiles in 20 of 32 registers.
 *
 *  Products widen both operands on their way to fused multiply-adds, so panels stay in BFloat16 and in the layout Genoa
 *  reads. What a machine must have: AVX-512 F, BW, DQ and VL. Everything is included before the target region, so that
 *  no shared inline function is ever compiled with these instructions; kernels have internal linkage.
 */
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>

#if defined(__x86_64__)
#if !defined(__clang__) // GCC 12 warns of its own _mm512_undefined: bug 105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))),              \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace uform {
namespace {

#include "cpu/avx512.hpp"

// Both depths of a pair as floats: the even one shifted up, the odd one with its neighbour masked off.
struct right_t {
    f32x_t even_f32x16, odd_f32x16;
};
using pair_t = right_t; // one pair of depths, in every lane

constexpr std::size_t tile_rows_k = 5;
constexpr std::size_t tile_vectors_k = 4;

inline right_t split(pairs_t pairs) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
            _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(int(0xffff0000u))))};
}
inline pair_t broadcast_pair(bf16_t const *x) {
    int pair;
    std::memcpy(&pair, x, sizeof(pair));
    return split(_mm512_set1_epi32(pair));
}
inline right_t load_right(bf16_t const *x) { return split(load_pairs(x)); }
inline f32x_t add_product(f32x_t sum_f32x16, pair_t left, right_t right) {
    sum_f32x16 = _mm512_fmadd_ps(left.even_f32x16, right.even_f32x16, sum_f32x16);
    return _mm512_fmadd_ps(left.odd_f32x16, right.odd_f32x16, sum_f32x16);
}

/** Rounds to nearest even in the upper half of every lane; what is below it stays noise. */
inline __m512i round_upper(f32x_t x) {
    __m512i const bits = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
    __m512i const odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    __m512i const rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __m512i const quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), rounded, quiet);
}
inline __m256i narrow_bits(f32x_t x) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(round_upper(x), 16)); }
inline void store_narrow(bf16_t *y, f32x_t x) { _mm256_storeu_si256((__m256i *)y, narrow_bits(x)); }
inline void store_narrow_part(bf16_t *y, f32x_t x, std::size_t count) {
    _mm256_mask_storeu_epi16(y, first_lanes(count), narrow_bits(x));
}
inline pairs_t zip_narrow(f32x_t even, f32x_t odd) {
    __m512i const upper = _mm512_and_si512(round_upper(odd), _mm512_set1_epi32(int(0xffff0000u)));
    return _mm512_or_si512(_mm512_srli_epi32(round_upper(even), 16), upper);
}

#include "cpu/kernels.hpp"

} // namespace
} // namespace uform

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace uform {
kit_table_t const &skylake_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "skylake");
    return table;
}
} // namespace uform
#endif
