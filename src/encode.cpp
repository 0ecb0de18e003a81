/**
 *  @file encode.cpp
 *  @brief The verbs of `uform/encode.h`. Arrow 0: arguments are checked here; the rest is `encoder/text_encode`.
 */
#include <uform/encode.h>

#include <uform/encoder/text_encode.hpp>
#include <uform/utilities/arguments.hpp>

#include "model_handle.hpp"

namespace uform {
namespace {

failure_t check_text_encode(uform_text_encode_t const &call) noexcept {
    if (failure_t const failure = check_tape<"texts">(call.texts, call.count, uform_scalar_u8_k)) return failure;
    model_options_t const &options = call.model->model.options;
    if (!call.embeddings && !call.states && !call.token_vectors)
        return fail(uform_status_invalid_argument_k, "one of embeddings, states, token_vectors must be asked for");
    if (!call.arena) return fail(uform_status_invalid_argument_k, "arena must not be NULL");
    if (failure_t const failure = check_outputs_scalar(call.outputs_scalar, !call.states)) return failure;
    if (call.dimensions > options.geometry.hidden)
        return fail(uform_status_shape_mismatch_k, "dimensions are more than the model's", "%zu of %zu",
                    call.dimensions, options.geometry.hidden);
    if (call.token_vectors && !options.token_width)
        return fail(uform_status_unsupported_k, "the model has no token head, so token_vectors cannot be answered");
    return {};
}

/** Claims a surface's rows in the arena; false when memory is out. */
bool claim_rows(arena_t &arena, std::size_t count, std::size_t columns, uform_scalar_t scalar,
                surface_t &surface) noexcept {
    std::size_t const stride = columns * uform_scalar_bytes(scalar);
    surface = {arena.claim<std::byte>(std::max<std::size_t>(count * stride, 1)), columns, stride};
    return bool(surface);
}
uform_rows_t view_of(surface_t const &surface, std::size_t count, uform_scalar_t scalar) noexcept {
    uform_rows_t rows {};
    rows.data = surface.data, rows.count = count, rows.columns = surface.columns;
    rows.stride = surface.stride_bytes, rows.scalar = scalar;
    return rows;
}
uform_rows_tape_t tape_of(surface_t const &surface, std::size_t const *offsets, std::size_t items,
                          uform_scalar_t scalar) noexcept {
    uform_rows_tape_t tape {};
    tape.data = surface.data, tape.offsets = offsets, tape.count = offsets[items], tape.columns = surface.columns;
    tape.stride = surface.stride_bytes, tape.scalar = scalar;
    return tape;
}

failure_t text_encode(uform_text_encode_t const &call, executor_t &executor) noexcept {
    failure_t const out_of_memory = fail(uform_status_out_of_memory_k, "memory for the outputs is out");
    model_options_t const &options = call.model->model.options;
    arena_t &arena = call.arena->arena;
    text_encode_job_t job;
    job.model = &call.model->model;
    job.texts = tape_t<unsigned char>(call.texts, call.count);
    job.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    job.progress = call.progress;

    std::size_t *token_offsets = arena.claim<std::size_t>(call.count + 1);
    if (!token_offsets) return out_of_memory;
    std::size_t const truncated = measure_texts(job, token_offsets), tokens = token_offsets[call.count];
    job.token_offsets = token_offsets;
    std::size_t const hidden = options.geometry.hidden, dimensions = call.dimensions ? call.dimensions : hidden;
    bool ready = !call.embeddings || claim_rows(arena, call.count, dimensions, job.scalar, job.embeddings);
    ready = ready && (!call.states || claim_rows(arena, tokens, hidden, job.scalar, job.states));
    ready =
        ready && (!call.token_vectors || claim_rows(arena, tokens, options.token_width, job.scalar, job.token_vectors));
    if (!ready) return out_of_memory;
    if (failure_t const failure = encode_texts(job, executor)) return failure;

    if (call.embeddings) *call.embeddings = view_of(job.embeddings, call.count, job.scalar);
    if (call.states) *call.states = tape_of(job.states, token_offsets, call.count, job.scalar);
    if (call.token_vectors) *call.token_vectors = tape_of(job.token_vectors, token_offsets, call.count, job.scalar);
    if (call.stats) *call.stats = {truncated, tokens};
    return {};
}

} // namespace
} // namespace uform

extern "C" {

void uform_text_encode(uform_text_encode_t *arguments) {
    uform::run_verb<uform::check_text_encode, uform::text_encode>(arguments);
}
void uform_image_encode(uform_image_encode_t *arguments) {
    uform::refuse_verb(arguments, "this build encodes text alone");
}
void uform_image_encode_pixels(uform_image_encode_pixels_t *arguments) {
    uform::refuse_verb(arguments, "this build encodes text alone");
}
void uform_video_encode(uform_video_encode_t *arguments) {
    uform::refuse_verb(arguments, "this build encodes text alone");
}
void uform_audio_encode(uform_audio_encode_t *arguments) {
    uform::refuse_verb(arguments, "this build encodes text alone");
}
void uform_audio_encode_samples(uform_audio_encode_samples_t *arguments) {
    uform::refuse_verb(arguments, "this build encodes text alone");
}
void uform_text_choose(uform_text_choose_t *arguments) { uform::refuse_verb(arguments, "this build makes no choices"); }
void uform_rerank(uform_rerank_t *arguments) { uform::refuse_verb(arguments, "this build does not rerank"); }

} // extern "C"
