/**
 *  @file surfaces.hpp
 *  @brief What every encode verb does about its outputs: refuse, claim in the arena, answer as views.
 */
#pragma once
#include <algorithm>

#include <uform/encoder/landing.hpp>
#include <uform/utilities/arguments.hpp>

#include "model_handle.hpp"

namespace uform {

/** Claims a surface's rows in the arena; false when memory is out. */
inline bool claim_rows(arena_t &arena, std::size_t count, std::size_t columns, uform_scalar_t scalar,
                       surface_t &surface) noexcept {
    std::size_t const stride = columns * uform_scalar_bytes(scalar);
    surface = {arena.claim<std::byte>(std::max<std::size_t>(count * stride, 1)), columns, stride};
    return bool(surface);
}
inline uform_rows_t view_of(surface_t const &surface, std::size_t count, uform_scalar_t scalar) noexcept {
    uform_rows_t rows {};
    rows.data = surface.data, rows.count = count, rows.columns = surface.columns;
    rows.stride = surface.stride_bytes, rows.scalar = scalar;
    return rows;
}
inline uform_rows_tape_t tape_of(surface_t const &surface, std::size_t const *offsets, std::size_t items,
                                 uform_scalar_t scalar) noexcept {
    uform_rows_tape_t tape {};
    tape.data = surface.data, tape.offsets = offsets, tape.count = offsets[items], tape.columns = surface.columns;
    tape.stride = surface.stride_bytes, tape.scalar = scalar;
    return tape;
}

/** Refuses outputs that the verb or the model does not answer. */
template <typename call_>
failure_t check_surfaces(call_ const &call) noexcept {
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

/** Claims the surfaces asked for; false when memory is out. `token_offsets` [count + 1] are those of the job. */
template <typename call_>
[[nodiscard]] bool claim_surfaces(call_ const &call, encode_job_t &job) noexcept {
    model_options_t const &options = job.model->options;
    arena_t &arena = call.arena->arena;
    std::size_t const hidden = options.geometry.hidden, tokens = job.token_offsets[call.count];
    std::size_t const dimensions = call.dimensions ? call.dimensions : hidden;
    if (call.embeddings && !claim_rows(arena, call.count, dimensions, job.scalar, job.embeddings)) return false;
    if (call.states && !claim_rows(arena, tokens, hidden, job.scalar, job.states)) return false;
    return !call.token_vectors || claim_rows(arena, tokens, options.token_width, job.scalar, job.token_vectors);
}

/** Answers what landed. */
template <typename call_>
void publish_surfaces(call_ const &call, encode_job_t const &job, std::size_t truncated) noexcept {
    std::size_t const *const offsets = job.token_offsets;
    if (call.embeddings) *call.embeddings = view_of(job.embeddings, call.count, job.scalar);
    if (call.states) *call.states = tape_of(job.states, offsets, call.count, job.scalar);
    if (call.token_vectors) *call.token_vectors = tape_of(job.token_vectors, offsets, call.count, job.scalar);
    if (call.stats) *call.stats = {truncated, offsets[call.count]};
}

} // namespace uform
