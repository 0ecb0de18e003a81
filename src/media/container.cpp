/**
 *  @file container.cpp
 *  @brief FFmpeg's demuxers and decoders, fenced in: see container.hpp.
 */
#include <algorithm>
#include <cstring>
#include <iterator>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>
}

#include <uform/utilities/hold.hpp>

#include "boxes.hpp"
#include "container.hpp"

namespace uform {
namespace {

constexpr int window_bytes_k = 1 << 15; // what FFmpeg reads of a file at once
constexpr int frame_samples_k = 1 << 20;
constexpr std::int64_t longest_packet_k = 1 << 30; // in a stream's units: a file's worth of them can be added

/** What is read of the hundreds of codecs that there are, mostly unkept decoders of games of the nineties. */
constexpr AVCodecID codecs_k[] = {
    AV_CODEC_ID_PCM_U8,    AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE,     AV_CODEC_ID_PCM_S24LE,
    AV_CODEC_ID_PCM_S24BE, AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE,     AV_CODEC_ID_PCM_F32LE,
    AV_CODEC_ID_PCM_F32BE, AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE,     AV_CODEC_ID_PCM_ALAW,
    AV_CODEC_ID_PCM_MULAW, AV_CODEC_ID_ADPCM_MS,  AV_CODEC_ID_ADPCM_IMA_WAV, AV_CODEC_ID_FLAC,
    AV_CODEC_ID_ALAC,      AV_CODEC_ID_MP1,       AV_CODEC_ID_MP2,           AV_CODEC_ID_MP3,
    AV_CODEC_ID_AAC,       AV_CODEC_ID_OPUS,      AV_CODEC_ID_VORBIS,        AV_CODEC_ID_H264,
    AV_CODEC_ID_HEVC,      AV_CODEC_ID_MPEG4,     AV_CODEC_ID_VP8,           AV_CODEC_ID_VP9,
    AV_CODEC_ID_AV1};

/** Who is decoding, and the level that was set before. */
struct log_t {
    lock_t lock;
    std::size_t quiet = 0;
    int level = 0;
};
constinit log_t log_of_process;

char const *name_of(container_format_t format) noexcept {
    switch (format) {
    case container_format_t::mov_k:
        return "mov";
    case container_format_t::matroska_k:
        return "matroska";
    case container_format_t::wav_k:
        return "wav";
    case container_format_t::flac_k:
        return "flac";
    case container_format_t::mp3_k:
        return "mp3";
    case container_format_t::ogg_k:
        break;
    }
    return "ogg";
}

/** A file names another one: no decoder of ours reads any but what it was given. */
int refuse_nested(AVFormatContext *, AVIOContext **, char const *, int, AVDictionary **) noexcept {
    return AVERROR(EPERM);
}

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for decoding a file is out"); }
/**
 *  A WAV's length is what its writer knew when it wrote the header, in a stream nothing: of one that ends early the
 *  samples that are there count, and what is left of one behind them does not.
 */
void mend_tail(AVPacket &packet, AVStream const &stream) noexcept {
    packet.flags &= ~AV_PKT_FLAG_CORRUPT;
    if (av_get_bits_per_sample(stream.codecpar->codec_id) == 0) return; // not one frame after another
    int const frame = std::max(stream.codecpar->block_align, 1);
    av_shrink_packet(&packet, packet.size - packet.size % frame);
}

/**
 *  FFmpeg 5.1.9 counts the padding behind Vorbis in Ogg from a first packet of which no sample comes, so it drops up to a
 *  packet too much. The last page tells how many samples there are; whoever takes the frames cuts them to that.
 */
void keep_padding(AVPacket &packet) noexcept {
    std::size_t bytes = 0;
    std::uint8_t *const skip = av_packet_get_side_data(&packet, AV_PKT_DATA_SKIP_SAMPLES, &bytes);
    if (skip && bytes >= 8) std::memset(skip + 4, 0, 4); // samples to drop at the end
}

/** Tags lie between the frames of an MP3 too, where two were joined. */
bool is_mpeg_frame(AVPacket const &packet) noexcept {
    return packet.size >= 4 && packet.data[0] == 0xff && packet.data[1] >= 0xe0;
}

failure_t decoding_stopped() noexcept { return fail(uform_status_cancelled_k, "decoding was stopped"); }

} // namespace

struct container_reader_t {
    static int read(void *opaque, std::uint8_t *target, int bytes) noexcept {
        container_t &self = *static_cast<container_t *>(opaque);
        if (self.stopped()) return AVERROR_EXIT;
        if (self.at_ >= self.file_.size()) return AVERROR_EOF;
        std::size_t const count = std::min(std::size_t(bytes), self.file_.size() - self.at_);
        std::memcpy(target, self.file_.data() + self.at_, count);
        self.at_ += count;
        return int(count);
    }
    static std::int64_t seek(void *opaque, std::int64_t offset, int whence) noexcept {
        container_t &self = *static_cast<container_t *>(opaque);
        if (whence & AVSEEK_SIZE) return std::int64_t(self.file_.size());
        std::int64_t base = 0;
        if ((whence & ~AVSEEK_FORCE) == SEEK_CUR) base = std::int64_t(self.at_);
        if ((whence & ~AVSEEK_FORCE) == SEEK_END) base = std::int64_t(self.file_.size());
        if (offset < -base || offset > INT64_MAX - base) return AVERROR(EINVAL);
        self.at_ = std::size_t(base + offset); // beyond the end there is nothing to read, as of files
        return base + offset;
    }
};

quiet_t::quiet_t() noexcept {
    turn_t const turn(log_of_process.lock);
    if (log_of_process.quiet++ == 0) log_of_process.level = av_log_get_level(), av_log_set_level(AV_LOG_QUIET);
}
quiet_t::~quiet_t() noexcept {
    turn_t const turn(log_of_process.lock);
    if (--log_of_process.quiet == 0 && av_log_get_level() == AV_LOG_QUIET) av_log_set_level(log_of_process.level);
}

container_t::~container_t() noexcept {
    av_packet_free(&packet_);
    avformat_close_input(&context_);
    if (bytes_) av_freep(&bytes_->buffer); // which may no longer be the one it was made with
    avio_context_free(&bytes_);
}

bool container_t::stopped() noexcept {
    int const before = errno; // which tells whether memory ran out: whoever is asked may be anybody's code
    is_stopped_ = is_stopped_ || stop_();
    errno = before;
    return is_stopped_;
}

failure_t container_t::ended(failure_t const &found) const noexcept { return is_stopped_ ? decoding_stopped() : found; }

failure_t container_t::failure_of(int code) const noexcept {
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    if (is_stopped_) return decoding_stopped();
    (void)av_strerror(code, text, sizeof(text));
    switch (code) {
    case AVERROR(ENOMEM):
        return out_of_memory();
    case AVERROR_PATCHWELCOME:
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR(ENOSYS):
        return fail(uform_status_unsupported_layout_k, "a file of this kind is not read", "%s", text);
    }
    return fail(uform_status_malformed_k, "the file is damaged or cut short", "%s", text);
}

failure_t container_t::open(file_t file, container_format_t format, stop_t stop) noexcept {
    file_ = file, format_ = format, stop_ = stop;
    if (is_cut_short(file, format, asked())) return ended(fail(uform_status_malformed_k, "the file is cut short"));
    if (format == container_format_t::mov_k && !are_tables_held(file, asked()))
        return ended(fail(uform_status_malformed_k, "the file tells of more than it holds"));
    void *const window = av_malloc(window_bytes_k);
    if (!window) return out_of_memory();
    bytes_ = avio_alloc_context(static_cast<unsigned char *>(window), window_bytes_k, 0, this, container_reader_t::read,
                                nullptr, container_reader_t::seek);
    if (!bytes_) return av_free(window), out_of_memory();
    packet_ = av_packet_alloc(), context_ = avformat_alloc_context();
    AVInputFormat const *const demuxer = av_find_input_format(name_of(format));
    if (!packet_ || !context_) return out_of_memory();
    if (!demuxer) return failure_of(AVERROR(ENOSYS)); // a build of FFmpeg without it
    context_->pb = bytes_, context_->io_open = refuse_nested;
    if (int const code = avformat_open_input(&context_, nullptr, demuxer, nullptr); code < 0) return failure_of(code);
    return {};
}

failure_t container_t::look_ahead() noexcept {
    AVCodecParameters const &codec = *stream_->codecpar;
    bool const is_other_rate = codec.codec_id == AV_CODEC_ID_OPUS && codec.sample_rate != 48000;
    if (format_ != container_format_t::mp3_k && !is_other_rate) return {};
    int const code = avformat_find_stream_info(context_, nullptr);
    return code < 0 ? failure_of(code) : failure_t {};
}

AVStream *container_t::pick(stream_kind_t kind) noexcept {
    AVMediaType const type = kind == stream_kind_t::audio_k ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO;
    for (unsigned i = 0; i < context_->nb_streams; ++i) {
        AVStream *const stream = context_->streams[i];
        stream->discard = AVDISCARD_ALL;
        if (stream->codecpar->codec_type != type || stream->disposition & AV_DISPOSITION_ATTACHED_PIC) continue;
        bool const first_default =
            stream->disposition & AV_DISPOSITION_DEFAULT && stream_ && !(stream_->disposition & AV_DISPOSITION_DEFAULT);
        if (!stream_ || first_default) stream_ = stream;
    }
    if (!stream_) return nullptr;
    stream_->discard = AVDISCARD_DEFAULT;
    return stream_;
}

failure_t container_t::read(AVPacket *&packet) noexcept {
    for (packet = nullptr;;) {
        if (stopped()) return decoding_stopped();
        av_packet_unref(packet_);
        int const code = av_read_frame(context_, packet_);
        if (is_stopped_) return decoding_stopped();
        if (code == AVERROR_EOF) return check_end();
        if (code == AVERROR(EAGAIN)) continue;
        if (code < 0) return failure_of(code);
        if (packet_->stream_index != stream_->index) continue;
        if (format_ == container_format_t::wav_k) mend_tail(*packet_, *stream_);
        if (format_ == container_format_t::ogg_k && stream_->codecpar->codec_id == AV_CODEC_ID_VORBIS)
            keep_padding(*packet_);
        if (format_ == container_format_t::mp3_k && !is_mpeg_frame(*packet_)) continue;
        has_read_ |= packet_->size > 0;
        if (packet_->size) break;
    }
    last_ = std::clamp<std::int64_t>(packet_->duration, 0, longest_packet_k), heard_ += last_;
    packet = packet_, shown_ += !(packet_->flags & AV_PKT_FLAG_DISCARD);
    return {};
}

/** FLAC, and MP3 with a tag, tell how long they are; a frame less is a matter of how encoders count. */
failure_t container_t::check_end() const noexcept {
    bool const is_told = context_->duration_estimation_method != AVFMT_DURATION_FROM_BITRATE;
    bool const is_judged = format_ == container_format_t::flac_k || (format_ == container_format_t::mp3_k && is_told);
    if (!is_judged || stream_->duration <= 0 || heard_ + last_ >= stream_->duration) return {};
    return fail(uform_status_malformed_k, "the file is cut short");
}

failure_t container_t::check_read() noexcept {
    if (format_ != container_format_t::ogg_k || are_pages_whole(file_, at_, asked())) return {};
    return ended(fail(uform_status_malformed_k, "the file is damaged or cut short", "a page's checksum is wrong"));
}

decoder_t::~decoder_t() noexcept {
    av_frame_free(&frame_);
    avcodec_free_context(&context_);
}

failure_t decoder_t::start(AVStream const &stream, uform_limits_t const &limits) noexcept {
    if (failure_t const failure = container_.look_ahead()) return failure;
    AVCodecID const id = stream.codecpar->codec_id;
    bool const is_kept = std::find(std::begin(codecs_k), std::end(codecs_k), id) != std::end(codecs_k);
    AVCodec const *const codec = is_kept ? avcodec_find_decoder(id) : nullptr;
    if (!codec)
        return fail(uform_status_unsupported_layout_k, "no decoder here reads the file's codec", "%s",
                    avcodec_get_name(id));
    context_ = avcodec_alloc_context3(codec), frame_ = av_frame_alloc();
    if (!context_ || !frame_) return out_of_memory();
    if (int const code = avcodec_parameters_to_context(context_, stream.codecpar); code < 0)
        return container_.failure_of(code);
    context_->pkt_timebase = stream.time_base;
    context_->thread_count = 1, context_->flags |= AV_CODEC_FLAG_BITEXACT;
    // Of an H.264 stream that does not tell how far its frames are out of order, the most is assumed, not the least seen.
    if (id == AV_CODEC_ID_H264) context_->strict_std_compliance = FF_COMPLIANCE_STRICT;
    context_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE;
    // H.264's decoder marks what it repaired. Told to give up instead, it gives up on clips cut between two key frames
    // too, whose first frames let go of others that are not there, which costs no pixel.
    if (id == AV_CODEC_ID_H264) context_->err_recognition &= ~AV_EF_EXPLODE;
    context_->max_pixels = std::int64_t(std::min<std::uint64_t>(resolved(limits).max_frame_pixels, INT64_MAX));
    context_->max_samples = frame_samples_k;
    int const code = avcodec_open2(context_, codec, nullptr);
    return code < 0 ? container_.failure_of(code) : failure_t {};
}

/** Packets of which nothing came are no clip or recording without content. */
failure_t decoder_t::check_decoded() const noexcept {
    if (is_decoded_ || !container_.has_read()) return {};
    return fail(uform_status_malformed_k, "the file is damaged or cut short", "nothing in it can be decoded");
}

failure_t decoder_t::next(AVFrame *&frame) noexcept {
    for (frame = nullptr;;) {
        if (container_.stopped()) return decoding_stopped(); // at a clip's end many frames come of no more packets
        int code = avcodec_receive_frame(context_, frame_);
        if (code == AVERROR_EOF) return check_decoded();
        if (code == 0) break;
        if (code != AVERROR(EAGAIN)) return container_.failure_of(code);
        AVPacket *packet = nullptr;
        if (failure_t const failure = container_.read(packet)) return failure;
        if (packet && packet->flags & AV_PKT_FLAG_CORRUPT) return container_.failure_of(AVERROR_INVALIDDATA);
        code = avcodec_send_packet(context_, packet);
        if (code < 0 && code != AVERROR_EOF) return container_.failure_of(code);
    }
    is_decoded_ = true;
    if (frame_->decode_error_flags || frame_->flags & AV_FRAME_FLAG_CORRUPT)
        return container_.failure_of(AVERROR_INVALIDDATA);
    frame = frame_;
    return {};
}

} // namespace uform
