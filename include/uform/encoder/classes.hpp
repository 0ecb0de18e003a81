/**
 *  @file classes.hpp
 *  @brief The tables of the vectorized CPU classes, for `kit_of` alone. Whether the machine runs one is asked
 *  elsewhere.
 */
#pragma once
#include <uform/encoder/kit.hpp>

namespace uform {

kit_table_t const &haswell_table() noexcept; // AVX2, FMA, F16C
kit_table_t const &skylake_table() noexcept; // AVX-512 F, BW, DQ, VL
kit_table_t const &genoa_table() noexcept;   // AVX-512 BF16

kit_table_t const &neon_table() noexcept; // Advanced SIMD

} // namespace uform
