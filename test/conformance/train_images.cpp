/**
 *  @file train_images.cpp
 *  @brief Steps with pictures among their texts: what is refused of them, what is counted, what is saved.
 */
#include "training.hpp"

namespace conformance {
namespace {

using call_t = uform_trainer_step_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto malformed_k = uform_status_malformed_k;
constexpr uform_modality_t captioned_k[] = {uform_modality_image_k, 0, uform_modality_image_k, 0};

/** Two pictures of one patch each, and their captions. */
struct pictures_t : share_t {
    pictures_t() { texts = tape_t({wide_png_k, "four pixels", wide_png_k, "grey"}); }
    call_t call(uform_trainer_t trainer) const {
        call_t call = share_t::call(trainer);
        call.modalities = captioned_k;
        return call;
    }
};

uform_trainer_init_ram_t picture_init(uform_trainer_t *trainer, uform_objective_t objective) {
    auto call = right_init(trainer, nullptr, objective);
    call.batch.image.patch_side = 8;
    if (objective != uform_objective_masked_k) call.late_interaction.weight = 0.5f;
    call.choices.weight = 1, call.batch.max_choices_per_item = 4;
    return call;
}

TEST(trainer_images, step) {
    for (uform_objective_t const objective :
         {uform_objective_masked_k, uform_objective_contrastive_k, uform_objective_joint_k}) {
        trainer_t trainer;
        EXPECT_SUCCESS(answer(uform_trainer_init_ram, picture_init(trainer.out(), objective)));
        pictures_t const pictures;
        static uform_late_interaction_side_t const sides[] = {2, 1, 3, 3};
        uform_trainer_step_stats_t stats {};
        call_t call = pictures.call(trainer);
        call.stats = &stats, call.sides = sides;
        for (std::size_t step = 1; step <= 2; ++step) {
            EXPECT_SUCCESS(answer(uform_trainer_step, call));
            EXPECT_EQ(stats.step, step);
            EXPECT_EQ(stats.tokens, 1u + 11 + 1 + 4);
            EXPECT_EQ(stats.truncated, 0u);
            EXPECT_EQ(stats.masked_video_loss, 0);
            EXPECT_EQ(stats.masked_audio_loss, 0);
        }
    }
}

TEST(trainer_images, refusals) {
    trainer_t trainer;
    auto init = picture_init(trainer.out(), uform_objective_joint_k);
    init.late_interaction.prefix_tokens = 1;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    pictures_t const pictures;
    static uform_modality_t const clip[] = {1, 0, uform_modality_video_k, 0},
                                  sound[] = {uform_modality_audio_k, 0, 1, 0}, beyond[] = {1, 4, 1, 0};
    static uform_late_interaction_side_t const asked[] = {2, 1, 1, 2};
    static std::size_t const choice_offsets[] = {0, 0, 0, 2, 2};
    static float const targets[] = {0.5f, 0.5f};
    tape_t const page({wide_png_k, "a", "<html>404</html>", "b"}),
        torn({wide_png_k, "a", wide_png_k.substr(0, 20), "b"}), empty({wide_png_k, "a", "", "b"});
    expect_refusals<call_t>(
        uform_trainer_step, pictures.call(trainer),
        {{"a clip that the run leaves out", uform_status_unsupported_k, "modalities",
          [](call_t &c) { c.modalities = clip; }, 2},
         {"a recording likewise", uform_status_unsupported_k, "modalities", [](call_t &c) { c.modalities = sound; }, 0},
         {"no modality", uform_status_unsupported_k, "modalities", [](call_t &c) { c.modalities = beyond; }, 1},
         {"a text for a picture", uform_status_unknown_kind_k, "", [&](call_t &c) { c.contents = page.view(); }, 2},
         {"a picture cut short", malformed_k, "", [&](call_t &c) { c.contents = torn.view(); }, 2},
         {"a picture of no bytes", malformed_k, "", [&](call_t &c) { c.contents = empty.view(); }, 2},
         {"few pixels", malformed_k, "max_pixels", [](call_t &c) { c.limits.max_pixels = 3; }, 0},
         {"few bytes", malformed_k, "max_file_bytes", [](call_t &c) { c.limits.max_file_bytes = 69; }, 0},
         {"a question about a picture", invalid_k, "choices",
          [](call_t &c) {
              c.choices = {"yn", choice_offsets, uform_scalar_u8_k};
              c.choice_targets = {targets, choice_offsets, uform_scalar_f32_k};
          },
          2},
         {"a picture of the prefix alone that asks", invalid_k, "sides", [](call_t &c) { c.sides = asked; }, 2}});
    uform_trainer_step_stats_t stats {};
    call_t call = pictures.call(trainer);
    call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call)); // it was right but for what was broken
    EXPECT_EQ(stats.step, 1u) << "what is refused counts no step";
}

