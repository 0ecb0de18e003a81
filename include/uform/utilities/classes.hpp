/**
 *  @file classes.hpp
 *  @brief Which CPU class a call runs as: what the processor has, what the operating system saves, what is pinned.
 *
 *  A class is a row: its name, the features it needs, its place in the order of preference. Whether this build carries
 *  kernels for a class is a question for the encoder, which this module must not know, so it comes in as a predicate.
 */
#pragma once
#include <cstdint>
#include <span>

#include <uform/utilities/status.hpp>

namespace uform {

/** Features as bits; the `os_` ones say that registers of that size survive a context switch. */
using features_t = std::uint32_t;
enum feature_t : features_t {
    feature_avx2_k = 1u << 0,
    feature_fma_k = 1u << 1,
    feature_f16c_k = 1u << 2,
    feature_avx512f_k = 1u << 3,
    feature_avx512bw_k = 1u << 4,
    feature_avx512dq_k = 1u << 5,
    feature_avx512vl_k = 1u << 6,
    feature_avx512bf16_k = 1u << 7,
    feature_avx512vnni_k = 1u << 8,
    feature_amx_tile_k = 1u << 9,
    feature_amx_bf16_k = 1u << 10,
    feature_amx_fp8_k = 1u << 11,
    feature_os_avx_k = 1u << 12,
    feature_os_avx512_k = 1u << 13,
    feature_os_amx_k = 1u << 14,
    feature_neon_k = 1u << 16,
    feature_dot_product_k = 1u << 17,
    feature_neon_fp16_k = 1u << 18,
    feature_sve_k = 1u << 19,
    feature_arm_bf16_k = 1u << 20,
    feature_sve2_k = 1u << 21,
    feature_arm_fp8_k = 1u << 22,
    feature_sve_256_k = 1u << 23,
    feature_wasm_simd_k = 1u << 24,
};

/** The words of CPUID and XGETBV that classes depend on; zero where the processor has no such leaf. */
struct cpuid_words_t {
    std::uint32_t leaf1_ecx = 0;
    std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
    std::uint32_t leaf7_1_eax = 0;   // subleaf 1
    std::uint32_t leaf1e_1_eax = 0;  // subleaf 1: AMX
    std::uint64_t xcr0 = 0;          // zero where leaf1_ecx lacks OSXSAVE: reading it would fault
    std::uint64_t permitted = 0;     // as xcr0: what of it, where a system grants it on demand, this process may use
};

struct class_row_t {
    uform_cpu_class_t cpu_class;
    features_t required;
};

/** True where this build has kernels for a class. */
using has_kernels_t = bool (*)(uform_cpu_class_t) noexcept;

features_t features_of(cpuid_words_t const &words) noexcept;
features_t machine_features() noexcept;

/** Every class that names kernels, the most preferred first; serial, which needs nothing, is last. */
std::span<class_row_t const> class_rows() noexcept;
bool runs_on(uform_cpu_class_t cpu_class, features_t features) noexcept;
inline bool runs_here(uform_cpu_class_t cpu_class) noexcept { return runs_on(cpu_class, machine_features()); }

/** The most preferred class that `features` run and that has kernels. */
uform_cpu_class_t derive_class(has_kernels_t has_kernels, features_t features = machine_features()) noexcept;
/** Turns a pin, or zero, into a class to dispatch as; refuses one the machine or the build lacks. */
failure_t resolve_class(uform_cpu_class_t pin, has_kernels_t has_kernels, uform_cpu_class_t &resolved,
                        features_t features = machine_features()) noexcept;

} // namespace uform
