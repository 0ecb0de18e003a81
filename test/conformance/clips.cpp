/**
 *  @file clips.cpp
 *  @brief The video verb: what it refuses of arguments, files and models, and what it counts.
 */
#include "encoding.hpp"

#include <fstream>
#include <iterator>

namespace conformance {
namespace {

using call_t = uform_video_encode_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto malformed_k = uform_status_malformed_k;

/** Small clips that the fuzzer keeps too; test/media/clips.py tells how they are made. */
std::string clip(char const *name) {
    std::ifstream file(std::string(UFORM_CONFORMANCE_CLIPS "/") + name, std::ios::binary);
    std::string const bytes {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_FALSE(bytes.empty()) << name;
    return bytes;
}

/** A model of clips, one of texts alone, an arena, three clips. */
struct clips_t {
    model_t model, texts_alone;
    arena_t arena;
    tape_t files {{clip("h264.mp4"), clip("vp9.webm"), clip("h264_one.mp4")}};

    clips_t() {
        load_bytes(model, checkpoint_t(24).with_clips().bytes());
        load_bytes(texts_alone, checkpoint_t(24).bytes());
        make_arena(arena);
    }
    call_t call(encoded_t &got) const {
        call_t call {};
        call.model = model, call.arena = arena, call.stats = &got.stats;
        call.embeddings = &got.embeddings, call.states = &got.states, call.token_vectors = &got.token_vectors;
        call.files = files.view(), call.count = files.count();
        return call;
    }
};

TEST(clips, refuse_every_field) {
    clips_t const clips;
    encoded_t got;
    static std::size_t const decreasing[] = {0, 4, 3, 5};
    std::vector<breakage_t<call_t>> const breakages {
        {"no model", invalid_k, "model", [](call_t &c) { c.model = nullptr; }},
        {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
        {"a model of texts alone", uform_status_unsupported_k, "video entry",
         [&](call_t &c) { c.model = clips.texts_alone; }},
        {"endless items", invalid_k, "items", [](call_t &c) { c.count = SIZE_MAX; }},
        {"no output", invalid_k, "embeddings",
         [](call_t &c) { c.embeddings = nullptr, c.states = nullptr, c.token_vectors = nullptr; }},
        {"no arena", invalid_k, "arena", [](call_t &c) { c.arena = nullptr; }},
        {"too many dimensions", uform_status_shape_mismatch_k, "dimensions", [](call_t &c) { c.dimensions = 129; }},
        {"states as i8", uform_status_unsupported_k, "i8", [](call_t &c) { c.outputs_scalar = uform_scalar_i8_k; }},
        {"landing as no output does", invalid_k, "outputs_scalar",
         [](call_t &c) { c.outputs_scalar = uform_scalar_u8_k; }},
        {"no offsets", invalid_k, "files.offsets", [](call_t &c) { c.files.offsets = nullptr; }},
        {"offsets that decrease", invalid_k, "files.offsets", [](call_t &c) { c.files.offsets = decreasing; }, 1},
        {"no data", invalid_k, "files.data", [](call_t &c) { c.files.data = nullptr; }},
        {"another scalar", invalid_k, "files.scalar", [](call_t &c) { c.files.scalar = uform_scalar_f32_k; }},
        {"few pixels", malformed_k, "max_frame_pixels", [](call_t &c) { c.limits.max_frame_pixels = 100; }, 0},
        {"few bytes", malformed_k, "max_file_bytes", [](call_t &c) { c.limits.max_file_bytes = 100; }, 0}};
    expect_refusals<call_t>(uform_video_encode, clips.call(got), breakages);
}

TEST(clips, files_of_no_clip_are_named) {
    clips_t const clips;
    std::string const mp4 = clip("h264.mp4"), webm = clip("vp9.webm");
    struct row_t {
        char const *what;
        std::string file;
        uform_status_t status;
    };
    for (row_t const &row : std::vector<row_t> {
             {"nothing", "", malformed_k},
             {"a page", "<html>404</html>", uform_status_unknown_kind_k},
             {"a picture", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), uform_status_unknown_kind_k},
             {"an MP4's signature",
              std::string("\0\0\0\x20"
                          "ftyp",
                          8),
              malformed_k},
             {"an MP4 without its index", mp4.substr(0, mp4.find("moov") - 4), malformed_k},
             {"an MP4 without its last byte", mp4.substr(0, mp4.size() - 1), malformed_k},
             {"half of an MP4", mp4.substr(0, mp4.size() / 2), malformed_k},
             {"a WebM's signature", webm.substr(0, 4), malformed_k},
             {"half of a WebM", webm.substr(0, webm.size() / 2), malformed_k},
             {"a WebM without its last byte", webm.substr(0, webm.size() - 1), malformed_k}}) {
        SCOPED_TRACE(row.what);
        tell_row(row.what, row.status, "", 1, &row.file);
        tape_t const files({mp4, row.file, webm});
        encoded_t got;
        call_t call = clips.call(got);
        call.files = files.view();
        outcome_t const outcome = answer(uform_video_encode, call);
        EXPECT_STATUS(outcome, row.status);
        EXPECT_EQ(outcome.item, 1u);
        EXPECT_EQ(got.embeddings.data, nullptr);
    }
}

TEST(clips, count_their_tubes) {
    clips_t const clips;
    encoded_t got;
    ASSERT_NO_FATAL_FAILURE(EXPECT_SUCCESS(answer(uform_video_encode, clips.call(got))));
    EXPECT_EQ(got.embeddings.count, 3u);
    // 48 x 32 pixels are 3 x 2 patches, 33 x 17 likewise, 32 x 32 are 2 x 2; five frames are three layers of two, six
    // are three, one is one.
    EXPECT_EQ(got.stats.tokens, 3 * 6u + 3 * 6u + 4u);
    EXPECT_EQ(got.stats.truncated, 0u);
    ASSERT_NE(got.states.offsets, nullptr);
    EXPECT_EQ(got.states.offsets[1], 18u);
    landed_t const rows(got.embeddings);
    for (auto const &row : rows.rows) expect_unit(row, 1e-5);
}

TEST(clips, in_fragments_count_as_well) {
    clips_t const clips;
    tape_t const files({clip("h264_fragments.mp4"), clip("h264.mkv")});
    encoded_t got;
    call_t call = clips.call(got);
    call.files = files.view(), call.count = 2;
    ASSERT_NO_FATAL_FAILURE(EXPECT_SUCCESS(answer(uform_video_encode, call)));
    EXPECT_EQ(got.stats.tokens, 5 * 4u + 2 * 4u); // ten frames and four, of 2 x 2 patches
}

TEST(clips, of_many_tubes_are_cut) {
    clips_t const clips;
    model_t fine;
    load_bytes(fine, checkpoint_t(24).with_clips(1, 1).bytes());
    tape_t const files({clip("h264_fragments.mp4")}); // 11 x 11 patches of one pixel; the context is 64
    encoded_t got;
    call_t call = clips.call(got);
    call.model = fine, call.files = files.view(), call.count = 1;
    ASSERT_NO_FATAL_FAILURE(EXPECT_SUCCESS(answer(uform_video_encode, call)));
    EXPECT_EQ(got.stats.tokens, 64u);
    EXPECT_EQ(got.stats.truncated, 1u);
}

} // namespace
} // namespace conformance
