/**
 *  @file image_faults_safety.cpp
 *  @brief Memory that runs out at every allocation of encoding a picture, the decoders' own included: a refusal as
 *  `out_of_memory`, never as a damaged file, nothing left behind, and the same answer afterwards.
 *
 *  Lossless WebP, which alpha of lossy ones is stored as too, is not among them: where memory runs out as it reads its
 *  codes, libwebp 1.2.4 frees a pointer that it never set. So it is not asked where that could happen.
 */
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>

#include "picture_fixture.hpp"

#include <uform/media/image.hpp>

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

/** What a child answers that may have no more addresses than it has and these. */
status_t lossless_within(std::size_t more_bytes) {
    std::string const bytes = case_file("image/lossless.webp");
    file_t const file(reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size());
    pid_t const child = ::fork();
    if (child == 0) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        rlim_t const most = pages * std::size_t(::sysconf(_SC_PAGESIZE)) + more_bytes;
        rlimit const limit {most, most};
        ::setrlimit(RLIMIT_AS, &limit);
        image_header_t header;
        failure_t failure = read_image_header(file, {}, header);
        row_sink_t const sink {[](void *, std::uint8_t const *) noexcept { return true; }, nullptr};
        if (!failure) failure = decode_image(file, header, 1, sink);
        ::_exit(int(failure.status));
    }
    int state = -1;
    ::waitpid(child, &state, 0);
    return WIFEXITED(state) ? status_t(WEXITSTATUS(state)) : uform_status_internal_k;
}

TEST(image_faults_safety_webp, lossless_is_not_begun_without_memory) {
    if (!UFORM_TEST_OWNS_MALLOC) GTEST_SKIP() << "a sanitizer's addresses have no limit";
    EXPECT_EQ(lossless_within(8 << 20), uform_status_out_of_memory_k);
    EXPECT_EQ(lossless_within(32 << 20), uform_status_success_k);
}

} // namespace
} // namespace uform::test
