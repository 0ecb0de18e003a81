/**
 *  @file audio_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a recording, FFmpeg's own included: `out_of_memory`, never
 *  a damaged file nor a silent gap, nothing left behind, and the same answer afterwards.
 *
 *  Not among them is what FFmpeg 5.1.9 does not survive: Ogg, whose demuxer reads into the page that it could not keep,
 *  and AAC, whose decoder follows a null pointer, crash; Opus leaks a block of the resampler it has within.
 */
#include "recording_fixture.hpp"

#include "watched_allocations.hpp"

namespace uform::test {
namespace {

class audio_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(audio_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(recording_options(64));
    recording_caller_t caller(checkpoint, 1);
    text_tape_t const tape(
        {uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/audio/" + GetParam())});
    ASSERT_GT(tape.data.size(), 0u) << GetParam();
    auto const call_once = [&](refusals_t refusals) {
        uform_audio_encode_t call {};
        caller.outputs = {};
        caller.outputs.ask(call, caller.model, embeddings_k);
        call.executor = caller.executor, call.arena = caller.arena, call.outcome = &caller.outcome;
        call.files = tape.view(), call.count = 1;
        allocations.watch(refusals, [&] { uform_audio_encode(&call); });
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
            if (status == uform_status_success_k)
                EXPECT_TRUE(bytes_of_rows(caller.outputs.embeddings) == expected);
            else {
                EXPECT_EQ(status, uform_status_out_of_memory_k)
                    << caller.outcome.message << ": " << caller.outcome.detail;
                EXPECT_EQ(caller.outputs.embeddings.data, nullptr);
                ++refused;
            }
            EXPECT_EQ(allocations.live(), kept);
            ASSERT_EQ(call_once({}), uform_status_success_k);
            ASSERT_TRUE(bytes_of_rows(caller.outputs.embeddings) == expected);
            ASSERT_FALSE(HasFailure());
        }
    EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(files, audio_faults_safety,
                         testing::Values("s16_48k.wav", "flac.flac", "mp3.mp3", "alac.m4a", "flac.mka"),
                         [](auto const &info) {
                             std::string name = info.param;
                             for (char &letter : name)
                                 if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                             return name;
                         });

} // namespace
} // namespace uform::test
