/**
 *  @file image_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a picture, the decoders' own included: a refusal as
 *  `out_of_memory`, never as a damaged file, nothing left behind, and the same answer afterwards.
 *
 *  Lossless WebP, which alpha of lossy ones is stored as too, is not among them: where memory runs out as it reads its
 *  codes, libwebp 1.2.4 frees a pointer that it never set.
 */
#include "picture_fixture.hpp"

#include "watched_allocations.hpp"

namespace uform::test {
namespace {

std::string corpus_file(std::string const &name) {
    return uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/" + name);
}

class image_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(image_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(picture_options(64));
    picture_caller_t caller(checkpoint, 1);
    text_tape_t const tape({corpus_file(GetParam())});
    auto const call_once = [&](refusals_t refusals) {
        uform_image_encode_t call {};
        caller.outputs = {};
        caller.outputs.ask(call, caller.model, embeddings_k);
        call.executor = caller.executor, call.arena = caller.arena, call.outcome = &caller.outcome;
        call.files = tape.view(), call.count = 1;
        allocations.watch(refusals, [&] { uform_image_encode(&call); });
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

INSTANTIATE_TEST_SUITE_P(files, image_faults_safety,
                         testing::Values("jpeg/exif_6.jpg", "jpeg/progressive.jpg", "jpeg/cmyk_adobe.jpg",
                                         "jpeg/subsampled.jpg", "png/rgb16.png", "png/interlaced16_exif.png",
                                         "png/palette2_trns.png", "webp/lossy.webp"),
                         [](auto const &info) {
                             std::string name = info.param;
                             for (char &letter : name)
                                 if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                             return name;
                         });

} // namespace
} // namespace uform::test
