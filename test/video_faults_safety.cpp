/**
 *  @file video_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a clip, FFmpeg's own included: a refusal, nothing left
 *  behind, and the same answer afterwards.
 */
#include "clip_fixture.hpp"

#include "watched_allocations.hpp"

namespace uform::test {
namespace {

class video_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(video_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(clip_options(64));
    clip_caller_t caller(checkpoint, 1);
    text_tape_t const tape({clip_file(GetParam())});
    auto const call_once = [&](refusals_t refusals) {
        uform_video_encode_t call {};
        caller.outputs = {};
        caller.outputs.ask(call, caller.model, embeddings_k);
        call.executor = caller.executor, call.arena = caller.arena, call.outcome = &caller.outcome;
        call.files = tape.view(), call.count = 1;
        allocations.watch(refusals, [&] { uform_video_encode(&call); });
        return caller.outcome.status;
    };
    std::size_t kept = 0;
    for (int warm = 0; warm < 3; ++warm) { // scratch grows once, and is merged once
        kept = allocations.live();
        ASSERT_EQ(call_once({}), uform_status_success_k) << caller.outcome.message << ": " << caller.outcome.detail;
    }
    EXPECT_EQ(allocations.live(), kept) << "decoding leaves memory behind";
    std::string const expected = bytes_of_rows(caller.outputs.embeddings);
    std::size_t refused = 0;
    for (bool const alone : {true, false})
        for (std::size_t number = 1;; ++number) {
            SCOPED_TRACE(testing::Message() << (alone ? "alone " : "all from ") << number);
            uform_status_t const status = call_once({number, alone ? number : SIZE_MAX});
            if (allocations.refused() == 0) break;
            EXPECT_EQ(status, uform_status_out_of_memory_k) << caller.outcome.message << ": " << caller.outcome.detail;
            EXPECT_EQ(caller.outputs.embeddings.data, nullptr);
            EXPECT_EQ(allocations.live(), kept);
            ASSERT_EQ(call_once({}), uform_status_success_k);
            ASSERT_TRUE(bytes_of_rows(caller.outputs.embeddings) == expected);
            ASSERT_FALSE(HasFailure());
            ++refused;
        }
    EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(files, video_faults_safety, testing::Values("h264_turned.mp4", "h264.mkv", "h265.mp4", "mpeg4.mp4", "vp8.webm",
                                         "vp9.webm", "av1.mp4"),
                         [](auto const &info) {
                             std::string name = info.param;
                             for (char &letter : name)
                                 if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                             return name;
                         });

} // namespace
} // namespace uform::test
