/**
 *  @file media_plateau_unit.cpp
 *  @brief Memory that thousands of batches of files leave behind: none. Pictures, recordings and clips of many sizes.
 *
 *  The first batch is larger than any later one, so that scratch and arena have their size from then on; whatever the
 *  process grows by after that was leaked, or is freed somewhere the next batch does not find.
 */
#include <cstdio>
#include <random>

#include <unistd.h>

#include "clip_fixture.hpp"
#include "recording_fixture.hpp"

namespace uform::test {
namespace {

constexpr std::size_t batches_k = 3000, settled_k = 500, most_files_k = 6;
constexpr double growth_k = 1.02;

double resident_bytes() {
    unsigned long long pages = 0;
    std::FILE *const file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
    if (file) std::fclose(file);
    return double(pages) * double(::sysconf(_SC_PAGESIZE));
}

/** Batches of files drawn from these, now and then of one that is cut short, which most verbs refuse. */
template <typename caller_>
void expect_plateau(caller_ &caller, std::vector<std::string> const &files) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep what is freed";
#endif
    if (resident_bytes() == 0) GTEST_SKIP() << "this system has no /proc/self/statm";
    std::mt19937 dice(1);
    double settled = 0;
    std::vector<std::string> everything;
    for (std::string const &file : files) everything.insert(everything.end(), most_files_k, file);
    ASSERT_TRUE(caller.encode(everything)) << caller.outcome.message;
    for (std::size_t batch = 1; batch <= batches_k; ++batch) {
        std::vector<std::string> drawn(1 + dice() % most_files_k);
        bool is_cut = false;
        for (std::string &file : drawn) {
            file = files[dice() % files.size()];
            if (dice() % 20 == 0) file.resize(file.size() / 2), is_cut = true;
        }
        ASSERT_TRUE(caller.encode(drawn) || is_cut) << "batch " << batch << ": " << caller.outcome.message;
        if (batch == settled_k) settled = resident_bytes();
    }
    EXPECT_LT(resident_bytes(), settled * growth_k);
}

model_options_t shallow(model_options_t options) {
    options.geometry.depth = 1;
    return options;
}

TEST(media_plateau, of_pictures) {
    checkpoint_fixture_t const checkpoint(shallow(picture_options()));
    picture_caller_t caller(checkpoint, 2);
    std::vector<std::string> files;
    for (char const *name : {"size_17x17.png", "gray.jpg", "lossless.webp", "palette.png", "exif_6.jpg", "rgb16.png",
                             "progressive.jpg", "base.jpg"})
        files.push_back(case_file(std::string("image/") + name));
    expect_plateau(caller, files);
}

TEST(media_plateau, of_recordings) {
    checkpoint_fixture_t const checkpoint(shallow(recording_options()));
    recording_caller_t caller(checkpoint, 2);
    std::vector<std::string> files;
    for (char const *name : {"aac.m4a", "aac_fragments.mp4", "adpcm.wav", "alac.m4a", "flac.flac", "flac.ogg", "mp3.mp3",
                             "opus.opus", "opus.webm", "s16_51.wav", "u8.wav", "vorbis.ogg"})
        files.push_back(uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/audio/" + name));
    for (std::uint32_t rate : {8000u, 16000u, 44100u}) files.push_back(wav_of(drawn_samples(9600, rate), rate));
    expect_plateau(caller, files);
}

TEST(media_plateau, of_clips) {
    checkpoint_fixture_t const checkpoint(shallow(clip_options()));
    clip_caller_t caller(checkpoint, 2);
    expect_plateau(caller, whole_clips());
}

} // namespace
} // namespace uform::test
