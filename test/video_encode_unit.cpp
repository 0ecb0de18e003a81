/**
 *  @file video_encode_unit.cpp
 *  @brief Clips through the ABI: the same bits beside whatever else, on however many threads; a bad one is named, and
 *  costs the others nothing; limits are the caller's.
 */
#include <chrono>

#include "clip_fixture.hpp"

namespace uform::test {
namespace {

checkpoint_fixture_t const &checkpoint() {
    static checkpoint_fixture_t const fixture(clip_options());
    return fixture;
}

TEST(video_encode, clips_are_finite_unit_rows) {
    clip_caller_t caller(checkpoint());
    std::vector<std::string> const files = whole_clips();
    ASSERT_TRUE(caller.encode(files)) << caller.outcome.message;
    ASSERT_EQ(caller.outputs.embeddings.count, files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto const *row = static_cast<float const *>(caller.outputs.embeddings.data) + i * 128;
        double squares = 0;
        for (std::size_t j = 0; j < 128; ++j) squares += double(row[j]) * row[j];
        EXPECT_NEAR(squares, 1, 128 * 0x1p-23) << i;
    }
}

TEST(video_encode, neighbours_order_and_threads_change_no_bit) {
    std::vector<std::string> const files = whole_clips(), reversed(files.rbegin(), files.rend());
    for (uform_scalar_t const quantization : {uform_scalar_bf16_k, uform_scalar_e4m3_k}) {
        clip_caller_t alone(checkpoint(), 0, quantization);
        std::vector<std::string> expected;
        for (std::string const &file : files) expected.push_back(alone.bits(file));
        for (std::size_t i = 1; i < expected.size(); ++i) EXPECT_FALSE(expected[i] == expected[0]) << i;
        for (std::size_t const threads : {1, 2, 3}) {
            clip_caller_t caller(checkpoint(), threads, quantization);
            EXPECT_TRUE(caller.bits(files) == expected) << threads;
            EXPECT_TRUE(caller.bits(reversed) == std::vector<std::string>(expected.rbegin(), expected.rend()));
        }
    }
}

TEST(video_encode, queued_and_asked_less_it_has_the_same_bits) {
    clip_caller_t caller(checkpoint(), 2);
    std::vector<std::string> const files = whole_clips();
    ASSERT_TRUE(caller.encode(files)) << caller.outcome.message;
    std::string const embeddings = bytes_of_rows(caller.outputs.embeddings);
    std::string const states = bytes_of_rows(caller.outputs.states);
    for (uform_completion_t const completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
        text_tape_t const tape(files); // which a queued call reads until it is through
        ASSERT_TRUE(caller.encode(files, {}, embeddings_k, completion)) << caller.outcome.message;
        EXPECT_TRUE(bytes_of_rows(caller.outputs.embeddings) == embeddings);
        ASSERT_TRUE(caller.encode(files, {}, states_k, completion)) << caller.outcome.message;
        EXPECT_TRUE(bytes_of_rows(caller.outputs.states) == states);
    }
}

TEST(video_encode, a_turned_clip_is_another) {
    clip_caller_t caller(checkpoint());
    EXPECT_FALSE(caller.bits(clip_file("h264_turned.mp4")) == caller.bits(clip_file("h264_front.mp4")));
}

/** Bytes of the first coded picture are others: H.264's decoder tells. */
std::string damaged(std::string file) {
    std::size_t const at = file.find("mdat") + 40;
    for (std::size_t i = 0; i < 16; ++i) file[at + i] = char(0xa5 + 31 * i);
    return file;
}

/** A length within a cluster: a demuxer would go and look for the next part that makes sense. */
std::string with_longer_block(std::string file) {
    std::size_t const at = file.find('\xa3', file.find("\x1f\x43\xb6\x75") + 8);
    file[at + 1] = char(file[at + 1] + 1);
    return file;
}

/** Sizes of four thousand million samples of a byte each, in the last place where a demuxer would find them. */
std::string with_hidden_table(std::string file) {
    std::size_t const at = file.find("avc1", file.find("stsd")) + 4 + 78;
    std::string const table("\0\0\0\x14stsz\0\0\0\0\0\0\0\x01\xff\xff\xff\xff", 20);
    for (char const *parent : {"moov", "trak", "mdia", "minf", "stbl", "stsd", "avc1"}) {
        std::size_t const low = file.find(parent, file.find("moov")) - 1; // of the length in front of the name
        unsigned const more = static_cast<unsigned char>(file[low]) + 20u;
        file[low] = char(more);
        if (more > 255) ++file[low - 1];
    }
    return file.insert(at, table);
}

TEST(video_encode, a_bad_file_is_named_and_costs_the_others_nothing) {
    std::string const good = clip_file("h264.mp4"), other = clip_file("vp9.webm");
    struct row_t {
        char const *what;
        std::string file;
        uform_status_t status;
    };
    std::vector<row_t> const rows {
        {"nothing", "", uform_status_malformed_k},
        {"a page", "<html>404</html>", uform_status_unknown_kind_k},
        {"a picture", case_file("image/rgb8.png"), uform_status_unknown_kind_k},
        {"a signature",
         std::string("\0\0\0\x20"
                     "ftyp",
                     8),
         uform_status_malformed_k},
        {"half", good.substr(0, good.size() / 2), uform_status_malformed_k},
        {"no index", good.substr(0, good.find("moov") - 4), uform_status_malformed_k},
        {"a damaged picture", damaged(good), uform_status_malformed_k},
        {"a WebM's first bytes", other.substr(0, 40), uform_status_malformed_k},
        {"a WebM whose first block is longer than it is", with_longer_block(other), uform_status_malformed_k},
        {"a table of gigabytes", clip_file("trun_of_gigabytes.mp4"), uform_status_malformed_k},
        {"names of gigabytes", clip_file("keys_of_gigabytes.mp4"), uform_status_malformed_k},
        {"names where a box's layout hides them", clip_file("keys_behind_junk.mp4"), uform_status_malformed_k},
        {"groups of gigabytes", clip_file("groups_of_gigabytes.mp4"), uform_status_malformed_k},
        {"chunks of gigabytes", clip_file("chunks_of_gigabytes.mp4"), uform_status_malformed_k},
        {"boxes that lead to the same ones", clip_file("boxes_read_over.mp4"), uform_status_malformed_k},
        {"a table within a sample's description", with_hidden_table(good), uform_status_malformed_k}};
    for (std::size_t const threads : {0, 2}) {
        clip_caller_t caller(checkpoint(), threads);
        std::vector<std::string> const before = caller.bits(std::vector {good, other});
        for (auto const &[what, file, status] : rows) {
            auto const start = std::chrono::steady_clock::now();
            EXPECT_FALSE(caller.encode({good, file, other})) << what;
            EXPECT_EQ(caller.outcome.status, status) << what << ": " << caller.outcome.message;
            EXPECT_EQ(caller.outcome.item, 1u) << what << ": " << caller.outcome.message;
            EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << what;
            EXPECT_TRUE(caller.bits(std::vector {good, other}) == before) << what;
        }
    }
}

TEST(video_encode, a_file_cut_short_is_refused_wherever_it_is_cut) {
    clip_caller_t caller(checkpoint());
    for (char const *name : {"h264.mp4", "h264_front.mp4", "h264_fragments.mp4", "h264.mkv", "vp8.webm", "av1.mp4"}) {
        std::string const whole = clip_file(name);
        for (std::size_t part = 0; part < 10; ++part) {
            std::size_t const length = part == 9 ? whole.size() - 1 : whole.size() * part / 9;
            if (length == whole.size()) continue;
            EXPECT_FALSE(caller.encode({whole.substr(0, length)}, {}, embeddings_k)) << name << " " << length;
            EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << name << " cut to " << length;
        }
    }
}

TEST(video_encode, limits_are_the_callers) {
    clip_caller_t caller(checkpoint());
    std::string const file = clip_file("h264.mp4"); // 48 x 32, five frames up to 0.4 s
    uform_limits_t limits {};
    limits.max_frame_pixels = 48 * 32, limits.max_file_bytes = file.size(), limits.max_seconds = 1;
    EXPECT_TRUE(caller.encode({file}, limits)) << caller.outcome.message;
    limits.max_frame_pixels -= 1;
    EXPECT_FALSE(caller.encode({file}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    EXPECT_NE(std::string(caller.outcome.message).find("max_frame_pixels"), std::string::npos);
    limits.max_frame_pixels = 0, limits.max_file_bytes -= 1;
    EXPECT_FALSE(caller.encode({file}, limits));
    EXPECT_NE(std::string(caller.outcome.message).find("max_file_bytes"), std::string::npos);
    limits = {};
    limits.max_frame_pixels = 33 * 17; // coded as 48 x 32
    EXPECT_TRUE(caller.encode({clip_file("h264_odd.mp4")}, limits)) << caller.outcome.message;
}

/** An MP4 whose index tells of frames of other sides than its stream's. */
std::string with_sides(std::string file, unsigned width, unsigned height) {
    std::size_t const at = file.find("avc1", file.find("stsd")) + 28;
    for (std::size_t i = 0; i < 2; ++i) {
        file[at + i] = char(width >> (8 - 8 * i));
        file[at + 2 + i] = char(height >> (8 - 8 * i));
    }
    return file;
}

TEST(video_encode, bombs_are_refused_by_their_headers) {
    clip_caller_t caller(checkpoint());
    std::string const file = with_sides(clip_file("h264.mp4"), 65535, 65535);
    auto const start = std::chrono::steady_clock::now();
    EXPECT_FALSE(caller.encode({file}));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    EXPECT_NE(std::string(caller.outcome.message).find("max_frame_pixels"), std::string::npos);
    uform_limits_t limits {}; // a header that makes little of it
    limits.max_frame_pixels = 48 * 32 - 1;
    EXPECT_FALSE(caller.encode({with_sides(clip_file("h264.mp4"), 2, 2)}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    EXPECT_NE(std::string(caller.outcome.message).find("max_frame_pixels"), std::string::npos);
}

/** Four frames of 0.1 s, in a container whose unit of time is made 16 times as long. */
TEST(video_encode, seconds_are_limited) {
    clip_caller_t caller(checkpoint());
    std::string file = clip_file("h264.mkv");
    std::size_t const at = file.find("\x2a\xd7\xb1\x83\x0f\x42\x40");
    ASSERT_NE(at, std::string::npos);
    file.replace(at + 4, 3, "\xff\xff\xff");
    uform_limits_t limits {};
    limits.max_seconds = 6;
    EXPECT_TRUE(caller.encode({file}, limits)) << caller.outcome.message;
    limits.max_seconds = 4;
    EXPECT_FALSE(caller.encode({file}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    EXPECT_NE(std::string(caller.outcome.message).find("max_seconds"), std::string::npos) << caller.outcome.message;
}

TEST(video_encode, a_short_context_cuts_the_tubes) {
    checkpoint_fixture_t const cut_checkpoint(clip_options(10)); // of three layers of 2 x 3
    clip_caller_t cut(cut_checkpoint);
    ASSERT_TRUE(cut.encode({clip_file("h264.mp4"), clip_file("h264_one.mp4")})) << cut.outcome.message;
    EXPECT_EQ(cut.outputs.stats.truncated, 1u);
    EXPECT_EQ(cut.outputs.stats.tokens, 10u + 4);
}

TEST(video_encode, a_model_of_texts_alone_says_so) {
    model_options_t options = clip_options();
    options.video = {};
    checkpoint_fixture_t const text_checkpoint(options);
    clip_caller_t caller(text_checkpoint);
    EXPECT_FALSE(caller.encode({clip_file("h264.mp4")}));
    EXPECT_EQ(caller.outcome.status, uform_status_unsupported_k);
}

TEST(video_encode, no_clips_are_no_rows) {
    clip_caller_t caller(checkpoint());
    EXPECT_TRUE(caller.encode({})) << caller.outcome.message;
    EXPECT_EQ(caller.outputs.embeddings.count, 0u);
}

TEST(video_encode, progress_counts_clips_and_stops_them) {
    clip_caller_t caller(checkpoint());
    text_tape_t const tape(whole_clips());
    struct seen_t {
        std::size_t calls = 0, last = 0, stop_at = SIZE_MAX;
    } seen;
    uform_video_encode_t call {};
    caller.outputs.ask(call, caller.model);
    call.files = tape.view(), call.count = tape.count();
    call.progress = {[](std::size_t completed, std::size_t, void *context) {
                         seen_t &seen = *static_cast<seen_t *>(context);
                         seen.last = completed;
                         return ++seen.calls < seen.stop_at;
                     },
                     &seen};
    EXPECT_TRUE(caller.make(uform_video_encode, call));
    EXPECT_EQ(seen.last, tape.count());
    seen = {0, 0, 1};
    EXPECT_FALSE(caller.make(uform_video_encode, call));
    EXPECT_EQ(caller.outcome.status, uform_status_cancelled_k);
    EXPECT_EQ(seen.calls, 1u);
}

} // namespace
} // namespace uform::test
