/**
 *  @file kit_classes.cpp
 *  @brief The classes of this build that this machine runs, through the cases of kit_cases.hpp.
 */
#include <vector>

#include <uform/encoder/classes.hpp>
#include <uform/utilities/classes.hpp>

#include "kit_cases.hpp"

namespace {

std::vector<class_t> classes() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool const haswell = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool const skylake = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return {{haswell_table(), haswell},
            {skylake_table(), skylake},
            {genoa_table(), skylake && __builtin_cpu_supports("avx512bf16")},
            {sapphire_table(), runs_here(uform_cpu_class_intel_sapphire_rapids_k)}}; // tiles must be asked for
#elif defined(__aarch64__)
    std::vector<class_t> result = {{neon_table(), true}};
#if UFORM_HAS_SVE
    result.push_back({graviton3_table(), runs_here(uform_cpu_class_aws_graviton3_k)});
#endif
    return result;
#else
    return {};
#endif
}

} // namespace
