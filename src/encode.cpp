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

#include "clips.hpp"
#include "encode_audio.hpp"
#include "media_verbs.hpp"
#include "model_handle.hpp"
#include "pictures.hpp"

namespace uform {
namespace {

failure_t check_text_encode(uform_text_encode_t const &call) noexcept {
    if (failure_t const failure = check_tape<"texts">(call.texts, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_surfaces(call)) return failure;
    return check_inputs(call.arena, {input_of("texts.data", call.texts, call.count),
                                     offsets_of("texts.offsets", call.texts.offsets, call.count)});
}

failure_t text_encode(uform_text_encode_t const &call, executor_t &executor) noexcept {
    failure_t const out_of_memory = fail(uform_status_out_of_memory_k, "memory for the outputs is out");
    text_encode_job_t job;
    job.model = &call.model->model;
    job.texts = tape_t<unsigned char>(call.texts, call.count);
    job.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    job.progress = call.progress;

    std::size_t *token_offsets = call.arena->arena.claim<std::size_t>(call.count + 1);
    if (!token_offsets) return out_of_memory;
    std::size_t const truncated = measure_texts(job, token_offsets);
    job.token_offsets = token_offsets;
    if (!claim_surfaces(call, job)) return out_of_memory;
    if (failure_t const failure = encode_texts(job, executor)) return failure;
    publish_surfaces(call, job, truncated);
    return {};
}

/** What both image verbs refuse before they look at their items. */
template <typename call_>
failure_t check_image_entry(call_ const &call) noexcept {
    if (call.model->model.options.image) return {};
    return fail(uform_status_unsupported_k, "the model has no image entry, so it encodes no pictures");
}
failure_t check_image_encode(uform_image_encode_t const &call) noexcept {
    if (failure_t const failure = check_image_entry(call)) return failure;
    return check_files(call);
}

/** Refuses sides that pixels do not fill, naming the item. */
failure_t check_picture(std::size_t height, std::size_t width, std::size_t bytes) noexcept {
    if (height == 0 || width == 0)
        return fail(uform_status_invalid_argument_k, "heights and widths must be above zero", "%zu x %zu", height,
                    width);
    if (height >= picture_side_limit_k || width >= picture_side_limit_k)
        return fail(uform_status_invalid_argument_k, "heights and widths must be below 2^24", "%zu x %zu", height,
                    width);
    if (height * width * 3 == bytes) return {};
    return fail(uform_status_shape_mismatch_k, "pixels of an item are not heights * widths * 3", "%zu, not %zu", bytes,
                height * width * 3);
}
failure_t check_image_encode_pixels(uform_image_encode_pixels_t const &call) noexcept {
    if (failure_t const failure = check_image_entry(call)) return failure;
    if (failure_t const failure = check_tape<"pixels">(call.pixels, call.count, uform_scalar_u8_k)) return failure;
    if (call.count && !call.heights) return fail(uform_status_invalid_argument_k, "heights must not be NULL");
    if (call.count && !call.widths) return fail(uform_status_invalid_argument_k, "widths must not be NULL");
    tape_t<unsigned char> const pixels(call.pixels, call.count);
    for (std::size_t item = 0; item < call.count; ++item) {
        failure_t failure = check_picture(call.heights[item], call.widths[item], pixels[item].size());
        if (failure) return failure.item = item, failure;
    }
    if (failure_t const failure = check_surfaces(call)) return failure;
    return check_inputs(call.arena,
                        {input_of("pixels.data", call.pixels, call.count),
                         offsets_of("pixels.offsets", call.pixels.offsets, call.count),
                         input_of("heights", call.heights, call.count), input_of("widths", call.widths, call.count)});
}

failure_t image_encode(uform_image_encode_t const &call, executor_t &executor) noexcept {
    pictures_t pictures(call.model->model.options.image, tape_t<unsigned char>(call.files, call.count));
    if (failure_t const failure = pictures.measure_files(call.limits, executor)) return failure;
    return encode_measured(call, medium_t::image_k, pictures, executor);
}
failure_t image_encode_pixels(uform_image_encode_pixels_t const &call, executor_t &executor) noexcept {
    pictures_t pictures(call.model->model.options.image, tape_t<unsigned char>(call.pixels, call.count));
    if (failure_t const failure = pictures.measure_pixels(call.heights, call.widths, executor)) return failure;
    return encode_measured(call, medium_t::image_k, pictures, executor);
}

failure_t check_video_encode(uform_video_encode_t const &call) noexcept {
    if (!call.model->model.options.video)
        return fail(uform_status_unsupported_k, "the model has no video entry, so it encodes no clips");
    return check_files(call);
}
failure_t video_encode(uform_video_encode_t const &call, executor_t &executor) noexcept {
    clips_t clips(call.model->model.options.video, tape_t<unsigned char>(call.files, call.count), call.limits);
    if (failure_t const failure = clips.measure(call.progress, executor)) return failure;
    return encode_measured(call, medium_t::video_k, clips, executor);
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
    uform::run_verb<uform::check_image_encode, uform::image_encode>(arguments);
}
void uform_image_encode_pixels(uform_image_encode_pixels_t *arguments) {
    uform::run_verb<uform::check_image_encode_pixels, uform::image_encode_pixels>(arguments);
}
void uform_video_encode(uform_video_encode_t *arguments) {
    uform::run_verb<uform::check_video_encode, uform::video_encode>(arguments);
}
void uform_audio_encode(uform_audio_encode_t *arguments) {
    uform::run_verb<uform::check_audio_encode, uform::audio_encode>(arguments);
}
void uform_audio_encode_samples(uform_audio_encode_samples_t *arguments) {
    uform::run_verb<uform::check_audio_encode_samples, uform::audio_encode_samples>(arguments);
}
void uform_text_choose(uform_text_choose_t *arguments) {
    uform::run_verb<uform::check_text_choose, uform::text_choose>(arguments);
}
void uform_rerank(uform_rerank_t *arguments) { uform::run_verb<uform::check_rerank, uform::rerank>(arguments); }

} // extern "C"
