/**
 *  @file encode.cpp
 *  @brief The verbs of `uform/encode.h`. Arrow 0: arguments are checked here; the rest is `encoder/text_encode`.
 */
#include <uform/encode.h>

#include <uform/encoder/rerank.hpp>
#include <uform/encoder/text_choose.hpp>
#include <uform/encoder/text_encode.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/inputs.hpp>

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
    return check_inputs(call.arena, {input_of("texts.data", call.texts, call.count),
                                     offsets_of("texts.offsets", call.texts.offsets, call.count)});
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

/** What scores and probabilities land as. */
failure_t check_numbers_scalar(uform_scalar_t scalar) noexcept { return check_outputs_scalar(scalar, false); }

/** Refuses a byte offered twice and a group the model lacks, naming the item. */
failure_t check_choices(uform_text_choose_t const &call) noexcept {
    std::size_t const groups = std::max<std::size_t>(call.model->model.options.choice_groups, 1);
    tape_t<unsigned char> const choices(call.choices, call.count);
    failure_t failure;
    for (std::size_t item = 0; item < call.count && !failure; ++item) {
        if (call.temperature_groups && call.temperature_groups[item] >= groups)
            failure = fail(uform_status_invalid_argument_k,
                           "temperature_groups must be below the model's choice_temperature_groups", "%zu of %zu",
                           std::size_t(call.temperature_groups[item]), groups);
        if (!failure) failure = refuse_twins(choices[item]);
        if (failure) failure.item = item;
    }
    return failure;
}
failure_t check_text_choose(uform_text_choose_t const &call) noexcept {
    if (failure_t const failure = check_tape<"texts">(call.texts, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_tape<"choices">(call.choices, call.count, uform_scalar_u8_k)) return failure;
    if (!call.probabilities) return fail(uform_status_invalid_argument_k, "probabilities must not be NULL");
    if (!call.arena) return fail(uform_status_invalid_argument_k, "arena must not be NULL");
    if (failure_t const failure = check_numbers_scalar(call.outputs_scalar)) return failure;
    if (!call.model->model.options.decoder)
        return fail(uform_status_unsupported_k, "the model has no byte decoder, so it makes no choices");
    if (failure_t const failure = check_choices(call)) return failure;
    return check_inputs(call.arena, {input_of("texts.data", call.texts, call.count),
                                     offsets_of("texts.offsets", call.texts.offsets, call.count),
                                     input_of("choices.data", call.choices, call.count),
                                     offsets_of("choices.offsets", call.choices.offsets, call.count),
                                     input_of("temperature_groups", call.temperature_groups, call.count)});
}

failure_t text_choose(uform_text_choose_t const &call, executor_t &executor) noexcept {
    failure_t const out_of_memory = fail(uform_status_out_of_memory_k, "memory for the outputs is out");
    arena_t &arena = call.arena->arena;
    text_choose_job_t job;
    job.model = &call.model->model, job.temperature_groups = call.temperature_groups, job.progress = call.progress;
    job.texts = tape_t<unsigned char>(call.texts, call.count);
    job.choices = tape_t<unsigned char>(call.choices, call.count);
    job.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    std::size_t *const choice_offsets = arena.claim<std::size_t>(call.count + 1);
    std::size_t *const token_offsets = arena.claim<std::size_t>(call.count + 1);
    if (!choice_offsets || !token_offsets) return out_of_memory;
    choice_offsets[0] = 0;
    for (std::size_t i = 0; i < call.count; ++i) choice_offsets[i + 1] = choice_offsets[i] + job.choices[i].size();
    std::size_t const truncated = measure_questions(job, token_offsets);
    job.choice_offsets = choice_offsets, job.token_offsets = token_offsets;
    surface_t probabilities;
    if (!claim_rows(arena, choice_offsets[call.count], 1, job.scalar, probabilities)) return out_of_memory;
    job.probabilities = probabilities.data;
    if (failure_t const failure = choose_texts(job, executor)) return failure;
    *call.probabilities = tape_of(probabilities, choice_offsets, call.count, job.scalar);
    if (call.stats) *call.stats = {truncated, token_offsets[call.count]};
    return {};
}

failure_t check_documents(uform_rerank_t const &call) noexcept {
    if (call.count == 0) return {};
    std::size_t const *const offsets = call.documents.offsets;
    if (failure_t const failure = check_offsets<"documents">(offsets, call.count)) return failure;
    for (std::size_t i = 0; i < call.count; ++i) {
        if (offsets[i] != offsets[i + 1]) continue;
        failure_t failure = fail(uform_status_shape_mismatch_k, "a document has no rows");
        failure.item = i;
        return failure;
    }
    if (failure_t const failure = check_vectors<"documents">(call.documents)) return failure;
    if (offsets[call.count] > call.documents.count)
        return fail(uform_status_shape_mismatch_k, "documents.offsets end beyond their rows", "%zu of %zu",
                    offsets[call.count], call.documents.count);
    return {};
}
failure_t check_rerank(uform_rerank_t const &call) noexcept {
    if (failure_t const failure = check_vectors<"query">(call.query)) return failure;
    if (call.documents.scalar != call.query.scalar)
        return fail(uform_status_invalid_argument_k, "documents.scalar must be the query's", "%s, not %s",
                    name_of_scalar(call.documents.scalar), name_of_scalar(call.query.scalar));
    if (call.documents.columns != call.query.columns)
        return fail(uform_status_shape_mismatch_k, "documents.columns must be the query's", "%zu, not %zu",
                    call.documents.columns, call.query.columns);
    if (failure_t const failure = check_documents(call)) return failure;
    if (!call.scores) return fail(uform_status_invalid_argument_k, "scores must not be NULL");
    if (!call.arena) return fail(uform_status_invalid_argument_k, "arena must not be NULL");
    if (failure_t const failure = check_numbers_scalar(call.outputs_scalar)) return failure;
    std::size_t const *const offsets = call.documents.offsets;
    return check_inputs(call.arena, {input_of("query.data", call.query, 0, call.query.count),
                                     input_of("documents.data", call.documents, call.count ? offsets[0] : 0,
                                              call.count ? offsets[call.count] : 0),
                                     offsets_of("documents.offsets", offsets, call.count)});
}

template <typename view_>
vectors_t vectors_of(view_ const &view) noexcept {
    return {static_cast<std::byte const *>(view.data), view.count, view.columns, view.stride, view.scalar};
}

failure_t rerank(uform_rerank_t const &call, executor_t &executor) noexcept {
    rerank_job_t job;
    job.query = vectors_of(call.query), job.documents = vectors_of(call.documents);
    job.offsets = call.documents.offsets, job.count = call.count, job.progress = call.progress;
    job.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    surface_t scores;
    if (!claim_rows(call.arena->arena, call.count, 1, job.scalar, scores))
        return fail(uform_status_out_of_memory_k, "memory for the outputs is out");
    job.scores = scores.data;
    uform_cpu_class_t cpu_class = executor.cpu_class();
    if (failure_t const failure = resolve_class(cpu_class, has_kernels, cpu_class)) return failure;
    if (failure_t const failure = rerank_documents(job, *kit_of(cpu_class), executor)) return failure;
    *call.scores = view_of(scores, call.count, job.scalar);
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
void uform_text_choose(uform_text_choose_t *arguments) {
    uform::run_verb<uform::check_text_choose, uform::text_choose>(arguments);
}
void uform_rerank(uform_rerank_t *arguments) { uform::run_verb<uform::check_rerank, uform::rerank>(arguments); }

} // extern "C"
