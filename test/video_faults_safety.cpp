/**
 *  @file video_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a clip, FFmpeg's own included: a refusal, nothing left
 *  behind, and the same answer afterwards.
 */
#include "clip_fixture.hpp"

#include "refused_decoding.hpp"

namespace uform::test {
namespace {

class video_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(video_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(clip_options(64));
    clip_caller_t caller(checkpoint, 1);
    refuse_every_allocation(caller, uform_video_encode, clip_file(GetParam()), without_t::fails_k);
}

INSTANTIATE_TEST_SUITE_P(files, video_faults_safety,
                         testing::Values("h264_turned.mp4", "h264.mkv", "h265.mp4", "mpeg4.mp4", "vp8.webm", "vp9.webm",
                                         "av1.mp4"),
                         test_name_of);

} // namespace
} // namespace uform::test
