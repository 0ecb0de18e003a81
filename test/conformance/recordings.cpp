/**
 *  @file recordings.cpp
 *  @brief The audio verbs: what they refuse of arguments, files and models, and what they count.
 */
#include "encoding.hpp"

#include <limits>

namespace conformance {
namespace {

using files_t = uform_audio_encode_t;
using samples_t = uform_audio_encode_samples_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto malformed_k = uform_status_malformed_k;

std::string number_of(std::size_t value, std::size_t bytes) {
    std::string text;
    for (; bytes > 0; --bytes, value >>= 8) text += char(value & 0xff);
    return text;
}
/** A WAV of 16-bit samples, all the same. */
std::string wav(std::size_t samples, std::size_t rate = 16000, std::size_t channels = 1) {
    std::string const format = number_of(1, 2) + number_of(channels, 2) + number_of(rate, 4) +
                               number_of(rate * channels * 2, 4) + number_of(channels * 2, 2) + number_of(16, 2);
    std::string const data(samples * channels * 2, '\x11');
    std::string const chunks = "WAVEfmt " + number_of(16, 4) + format + "data" + number_of(data.size(), 4) + data;
    return "RIFF" + number_of(chunks.size(), 4) + chunks;
}

/** A model of recordings, one of texts alone, an arena, three recordings as files and two as samples. */
struct recordings_t {
    model_t model, texts_alone;
    arena_t arena;
    tape_t files {{wav(100), wav(100), wav(100)}};
    std::vector<float> values = std::vector<float>(1000, 0.25f);
    std::vector<std::size_t> offsets {0, 320, 1000};

