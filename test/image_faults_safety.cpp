/**
 *  @file image_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a picture, the decoders' own included: a refusal as
 *  `out_of_memory`, never as a damaged file, nothing left behind, and the same answer afterwards.
 *
 *  Lossless WebP, which alpha of lossy ones is stored as too, is not among them: where memory runs out as it reads its
 *  codes, libwebp 1.2.4 frees a pointer that it never set.
 */
#include "picture_fixture.hpp"

#include "refused_decoding.hpp"

namespace uform::test {
namespace {

std::string corpus_file(std::string const &name) {
    return uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/" + name);
}

class image_faults_safety : public testing::TestWithParam<char const *> {};

TEST_P(image_faults_safety, every_allocation) {
    checkpoint_fixture_t const checkpoint(picture_options(64));
    picture_caller_t caller(checkpoint, 1);
    refuse_every_allocation(caller, uform_image_encode, corpus_file(GetParam()), without_t::may_answer_k);
}

INSTANTIATE_TEST_SUITE_P(files, image_faults_safety,
                         testing::Values("jpeg/exif_6.jpg", "jpeg/progressive.jpg", "jpeg/cmyk_adobe.jpg",
                                         "jpeg/subsampled.jpg", "png/rgb16.png", "png/interlaced16_exif.png",
                                         "png/palette2_trns.png", "webp/lossy.webp"),
                         test_name_of);

} // namespace
} // namespace uform::test
