/**
 *  @file genoa.cpp
 *  @brief The AMD Genoa class: AVX-512 with BFloat16 products, 6 x 64 tiles in 24 of 32 registers.
 *
 *  What a machine must have: AVX-512 F, BW, DQ, VL and BF16. Everything is included before the target region, so that
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
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))),   \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif

namespace uform {
namespace {

#include "cpu/avx512.hpp"
#include "cpu/avx512bf16.hpp"
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
