/**
 *  @file video.cpp
 *  @brief Frames in the order they are shown, from an MP4 or a WebM, through container.hpp.
 */
#include <uform/media/video.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "container.hpp"
#include "frame_rows.hpp"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace uform {
namespace {

/**
 *  Which way rows and columns go, of a matrix that takes a stored place (x, y) to the shown (a x + c y, b x + d y): the
 *  signs of its larger pair, so that an angle between two quarter turns counts as the nearer one.
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

/** Bytes of the numbers that tell how long each unit of a packet is; zero where the units begin otherwise. */
std::size_t unit_prefix(AVCodecParameters const &told) noexcept {
    bool const is_h265 = told.codec_id == AV_CODEC_ID_HEVC;
    std::size_t const at = is_h265 ? 21 : 4;
    if (told.extradata_size <= int(at) || told.extradata[0] != 1) return 0;
    return (told.extradata[at] & 3) + 1u;
}

/**
 *  Whether a stream of H.264 or H.265 begins with a picture that clears the decoder (IDR). Any other may be followed by
 *  frames that hang on what is not there, which decoders leave out.
 */
bool starts_afresh(AVCodecParameters const &told, file_t packet) noexcept {
    bool const is_h265 = told.codec_id == AV_CODEC_ID_HEVC;
    std::size_t const prefix = unit_prefix(told);
    for (std::size_t at = 0; prefix && packet.size() - at > prefix;) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < prefix; ++i) length = length << 8 | packet[at++];
        if (length == 0 || length > packet.size() - at) return false;
        unsigned const type = is_h265 ? packet[at] >> 1 & 63 : packet[at] & 31;
        if (is_h265 ? type < 32 : type >= 1 && type <= 5) return is_h265 ? type == 19 || type == 20 : type == 5;
        at += length;
    }
    return false;
}

/** Times in the order they come in packets → in the order frames are shown, so many places from it at most. */
class shown_order_t {
    static constexpr std::size_t most_k = 32; // twice what H.264 and H.265 allow
    std::int64_t times_[most_k + 1];          // a heap, the earliest first
    std::size_t count_ = 0, window_;

  public:
    explicit shown_order_t(bool reorders) noexcept : window_(reorders ? most_k : 0) {}
    void put(std::int64_t time) noexcept {
        times_[count_++] = time;
        std::push_heap(times_, times_ + count_, std::greater<>());
    }
    /** Takes the next one, where it is certain: there are enough behind it, or all. */
    bool take(bool are_all, std::int64_t &time) noexcept {
        if (count_ <= (are_all ? 0 : window_)) return false;
        std::pop_heap(times_, times_ + count_, std::greater<>());
        time = times_[--count_];
        return true;
    }
};

class clip_reader_t {
    file_t file_;
    uform_limits_t limits_;
    stop_t stop_;
    frame_sink_t sink_;
    container_t container_;
    decoder_t decoder_ {container_};
    AVStream *stream_ = nullptr;
    clip_frame_t frame_; // the last one seen
    frame_rows_t rows_;
    std::size_t frames_ = 0; // seen
    std::int64_t first_ = 0; // time of the first

  public:
    clip_reader_t(clip_t const &clip, frame_sink_t sink) noexcept
        : file_(clip.file), limits_(resolved(clip.limits)), stop_(clip.stop), sink_(sink) {}

    failure_t open() noexcept {
        if (failure_t const failure = check_file_bytes(file_, limits_)) return failure;
        std::optional<container_format_t> const format = container_format_of(file_);
        if (format != container_format_t::mov_k && format != container_format_t::matroska_k)
            return fail(uform_status_unknown_kind_k, "the file is neither MP4 nor WebM");
        if (failure_t const failure = container_.open(file_, *format, stop_)) return failure;
        stream_ = container_.pick(stream_kind_t::video_k);
        if (!stream_) return fail(uform_status_unknown_kind_k, "the file has no video in it");
        frame_.width = std::size_t(std::max(told().width, 0)), frame_.height = std::size_t(std::max(told().height, 0));
        frame_.orientation = orientation_of(*stream_);
        if (failure_t const failure = check_pixels()) return failure;
        return check_bytes();
    }

    /** Sees frames by their packets alone; where those do not tell, `is_told` is false, and nothing was seen. */
    failure_t scan(bool &is_told) noexcept {
        shown_order_t order(told().codec_id == AV_CODEC_ID_H264 || told().codec_id == AV_CODEC_ID_HEVC);
        AVPacket *packet = nullptr;
        for (bool is_first = true;; is_first = false) {
            if (failure_t const failure = container_.read(packet)) return failure;
            if (packet && is_first && !(is_told = tells_frames(*packet))) return {};
            if (packet && packet->flags & AV_PKT_FLAG_CORRUPT) return container_.failure_of(AVERROR_INVALIDDATA);
            if (packet && is_shown(*packet)) order.put(packet->pts);
            frame_wish_t wish = frame_wish_t::skip_k;
            for (std::int64_t time; wish != frame_wish_t::stop_k && order.take(!packet, time);)
                if (failure_t const failure = see(time, wish)) return failure;
            if (wish == frame_wish_t::stop_k) return {};
            if (!packet) return check_end();
        }
    }

