/**
 *  @file peak_loops.hpp
 *  @brief What a core reaches at most: products of registers alone, by the instructions that a class multiplies with.
 *
 *  The benches and the live view of a run tell their share of it. Where a class has no loop here there is no share.
 */
#pragma once
#include <cstddef>
#include <ctime>

#include <uform/types.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace uform::peak {

#if defined(__x86_64__)
// Sums that do not depend on one another, unrolled so that they stay in registers; the empty assembly keeps the
// compiler from seeing that all of them are equal.
#define UFORM_PEAK_LOOP(type, count, step)                                                                             \
    type sums[count] = {};                                                                                             \
    for (std::size_t i = 0; i < repeats; ++i) {                                                                        \
        _Pragma("GCC unroll 24") for (int j = 0; j < count; ++j) {                                                     \
            type &sum = sums[j];                                                                                       \
            sum = step;                                                                                                \
            asm volatile("" : "+v"(sum));                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    _Pragma("GCC unroll 24") for (int j = 1; j < count; ++j) sums[0] += sums[j];                                       \
    return sums[0][0];

__attribute__((target("avx512f,avx512bf16"), noinline)) inline float genoa_loop(std::size_t repeats) {
    __m512bh const a = (__m512bh)_mm512_set1_epi32(1), b = (__m512bh)_mm512_set1_epi32(2);
    UFORM_PEAK_LOOP(__m512, 24, _mm512_dpbf16_ps(sum, a, b))
}
__attribute__((target("avx512f"), noinline)) inline float skylake_loop(std::size_t repeats) {
    __m512 const a = _mm512_set1_ps(1), b = _mm512_set1_ps(2);
    UFORM_PEAK_LOOP(__m512, 24, _mm512_fmadd_ps(a, b, sum))
}
__attribute__((target("avx2,fma"), noinline)) inline float haswell_loop(std::size_t repeats) {
    __m256 const a = _mm256_set1_ps(1), b = _mm256_set1_ps(2);
    UFORM_PEAK_LOOP(__m256, 12, _mm256_fmadd_ps(a, b, sum))
}
#undef UFORM_PEAK_LOOP

/** Four sums of tiles: sixteen cycles each hide the latency of one. Never run so far: no machine with tiles was here. */
__attribute__((noinline)) inline float sapphire_loop(std::size_t repeats) {
    alignas(64) unsigned char shapes[64] = {1}; // palette; bytes of a row at 16, rows at 48
    for (int tile = 0; tile < 8; ++tile) shapes[16 + 2 * tile] = 64, shapes[48 + tile] = 16;
    alignas(64) float sums[256];
    asm volatile("ldtilecfg %0" ::"m"(shapes));
    for (std::size_t i = 0; i < repeats; ++i)
        asm volatile("tdpbf16ps %%tmm5, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm5, %%tmm4, %%tmm1\n\t"
                     "tdpbf16ps %%tmm5, %%tmm4, %%tmm2\n\ttdpbf16ps %%tmm5, %%tmm4, %%tmm3" ::);
    asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease" ::"r"(sums), "r"(std::size_t(64)) : "memory");
    return sums[0];
}
#endif

/** What the portable class can hope for: separate multiplications and additions, as contraction is off. */
inline float serial_loop(std::size_t repeats) {
    float sums[32] = {}, factor = 1.5f;
    for (std::size_t i = 0; i < repeats; ++i)
        for (float &sum : sums) sum = sum * factor + factor;
    for (float sum : sums) factor += sum;
    return factor;
}

struct loop_t {
    float (*run)(std::size_t repeats) = nullptr; // null where a class has none
    double operations = 0;                       // of one repeat
};

/** The loop of a class that this machine runs. */
inline loop_t loop_of(uform_cpu_class_t cpu_class) {
    switch (cpu_class) {
#if defined(__x86_64__)
    case uform_cpu_class_intel_sapphire_rapids_k: return {sapphire_loop, 4 * 2.0 * 16 * 16 * 32};
    case uform_cpu_class_amd_genoa_k: return {genoa_loop, 24 * 64};
    case uform_cpu_class_intel_skylake_k: return {skylake_loop, 24 * 32};
    case uform_cpu_class_intel_haswell_k: return {haswell_loop, 12 * 16};
#endif
    case uform_cpu_class_serial_k: return {serial_loop, 32 * 2};
    default: return {};
    }
}

/** Seconds this thread has computed: other programs that take turns on the core do not count. */
inline double thread_seconds() {
    timespec now {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/** Over a millisecond or two of this thread. */
inline double operations_per_second(loop_t const &loop) {
    double const start = thread_seconds();
    float const volatile keep = loop.run(200000);
    (void)keep;
    return loop.operations * 200000 / (thread_seconds() - start);
}

} // namespace uform::peak
