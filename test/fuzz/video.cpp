/**
 *  @file video.cpp
 *  @brief libFuzzer's entry to the reader of clips: a refusal, or frames of as many rows as was said, at times that
 *  never go back; and counting sees all that decoding shows.
 */
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <uform/media/video.hpp>

namespace {

constexpr std::size_t frames_limit_k = 12;

struct seen_t {
    bool counts = false;
    std::size_t frames = 0, due = 0, width = 0, sum = 0; // rows that are due
    double seconds = 0;
};

uform::frame_wish_t see(void *self, uform::clip_frame_t const &frame) noexcept {
    seen_t &seen = *static_cast<seen_t *>(self);
    if (seen.due || !frame.width || !frame.height || !std::isfinite(frame.seconds) || frame.seconds < seen.seconds ||
        frame.orientation.number - 1u > 7)
        std::abort();
    if (seen.frames == frames_limit_k) return uform::frame_wish_t::stop_k;
    seen.seconds = frame.seconds, seen.width = frame.width, ++seen.frames;
    if (seen.counts || seen.frames % 2 == 0) return uform::frame_wish_t::skip_k;
    seen.due = frame.height;
    return uform::frame_wish_t::rows_k;
}
void take(void *self, std::uint8_t const *row) noexcept {
    seen_t &seen = *static_cast<seen_t *>(self);
    if (seen.due == 0) std::abort();
    --seen.due;
    for (std::size_t i = 0; i < seen.width * 3; ++i) seen.sum += row[i];
}

bool is_refusal(uform_status_t status) noexcept {
    return status == uform_status_malformed_k || status == uform_status_unknown_kind_k ||
           status == uform_status_unsupported_layout_k || status == uform_status_unsupported_k ||
           status == uform_status_out_of_memory_k;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    uform::file_t const file(data, size);
    uform_limits_t limits {};
    limits.max_frame_pixels = 1 << 14; // so that many files a second are tried
    seen_t shown, counted;
    counted.counts = true;
    uform::failure_t const failure = decode_clip({file, limits}, uform::clip_pass_t::rows_k, {see, take, &shown});
    if (failure && !is_refusal(failure.status)) std::abort();
    if (!failure && (shown.due || shown.frames == 0)) std::abort();
    if (failure.status == uform_status_unknown_kind_k) return -1; // another target's: not worth keeping
    uform::failure_t const other = decode_clip({file, limits}, uform::clip_pass_t::count_k, {see, take, &counted});
    if (other && !is_refusal(other.status)) std::abort();
    if (!failure && !other && shown.frames > counted.frames) std::abort();
    return 0;
}
