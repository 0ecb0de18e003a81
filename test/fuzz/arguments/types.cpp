/**
 *  @file types.cpp
 *  @brief Attacks on `uform/types.h`: names, executors, arenas.
 */
#include "world.hpp"

namespace uform_fuzz {
namespace {

template <typename value_>
void check_names(char const *(*name)(value_), value_ (*from_name)(uform_bytes_view_t), value_ value,
                 uform_bytes_view_t text) {
    char const *const spelling = name(value);
    require(spelling, "a name is never NULL");
    if (std::strcmp(spelling, "unknown"))
        require(from_name({spelling, std::strlen(spelling)}) == value, "names return");
    value_ const found = from_name(text);
    require(found == -1 || std::strlen(name(found)) == text.length, "only a spelling is found");
}

} // namespace

void attack_names(cursor_t &cursor, world_t &) {
    char spelling[24];
    std::size_t const length = cursor.below(sizeof(spelling));
    for (std::size_t i = 0; i < length; ++i) spelling[i] = char(cursor.byte());
    std::vector<char> const exact(spelling, spelling + length);
    uform_bytes_view_t const text {exact.data(), exact.size()};
    std::int32_t const value = cursor.enumerator(14);
    check_names(uform_status_name, uform_status_from_name, value, text);
    check_names(uform_scalar_name, uform_scalar_from_name, value, text);
    check_names(uform_completion_name, uform_completion_from_name, value, text);
    check_names(uform_mood_name, uform_mood_from_name, value, text);
    check_names(uform_cpu_class_name, uform_cpu_class_from_name, value, text);
    check_names(uform_gpu_class_name, uform_gpu_class_from_name, value, text);
    check_names(uform_modality_name, uform_modality_from_name, value, text);
    check_names(uform_objective_name, uform_objective_from_name, value, text);
    check_names(uform_negatives_name, uform_negatives_from_name, value, text);
    check_names(uform_pair_loss_form_name, uform_pair_loss_form_from_name, value, text);
    check_names(uform_late_interaction_side_name, uform_late_interaction_side_from_name, value, text);
    require(uform_multimem_tier_name(value), "a name is never NULL");
    require(uform_scalar_bytes(value) <= 8, "no scalar is wider");
    require(uform_outcome_status(nullptr) == uform_status_invalid_argument_k, "no outcome is refused");
    require(uform_outcome_wait(nullptr) == uform_status_invalid_argument_k, "no outcome is refused");
}

void attack_executors(cursor_t &cursor, world_t &world) {
    rules_t rules;
    nodes_t nodes;
    made_t<uform_executor_t> made;
    uform_executor_for_ram_t call {};
    call.executor = made.place(cursor, rules);
    call.memory_domains = nodes.draw(cursor, call.memory_domains_count, rules);
    call.cpu_class = cursor.hostile() ? cursor.enumerator(uform_cpu_class_wasm_simd_k) : uform_cpu_class_t(0);
    call.threads = cursor.size(1 + cursor.below(2));
    constexpr std::size_t sure_refusal_k = 1 << 20;
    if (call.threads > 3 && call.threads <= sure_refusal_k) call.threads = 3; // starting a thousand takes too long
    rules.refuse_if(call.threads > sure_refusal_k);
    rules.refuse_if(!std::strcmp(uform_cpu_class_name(call.cpu_class), "unknown"));
    rules.open_if(call.cpu_class != uform_cpu_class_derived_k);
    if (!rules.refused && world.costly_left == 0) return;
    world.costly_left -= !rules.refused;
    made.settle(send(cursor, uform_executor_for_ram, call, rules), uform_executor_free);
}

void attack_absent_executors(cursor_t &cursor, world_t &) {
    rules_t rules;
    nodes_t devices, nodes;
    made_t<uform_executor_t> made;
    rules.refuse_if(cursor.coin());
    if (rules.refused) {
        uform_executor_on_pool_t call {};
        call.executor = made.place(cursor, rules);
        call.memory_domains = nodes.draw(cursor, call.memory_domains_count, rules);
        call.cpu_class = cursor.enumerator(uform_cpu_class_wasm_simd_k), call.threads = cursor.size(1);
        made.settle(send(cursor, uform_executor_on_pool, call, rules), uform_executor_free);
        return;
    }
    rules.open_if(true);
    void *const stream = nullptr;
    uform_executor_for_vram_t call {};
    call.executor = made.place(cursor, rules);
    call.devices = devices.draw(cursor, call.devices_count, rules);
    call.memory_domains = nodes.draw(cursor, call.memory_domains_count, rules);
    call.gpu_class = cursor.enumerator(uform_gpu_class_amd_cdna5_k);
    call.streams_count = cursor.below(2), call.streams = call.streams_count ? &stream : nullptr;
    call.scratch_limit = cursor.size(0);
    made.settle(send(cursor, uform_executor_for_vram, call, rules), uform_executor_free);
}

void attack_drain(cursor_t &cursor, world_t &world) {
    rules_t rules;
    uform_executor_drain_t call {};
    call.executor = world.any_executor(cursor), call.mood = cursor.enumerator(uform_mood_parked_k);
    rules.refuse_if(call.mood != uform_mood_spinning_k && call.mood != uform_mood_parked_k);
    send(cursor, uform_executor_drain, call, rules);
    uform_executor_free(nullptr);
}

void attack_arena(cursor_t &cursor, world_t &world) {
    rules_t rules;
    made_t<uform_arena_t> made;
    uform_arena_init_t call {};
    call.arena = made.place(cursor, rules), call.executor = world.any_executor(cursor);
    made.settle(send(cursor, uform_arena_init, call, rules), uform_arena_free);
    uform_arena_free(nullptr);
}

} // namespace uform_fuzz
