/**
 *  @file model.cpp
 *  @brief Attacks on `uform/model.h`: loads of good and spoilt checkpoints, descriptions.
 */
#include "world.hpp"

#include <algorithm>

namespace uform_fuzz {
namespace {

/** The fields every load has but for its file. */
template <typename call_>
void draw_load(cursor_t &cursor, world_t &world, call_ &call, nodes_t &nodes, rules_t &rules) {
    call.executor = world.any_executor(cursor);
    call.quantization = cursor.hostile() ? cursor.enumerator(uform_scalar_u64_k) : uform_scalar_t(0);
    rules.open_if(call.quantization == uform_scalar_e4m3_k);
    rules.refuse_if(call.quantization != uform_scalar_default_k && call.quantization != uform_scalar_bf16_k &&
                    call.quantization != uform_scalar_e4m3_k);
    if constexpr (requires { call.cpu_class; }) {
        call.cpu_class = cursor.hostile() ? cursor.enumerator(uform_cpu_class_wasm_simd_k) : uform_cpu_class_t(0);
        rules.open_if(call.cpu_class != uform_cpu_class_derived_k);
        rules.refuse_if(!std::strcmp(uform_cpu_class_name(call.cpu_class), "unknown"));
        call.memory_domains = nodes.draw(cursor, call.memory_domains_count, rules);
    } else {
        call.gpu_class = cursor.enumerator(uform_gpu_class_amd_cdna5_k), rules.open_if(true);
        call.devices = nodes.draw(cursor, call.devices_count, rules);
    }
}

/** The world's checkpoint, cut or with a few bytes of its header changed. */
std::vector<char> spoilt_checkpoint(cursor_t &cursor, world_t const &world, rules_t &rules) {
    std::vector<char> file = world.checkpoint;
    std::size_t const kind = cursor.below(4), at = std::size_t(cursor.byte()) << 8 | cursor.byte();
    rules.open_if(kind);
    if (kind == 1) file.resize(at % 4096);
    if (kind == 2) file.resize(file.size() - 1 - at);
    for (std::size_t i = 0; kind == 3 && i <= at % 4; ++i) {
        std::size_t const place = (std::size_t(cursor.byte()) << 8 | cursor.byte()) % 4096;
        file[place] = char(cursor.byte());
    }
    file.shrink_to_fit(); // so that a sanitizer sees a read beyond it
    return file;
}

} // namespace

void attack_load(cursor_t &cursor, world_t &world) {
    rules_t rules;
    path_t path;
    nodes_t nodes;
    progress_state_t progress;
    made_t<uform_model_t> made;
    uform_model_load_ram_t call {};
    call.model = made.place(cursor, rules);
    call.path = path.view(cursor, world, rules, false);
    draw_load(cursor, world, call, nodes, rules);
    call.progress = progress.handler(cursor);
    if (!rules.refused && world.costly_left == 0) return;
    world.costly_left -= !rules.refused;
    made.settle(send(cursor, uform_model_load_ram, call, rules, progress), uform_model_free);
}

void attack_load_buffer(cursor_t &cursor, world_t &world) {
    rules_t rules;
    nodes_t nodes;
    progress_state_t progress;
    made_t<uform_model_t> made;
    uform_model_load_ram_buffer_t call {};
    call.model = made.place(cursor, rules);
    draw_load(cursor, world, call, nodes, rules);
    call.progress = progress.handler(cursor);
    if (world.costly_left == 0 || !cursor.coin()) return;
    --world.costly_left;
    std::vector<char> const file = spoilt_checkpoint(cursor, world, rules);
    call.buffer = {file.data(), file.size()};
    if (cursor.hostile()) {
        call.buffer = {nullptr, cursor.size(1)};
        if (cursor.coin()) call.buffer = {file.data(), SIZE_MAX - cursor.byte()};
        rules.open_if(true), rules.refuse_if(call.buffer.length); // an empty file is malformed rather than refused
    }
    made.settle(send(cursor, uform_model_load_ram_buffer, call, rules, progress), uform_model_free);
}

void attack_load_vram(cursor_t &cursor, world_t &world) {
    rules_t rules;
    path_t path;
    nodes_t nodes;
    progress_state_t progress;
    made_t<uform_model_t> made;
    if (cursor.coin()) {
        uform_model_load_vram_t call {};
        call.model = made.place(cursor, rules), call.path = path.view(cursor, world, rules, false);
        draw_load(cursor, world, call, nodes, rules), call.progress = progress.handler(cursor);
        made.settle(send(cursor, uform_model_load_vram, call, rules, progress), uform_model_free);
        return;
    }
    uform_model_load_vram_buffer_t call {};
    call.model = made.place(cursor, rules), call.buffer = path.view(cursor, world, rules, false);
    draw_load(cursor, world, call, nodes, rules), call.progress = progress.handler(cursor);
    made.settle(send(cursor, uform_model_load_vram_buffer, call, rules, progress), uform_model_free);
}

void attack_describe(cursor_t &cursor, world_t &world) {
    rules_t rules;
    output_t<uform_model_description_t> description;
    uform_model_describe_t call {};
    call.model = cursor.hostile() ? nullptr : world.model;
    call.description = cursor.hostile() ? nullptr : &description.value;
    rules.refuse_if(!call.model || !call.description);
    uform_status_t const status = send(cursor, uform_model_describe, call, rules);
    description.settle(status);
    uform_model_free(nullptr);
    if (status != uform_status_success_k) return;
    require(description.value.dimensions == hidden_k && description.value.context == context_k, "sizes are told");
    require(description.value.token_width == token_width_k, "heads are told");
    require(description.value.choice_temperature_groups == choice_groups_k, "heads are told");
}

} // namespace uform_fuzz
