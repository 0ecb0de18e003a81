/**
 *  @file types.cpp
 *  @brief The verbs of `uform/types.h`: names, outcomes, executors, arenas, and what this build and machine can do.
 *
 *  One of the four files that hold `extern "C"`. It lists the process's cores and classes for a new executor; what runs
 *  on it is not its business.
 */
#include <new>

#include <uform/types.h>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/call.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/names.hpp>

namespace uform {

namespace {

constexpr named_t completion_names_k[] = {{uform_completion_blocking_k, "blocking"},
                                          {uform_completion_queued_k, "queued"}};
constexpr named_t mood_names_k[] = {{uform_mood_spinning_k, "spinning"}, {uform_mood_parked_k, "parked"}};

std::size_t usable_cores(core_set_t const &cores) noexcept { return std::min(cores.count(), quota_cores()); }

/** Leaves in `cores` what affinity allows of the named NUMA nodes. */
failure_t keep_domains(std::size_t const *nodes, std::size_t count, core_set_t &cores, domains_t &domains) noexcept {
    if (failure_t const failure = read_domains(nodes, count, domains)) return failure;
    if (count == 0) return {};
    core_set_t wanted;
    for (std::size_t i = 0; i < count; ++i) (void)add_domain_cores(nodes[i], wanted); // they were read a moment ago
    cores.keep(wanted);
    if (cores.count() == 0)
        return fail(uform_status_invalid_argument_k, "memory_domains holds no core this process may use");
    return {};
}

constexpr std::size_t threads_limit_k = core_set_t::capacity_k;

failure_t executor_for_ram(uform_executor_for_ram_t const &call) noexcept {
    if (call.threads > threads_limit_k)
        return fail(uform_status_invalid_argument_k, "threads are too many", "%zu, at most %zu", call.threads,
                    threads_limit_k);
    uform_cpu_class_t cpu_class = uform_cpu_class_derived_k;
    if (failure_t failure = resolve_class(call.cpu_class, has_kernels, cpu_class)) return failure;
    core_set_t cores = affinity_cores();
    domains_t domains;
    if (failure_t failure = keep_domains(call.memory_domains, call.memory_domains_count, cores, domains))
        return failure;
    std::size_t const threads = call.threads ? call.threads : default_threads(usable_cores(cores));
    uform_executor_t const made = new (std::nothrow) uform_executor_handle_t;
    if (!made) return fail(uform_status_out_of_memory_k, "memory for the executor is out");
    core_set_t const *const binding = call.memory_domains_count ? &cores : nullptr;
    if (failure_t failure = made->executor.start(threads, cpu_class, binding)) return delete made, failure;
    made->executor.place(domains);
    *call.executor = made;
    return {};
}

failure_t executor_drain(uform_executor_drain_t const &call) noexcept {
    if (call.mood != uform_mood_spinning_k && call.mood != uform_mood_parked_k)
        return fail(uform_status_invalid_argument_k, "mood is neither spinning nor parked", "mood is %d",
                    int(call.mood));
    if (!call.executor) return {};
    if (failure_t const failure = refuse_torn(call.executor->executor)) return failure;
    call.executor->executor.wait_free();
    call.executor->executor.set_mood(call.mood);
    return {};
}

failure_t arena_init(uform_arena_init_t const &call) noexcept {
    *call.arena = new (std::nothrow) uform_arena_handle_t;
    if (!*call.arena) return fail(uform_status_out_of_memory_k, "memory for the arena is out");
    if (call.executor) (*call.arena)->arena.place(call.executor->executor.domains());
    return {};
}

} // namespace

} // namespace uform

extern "C" {

char const *uform_status_name(uform_status_t status) { return uform::name_in(uform::status_names(), status); }
char const *uform_scalar_name(uform_scalar_t scalar) { return uform::name_in(uform::scalar_names(), scalar); }
char const *uform_completion_name(uform_completion_t x) { return uform::name_in(uform::completion_names_k, x); }
char const *uform_mood_name(uform_mood_t mood) { return uform::name_in(uform::mood_names_k, mood); }
char const *uform_cpu_class_name(uform_cpu_class_t x) { return uform::name_in(uform::cpu_class_names(), x); }
char const *uform_gpu_class_name(uform_gpu_class_t x) { return uform::name_in(uform::gpu_class_names(), x); }

uform_status_t uform_status_from_name(uform_bytes_view_t name) { return uform::value_in(uform::status_names(), name); }
uform_scalar_t uform_scalar_from_name(uform_bytes_view_t name) { return uform::value_in(uform::scalar_names(), name); }
uform_completion_t uform_completion_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::completion_names_k, name);
}
uform_mood_t uform_mood_from_name(uform_bytes_view_t name) { return uform::value_in(uform::mood_names_k, name); }
uform_cpu_class_t uform_cpu_class_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::cpu_class_names(), name);
}
uform_gpu_class_t uform_gpu_class_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::gpu_class_names(), name);
}

size_t uform_scalar_bytes(uform_scalar_t scalar) {
    switch (scalar) {
    case uform_scalar_f32_k:
    case uform_scalar_u32_k:
        return 4;
    case uform_scalar_bf16_k:
    case uform_scalar_f16_k:
        return 2;
    case uform_scalar_e4m3_k:
    case uform_scalar_i8_k:
    case uform_scalar_u8_k:
        return 1;
    case uform_scalar_u64_k:
        return 8;
    default:
        return 0;
    }
}

uform_status_t uform_outcome_status(uform_outcome_t const *outcome) {
    return outcome ? uform::outcome_status(*outcome) : uform_status_invalid_argument_k;
}
uform_status_t uform_outcome_wait(uform_outcome_t const *outcome) {
    return outcome ? uform::wait_outcome(*outcome) : uform_status_invalid_argument_k;
}

void uform_executor_for_ram(uform_executor_for_ram_t *arguments) {
    uform::run_at_once<uform::executor_for_ram>(arguments);
}
void uform_executor_for_vram(uform_executor_for_vram_t *arguments) {
    uform::refuse_verb(arguments, "this build drives no GPU");
}
void uform_executor_on_pool(uform_executor_on_pool_t *arguments) {
    uform::refuse_verb(arguments, "pools cannot be borrowed");
}
void uform_executor_drain(uform_executor_drain_t *arguments) { uform::run_at_once<uform::executor_drain>(arguments); }
void uform_executor_free(uform_executor_t executor) {
    if (!executor) return;
    executor->executor.wait_free();
    if (!executor->executor.call_torn_by_fork()) delete executor;
}

size_t uform_gpu_devices(uform_gpu_device_t *, size_t) { return 0; }

void uform_arena_init(uform_arena_init_t *arguments) { uform::run_at_once<uform::arena_init>(arguments); }
void uform_arena_free(uform_arena_t arena) {
    if (!arena) return;
    arena->arena.wait_free();
    if (!arena->arena.torn_by_fork()) delete arena; // else its blocks may be half moved
}

char const *uform_version(void) { return "4.0.0"; }

uform_capabilities_t uform_capabilities(void) {
    uform_capabilities_t capabilities {};
    for (uform::class_row_t const &row : uform::class_rows()) {
        if (!uform::has_kernels(row.cpu_class)) continue;
        capabilities.cpu_classes_built |= uint64_t(1) << row.cpu_class;
        if (uform::runs_here(row.cpu_class)) capabilities.cpu_classes |= uint64_t(1) << row.cpu_class;
    }
    capabilities.cpu_class = uform::derive_class(uform::has_kernels);
    capabilities.threads = uform::default_threads(uform::usable_cores(uform::affinity_cores()));
    return capabilities;
}

} // extern "C"
