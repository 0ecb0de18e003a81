/**
 *  @file kits.cpp
 *  @brief Which CPU classes this build has kernels for. Whether the machine runs one is `utilities/classes`' question.
 */
#include <uform/encoder/classes.hpp>
#include <uform/encoder/kit.hpp>
#include <uform/encoder/serial.hpp>

namespace uform {

kit_table_t const *kit_of(uform_cpu_class_t cpu_class) noexcept {
    switch (cpu_class) {
    case uform_cpu_class_serial_k:
        return &serial_table();
#if defined(__x86_64__)
    case uform_cpu_class_intel_haswell_k:
        return &haswell_table();
    case uform_cpu_class_intel_skylake_k:
        return &skylake_table();
    case uform_cpu_class_amd_genoa_k:
        return &genoa_table();
    case uform_cpu_class_intel_sapphire_rapids_k:
        return &sapphire_table();
#elif defined(__aarch64__)
    case uform_cpu_class_neon_k:
        return &neon_table();
#if UFORM_HAS_SVE
    case uform_cpu_class_aws_graviton3_k:
        return &graviton3_table();
#endif
#endif
    default:
        return nullptr;
    }
}

} // namespace uform
