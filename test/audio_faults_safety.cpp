/**
 *  @file audio_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a recording, FFmpeg's own included: `out_of_memory`, never
 *  a damaged file nor a silent gap, nothing left behind, and the same answer afterwards.
 *
 *  Not among them is what FFmpeg 5.1.9 does not survive: Ogg, whose demuxer reads into the page that it could not keep,
 *  and AAC, whose decoder follows a null pointer, crash; Opus leaks a block of the resampler it has within.
 */
#include "recording_fixture.hpp"

#include "refused_decoding.hpp"

namespace uform::test {
namespace {

class audio_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(audio_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(recording_options(64));
    recording_caller_t caller(checkpoint, 1);
    refuse_every_allocation(
        caller, uform_audio_encode,
        uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/audio/" + GetParam()),
        without_t::may_answer_k);
}

INSTANTIATE_TEST_SUITE_P(files, audio_faults_safety,
                         testing::Values("s16_48k.wav", "flac.flac", "mp3.mp3", "alac.m4a", "flac.mka"), test_name_of);

} // namespace
} // namespace uform::test
