/**
 *  @file names.cpp
 *  @brief The spellings of statuses, scalars and hardware classes, and the two walks over any such table.
 */
#include <uform/utilities/names.hpp>

#include <cstring>

namespace uform {

char const *name_in(std::span<named_t const> names, std::int32_t value) noexcept {
    for (named_t const &named : names)
        if (named.value == value) return named.name;
    return "unknown";
}

std::int32_t value_in(std::span<named_t const> names, uform_bytes_view_t name) noexcept {
    if (!name.data) return -1;
    for (named_t const &named : names)
        if (std::strlen(named.name) == name.length && std::memcmp(named.name, name.data, name.length) == 0)
            return named.value;
    return -1;
}

std::span<named_t const> status_names() noexcept {
    static constexpr named_t names[] = {
        {uform_status_success_k, "success"},
        {uform_status_deferred_k, "deferred"},
        {uform_status_out_of_memory_k, "out-of-memory"},
        {uform_status_shape_mismatch_k, "shape-mismatch"},
        {uform_status_unsupported_layout_k, "unsupported-layout"},
        {uform_status_unknown_kind_k, "unknown-kind"},
        {uform_status_io_k, "io"},
        {uform_status_device_k, "device"},
        {uform_status_malformed_k, "malformed"},
        {uform_status_internal_k, "internal"},
        {uform_status_config_mismatch_k, "config-mismatch"},
        {uform_status_contended_k, "contended"},
        {uform_status_cancelled_k, "cancelled"},
        {uform_status_unsupported_k, "unsupported"},
        {uform_status_invalid_argument_k, "invalid-argument"},
    };
    return names;
}

std::span<named_t const> scalar_names() noexcept {
    static constexpr named_t names[] = {
        {uform_scalar_default_k, "default"}, {uform_scalar_f32_k, "f32"}, {uform_scalar_bf16_k, "bf16"},
        {uform_scalar_f16_k, "f16"},         {uform_scalar_e4m3_k, "e4m3"}, {uform_scalar_i8_k, "i8"},
        {uform_scalar_u8_k, "u8"},           {uform_scalar_u32_k, "u32"}, {uform_scalar_u64_k, "u64"},
    };
    return names;
}

std::span<named_t const> cpu_class_names() noexcept {
    static constexpr named_t names[] = {
        {uform_cpu_class_derived_k, "derived"},
        {uform_cpu_class_serial_k, "serial"},
        {uform_cpu_class_intel_haswell_k, "intel-haswell"},
        {uform_cpu_class_intel_skylake_k, "intel-skylake"},
        {uform_cpu_class_amd_genoa_k, "amd-genoa"},
        {uform_cpu_class_intel_sapphire_rapids_k, "intel-sapphire-rapids"},
        {uform_cpu_class_intel_diamond_rapids_k, "intel-diamond-rapids"},
        {uform_cpu_class_neon_k, "neon"},
        {uform_cpu_class_aws_graviton2_k, "aws-graviton2"},
        {uform_cpu_class_aws_graviton3_k, "aws-graviton3"},
        {uform_cpu_class_nvidia_vera_k, "nvidia-vera"},
        {uform_cpu_class_wasm_simd_k, "wasm-simd"},
    };
    return names;
}

std::span<named_t const> gpu_class_names() noexcept {
    static constexpr named_t names[] = {
        {uform_gpu_class_derived_k, "derived"},
        {uform_gpu_class_nvidia_ampere_k, "nvidia-ampere"},
        {uform_gpu_class_nvidia_ada_k, "nvidia-ada"},
        {uform_gpu_class_nvidia_hopper_k, "nvidia-hopper"},
        {uform_gpu_class_nvidia_blackwell_k, "nvidia-blackwell"},
        {uform_gpu_class_amd_cdna3_k, "amd-cdna3"},
        {uform_gpu_class_amd_cdna4_k, "amd-cdna4"},
        {uform_gpu_class_amd_cdna5_k, "amd-cdna5"},
    };
    return names;
}

} // namespace uform
