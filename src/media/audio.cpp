/**
 *  @file audio.cpp
 *  @brief Decoded frames of FFmpeg's → the mean of their channels → the model's rate.
 */
#include <algorithm>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include "container.hpp"
#include "sample_rate.hpp"

namespace uform {
namespace {

constexpr std::size_t block_k = 1024; // samples mixed at a time
constexpr std::uint64_t seconds_limit_k = std::uint64_t(1) << 32; // times a rate they still fit

/** Adds a channel's samples, as numbers around zero; integers come out as they are. */
template <typename sample_>
void add_channel(sample_ const *samples, std::size_t stride, std::size_t count, double middle, double *sums) noexcept {
    for (std::size_t i = 0; i < count; ++i) sums[i] += double(samples[i * stride]) - middle;
}

/** One block of a frame, mixed in double: integers are averaged without any rounding but the last. */
struct mixer_t {
    AVFrame const &frame;
    double sums[block_k];

    std::size_t channels() const noexcept { return std::size_t(frame.ch_layout.nb_channels); }

    template <typename sample_>
    void add(std::size_t first, std::size_t count, double middle) noexcept {
        bool const is_planar = av_sample_fmt_is_planar(AVSampleFormat(frame.format));
        for (std::size_t channel = 0; channel < channels(); ++channel) {
            auto const *plane = reinterpret_cast<sample_ const *>(frame.extended_data[is_planar ? channel : 0]);
            if (is_planar)
                add_channel(plane + first, 1, count, middle, sums);
            else
                add_channel(plane + first * channels() + channel, channels(), count, middle, sums);
        }
    }
    /** False where samples come in a form that no decoder here gives. */
    bool mix(std::size_t first, std::size_t count, float *mono) noexcept {
        double full = 1; // what counts as 1.0
        std::fill_n(sums, count, 0.0);
        switch (av_get_packed_sample_fmt(AVSampleFormat(frame.format))) {
        case AV_SAMPLE_FMT_U8:
            add<std::uint8_t>(first, count, 128), full = 0x1p7;
            break;
        case AV_SAMPLE_FMT_S16:
            add<std::int16_t>(first, count, 0), full = 0x1p15;
            break;
        case AV_SAMPLE_FMT_S32:
            add<std::int32_t>(first, count, 0), full = 0x1p31;
            break;
        case AV_SAMPLE_FMT_FLT:
            add<float>(first, count, 0);
            break;
        case AV_SAMPLE_FMT_DBL:
            add<double>(first, count, 0);
            break;
        default:
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) mono[i] = float(sums[i] / (full * double(channels())));
        return true;
    }
};

/**
 *  How many samples a stream has by its container, where that is more exact than its packets: those of Vorbis and AAC
 *  fill whole frames, and how much is too much is told by Ogg's last page, and by MP4's edits and tables.
 */
std::uint64_t told_samples(AVStream const &stream, container_format_t format, std::size_t sample_rate) noexcept {
    bool const is_exact = format == container_format_t::mov_k ||
                          (format == container_format_t::ogg_k && stream.codecpar->codec_id == AV_CODEC_ID_VORBIS);
    if (!is_exact || stream.duration <= 0) return UINT64_MAX;
    return std::uint64_t(av_rescale_q(stream.duration, stream.time_base, {1, int(sample_rate)}));
}

/** Frames of one recording, on their way to the model's rate. */
class recorder_t {
    std::size_t sample_rate_; // the model's
    std::uint64_t seconds_;   // that may be decoded
    std::span<float> samples_;
    rate_converter_t converter_;
    std::uint64_t room_ = 0; // samples of the file that may still be decoded
    std::uint64_t told_ = 0; // samples of the file that are still to come, by its container
    bool cut_ = false;       // by the limit

  public:
    recorder_t(recording_t const &recording, std::span<float> samples) noexcept
        : sample_rate_(recording.sample_rate),
          seconds_(std::min(resolved(recording.limits).max_seconds, seconds_limit_k)), samples_(samples) {}