    recordings_t() {
        load_bytes(model, checkpoint_t(24).with_audio().bytes());
        load_bytes(texts_alone, checkpoint_t(24).bytes());
        make_arena(arena);
    }
    template <typename call_>
    call_ ask(encoded_t &got) const {
        call_ call {};
        call.model = model, call.arena = arena, call.stats = &got.stats;
        call.embeddings = &got.embeddings, call.states = &got.states, call.token_vectors = &got.token_vectors;
        return call;
    }
    files_t over_files(encoded_t &got) const {
        files_t call = ask<files_t>(got);
        call.files = files.view(), call.count = files.count();
        return call;
    }
    samples_t over_samples(encoded_t &got) const {
        samples_t call = ask<samples_t>(got);
        call.samples = {values.data(), offsets.data(), uform_scalar_f32_k}, call.count = 2;
        return call;
    }
};

/** What both verbs refuse alike. */
template <typename call_>
std::vector<breakage_t<call_>> shared_breakages(recordings_t const &recordings) {
    return {{"no model", invalid_k, "model", [](call_ &c) { c.model = nullptr; }},
            {"a completion beyond", invalid_k, "completion", [](call_ &c) { c.completion = 2; }},
            {"a model of texts alone", uform_status_unsupported_k, "audio entry",
             [&](call_ &c) { c.model = recordings.texts_alone; }},
            {"endless items", invalid_k, "items", [](call_ &c) { c.count = SIZE_MAX; }},
            {"no output", invalid_k, "embeddings",
             [](call_ &c) { c.embeddings = nullptr, c.states = nullptr, c.token_vectors = nullptr; }},
            {"no arena", invalid_k, "arena", [](call_ &c) { c.arena = nullptr; }},
            {"too many dimensions", uform_status_shape_mismatch_k, "dimensions", [](call_ &c) { c.dimensions = 129; }},
            {"states as i8", uform_status_unsupported_k, "i8", [](call_ &c) { c.outputs_scalar = uform_scalar_i8_k; }},
            {"landing as no output does", invalid_k, "outputs_scalar",
             [](call_ &c) { c.outputs_scalar = uform_scalar_u8_k; }}};
}

TEST(recordings, files_refuse_every_field) {
    recordings_t const recordings;
    encoded_t got;
    static std::size_t const decreasing[] = {0, 4, 3, 5};
    auto breakages = shared_breakages<files_t>(recordings);
    breakages.push_back({"no offsets", invalid_k, "files.offsets", [](files_t &c) { c.files.offsets = nullptr; }});
    breakages.push_back(
        {"offsets that decrease", invalid_k, "files.offsets", [](files_t &c) { c.files.offsets = decreasing; }, 1});
    breakages.push_back({"no data", invalid_k, "files.data", [](files_t &c) { c.files.data = nullptr; }});
    breakages.push_back(
        {"another scalar", invalid_k, "files.scalar", [](files_t &c) { c.files.scalar = uform_scalar_f32_k; }});
    breakages.push_back({"few bytes", malformed_k, "max_file_bytes",
                         [](files_t &c) { c.limits.max_file_bytes = wav(100).size() - 1; }, 0});
    expect_refusals<files_t>(uform_audio_encode, recordings.over_files(got), breakages);
}

TEST(recordings, samples_refuse_every_field) {
    recordings_t const recordings;
    encoded_t got;
    static std::size_t const decreasing[] = {0, 4, 3};
    static float const bad[] = {0, 1, std::numeric_limits<float>::quiet_NaN()};
    static std::size_t const three[] = {0, 2, 3};
    auto breakages = shared_breakages<samples_t>(recordings);
    breakages.push_back(
        {"no offsets", invalid_k, "samples.offsets", [](samples_t &c) { c.samples.offsets = nullptr; }});
    breakages.push_back({"offsets that decrease", invalid_k, "samples.offsets",
                         [](samples_t &c) { c.samples.offsets = decreasing; }, 1});
    breakages.push_back({"no data", invalid_k, "samples.data", [](samples_t &c) { c.samples.data = nullptr; }});
    breakages.push_back({"a crooked address", invalid_k, "samples.data",
                         [](samples_t &c) { c.samples.data = static_cast<char const *>(c.samples.data) + 1; }});
    breakages.push_back(
        {"another scalar", invalid_k, "samples.scalar", [](samples_t &c) { c.samples.scalar = uform_scalar_u8_k; }});
    breakages.push_back(
        {"an endless rate", invalid_k, "sample_rate", [](samples_t &c) { c.sample_rate = (1 << 20) + 1; }});
    breakages.push_back(
        {"no number", malformed_k, "NaN", [](samples_t &c) { c.samples.data = bad, c.samples.offsets = three; }, 1});
    expect_refusals<samples_t>(uform_audio_encode_samples, recordings.over_samples(got), breakages);
}

TEST(recordings, files_of_no_sound_are_named) {
    recordings_t const recordings;
    struct row_t {
        char const *what;
        std::string file;
        uform_status_t status;
    };
    for (row_t const &row : std::vector<row_t> {{"nothing", "", malformed_k},
                                                {"a page", "<html>404</html>", uform_status_unknown_kind_k},
                                                {"a picture", "\x89PNG\r\n\x1a\n", uform_status_unknown_kind_k},
                                                {"a WAV's first bytes", wav(9).substr(0, 12), malformed_k},
                                                {"half of its format", wav(9).substr(0, 28), malformed_k},
                                                {"a WAV without data", wav(9).substr(0, 36), malformed_k},
                                                {"a WAV of no channels", wav(9, 16000, 0), malformed_k},
                                                {"a WAV of no rate", wav(9, 0), malformed_k},
                                                {"a FLAC's first bytes", "fLaC", malformed_k},
                                                {"an Ogg's first bytes", "OggS", malformed_k}}) {
        SCOPED_TRACE(row.what);
        tell_row(row.what, row.status, "", 1, &row.file);
        tape_t const files({wav(1), row.file, wav(1)});
        encoded_t got;
        files_t call = recordings.over_files(got);
        call.files = files.view();
        outcome_t const outcome = answer(uform_audio_encode, call);
        EXPECT_STATUS(outcome, row.status);
        EXPECT_EQ(outcome.item, 1u);
        EXPECT_EQ(got.embeddings.data, nullptr);
    }
}

TEST(recordings, count_their_chunks) {
    recordings_t const recordings;
    // 320 samples at 16 kHz are a chunk; the context is 64; no samples are a PAD; what is told beyond the end is not there.
    tape_t const files({wav(320), wav(321), wav(0), wav(8000, 8000), wav(64 * 320), wav(64 * 320 + 1),
                        wav(700).substr(0, 44 + 2 * 600), wav(88, 44100, 2)});
    encoded_t got;
    files_t call = recordings.over_files(got);
    call.files = files.view(), call.count = files.count();
    EXPECT_SUCCESS(answer(uform_audio_encode, call));
    ASSERT_NE(got.states.offsets, nullptr);
    std::size_t const expected[] = {1, 2, 1, 50, 64, 64, 2, 1};
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(got.states.offsets[i + 1] - got.states.offsets[i], expected[i]) << i;
    EXPECT_EQ(got.stats.truncated, 1u);
    landed_t const rows(got.embeddings);
    for (auto const &row : rows.rows) expect_unit(row, 1e-5);

    encoded_t of_samples;
    samples_t other = recordings.over_samples(of_samples);
    EXPECT_SUCCESS(answer(uform_audio_encode_samples, other));
    EXPECT_EQ(of_samples.stats.tokens, 1u + 3); // 320, and 680 samples
    other.sample_rate = 48000;
    EXPECT_SUCCESS(answer(uform_audio_encode_samples, other));
    EXPECT_EQ(of_samples.stats.tokens, 1u + 1);
}

TEST(recordings, beyond_512_chunks_are_cut) {
    recordings_t const recordings;
    model_t model;
    checkpoint_t checkpoint = checkpoint_t(24).with_audio(4, 8000);
    checkpoint.metadata["context"] = "1024";
    load_bytes(model, checkpoint.bytes());
    tape_t const files({wav(512 * 4, 8000), wav(512 * 4 + 1, 8000)});
    encoded_t got;
    files_t call = recordings.over_files(got);
    call.model = model, call.files = files.view(), call.count = 2;
    EXPECT_SUCCESS(answer(uform_audio_encode, call));
    EXPECT_EQ(got.stats.tokens, 1024u);
    EXPECT_EQ(got.stats.truncated, 1u);
}

TEST(recordings, an_empty_one_is_an_empty_text) {
    recordings_t const recordings;
    encoded_t file, text;
    tape_t const files({wav(0)}), texts({""});
    files_t call = recordings.over_files(file);
    call.files = files.view(), call.count = 1;
    EXPECT_SUCCESS(answer(uform_audio_encode, call));
    landed_t const of_file(file.embeddings);
    uform_text_encode_t other = recordings.ask<uform_text_encode_t>(text);
    other.texts = texts.view(), other.count = 1;
    EXPECT_SUCCESS(answer(uform_text_encode, other));
    EXPECT_TRUE(landed_t(text.embeddings).bits == of_file.bits);
}

TEST(recordings, checkpoints_tell_their_entry) {
    struct row_t {
        char const *what, *word;
        void (*spoil)(checkpoint_t &);
    };
    for (row_t const &row : std::vector<row_t> {
             {"no bias", "lacks", [](checkpoint_t &c) { c["audio.projection.bias"].name = "other"; }},
             {"no mask", "lacks", [](checkpoint_t &c) { c["audio.mask"].name = "other"; }},
             {"no weight", "lacks", [](checkpoint_t &c) { c["audio.projection.weight"].name = "other"; }},
             {"another chunk", "shape", [](checkpoint_t &c) { c.metadata["audio.chunk_samples"] = "160"; }},
             {"no chunk", "range", [](checkpoint_t &c) { c.metadata["audio.chunk_samples"] = "0"; }},
             {"an endless rate", "range", [](checkpoint_t &c) { c.metadata["audio.sample_rate"] = "768001"; }},
             {"a word for a rate", "number", [](checkpoint_t &c) { c.metadata["audio.sample_rate"] = "ten"; }}}) {
        SCOPED_TRACE(row.what);
        checkpoint_t checkpoint = checkpoint_t().with_audio();
        row.spoil(checkpoint);
        std::string const bytes = checkpoint.bytes();
        tell_row(row.what, malformed_k, row.word, SIZE_MAX, &bytes);
        model_t model;
        uform_model_load_ram_buffer_t call {};
        call.model = model.out(), call.buffer = view(bytes);
        outcome_t const outcome = answer(uform_model_load_ram_buffer, call);
        EXPECT_STATUS(outcome, malformed_k);
        EXPECT_NE(std::string(outcome.message).find(row.word), std::string::npos) << told(outcome);
    }
    model_t model;
    load_bytes(model, checkpoint_t().with_audio(160, 8000).bytes());
    uform_model_description_t it {};
    uform_model_describe_t call {};
    call.model = model, call.description = &it;
    EXPECT_SUCCESS(answer(uform_model_describe, call));
    EXPECT_EQ(it.audio.chunk_samples, 160u);
    EXPECT_EQ(it.audio.sample_rate, 8000u);
    EXPECT_EQ(it.image.patch_side, 0u);
}

} // namespace
} // namespace conformance
