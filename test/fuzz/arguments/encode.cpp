/**
 *  @file encode.cpp
 *  @brief Attacks on the encode verbs of `uform/encode.h`: texts, and the media that this build refuses.
 */
#include "world.hpp"

#include <algorithm>

namespace uform_fuzz {
namespace {

bool is_output_scalar(uform_scalar_t scalar) noexcept {
    return scalar == uform_scalar_default_k || scalar == uform_scalar_f32_k || scalar == uform_scalar_bf16_k ||
           scalar == uform_scalar_f16_k || scalar == uform_scalar_i8_k;
}

/** The outputs of an encode verb. */
struct surfaces_t {
    output_t<uform_rows_t> embeddings;
    output_t<uform_rows_tape_t> states, token_vectors;
    output_t<uform_encode_stats_t> stats;

    template <typename call_>
    void place(cursor_t &cursor, world_t &world, call_ &call, rules_t &rules) noexcept {
        std::size_t const asked = cursor.byte() ^ 1; // by default embeddings alone
        call.embeddings = asked & 1 ? &embeddings.value : nullptr;
        call.states = asked & 2 ? &states.value : nullptr;
        call.token_vectors = asked & 4 ? &token_vectors.value : nullptr;
        call.stats = asked & 8 ? &stats.value : nullptr;
        call.arena = world.any_arena(cursor);
        call.dimensions = cursor.size(cursor.coin() ? cursor.below(hidden_k + 1) : 0);
        call.outputs_scalar = cursor.enumerator(uform_scalar_i8_k);
        rules.refuse_if(!(asked & 7) || !call.arena || call.dimensions > hidden_k);
        rules.refuse_if(!is_output_scalar(call.outputs_scalar));
        rules.refuse_if(call.outputs_scalar == uform_scalar_i8_k && call.states);
    }
    void settle(uform_status_t status) const {
        embeddings.settle(status), states.settle(status), token_vectors.settle(status), stats.settle(status);
    }
};

std::size_t tokens_of(std::size_t bytes) noexcept { return std::clamp<std::size_t>(bytes, 1, context_k); }

void check_answers(uform_text_encode_t const &call, items_t const &items) {
    std::size_t tokens = 0, truncated = 0;
    for (std::size_t i = 0; i < call.count; ++i)
        tokens += tokens_of(items.length(i)), truncated += items.length(i) > context_k;
    std::size_t const dimensions = call.dimensions ? call.dimensions : hidden_k;
    uform_scalar_t const scalar = call.outputs_scalar;
    if (call.embeddings) check_rows(*call.embeddings, {call.count, dimensions, scalar, true});
    if (call.states) check_rows(*call.states, {tokens, hidden_k, scalar, false}, call.count);
    if (call.token_vectors) check_rows(*call.token_vectors, {tokens, token_width_k, scalar, true}, call.count);
    if (call.stats) require(call.stats->tokens == tokens && call.stats->truncated == truncated, "stats tell the cost");
}

/** A second call while the first may still run: it ends `contended` or finds everything free. */
void crowd(world_t &world, uform_executor_t executor) {
    std::size_t const offsets[] = {0, 1};
    uform_outcome_t outcome;
    uform_rows_t rows;
    uform_text_encode_t call {};
    call.model = world.model, call.executor = executor, call.outcome = &outcome, call.texts = {"x", offsets, 0};
    call.count = 1, call.embeddings = &rows, call.arena = world.arenas[1];
    uform_text_encode(&call);
    require(outcome.status == uform_status_success_k || outcome.status == uform_status_contended_k,
            "a crowded call is answered or contended");
}

/** A verb this build does not have: nothing is written, whatever the arguments. */
template <typename call_>
void attack_absent(cursor_t &cursor, world_t &world, void (*verb)(call_ *), call_ &call) {
    rules_t rules;
    surfaces_t surfaces;
    progress_state_t progress;
    call.model = cursor.hostile() ? nullptr : world.model, call.executor = world.any_executor(cursor);
    rules.items = call.count, rules.refuse_if(!call.model);
    surfaces.place(cursor, world, call, rules);
    rules.open_if(true); // the model has no entry for media, so even a good call is `unsupported`
    call.progress = progress.handler(cursor);
    surfaces.settle(send(cursor, verb, call, rules, progress));
}

} // namespace

void attack_text_encode(cursor_t &cursor, world_t &world) {
    rules_t rules;
    items_t items;
    surfaces_t surfaces;
    progress_state_t progress;
    uform_text_encode_t call {};
    call.model = cursor.hostile() ? nullptr : world.model, call.executor = world.any_executor(cursor);
    items.draw(cursor, 4, 20);
    call.texts = items.view(cursor, uform_scalar_u8_k, rules);
    call.count = cursor.hostile() ? SIZE_MAX - cursor.byte() : items.count; // more than any memory's offsets
    rules.items = call.count, rules.refuse_if(!call.model || call.count != items.count);
    surfaces.place(cursor, world, call, rules);
    call.progress = progress.handler(cursor);
    bool const crowded = cursor.hostile() && call.executor;
    if (crowded && call.arena) call.arena = world.arenas[0];
    uform_status_t const status = send(cursor, uform_text_encode, call, rules, progress, [&] {
        if (crowded) crowd(world, call.executor);
    });
    surfaces.settle(status);
    if (status == uform_status_success_k) check_answers(call, items);
}

void attack_media(cursor_t &cursor, world_t &world) {
    rules_t unread; // of the views: all of it is refused
    items_t items;
    items.draw(cursor, 3, 16);
    std::vector<std::size_t> const sides(items.count, 2);
    switch (cursor.below(5)) {
    case 0: {
        uform_image_encode_t call {};
        call.files = items.view(cursor, uform_scalar_u8_k, unread), call.count = items.count;
        call.limits.max_pixels = cursor.size(0), call.limits.max_file_bytes = cursor.size(0);
        return attack_absent(cursor, world, uform_image_encode, call);
    }
    case 1: {
        uform_image_encode_pixels_t call {};
        call.pixels = items.view(cursor, uform_scalar_u8_k, unread), call.count = items.count;
        call.heights = cursor.hostile() ? nullptr : sides.data(), call.widths = sides.data();
        return attack_absent(cursor, world, uform_image_encode_pixels, call);
    }
    case 2: {
        uform_video_encode_t call {};
        call.files = items.view(cursor, uform_scalar_u8_k, unread), call.count = items.count;
        call.limits.max_frame_pixels = cursor.size(0), call.limits.max_seconds = cursor.size(0);
        return attack_absent(cursor, world, uform_video_encode, call);
    }
    case 3: {
        uform_audio_encode_t call {};
        call.files = items.view(cursor, uform_scalar_u8_k, unread), call.count = items.count;
        return attack_absent(cursor, world, uform_audio_encode, call);
    }
    default: {
        uform_audio_encode_samples_t call {};
        call.samples = items.view(cursor, uform_scalar_f32_k, unread), call.count = items.count;
        call.sample_rate = cursor.size(0);
        return attack_absent(cursor, world, uform_audio_encode_samples, call);
    }
    }
}

} // namespace uform_fuzz
