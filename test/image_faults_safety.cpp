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
status_t decoded_within(std::string const &bytes, std::size_t more_bytes) {
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

constexpr std::size_t tables_k = (3 * 630 + 410 + 2704) * 4; // bytes of a group's, at most

/** A lossless picture of one colour, 32 x 32, whose only group of codes is told to be the last of a thousand. */
std::string picture_of_groups() {
    std::string bits; // from the lowest of each byte on
    auto const put = [&](std::size_t value, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) bits.push_back(char(value >> i & 1));
    };
    auto const put_symbol = [&](std::size_t symbol) { put(1, 1), put(0, 1), put(1, 1), put(symbol, 8); };
    put(0x2f, 8), put(31, 14), put(31, 14), put(0, 1), put(0, 3); // the signature, sides less one, no alpha, a version
    put(0, 1), put(1, 1), put(11, 4), put(1, 1), put(7, 3);       // no transform, a cache of 2^11, groups by 2^9 pixels
    put(0, 1), put_symbol(999 % 256), put_symbol(999 / 256);      // one such pixel: no cache, green and red
    for (std::size_t i = 0; i < 3 + 5 * 1000; ++i) put_symbol(0); // blue, alpha, distance; and every group's five
    std::string chunk(bits.size() / 8 + 16, '\0');
    for (std::size_t i = 0; i < bits.size(); ++i) chunk[i / 8] = char(chunk[i / 8] | bits[i] << (i % 8));
    auto const length = [](std::size_t bytes) {
        return std::string {char(bytes), char(bytes >> 8), char(bytes >> 16), char(bytes >> 24)};
    };
    chunk.resize((chunk.size() + 1) / 2 * 2);
    return "RIFF" + length(chunk.size() + 12) + "WEBPVP8L" + length(chunk.size()) + chunk;
}

TEST(image_faults_safety_webp, lossless_is_not_begun_without_memory) {
    if (!UFORM_TEST_OWNS_MALLOC) GTEST_SKIP() << "a sanitizer's addresses have no limit";
    std::string const file = case_file("image/lossless.webp"); // 192 x 128, or 48 x 32 blocks of a group each
    EXPECT_EQ(decoded_within(file, 8 << 20), uform_status_out_of_memory_k);
    EXPECT_EQ(decoded_within(file, 48 * 32 * (2 * tables_k + 600) + (4 << 20)), uform_status_success_k);
}

TEST(image_faults_safety_webp, memory_for_tables_of_codes_counts) {
    if (!UFORM_TEST_OWNS_MALLOC) GTEST_SKIP() << "a sanitizer's addresses have no limit";
    std::string const file = picture_of_groups();
    for (std::size_t more = 4 << 20; more < 1000 * tables_k; more += 2 << 20)
        EXPECT_EQ(decoded_within(file, more), uform_status_out_of_memory_k) << more;
    EXPECT_EQ(decoded_within(file, 1000 * (2 * tables_k + 600) + (4 << 20)), uform_status_success_k);
}

} // namespace
} // namespace uform::test