TEST(trainer_images, score_rows_for_every_patch) {
    trainer_t trainer;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, picture_init(trainer.out(), uform_objective_contrastive_k)));
    pictures_t const pictures;
    static uform_late_interaction_side_t const sides[] = {2, 1, 2, 1};
    arena_t arena;
    make_arena(arena);
    uform_rows_tape_t vectors {};
    uform_rows_t embeddings {};
    call_t call = pictures.call(trainer);
    call.sides = sides, call.token_vectors = &vectors, call.embeddings = &embeddings, call.arena = arena;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    std::vector<std::size_t> const expected {0, 1, 12, 13, 17};
    ASSERT_NE(vectors.offsets, nullptr);
    EXPECT_EQ(std::vector<std::size_t>(vectors.offsets, vectors.offsets + 5), expected);
    EXPECT_EQ(embeddings.count, 4u);
    for (auto const &row : landed_t(vectors).rows) expect_unit(row, 0x1p-7);
}

TEST(trainer_images, are_no_part_of_a_text_run) {
    trainer_t trainer;
    start(trainer);
    pictures_t const pictures;
    EXPECT_STATUS(answer(uform_trainer_step, pictures.call(trainer)), uform_status_unsupported_k);
}

TEST(trainer_images, runs_save_and_resume_their_entries) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer, resumed;
    auto const init = [&](trainer_t &target) {
        auto call = right_init(target.out(), nullptr, uform_objective_joint_k);
        call.batch.image = {8, 3}, call.batch.video.patch_side = 4, call.batch.audio.chunk_samples = 40;
        return call;
    };
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init(trainer)));
    EXPECT_SUCCESS(save(trainer, path));
    model_t model;
    load(model, path);
    uform_model_description_t it {};
    uform_model_describe_t describe {};
    describe.model = model, describe.description = &it;
    EXPECT_SUCCESS(answer(uform_model_describe, describe));
    EXPECT_EQ(it.image.patch_side, 8u);
    EXPECT_EQ(it.image.channels, 3u);
    EXPECT_EQ(it.video.patch_side, 4u);
    EXPECT_EQ(it.video.tube_frames, 2u);
    EXPECT_EQ(it.video.frame_stride, 1u);
    EXPECT_EQ(it.audio.chunk_samples, 40u);
    EXPECT_EQ(it.audio.sample_rate, 16000u);
    using init_t = uform_trainer_init_ram_t;
    std::pair<char const *, std::function<void(init_t &)>> const changes[] = {
        {"image.patch_side: saved 8, asked 0", [](init_t &c) { c.batch.image = {}; }},
        {"image.channels: saved 3, asked 4", [](init_t &c) { c.batch.image.channels = 0; }},
        {"video.patch_side: saved 4, asked 5", [](init_t &c) { c.batch.video.patch_side = 5; }},
        {"video.tube_frames: saved 2, asked 1", [](init_t &c) { c.batch.video.tube_frames = 1; }},
        {"video.frame_stride: saved 1, asked 3", [](init_t &c) { c.batch.video.frame_stride = 3; }},
        {"audio.chunk_samples: saved 40, asked 0", [](init_t &c) { c.batch.audio = {}; }},
        {"audio.sample_rate: saved 16000, asked 8000", [](init_t &c) { c.batch.audio.sample_rate = 8000; }},
        {"masking.image_mask_ratio: saved 0.75, asked 0.5", [](init_t &c) { c.masking.image_mask_ratio = 0.5f; }},
        {"masking.image_weight: saved 1, asked 2", [](init_t &c) { c.masking.image_weight = 2; }},
        {"masking.video_mask_ratio: saved 0.75, asked 0.5", [](init_t &c) { c.masking.video_mask_ratio = 0.5f; }},
        {"masking.video_weight: saved 1, asked 2", [](init_t &c) { c.masking.video_weight = 2; }},
        {"masking.audio_mask_ratio: saved 0.75, asked 0.5", [](init_t &c) { c.masking.audio_mask_ratio = 0.5f; }},
        {"masking.audio_weight: saved 1, asked 2", [](init_t &c) { c.masking.audio_weight = 2; }}};
    for (auto const &[detail, change] : changes) {
        SCOPED_TRACE(detail);
        tell_row(detail, uform_status_config_mismatch_k, detail);
        init_t call = init(resumed);
        call.resume = view(path);
        change(call);
        outcome_t const outcome = answer(uform_trainer_init_ram, call);
        EXPECT_STATUS(outcome, uform_status_config_mismatch_k);
        EXPECT_EQ(std::string(outcome.detail), detail);
    }
    init_t call = init(resumed);
    call.resume = view(path);
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
    pictures_t const pictures;
    EXPECT_SUCCESS(answer(uform_trainer_step, pictures.call(resumed)));
    trainer_t text; // what a run of texts alone takes of it
    init_t warm = right_init(text.out());
    warm.initial = view(path);
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, warm));
}

} // namespace
} // namespace conformance
