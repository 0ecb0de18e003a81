/**
 *  @file video.cpp
 *  @brief What links where FFmpeg is not built: every clip is answered with the option that brings it.
 */
#include <uform/media/video.hpp>

namespace uform {

failure_t decode_clip(clip_t const &, clip_pass_t, frame_sink_t) noexcept {
    return fail(uform_status_unsupported_k, "this build reads no clips; configure with -DUFORM_WITH_FFMPEG=ON");
}

} // namespace uform