    failure_t decode(clip_pass_t pass) noexcept {
        if (failure_t const failure = decoder_.start(*stream_, limits_)) return failure;
        AVCodecContext &decoder = decoder_.context();
        decoder.apply_cropping = 0; // libavutil leaves columns in to keep addresses aligned
        decoder.max_pixels = coded_limit();
        if (pass == clip_pass_t::count_k) decoder.skip_loop_filter = AVDISCARD_ALL;
        for (AVFrame *frame = nullptr;;) {
            if (failure_t const failure = decoder_.next(frame)) return failure;
            if (!frame) return check_end();
            frame_wish_t wish = frame_wish_t::skip_k;
            frame_shape_t const shape = shape_of(*frame);
            frame_.width = shape.width, frame_.height = shape.height;
            if (failure_t const failure = check_pixels()) return failure;
            if (failure_t const failure = see(frame->best_effort_timestamp, wish)) return failure;
            if (wish == frame_wish_t::stop_k) return {};
            if (wish == frame_wish_t::skip_k) continue;
            if (failure_t const failure = rows_.convert(*frame)) return failure;
            for (std::size_t row = 0; row < shape.height; ++row) sink_.take(sink_.self, rows_.row(row));
            if (wish == frame_wish_t::last_rows_k) return {};
        }
    }

  private:
    AVCodecParameters const &told() const noexcept { return *stream_->codecpar; }

    /** What is coded is whole blocks, so a frame of the limit's very size may be coded as a larger one. */
    std::int64_t coded_limit() const noexcept {
        std::uint64_t const block = 128; // AV1's largest
        std::uint64_t const columns = (frame_.width + block - 1) / block * block;
        std::uint64_t const rows = (frame_.height + block - 1) / block * block;
        return std::int64_t(std::min<std::uint64_t>(std::max(columns * rows, limits_.max_frame_pixels), INT64_MAX));
    }
    failure_t check_pixels() const noexcept {
        bool const countable = frame_.width < picture_side_limit_k && frame_.height < picture_side_limit_k;
        if (countable && std::uint64_t(frame_.width) * frame_.height <= limits_.max_frame_pixels) return {};
        return fail(uform_status_malformed_k, "a frame of the clip has more pixels than limits.max_frame_pixels",
                    "%zu x %zu, beyond %llu", frame_.width, frame_.height,
                    (unsigned long long)limits_.max_frame_pixels);
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

    /** Whether packets of this stream, which begins with this one, are frames one by one. */
    bool tells_frames(AVPacket const &first) const noexcept {
        if (frame_.width == 0 || frame_.height == 0) return false;
        switch (told().codec_id) {
        case AV_CODEC_ID_VP8:
        case AV_CODEC_ID_VP9:
        case AV_CODEC_ID_AV1:
            return true;
        case AV_CODEC_ID_H264:
        case AV_CODEC_ID_HEVC:
            return starts_afresh(told(), file_t(first.data, std::size_t(first.size)));
        default:
            return false;
        }
    }
    /** Not hidden by an edit list, nor, of VP8, by its own first byte. */
    bool is_shown(AVPacket const &packet) const noexcept {
        bool const is_hidden = told().codec_id == AV_CODEC_ID_VP8 && !(packet.data[0] & 0x10);
        return !is_hidden && !(packet.flags & AV_PKT_FLAG_DISCARD);
    }

    failure_t see(std::int64_t time, frame_wish_t &wish) noexcept {
        if (time == AV_NOPTS_VALUE) return fail(uform_status_malformed_k, "a frame of the clip has no time");
        if (frames_++ == 0) first_ = time;
        double const unit = double(stream_->time_base.num) / stream_->time_base.den;
        frame_.seconds = std::max(frame_.seconds, (double(time) - double(first_)) * unit);
        wish = sink_.see(sink_.self, frame_);
        if (wish == frame_wish_t::stop_k || frame_.seconds <= double(limits_.max_seconds)) return {};
        return fail(uform_status_malformed_k, "the clip's frames go on beyond limits.max_seconds", "%.3f, beyond %llu",
                    frame_.seconds, (unsigned long long)limits_.max_seconds);
    }
    failure_t check_end() const noexcept {
        if (frames_ == 0) return fail(uform_status_malformed_k, "the clip has no frames");
        // Of these each packet is a frame, and their decoders pass over one that holds nothing they know.
        AVCodecID const codec = told().codec_id;
        std::size_t const packets = container_.shown_packets();
        if ((codec != AV_CODEC_ID_VP9 && codec != AV_CODEC_ID_AV1) || frames_ >= packets) return {};
        return fail(uform_status_malformed_k, "frames of the clip do not decode", "%zu of %zu", packets - frames_,
                    packets);
    }
};

failure_t show(clip_t const &clip, clip_pass_t pass, frame_sink_t sink) noexcept {
    if (pass == clip_pass_t::count_k) {
        clip_reader_t reader(clip, sink);
        bool is_told = true;
        if (failure_t const failure = reader.open()) return failure;
        if (failure_t const failure = reader.scan(is_told)) return failure;
        if (is_told) return {};
    }
    clip_reader_t reader(clip, sink);
    if (failure_t const failure = reader.open()) return failure;
    return reader.decode(pass);
}

} // namespace

failure_t decode_clip(clip_t const &clip, clip_pass_t pass, frame_sink_t sink) noexcept {
    return with_memory_watched([&] { return show(clip, pass, sink); });
}

} // namespace uform
