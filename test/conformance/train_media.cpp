/**
 *  @file train_media.cpp
 *  @brief Steps with clips and recordings among their texts: what they count, what is refused of them.
 */
#include <fstream>

#include "training.hpp"

namespace conformance {
namespace {

using call_t = uform_trainer_step_t;
constexpr uform_modality_t modalities_k[] = {uform_modality_video_k, 0, uform_modality_audio_k, 0};

/** A small clip that the fuzzer keeps too. */
std::string clip() {
    std::ifstream file(UFORM_CONFORMANCE_CLIPS "/h264_one.mp4", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
/** A WAV of 16-bit samples at 8 kHz, all the same. */
std::string wav(std::size_t samples) {
    auto const number = [](std::size_t value, int bytes) {
        std::string text;
        for (; bytes > 0; --bytes, value >>= 8) text += char(value & 0xff);
        return text;
    };
    std::string const data(samples * 2, '\x11');
    std::string const format =
        number(1, 2) + number(1, 2) + number(8000, 4) + number(16000, 4) + number(2, 2) + number(16, 2);
    std::string const chunks = "WAVEfmt " + number(16, 4) + format + "data" + number(data.size(), 4) + data;
    return "RIFF" + number(chunks.size(), 4) + chunks;
}

void start_media(trainer_t &trainer) {
    auto init = right_init(trainer.out(), nullptr, uform_objective_joint_k);
    init.batch.video.patch_side = 64, init.batch.audio.chunk_samples = 320; // of 16 kHz
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
}

TEST(trainer_media, step) {
    trainer_t trainer;
    start_media(trainer);
    share_t share;
    share.texts = tape_t({clip(), "one frame", wav(1000), "hum"});
    uform_trainer_step_stats_t stats {};
    call_t call = share.call(trainer);
    call.modalities = modalities_k, call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    constexpr std::size_t tubes = 1; // 32 x 32 pixels reach into one patch of 64
    EXPECT_EQ(stats.tokens, tubes + 9 + 7 + 3); // 2000 samples of 16 kHz reach into seven chunks
    EXPECT_EQ(stats.truncated, 0u);
    share.texts = tape_t({clip(), "one frame", wav(0), "hum"});
    call.contents = share.texts.view();
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.tokens, tubes + 9 + 1 + 3); // without a sample: a PAD
    share.texts = tape_t({clip(), "one frame", wav(8000 * 11), "hum"});
    call.contents = share.texts.view();
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.tokens, tubes + 9 + 32 + 3);
    EXPECT_EQ(stats.truncated, 1u);
}

TEST(trainer_media, refusals) {
    trainer_t trainer;
    start_media(trainer);
    share_t share;
    share.texts = tape_t({clip(), "one frame", wav(1000), "hum"});
    call_t right = share.call(trainer);
    right.modalities = modalities_k;
    tape_t const page({"<html>404</html>", "a", wav(9), "b"}), swapped({clip(), "a", "<html>404</html>", "b"}),
        empty({clip(), "a", "", "b"});
    static uform_modality_t const picture[] = {uform_modality_video_k, 0, uform_modality_image_k, 0};
    expect_refusals<call_t>(
        uform_trainer_step, right,
        {{"a page for a clip", uform_status_unknown_kind_k, "", [&](call_t &c) { c.contents = page.view(); }, 0},
         {"a page for a recording", uform_status_unknown_kind_k, "", [&](call_t &c) { c.contents = swapped.view(); },
          2},
         {"no bytes", uform_status_malformed_k, "", [&](call_t &c) { c.contents = empty.view(); }, 2},
         {"few bytes", uform_status_malformed_k, "max_file_bytes", [](call_t &c) { c.limits.max_file_bytes = 20; }, 0},
         {"a picture, which the run leaves out", uform_status_unsupported_k, "modalities",
          [](call_t &c) { c.modalities = picture; }, 2}});
    EXPECT_SUCCESS(answer(uform_trainer_step, right));
}

} // namespace
} // namespace conformance
