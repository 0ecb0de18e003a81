/**
 *  @file video.cpp
 *  @brief Frames in the order they are shown, from an MP4 or a WebM, through container.hpp.
 */
#include <uform/media/video.hpp>

#include <algorithm>
#include <cmath>

#include "boxes.hpp"
#include "frame_rows.hpp"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace uform {
namespace {

constexpr std::uint64_t default_frame_pixels_k = std::uint64_t(1) << 26, default_seconds_k = 3600;

/**
 *  Of the matrix that takes a stored place (x, y) to the shown (a x + c y, b x + d y), the signs: which way rows and columns go. An angle
 *  between two quarter turns is the nearer one's.
 */
orientation_t orientation_of(std::int32_t const *matrix) noexcept {
    double const a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
    if (std::abs(a) + std::abs(d) >= std::abs(b) + std::abs(c))
        return {std::uint8_t(a >= 0 ? (d >= 0 ? 1 : 4) : (d >= 0 ? 2 : 3))};
    return {std::uint8_t(b >= 0 ? (c >= 0 ? 5 : 6) : (c >= 0 ? 8 : 7))};
}
orientation_t orientation_of(AVStream const &stream) noexcept {
    std::size_t bytes = 0;
    std::uint8_t const *const data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &bytes);
    std::int32_t matrix[9];
    if (!data || bytes < sizeof(matrix)) return {};
    std::memcpy(matrix, data, sizeof(matrix));
    return orientation_of(matrix);
}

class clip_reader_t {
    file_t file_;
    uform_limits_t limits_;
    frame_sink_t sink_;
    container_t container_;
    decoder_t decoder_ {container_};
    AVStream *stream_ = nullptr;
    orientation_t orientation_;
    frame_rows_t rows_;
    std::size_t frames_ = 0; // seen
    std::int64_t first_ = 0; // timestamp of the first
    double seconds_ = 0;     // of the last

  public:
    clip_reader_t(file_t file, uform_limits_t const &limits, frame_sink_t sink) noexcept
        : file_(file), limits_(limits), sink_(sink) {
        if (!limits_.max_frame_pixels) limits_.max_frame_pixels = default_frame_pixels_k;
        if (!limits_.max_seconds) limits_.max_seconds = default_seconds_k;
    }

    failure_t open(clip_pass_t pass) noexcept {
        if (failure_t const failure = check_file_bytes(file_, limits_)) return failure;
        std::optional<container_format_t> const format = container_format_of(file_);
        if (format != container_format_t::mov_k && format != container_format_t::matroska_k)
            return fail(uform_status_unknown_kind_k, "the file is neither MP4 nor WebM");
        if (!is_whole_clip(*format, file_)) return fail(uform_status_malformed_k, "the clip is cut short");
        if (failure_t const failure = container_.open(file_, *format)) return failure;
        stream_ = container_.pick(medium_t::video_k);
        if (!stream_) return fail(uform_status_unknown_kind_k, "the file has no video in it");
        AVCodecParameters const &told = *stream_->codecpar;
        if (failure_t const failure = check_pixels(std::size_t(std::max(told.width, 0)), std::size_t(std::max(told.height, 0)))) return failure;
        if (failure_t const failure = check_bytes()) return failure;
        if (failure_t const failure = decoder_.start(*stream_, limits_)) return failure;
        decoder_.context().apply_cropping = 0; // libavutil leaves columns in to keep addresses aligned
        if (pass == clip_pass_t::count_k) decoder_.context().skip_loop_filter = AVDISCARD_ALL;
        orientation_ = orientation_of(*stream_);
        return {};
    }

    failure_t show() noexcept {
        for (;; ++frames_) {
            AVFrame *frame = nullptr;
            if (failure_t const failure = decoder_.next(frame)) return failure;
            if (!frame) break;
            frame_wish_t wish = frame_wish_t::skip_k;
            if (failure_t const failure = see(*frame, wish)) return failure;
            if (wish == frame_wish_t::stop_k) return {};
            if (wish == frame_wish_t::skip_k) continue;
            if (failure_t const failure = rows_.convert(*frame)) return failure;
            std::size_t const height = shape_of(*frame).height;
            for (std::size_t row = 0; row < height; ++row) sink_.take(sink_.self, rows_.row(row));
        }
        if (frames_ == 0) return fail(uform_status_malformed_k, "the clip has no frames");
        return {};
    }

  private:
    failure_t check_pixels(std::size_t width, std::size_t height) const noexcept {
        if (std::uint64_t(width) * height <= limits_.max_frame_pixels) return {};
        return fail(uform_status_malformed_k, "a frame of the clip has more pixels than limits.max_frame_pixels",
                    "%zu x %zu, beyond %llu", width, height, (unsigned long long)limits_.max_frame_pixels);
    }

    /** Each frame that an MP4 lists must be in the file: boxes of no told length hide that it was cut. */
    failure_t check_bytes() const noexcept {
        int const count = avformat_index_get_entries_count(stream_);
        for (int i = 0; i < count; ++i) {
            AVIndexEntry const &entry = *avformat_index_get_entry(stream_, i);
            if (entry.pos < 0 || entry.size < 0 || std::uint64_t(entry.pos) + std::uint64_t(entry.size) > file_.size())
                return fail(uform_status_malformed_k, "the clip is cut short");
        }
        return {};
    }

    failure_t see(AVFrame const &frame, frame_wish_t &wish) noexcept {
        frame_shape_t const shape = shape_of(frame);
        if (failure_t const failure = check_pixels(shape.width, shape.height)) return failure;
        if (frame.best_effort_timestamp == AV_NOPTS_VALUE)
            return fail(uform_status_malformed_k, "a frame of the clip has no time");
        if (frames_ == 0) first_ = frame.best_effort_timestamp;
        double const seconds = (double(frame.best_effort_timestamp) - double(first_)) * stream_->time_base.num / stream_->time_base.den;
        seconds_ = std::max(seconds_, seconds);
        clip_frame_t const seen {shape.width, shape.height, orientation_, seconds_};
        wish = sink_.see(sink_.self, seen);
        if (wish == frame_wish_t::stop_k || seconds_ <= double(limits_.max_seconds)) return {};
        return fail(uform_status_malformed_k, "the clip's frames go on beyond limits.max_seconds", "%.3f, beyond %llu",
                    seconds_, (unsigned long long)limits_.max_seconds);
    }
};

} // namespace

failure_t decode_clip(file_t file, uform_limits_t const &limits, clip_pass_t pass, frame_sink_t sink) noexcept {
    clip_reader_t reader(file, limits, sink);
    if (failure_t const failure = reader.open(pass)) return failure;
    return reader.show();
}

} // namespace uform
