/**
 *  @file audio.cpp
 *  @brief libFuzzer's entry to recordings: a refusal, or finite samples, no more than there is room for.
 */
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <uform/media/audio.hpp>

namespace {

bool is_refusal(uform_status_t status) {
    return status == uform_status_malformed_k || status == uform_status_unknown_kind_k ||
           status == uform_status_unsupported_layout_k || status == uform_status_unsupported_k ||
           status == uform_status_out_of_memory_k;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    std::vector<float> samples(1 << 13);
    uform::recording_t recording;
    recording.file = {data, size}, recording.sample_rate = 16000, recording.limits.max_seconds = 2;
    uform::sound_t sound;
    if (uform::failure_t const failure = decode_audio(recording, samples, sound)) {
        if (!is_refusal(failure.status)) std::abort();
        return failure.status == uform_status_unknown_kind_k ? -1 : 0; // no recording: not worth keeping
    }
    if (sound.samples > samples.size()) std::abort();
    for (std::size_t i = 0; i < sound.samples; ++i)
        if (!std::isfinite(samples[i])) std::abort();
    return 0;
}
