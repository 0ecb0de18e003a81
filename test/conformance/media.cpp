/**
 *  @file media.cpp
 *  @brief Verbs this version does not have, and those over media with a model of texts alone: all say so.
 */
#include "encoding.hpp"

namespace conformance {
namespace {

/** Receiver and completion are refused as everywhere; anything else is `unsupported`, and nothing is written. */
template <typename call_>
void expect_unsupported(void (*verb)(call_ *)) {
    encoding_t const encoding;
    encoded_t got;
    call_ call {};
    call.model = encoding.model, call.arena = encoding.arena, call.embeddings = &got.embeddings;
    EXPECT_STATUS(answer(verb, call), uform_status_unsupported_k);
    EXPECT_EQ(got.embeddings.data, nullptr);
    call.completion = uform_completion_queued_k;
    EXPECT_STATUS(answer(verb, call), uform_status_unsupported_k);
    call.completion = 2;
    EXPECT_STATUS(answer(verb, call), uform_status_invalid_argument_k);
    call.completion = 0, call.model = nullptr;
    EXPECT_STATUS(answer(verb, call), uform_status_invalid_argument_k);
    call.outcome = nullptr;
    verb(&call), verb(nullptr);
}

TEST(media, images) {
    expect_unsupported(uform_image_encode);
    expect_unsupported(uform_image_encode_pixels);
}
TEST(media, clips) { expect_unsupported(uform_video_encode); }
TEST(media, recordings) {
    expect_unsupported(uform_audio_encode);
    expect_unsupported(uform_audio_encode_samples);
}

} // namespace
} // namespace conformance
