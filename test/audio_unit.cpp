/**
 *  @file audio_unit.cpp
 *  @brief Samples of recordings: every way to write a WAV against the tone it holds, rates against the same tone at the
 *  model's, and what decoding leaves of FFmpeg's process-wide log.
 */
#include "recording_fixture.hpp"

#include <limits>

#include <uform/media/audio.hpp>

extern "C" {
#include <libavutil/log.h>
}

namespace uform::test {
namespace {

constexpr double pi_k = 3.14159265358979323846;

struct decoded_t {
    failure_t failure;
    sound_t sound;
    std::vector<float> samples;
};
decoded_t decoded(std::string const &file, std::size_t room = 1 << 18, stop_t stop = {}) {
    decoded_t got;
    std::vector<float> samples(room);
    recording_t recording;
    recording.file = {reinterpret_cast<std::uint8_t const *>(file.data()), file.size()};
    recording.sample_rate = 16000, recording.stop = stop;
    got.failure = decode_audio(recording, samples, got.sound);
    samples.resize(got.sound.samples);
    got.samples = std::move(samples);
    return got;
}
decoded_t decoded_case(std::string const &name) { return decoded(case_file("audio/" + name + ".wav")); }

/** What test/cases holds: half of a sine of 440 Hz. */
double tone(std::size_t i) { return 0.5 * std::sin(2 * pi_k * 440 * double(i) / 16000); }

void expect_tone(std::string const &name, std::size_t count, double loudness, double bound) {
    decoded_t const got = decoded_case(name);
    ASSERT_FALSE(got.failure) << name << ": " << got.failure.message;
    ASSERT_EQ(got.samples.size(), count) << name;
    EXPECT_FALSE(got.sound.has_more) << name;
    double worst = 0;
    for (std::size_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(got.samples[i] - loudness * tone(i)));
    EXPECT_LE(worst, bound) << name;
}

/** Half a step of what each is stored with, and that its full scale is one step short of 1.0. */
TEST(audio, every_wav_holds_the_tone) {
    for (char const *name :
         {"mono_s16", "mono_s24", "mono_s32", "mono_f32", "mono_f64", "mono_s24_extensible", "mono_f32_extensible",
          "odd_list_before_data", "s24_trailing_chunk", "streaming_0xffffffff", "odd_tail_byte", "stereo_same"})
        expect_tone(name, 16000, 1, 1.0 / 32768);
    expect_tone("mono_u8", 16000, 1, 1.0 / 128);
    expect_tone("size_beyond_eof", 12000, 1, 1.0 / 32768);
    expect_tone("stereo_left_only", 16000, 0.5, 0.5 / 32768);
    expect_tone("stereo_antiphase", 16000, 0, 0);
    expect_tone("silence", 16000, 0, 0);
    expect_tone("no_samples", 0, 0, 0);
}

/** Away from the ends, where the filter reads what is not there; its ripple there is below 2^-10 of the tone. */
TEST(audio, another_rate_is_the_same_tone) {
    for (char const *name : {"mono_48k", "stereo_48k"}) {
        decoded_t const got = decoded_case(name);
        ASSERT_EQ(got.samples.size(), 16000u) << name;
        for (std::size_t i = 100; i < 15900; ++i)
            ASSERT_NEAR(got.samples[i], tone(i), 0.5 * 0x1p-10) << name << " " << i;
    }
    for (std::size_t const rate : {8000, 11025, 22050, 44100, 96000}) {
        std::vector<float> at_rate(rate), samples(1 << 15);
        for (std::size_t i = 0; i < rate; ++i)
            at_rate[i] = float(0.5 * std::sin(2 * pi_k * 440 * double(i) / double(rate)));
        sound_t sound;
        ASSERT_FALSE(convert_rate(at_rate, rate, 16000, samples, sound));
        ASSERT_EQ(sound.samples, 16000u);
        for (std::size_t i = 100; i < 15900; ++i) ASSERT_NEAR(samples[i], tone(i), 0.5 * 0x1p-10) << rate << " " << i;
    }
}

/** Lengths of what is shorter than a filter, and at rates that have nothing in common with the model's. */
TEST(audio, there_is_a_sample_for_every_time_within) {
    for (std::size_t const rate : {1, 7, 999, 11025, 44100, 47999, 192000, 1 << 20})
        for (std::size_t const count : {1, 2, 3, 16, 33, 1000}) {
            std::vector<float> const from(count, 0.25f);
            std::vector<float> samples(1 << 16);
            sound_t sound;
            ASSERT_FALSE(convert_rate(from, rate, 16000, samples, sound));
            std::size_t expected = 0;
            while (expected * rate < count * 16000 && expected < samples.size()) ++expected;
            EXPECT_EQ(sound.samples, expected) << count << " at " << rate;
            EXPECT_EQ(sound.has_more, count * 16000 > samples.size() * rate) << count << " at " << rate;
            for (std::size_t i = 0; i < expected; ++i) ASSERT_LE(std::abs(samples[i]), 0.5f) << count << " at " << rate;
        }
}

/** No ratio of the two is short enough for a filter; to FFmpeg that is a lack of memory. */
TEST(audio, a_rate_that_no_filter_leads_from_is_named) {
    std::vector<float> const from(1000);
    std::vector<float> samples(1000);
    sound_t sound;
    failure_t const failure = convert_rate(from, sample_rate_limit_k, 11025, samples, sound);
    EXPECT_EQ(failure.status, uform_status_unsupported_layout_k) << failure.message;
    EXPECT_STREQ(failure.detail, "from 1048576 to 11025 hertz");
    EXPECT_FALSE(convert_rate(from, sample_rate_limit_k, 16000, samples, sound));
}

std::string corpus_file(std::string const &name) {
    return uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/audio/" + name);
}

/** Files of test/fuzz/make_audio.py, of 0.06 seconds. */
TEST(audio, joined_files_are_no_damaged_ones) {
    for (char const *name : {"opus.opus", "vorbis.ogg", "flac.ogg"}) { // the first of a chain, which has more
        decoded_t const once = decoded(corpus_file(name)), twice = decoded(corpus_file(name) + corpus_file(name));
        ASSERT_FALSE(twice.failure) << name << ": " << twice.failure.message;
        EXPECT_EQ(once.samples.size(), 960u) << name;
        EXPECT_FALSE(once.sound.has_more) << name;
        EXPECT_EQ(twice.samples, once.samples) << name;
        EXPECT_TRUE(twice.sound.has_more) << name;
    }
    decoded_t const both = decoded(corpus_file("mp3.mp3") + corpus_file("mp3.mp3")); // all frames of both
    ASSERT_FALSE(both.failure) << both.failure.message;
    EXPECT_GE(both.samples.size(), 2 * 960u);
    decoded_t const inside = decoded(corpus_file("mp3.wav"));
    ASSERT_FALSE(inside.failure) << inside.failure.message;
    EXPECT_GE(inside.samples.size(), 960u);
}

/** Of two pages of sound the first or the last: FFmpeg plays the other. */
TEST(audio, a_damaged_page_is_no_gap) {
    std::string const file = corpus_file("opus_pages.opus");
    decoded_t const whole = decoded(file);
    ASSERT_FALSE(whole.failure) << whole.failure.message;
    EXPECT_EQ(whole.samples, decoded(corpus_file("opus.opus")).samples);
    std::size_t const last = file.rfind("OggS");
    for (std::size_t const at : {last - 9, file.size() - 9}) {
        std::string damaged = file;
        damaged[at] ^= 0x20;
        EXPECT_EQ(decoded(damaged).failure.status, uform_status_malformed_k) << at;
    }
}

/** A step between the largest numbers there are: the filter's ripple has no place in a float. */
TEST(audio, what_a_filter_makes_infinite_is_refused) {
    constexpr float most = std::numeric_limits<float>::max();
    std::vector<float> from(1000, most), samples(4000);
    std::fill_n(from.begin(), 500, -most);
    sound_t sound;
    EXPECT_EQ(convert_rate(from, 8000, 16000, samples, sound).status, uform_status_malformed_k);
    EXPECT_FALSE(convert_rate(from, 16000, 16000, samples, sound));
}

TEST(audio, a_file_cut_short_is_refused_wherever_it_is_cut) {
    for (char const *name : {"flac.flac", "flac.ogg", "mp3.mp3", "opus.opus", "vorbis.ogg", "aac.m4a", "aac_front.m4a",
                             "aac_fragments.mp4", "alac.m4a", "opus.webm", "flac.mka"}) {
        std::string const whole = corpus_file(name);
        for (std::size_t part = 0; part < 10; ++part) {
            std::string const cut = whole.substr(0, part == 9 ? whole.size() - 1 : whole.size() * part / 10);
            bool const is_tail =
                std::string(name) == "mp3.mp3" && part == 9; // within the last frame, of one more or less
            EXPECT_EQ(decoded(cut).failure.status, is_tail ? uform_status_success_k : uform_status_malformed_k)
                << name << " " << cut.size();
        }
    }
}

TEST(audio, no_more_is_decoded_than_asked_for) {
    std::string file = case_file("audio/mono_f32.wav");
    for (std::size_t const room : {1, 319, 15999, 16000, 16001}) {
        decoded_t const got = decoded(file, room);
        EXPECT_EQ(got.samples.size(), std::min<std::size_t>(room, 16000));
        EXPECT_EQ(got.sound.has_more, room < 16000) << room;
    }
    file.replace(file.size() - 4, 4, "\xff\xff\xff\xff"); // the last sample is no number
    EXPECT_FALSE(decoded(file, 8000).failure);
    EXPECT_EQ(decoded(file, 16000).failure.status, uform_status_malformed_k);
}

TEST(audio, decoding_stops_when_asked) {
    std::size_t asked = 0;
    stop_t const stop {[](void *count) noexcept { return ++*static_cast<std::size_t *>(count) > 3; }, &asked};
    EXPECT_EQ(decoded(case_file("audio/mono_f64.wav"), 1 << 18, stop).failure.status, uform_status_cancelled_k);
    EXPECT_EQ(asked, 4u);
}

/** Within a demuxer's headers or behind its last packet: never told as damage, nor as a shorter recording. */
TEST(audio, decoding_stops_whenever_asked) {
    for (char const *name : {"flac.flac", "mp3.mp3", "opus.opus", "vorbis.ogg", "aac_fragments.mp4", "opus.webm"}) {
        std::string const file = corpus_file(name);
        std::size_t left = SIZE_MAX;
        stop_t const stop {[](void *left) noexcept { return (*static_cast<std::size_t *>(left))-- == 0; }, &left};
        ASSERT_FALSE(decoded(file, 1 << 18, stop).failure) << name;
        std::size_t const asked = SIZE_MAX - left;
        EXPECT_GE(asked, 3u) << name;
        for (std::size_t after = 0; after < asked; ++after) {
            left = after;
            EXPECT_EQ(decoded(file, 1 << 18, stop).failure.status, uform_status_cancelled_k) << name << " " << after;
        }
    }
}

TEST(audio, ffmpegs_log_is_as_it_was) {
    for (int const level : {AV_LOG_INFO, AV_LOG_DEBUG}) {
        av_log_set_level(level);
        testing::internal::CaptureStderr();
        EXPECT_TRUE(decoded_case("zero_rate").failure);
        EXPECT_TRUE(decoded_case("no_data_chunk").failure);
        EXPECT_FALSE(decoded_case("mono_s16").failure);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_EQ(av_log_get_level(), level);
    }
    av_log_set_level(AV_LOG_INFO);
}

} // namespace
} // namespace uform::test
