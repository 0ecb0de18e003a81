/**
 *  @file audio_encode_unit.cpp
 *  @brief Recordings through the ABI: files that say the same answer the same bits, whatever they are stored as, beside
 *  whatever else, on however many threads; a bad one is named, and costs the others nothing.
 */
#include "recording_fixture.hpp"

#include <chrono>
#include <limits>

namespace uform::test {
namespace {

checkpoint_fixture_t const &checkpoint() {
    static checkpoint_fixture_t const fixture(recording_options());
    return fixture;
}
std::string wav(std::string const &name) { return case_file("audio/" + name + ".wav"); }

TEST(audio_encode, files_of_one_recording_have_one_answer) {
    recording_caller_t caller(checkpoint());
    std::string const s16 = caller.bits(wav("mono_s16"));
    EXPECT_EQ(caller.outputs.stats.tokens, 50u); // 16,000 samples in chunks of 320
    EXPECT_EQ(caller.outputs.stats.truncated, 0u);
    for (char const *name : {"odd_list_before_data", "streaming_0xffffffff", "odd_tail_byte", "stereo_same"})
        EXPECT_TRUE(caller.bits(wav(name)) == s16) << name;
    EXPECT_TRUE(caller.bits(wav("mono_f32_extensible")) == caller.bits(wav("mono_f32")));
    std::string const s24 = caller.bits(wav("mono_s24"));
    for (char const *name : {"mono_s24_extensible", "s24_trailing_chunk"})
        EXPECT_TRUE(caller.bits(wav(name)) == s24) << name;
    EXPECT_TRUE(caller.bits(wav("stereo_antiphase")) == caller.bits(wav("silence")));
    EXPECT_TRUE(caller.bits(wav("stereo_48k")) == caller.bits(wav("mono_48k")));
    EXPECT_FALSE(caller.bits(wav("stereo_left_only")) == s16);
}

TEST(audio_encode, a_recording_without_samples_is_an_empty_text) {
    recording_caller_t caller(checkpoint());
    std::string const file = caller.bits(wav("no_samples"));
    EXPECT_EQ(caller.outputs.stats.tokens, 1u);
    EXPECT_TRUE(caller.bits(std::vector<float> {}) == file);
    text_tape_t const nothing({""});
    text_outputs_t text;
    uform_text_encode_t call = text.ask(caller.model, nothing, all_k);
    ASSERT_TRUE(caller.make(uform_text_encode, call)) << caller.outcome.message;
    EXPECT_TRUE(text.bytes(all_k) == file);
    std::vector<std::string> const among =
        caller.bits(std::vector {wav("no_samples"), wav("mono_s16"), wav("no_samples")});
    EXPECT_TRUE(among.at(0) == file && among.at(2) == file && among.at(1) == caller.bits(wav("mono_s16")));
}

TEST(audio_encode, a_file_and_its_samples_have_one_answer) {
    recording_caller_t caller(checkpoint(), 2);
    for (std::size_t const rate : {16000, 8000, 44100, 11025}) {
        std::vector<std::vector<float>> recordings;
        std::vector<std::string> files;
        for (std::size_t const count : {std::size_t(0), std::size_t(1), std::size_t(37), rate / 3, 11 * rate}) {
            recordings.push_back(drawn_samples(count, std::uint32_t(count)));
            files.push_back(wav_of(recordings.back(), std::uint32_t(rate)));
        }
        std::vector<std::string> const of_files = caller.bits(files);
        EXPECT_EQ(caller.outputs.stats.truncated, 1u) << rate; // 11 seconds are more than 512 x 320 samples
        EXPECT_EQ(caller.outputs.stats.tokens, 1 + 1 + 1 + 17 + 512u) << rate; // a third of a second: 5,333.3 samples
        EXPECT_TRUE(caller.bits(recordings, rate == 16000 ? 0 : rate) == of_files) << rate;
    }
}

TEST(audio_encode, what_is_behind_the_cut_changes_no_bit) {
    recording_caller_t caller(checkpoint());
    for (std::size_t const rate : {16000, 48000}) {
        std::vector<float> const longest = drawn_samples(13 * rate, 7);
        std::size_t const whole = 512 * 320 * rate / 16000;
        std::vector<float> const shorter(longest.begin(), longest.begin() + std::ptrdiff_t(whole + rate / 10));
        std::vector<float> const exact(longest.begin(), longest.begin() + std::ptrdiff_t(whole));
        std::string const expected = caller.bits(longest, rate);
        EXPECT_EQ(caller.outputs.stats.truncated, 1u);
        EXPECT_TRUE(caller.bits(shorter, rate) == expected) << rate;
        EXPECT_EQ(caller.outputs.stats.truncated, 1u);
        std::string const fits = caller.bits(exact, rate);
        EXPECT_EQ(caller.outputs.stats.truncated, 0u);
        EXPECT_EQ(caller.outputs.stats.tokens, 512u);
        EXPECT_EQ(fits == expected, rate == 16000); // a filter looks beyond the cut
        EXPECT_TRUE(caller.bits(wav_of(longest, std::uint32_t(rate))) == expected) << rate;
        EXPECT_EQ(caller.outputs.stats.truncated, 1u);
    }
}

/** The last chunk is filled up with zeros: so are samples that are zero. */
TEST(audio_encode, a_short_last_chunk_ends_in_silence) {
    recording_caller_t caller(checkpoint());
    std::vector<float> samples = drawn_samples(500, 3);
    std::string const cut = caller.bits(samples);
    samples.resize(640);
    EXPECT_TRUE(caller.bits(samples) == cut);
    EXPECT_EQ(caller.outputs.stats.tokens, 2u);
}

std::vector<std::string> mixed_files() {
    std::vector<std::string> files;
    for (char const *name : {"mono_s16", "no_samples", "stereo_48k", "mono_u8", "size_beyond_eof", "mono_f64"})
        files.push_back(wav(name));
    for (std::uint32_t const rate : {16000u, 22050u, 96000u})
        files.push_back(wav_of(drawn_samples(3 * rate / 2, rate), rate, 3)); // half a second of three channels
    files.push_back(wav_of(drawn_samples(11 * 8000, 5), 8000));
    return files;
}

TEST(audio_encode, neighbours_order_and_threads_change_no_bit) {
    std::vector<std::string> const files = mixed_files();
    std::vector<std::string> expected;
    recording_caller_t alone(checkpoint());
    for (std::string const &file : files) expected.push_back(alone.bits(file));
    for (std::size_t const threads : {1, 2, 3}) {
        recording_caller_t caller(checkpoint(), threads);
        EXPECT_TRUE(caller.bits(files) == expected) << threads;
        std::vector<std::string> const reversed(files.rbegin(), files.rend());
        EXPECT_TRUE(caller.bits(reversed) == std::vector<std::string>(expected.rbegin(), expected.rend())) << threads;
    }
}

TEST(audio_encode, queued_and_asked_less_it_has_the_same_bits) {
    recording_caller_t caller(checkpoint(), 2);
    std::vector<std::string> const files = mixed_files();
    ASSERT_TRUE(caller.encode(files)) << caller.outcome.message;
    std::string const embeddings = bytes_of_rows(caller.outputs.embeddings);
    std::string const states = bytes_of_rows(caller.outputs.states);
    text_tape_t const tape(files);
    for (int const surfaces : {embeddings_k, states_k})
        for (uform_completion_t const completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
            uform_audio_encode_t call {};
            caller.outputs.ask(call, caller.model, surfaces);
            call.files = tape.view(), call.count = tape.count();
            ASSERT_TRUE(caller.make(uform_audio_encode, call, completion)) << caller.outcome.message;
            if (surfaces == embeddings_k)
                EXPECT_TRUE(bytes_of_rows(caller.outputs.embeddings) == embeddings);
            else
                EXPECT_TRUE(bytes_of_rows(caller.outputs.states) == states);
        }
}

TEST(audio_encode, a_bad_file_is_named_and_costs_the_others_nothing) {
    std::string const good = wav("mono_s16"), other = wav("stereo_48k");
    struct row_t {
        std::string what, file;
        uform_status_t status;
    };
    std::vector<row_t> rows {{"nothing", "", uform_status_malformed_k},
                             {"a page", "<html>404</html>", uform_status_unknown_kind_k},
                             {"a picture", case_file("image/rgb8.png"), uform_status_unknown_kind_k},
                             {"an AVI", "RIFF\x10" + std::string(3, 0) + "AVI LIST", uform_status_unknown_kind_k},
                             {"a FLAC's first bytes", "fLaC", uform_status_malformed_k},
                             {"half of a FLAC's first bytes", "fL", uform_status_malformed_k},
                             {"an ID3 tag alone", "ID3\x04" + std::string(6, 0), uform_status_malformed_k},
                             {"an Ogg's first bytes", "OggS", uform_status_malformed_k}};
    for (char const *name : {"no_data_chunk", "zero_channels", "zero_rate", "f32_nan_inf"})
        rows.push_back({name, wav(name), uform_status_malformed_k});
    for (std::size_t const threads : {0, 2}) {
        recording_caller_t caller(checkpoint(), threads);
        std::vector<std::string> const before = caller.bits(std::vector {good, other});
        for (row_t const &row : rows) {
            auto const start = std::chrono::steady_clock::now();
            EXPECT_FALSE(caller.encode({good, row.file, other})) << row.what;
            EXPECT_EQ(caller.outcome.status, row.status) << row.what << ": " << caller.outcome.message;
            EXPECT_EQ(caller.outcome.item, 1u) << row.what;
            EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << row.what;
            EXPECT_TRUE(caller.bits(std::vector {good, other}) == before) << row.what;
        }
    }
}

TEST(audio_encode, samples_that_are_no_numbers_are_refused) {
    recording_caller_t caller(checkpoint());
    float const infinity = std::numeric_limits<float>::infinity();
    for (std::size_t const rate : {16000, 44100})
        for (float const bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
            std::vector<std::vector<float>> recordings {drawn_samples(1000, 1), drawn_samples(1000, 2)};
            recordings[1][999] = bad;
            EXPECT_FALSE(caller.encode(recordings, rate)) << bad;
            EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << bad << " " << caller.outcome.message;
            EXPECT_EQ(caller.outcome.item, 1u);
        }
    EXPECT_FALSE(caller.encode(std::vector(1, std::vector(1, std::numeric_limits<float>::max())))); // which BFloat16 rounds to infinity
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << caller.outcome.message;
}

TEST(audio_encode, limits_are_the_callers) {
    recording_caller_t caller(checkpoint());
    std::string const file = wav("mono_s16"); // one second
    uform_limits_t limits {};
    limits.max_file_bytes = file.size();
    EXPECT_TRUE(caller.encode(std::vector {file}, limits)) << caller.outcome.message;
    limits.max_file_bytes -= 1;
    EXPECT_FALSE(caller.encode(std::vector {file}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    limits = {}, limits.max_seconds = 1;
    std::vector<float> const two = drawn_samples(2 * 8000, 9);
    EXPECT_TRUE(caller.encode(std::vector {wav_of(two, 8000), file}, limits)) << caller.outcome.message;
    EXPECT_EQ(caller.outputs.stats.tokens, 50u + 50u);
    EXPECT_EQ(caller.outputs.stats.truncated, 1u);
}

TEST(audio_encode, a_short_context_cuts_from_behind) {
    checkpoint_fixture_t const cut_checkpoint(recording_options(40));
    recording_caller_t cut(cut_checkpoint);
    ASSERT_TRUE(cut.encode(std::vector {wav("mono_s16"), wav("no_samples")})) << cut.outcome.message;
    EXPECT_EQ(cut.outputs.stats.truncated, 1u);
    EXPECT_EQ(cut.outputs.stats.tokens, 41u);
}

TEST(audio_encode, a_model_of_texts_alone_says_so) {
    model_options_t options = recording_options();
    options.audio = {};
    checkpoint_fixture_t const text_checkpoint(options);
    recording_caller_t caller(text_checkpoint);
    EXPECT_FALSE(caller.encode(std::vector {wav("mono_s16")}));
    EXPECT_EQ(caller.outcome.status, uform_status_unsupported_k);
    EXPECT_FALSE(caller.encode(std::vector<std::vector<float>> {drawn_samples(5, 1)}));
    EXPECT_EQ(caller.outcome.status, uform_status_unsupported_k);
}

TEST(audio_encode, no_recordings_are_no_rows) {
    recording_caller_t caller(checkpoint());
    EXPECT_TRUE(caller.encode(std::vector<std::string> {})) << caller.outcome.message;
    EXPECT_EQ(caller.outputs.embeddings.count, 0u);
    EXPECT_TRUE(caller.encode(std::vector<std::vector<float>> {})) << caller.outcome.message;
}

TEST(audio_encode, progress_counts_recordings_and_stops_them) {
    recording_caller_t caller(checkpoint());
    text_tape_t const tape(mixed_files());
    struct seen_t {
        std::size_t calls = 0, last = 0, stop_at = SIZE_MAX;
        bool decreased = false;
    } seen;
    uform_audio_encode_t call {};
    caller.outputs.ask(call, caller.model);
    call.files = tape.view(), call.count = tape.count();
    call.progress = {[](std::size_t completed, std::size_t, void *context) {
                         seen_t &seen = *static_cast<seen_t *>(context);
                         seen.decreased |= completed < seen.last, seen.last = completed;
                         return ++seen.calls < seen.stop_at;
                     },
                     &seen};
    EXPECT_TRUE(caller.make(uform_audio_encode, call));
    EXPECT_EQ(seen.last, tape.count());
    EXPECT_FALSE(seen.decreased);
    for (std::size_t const stop_at : {std::size_t(1), std::size_t(5), tape.count() + 1}) {
        seen = {0, 0, stop_at, false};
        EXPECT_FALSE(caller.make(uform_audio_encode, call));
        EXPECT_EQ(caller.outcome.status, uform_status_cancelled_k);
        EXPECT_EQ(seen.calls, stop_at);
    }
}

} // namespace
} // namespace uform::test
