/**
 *  @file types.cpp
 *  @brief The verbs of `uform/types.h`.
 */
#include <uform/types.h>

#include <thread>

#include "arguments.hpp"
#include "call.hpp"
#include "names.hpp"

namespace uform_stub {
namespace {

constexpr named_t status_names_k[] = {{uform_status_success_k, "success"},
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
                                      {uform_status_invalid_argument_k, "invalid-argument"}};
constexpr named_t scalar_names_k[] = {
    {uform_scalar_default_k, "default"}, {uform_scalar_f32_k, "f32"},   {uform_scalar_bf16_k, "bf16"},
    {uform_scalar_f16_k, "f16"},         {uform_scalar_e4m3_k, "e4m3"}, {uform_scalar_i8_k, "i8"},
    {uform_scalar_u8_k, "u8"},           {uform_scalar_u32_k, "u32"},   {uform_scalar_u64_k, "u64"}};
constexpr named_t completion_names_k[] = {{uform_completion_blocking_k, "blocking"},
                                          {uform_completion_queued_k, "queued"}};
constexpr named_t mood_names_k[] = {{uform_mood_spinning_k, "spinning"}, {uform_mood_parked_k, "parked"}};
constexpr named_t cpu_class_names_k[] = {{uform_cpu_class_derived_k, "derived"},
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
                                         {uform_cpu_class_wasm_simd_k, "wasm-simd"}};
constexpr named_t gpu_class_names_k[] = {{uform_gpu_class_derived_k, "derived"},
                                         {uform_gpu_class_nvidia_ampere_k, "nvidia-ampere"},
                                         {uform_gpu_class_nvidia_ada_k, "nvidia-ada"},
                                         {uform_gpu_class_nvidia_hopper_k, "nvidia-hopper"},
                                         {uform_gpu_class_nvidia_blackwell_k, "nvidia-blackwell"},
                                         {uform_gpu_class_amd_cdna3_k, "amd-cdna3"},
                                         {uform_gpu_class_amd_cdna4_k, "amd-cdna4"},
                                         {uform_gpu_class_amd_cdna5_k, "amd-cdna5"}};

std::size_t default_threads() noexcept {
    std::size_t const cores = std::thread::hardware_concurrency();
    return cores ? (cores * 7 + 4) / 8 : 1;
}

void executor_for_ram(uform_executor_for_ram_t const &call) {
    if (call.threads > 4096) refuse("threads are too many", std::to_string(call.threads) + ", at most 4096");
    check_class(call.cpu_class);
    check_domains(call.memory_domains, call.memory_domains_count);
    *call.executor = new uform_executor_handle_t;
}

void executor_drain(uform_executor_drain_t const &call) {
    if (call.mood != uform_mood_spinning_k && call.mood != uform_mood_parked_k)
        refuse("mood is neither spinning nor parked", "mood is " + std::to_string(call.mood));
    if (call.executor) call.executor->hold.wait_idle();
}

void arena_init(uform_arena_init_t const &call) { *call.arena = new uform_arena_handle_t; }

} // namespace
} // namespace uform_stub

using namespace uform_stub;

extern "C" {

char const *uform_status_name(uform_status_t x) { return name_in(status_names_k, x); }
char const *uform_scalar_name(uform_scalar_t x) { return name_in(scalar_names_k, x); }
char const *uform_completion_name(uform_completion_t x) { return name_in(completion_names_k, x); }
char const *uform_mood_name(uform_mood_t x) { return name_in(mood_names_k, x); }
char const *uform_cpu_class_name(uform_cpu_class_t x) { return name_in(cpu_class_names_k, x); }
char const *uform_gpu_class_name(uform_gpu_class_t x) { return name_in(gpu_class_names_k, x); }

uform_status_t uform_status_from_name(uform_bytes_view_t name) { return value_in(status_names_k, name); }
uform_scalar_t uform_scalar_from_name(uform_bytes_view_t name) { return value_in(scalar_names_k, name); }
uform_completion_t uform_completion_from_name(uform_bytes_view_t name) { return value_in(completion_names_k, name); }
uform_mood_t uform_mood_from_name(uform_bytes_view_t name) { return value_in(mood_names_k, name); }
uform_cpu_class_t uform_cpu_class_from_name(uform_bytes_view_t name) { return value_in(cpu_class_names_k, name); }
uform_gpu_class_t uform_gpu_class_from_name(uform_bytes_view_t name) { return value_in(gpu_class_names_k, name); }

size_t uform_scalar_bytes(uform_scalar_t scalar) {
    constexpr size_t bytes[] = {0, 4, 2, 2, 1, 1, 1, 4, 8};
    return scalar >= 0 && scalar <= uform_scalar_u64_k ? bytes[scalar] : 0;
}

uform_status_t uform_outcome_status(uform_outcome_t const *outcome) {
    return outcome ? status_of(*outcome).load(std::memory_order_acquire) : uform_status_invalid_argument_k;
}
uform_status_t uform_outcome_wait(uform_outcome_t const *outcome) {
    if (!outcome) return uform_status_invalid_argument_k;
    status_of(*outcome).wait(uform_status_deferred_k, std::memory_order_acquire);
    return uform_outcome_status(outcome);
}

void uform_executor_for_ram(uform_executor_for_ram_t *arguments) { run_at_once<executor_for_ram>(arguments); }
void uform_executor_for_vram(uform_executor_for_vram_t *arguments) {
    refuse_verb(arguments, "this build drives no GPU");
}
void uform_executor_on_pool(uform_executor_on_pool_t *arguments) { refuse_verb(arguments, "pools cannot be borrowed"); }
void uform_executor_drain(uform_executor_drain_t *arguments) { run_at_once<executor_drain>(arguments); }
void uform_executor_free(uform_executor_t executor) {
    if (executor) executor->hold.wait_idle();
    delete executor;
}

size_t uform_gpu_devices(uform_gpu_device_t *, size_t) { return 0; }

void uform_arena_init(uform_arena_init_t *arguments) { run_at_once<arena_init>(arguments); }
void uform_arena_free(uform_arena_t arena) {
    if (arena) arena->hold.wait_idle();
    delete arena;
}

char const *uform_version(void) { return "4.0.0"; }

uform_capabilities_t uform_capabilities(void) {
    uform_capabilities_t capabilities {};
    capabilities.cpu_classes = capabilities.cpu_classes_built = uint64_t(1) << uform_cpu_class_serial_k;
    capabilities.cpu_class = uform_cpu_class_serial_k;
    capabilities.threads = default_threads();
    return capabilities;
}

} // extern "C"
