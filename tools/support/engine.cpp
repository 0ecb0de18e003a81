/**
 *  @file engine.cpp
 *  @brief Makes handles, and words the failures of verbs.
 */
#include <cstdint>

#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

/** What a user can do about a status; empty where the message says it all. */
char const *remedy_for(uform_status_t status) noexcept {
    switch (status) {
    case uform_status_out_of_memory_k: return "; use a smaller batch or model";
    case uform_status_io_k: return "; check the path, its permissions and the free space";
    case uform_status_malformed_k: return "; the file is damaged or not a checkpoint of UForm 4";
    case uform_status_unsupported_layout_k: return "; convert or retrain it with this version";
    case uform_status_config_mismatch_k: return "; repeat the flags of the run that wrote it";
    case uform_status_internal_k: return "; this is a bug, please report it";
    default: return "";
    }
}

std::string known_cpu_classes() {
    std::string names;
    for (uform_cpu_class_t each = uform_cpu_class_serial_k; each <= uform_cpu_class_wasm_simd_k; ++each)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", uform_cpu_class_name(each));
    return names;
}

} // namespace

void check(uform_outcome_t const &outcome, std::string_view what, std::string_view remedy) {
    uform_status_t const status = uform_outcome_status(&outcome);
    if (status == uform_status_success_k) return;
    if (status == uform_status_cancelled_k) leave_if_interrupted();
    std::string text = fmt::format("{}: {}", what, uform_status_name(status));
    if (outcome.message && *outcome.message) text += fmt::format(", {}", outcome.message);
    if (*outcome.detail) text += fmt::format(" ({})", outcome.detail);
    if (outcome.item != SIZE_MAX) text += fmt::format(", item {}", outcome.item);
    fail("{}{}", text, remedy.empty() ? std::string_view(remedy_for(status)) : remedy);
}

uform_cpu_class_t cpu_class_from(std::string const &name) {
    if (name.empty()) return uform_cpu_class_derived_k;
    uform_cpu_class_t const found = uform_cpu_class_from_name(view(name));
    if (found == uform_cpu_class_unknown_k)
        fail_usage("--cpu-class: no class is named \"{}\"; choose from {}", name, known_cpu_classes());
    return found;
}

executor_t make_executor(std::size_t threads, uform_cpu_class_t cpu_class) {
    executor_t executor;
    uform_outcome_t outcome = {};
    uform_executor_for_ram_t call = {};
    call.executor = executor.out(), call.outcome = &outcome;
    call.threads = threads, call.cpu_class = cpu_class;
    uform_executor_for_ram(&call);
    check(outcome, "cannot start threads");
    return executor;
}

arena_t make_arena(executor_t const &executor) {
    arena_t arena;
    uform_outcome_t outcome = {};
    uform_arena_init_t call = {};
    call.arena = arena.out(), call.executor = executor.get(), call.outcome = &outcome;
    uform_arena_init(&call);
    check(outcome, "cannot make an arena");
    return arena;
}

model_t load_model(std::string const &path, executor_t const &executor) {
    model_t model;
    uform_outcome_t outcome = {};
    uform_model_load_ram_t call = {};
    call.model = model.out(), call.executor = executor.get(), call.outcome = &outcome;
    call.path = view(path), call.progress = interruptible();
    uform_model_load_ram(&call);
    check(outcome, path);
    return model;
}

model_t load_model_bytes(std::string_view bytes, std::string const &path, executor_t const &executor) {
    model_t model;
    uform_outcome_t outcome = {};
    uform_model_load_ram_buffer_t call = {};
    call.model = model.out(), call.executor = executor.get(), call.outcome = &outcome;
    call.buffer = view(bytes), call.progress = interruptible();
    uform_model_load_ram_buffer(&call);
    check(outcome, path);
    return model;
}

uform_model_description_t describe(model_t const &model) {
    uform_model_description_t description = {};
    uform_outcome_t outcome = {};
    uform_model_describe_t call = {};
    call.model = model.get(), call.outcome = &outcome, call.description = &description;
    uform_model_describe(&call);
    check(outcome, "cannot describe the model");
    return description;
}

} // namespace uform::tools
