/**
 *  @file audio.cpp
 *  @brief What links where FFmpeg is not built: recordings are told from other files, and answered with the option.
 */
#include <uform/media/audio.hpp>

#include "../container.hpp"

namespace uform {

failure_t decode_audio(recording_t const &recording, std::span<float>, sound_t &) noexcept {
    if (failure_t const failure = check_file_bytes(recording.file, recording.limits)) return failure;
    if (!container_format_of(recording.file))
        return fail(uform_status_unknown_kind_k, "the file is neither WAV nor FLAC nor MP3 nor Ogg nor MP4 nor WebM");
    return fail(uform_status_unsupported_k, "this build reads no recordings; configure with -DUFORM_WITH_FFMPEG=ON");
}

} // namespace uform