    bool satisfied() const noexcept { return cut_ || (converter_.rate() && converter_.satisfied()); }

    failure_t take(AVFrame const &frame, AVStream const &stream, container_format_t format) noexcept {
        std::size_t const rate = std::size_t(std::max(frame.sample_rate, 0));
        if (frame.ch_layout.nb_channels < 1) return fail(uform_status_malformed_k, "the recording has no channels");
        if (!converter_.rate()) {
            if (failure_t const failure = converter_.start(rate, sample_rate_, samples_)) return failure;
            room_ = seconds_ * rate;
            told_ = told_samples(stream, format, rate);
        }
        if (converter_.rate() != rate)
            return fail(uform_status_unsupported_layout_k, "the sample rate changes within the recording",
                        "from %zu to %zu hertz", converter_.rate(), rate);
        std::size_t const told = std::size_t(std::min(std::uint64_t(frame.nb_samples), told_));
        std::size_t const count = std::size_t(std::min(std::uint64_t(told), room_));
        cut_ = count < told, room_ -= count, told_ -= count;
        return take(frame, count);
    }
    /** Of no samples nothing is known but what the header tells, which must be there. */
    failure_t finish(AVStream const &stream, sound_t &sound) noexcept {
        sound = {};
        bool const is_told = stream.codecpar->sample_rate > 0 && stream.codecpar->ch_layout.nb_channels > 0;
        if (!converter_.rate())
            return is_told ? failure_t {} : fail(uform_status_malformed_k, "the recording has no header");
        failure_t const failure = converter_.finish(sound);
        sound.has_more |= cut_;
        return failure;
    }

  private:
    failure_t take(AVFrame const &frame, std::size_t count) noexcept {
        mixer_t mixer {frame, {}};
        float mono[block_k];
        for (std::size_t first = 0; first < count; first += block_k) {
            std::size_t const part = std::min(block_k, count - first);
            if (!mixer.mix(first, part, mono))
                return fail(uform_status_unsupported_layout_k, "samples of this kind are not read");
            if (failure_t const failure = converter_.take({mono, part})) return failure;
        }
        return {};
    }
};

failure_t decode(recording_t const &recording, container_format_t format, std::span<float> samples,
                 sound_t &sound) noexcept {
    container_t container;
    decoder_t decoder(container);
    recorder_t recorder(recording, samples);
    file_t const link =
        format == container_format_t::ogg_k ? first_link(recording.file, recording.stop) : recording.file;
    if (failure_t const failure = container.open(link, format, recording.stop)) return failure;
    AVStream const *const stream = container.pick(stream_kind_t::audio_k);
    if (!stream) return fail(uform_status_unsupported_layout_k, "the file holds no sound");
    if (failure_t const failure = decoder.start(*stream, recording.limits)) return failure;
    for (AVFrame *frame = nullptr; !recorder.satisfied();) {
        if (failure_t const failure = decoder.next(frame)) return failure;
        if (!frame) break;
        if (failure_t const failure = recorder.take(*frame, *stream, format)) return failure;
    }
    if (failure_t const failure = container.check_read()) return failure;
    failure_t const failure = recorder.finish(*stream, sound);
    sound.has_more |= link.size() < recording.file.size();
    return failure;
}

} // namespace

failure_t decode_audio(recording_t const &recording, std::span<float> samples, sound_t &sound) noexcept {
    if (failure_t const failure = check_file_bytes(recording.file, recording.limits)) return failure;
    std::optional<container_format_t> const format = container_format_of(recording.file);
    if (!format)
        return fail(uform_status_unknown_kind_k, "the file is neither WAV nor FLAC nor MP3 nor Ogg nor MP4 nor WebM");
    return with_memory_watched([&] { return decode(recording, *format, samples, sound); });
}

} // namespace uform
