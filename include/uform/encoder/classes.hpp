/**
 *  @file classes.hpp
 *  @brief The tables of the vectorized CPU classes, for `kit_of` alone. Whether the machine runs one is asked
 *  elsewhere.
 */
#pragma once
#include <uform/encoder/kit.hpp>

// Clang 16 has SVE's types only where the whole file is compiled for SVE, its shared inline functions included.
#if defined(__aarch64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define UFORM_HAS_SVE 1
#else
#define UFORM_HAS_SVE 0
#endif

namespace uform {

kit_table_t const &haswell_table() noexcept;  // AVX2, FMA, F16C
kit_table_t const &skylake_table() noexcept;  // AVX-512 F, BW, DQ, VL
kit_table_t const &genoa_table() noexcept;    // AVX-512 BF16
kit_table_t const &sapphire_table() noexcept; // AMX tiles and their BF16 product

kit_table_t const &neon_table() noexcept;      // Advanced SIMD
kit_table_t const &graviton3_table() noexcept; // SVE of 256 bits, BF16

} // namespace uform
