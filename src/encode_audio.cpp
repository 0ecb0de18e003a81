/**
 *  @file encode_audio.cpp
 *  @brief Arrow 0 of recordings, and their way through recordings.hpp and the encoder.
 */
#include "encode_audio.hpp"

#include <uform/utilities/inputs.hpp>

#include "media_verbs.hpp"
#include "recordings.hpp"

namespace uform {
namespace {

/** What both audio verbs refuse before they look at their items. */
template <typename call_>
failure_t check_audio_entry(call_ const &call) noexcept {
    if (call.model->model.options.audio) return {};
    return fail(uform_status_unsupported_k, "the model has no audio entry, so it encodes no recordings");
}

} // namespace

failure_t check_audio_encode(uform_audio_encode_t const &call) noexcept {
    if (failure_t const failure = check_audio_entry(call)) return failure;
    if (failure_t const failure = check_tape<"files">(call.files, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_surfaces(call)) return failure;
    return check_inputs(call.arena, {input_of("files.data", call.files, call.count),
                                     offsets_of("files.offsets", call.files.offsets, call.count)});
}

failure_t audio_encode(uform_audio_encode_t const &call, executor_t &executor) noexcept {
    recordings_t recordings(call.model->model.options.audio, call.count);
    tape_t<unsigned char> const files(call.files, call.count);
    if (failure_t const failure = recordings.measure_files(files, call.limits, call.progress, executor)) return failure;
    return encode_measured(call, medium_t::audio_k, recordings, executor);
}

failure_t check_audio_encode_samples(uform_audio_encode_samples_t const &call) noexcept {
    if (failure_t const failure = check_audio_entry(call)) return failure;
    if (failure_t const failure = check_tape<"samples">(call.samples, call.count, uform_scalar_f32_k)) return failure;
    if (call.sample_rate > sample_rate_limit_k)
        return fail(uform_status_invalid_argument_k, "sample_rate must be at most 2^20", "%zu", call.sample_rate);
    if (failure_t const failure = check_surfaces(call)) return failure;
    return check_inputs(call.arena, {input_of("samples.data", call.samples, call.count),
                                     offsets_of("samples.offsets", call.samples.offsets, call.count)});
}

failure_t audio_encode_samples(uform_audio_encode_samples_t const &call, executor_t &executor) noexcept {
    audio_entry_t const entry = call.model->model.options.audio;
    recordings_t recordings(entry, call.count);
    tape_t<float> const samples(call.samples, call.count);
    std::size_t const rate = call.sample_rate ? call.sample_rate : entry.sample_rate;
    if (failure_t const failure = recordings.measure_samples(samples, rate, executor)) return failure;
    return encode_measured(call, medium_t::audio_k, recordings, executor);
}

} // namespace uform
