/**
 *  @file audio.hpp
 *  @brief Arrow 1 of recordings: file bytes → mono samples at a model's rate. Content decides the format.
 *
 *  WAV, FLAC, MP3, Ogg (Opus, Vorbis, FLAC), and the sound of MP4 and WebM. Every channel counts alike, whatever
 *  loudspeaker it is meant for; what an encoder put in front and behind to fill its frames is trimmed, as the file tells;
 *  rates are converted by a windowed sinc. A sample that is NaN or infinite makes the file `malformed`.
 *
 *  No more is decoded than is asked for: damage behind that is not seen. Any thread may decode any file. Nothing is
 *  printed; FFmpeg's log is quiet meanwhile, for the process (`src/media/container.hpp`).
 */
#pragma once
#include <uform/media/file.hpp>

namespace uform {

inline constexpr std::size_t sample_rate_limit_k = std::size_t(1) << 20; // hertz; a filter's length grows with the rate

struct recording_t {
    file_t file;
    uform_limits_t limits {};    // zeros are defaults
    std::size_t sample_rate = 0; // wanted
    stop_t stop;
};

/** What came of a recording. */
struct sound_t {
    std::size_t samples = 0; // written
    bool has_more = false;   // than there was room for
};

/** Decodes the first `samples.size()` samples of a file, and of no more than `limits.max_seconds`. */
failure_t decode_audio(recording_t const &recording, std::span<float> samples, sound_t &sound) noexcept;

/** The same of samples at `from_rate`, which neither it nor `sample_rate` may be zero or above the limit. */
failure_t convert_rate(std::span<float const> from, std::size_t from_rate, std::size_t sample_rate,
                       std::span<float> samples, sound_t &sound) noexcept;

/** ⌈samples · rate / from_rate⌉: how many there are of them at another rate. */
inline std::uint64_t samples_at(std::uint64_t samples, std::size_t from_rate, std::size_t sample_rate) noexcept {
    std::uint64_t const whole = samples / from_rate, rest = samples % from_rate;
    return whole * sample_rate + (rest * sample_rate + from_rate - 1) / from_rate;
}

} // namespace uform
