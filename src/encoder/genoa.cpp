/**
 *  @file genoa.cpp
 *  @brief The AMD Genoa class: AVX-512 with BFloat16 products, 6 x 64 tiles in 24 of 32 registers.
 *
 *  A product instruction rounds once after two multiplications and treats denormals as zero. What a machine must have:
 *  AVX-512 F, BW, DQ, VL and BF16. Everything is included before the target region, so that no shared inline function
 *  is ever compiled with these instructions; kernels have internal linkage.
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
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))),   \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

namespace uform {
namespace {

#include "cpu/avx512.hpp"

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

#include "cpu/kernels.hpp"

} // namespace
} // namespace uform

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace uform {
kit_table_t const &genoa_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "genoa");
    return table;
}
} // namespace uform
#endif
