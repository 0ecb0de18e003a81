/**
 *  @file sapphire.cpp
 *  @brief The Intel Sapphire Rapids class: Genoa's vocabulary, with products of packed weights on AMX tiles.
 *
 *  Attention multiplies on the register tile, as Genoa does. What a machine must have: AVX-512 F, BW, DQ, VL and BF16,
 *  AMX tiles and their BF16 product, and a system that lets the process use them. Everything is included before the
 *  target region, so that no shared inline function is ever compiled with these instructions; kernels have internal
 *  linkage. `test/tiles_classes.cpp` compiles the same headers over emulated tiles.
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
#pragma clang attribute push(                                                                                          \
        __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16"))),           \
            apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
#endif

namespace uform {
namespace {

#include "cpu/avx512.hpp"
#include "cpu/avx512bf16.hpp"
#include "cpu/amx.hpp"
#include "cpu/tile.hpp"
#include "cpu/amx_multiplier.hpp"
#include "cpu/kernels.hpp"

} // namespace
} // namespace uform

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace uform {
kit_table_t const &sapphire_table() noexcept {
    static kit_table_t const table = table_from(serial_table(), "sapphire");
    return table;
}
} // namespace uform
#endif
