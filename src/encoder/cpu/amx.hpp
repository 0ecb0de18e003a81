/**
 *  @file amx.hpp
 *  @brief The words of AMX: tiles of 16 rows by 64 bytes, and the product of two of them in BFloat16.
 *
 *  Assembly, since a register's number is a literal token to GCC 12's intrinsics and a template's argument here. The
 *  compiler knows nothing of tiles, so nothing is clobbered but memory; volatile keeps the order. A test replaces
 *  this header by one of the same words over arrays (`test/emulated/amx.hpp`).
 */
#pragma once

inline void tile_configure(void const *shapes) { asm volatile("ldtilecfg %0" ::"m"(*(char const(*)[64])shapes)); }
inline void tile_release() { asm volatile("tilerelease" ::: "memory"); }

template <int tile_>
void tile_zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(tile_));
}
template <int tile_>
void tile_load(void const *rows, std::size_t stride_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(rows), "r"(stride_bytes), "i"(tile_) : "memory");
}
template <int tile_>
void tile_store(void *rows, std::size_t stride_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(rows), "r"(stride_bytes), "i"(tile_) : "memory");
}
/** sums += left right: left [rows][16 pairs], right [16 pairs][columns], sums [rows][columns] in float. */
template <int sums_, int left_, int right_>
void tile_multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums_), "i"(left_), "i"(right_));
}
