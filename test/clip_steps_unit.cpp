/**
 *  @file clip_steps_unit.cpp
 *  @brief Steps over clips, recordings, pictures and texts at once, through the C ABI: what is trained on is what is
 *  served, threads change no bit, and a damaged file of any kind stops a step before anything changed.
 */
#include "clip_fixture.hpp"
#include "recording_fixture.hpp"

namespace uform::test {
namespace {

struct entry_t {
    uform_modality_t modality;
    std::string bytes;
};
std::vector<entry_t> mixed() {
    return {{uform_modality_text_k, "a clip that moves"},
            {uform_modality_video_k, clip_file("h264.mp4")},
            {uform_modality_audio_k, wav_of(drawn_samples(7000, 1), 16000)},
            {uform_modality_text_k, "noise"},
            {uform_modality_image_k, case_file("image/base.jpg")},
            {uform_modality_video_k, clip_file("vp9.webm")},
            {uform_modality_audio_k, wav_of(drawn_samples(3000, 2), 8000)},
            {uform_modality_audio_k, wav_of({}, 16000)}}; // no sample: a PAD
}

struct run_t : caller_t {
    uform_trainer_t trainer = nullptr;
    std::vector<entry_t> items = mixed();
    uform_trainer_step_stats_t stats {};
    uform_rows_t embeddings {};

    explicit run_t(uform_objective_t objective, std::size_t threads = 0) : caller_t(threads) {
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.depth = 1, call.hidden = 128;
        call.objective = objective, call.seed = 5, call.schedule.steps = 8;
        call.batch.max_rows_per_device = 8, call.batch.max_segments_per_device = 16;
        call.batch.max_columns_per_row = 1024, call.batch.image.patch_side = 16, call.batch.video.patch_side = 16;
        call.batch.audio.chunk_samples = 320, call.contrastive.pair_loss = uform_pair_loss_form_softmax_k;
        uform_trainer_init_ram(&call);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    }
    ~run_t() { uform_trainer_free(trainer); }

    bool step(bool lands = false) {
        text_tape_t tape;
        std::vector<uform_modality_t> modalities;
        std::vector<std::size_t> offsets {0};
        std::vector<std::uint32_t> ids;
        for (entry_t const &item : items) {
            tape.append(item.bytes), modalities.push_back(item.modality);
            ids.push_back(std::uint32_t(ids.size() ^ 1)), offsets.push_back(ids.size());
        }
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = tape.count();
        call.contents = tape.view(), call.modalities = modalities.data(), call.stats = &stats;
        call.relations.attract = {offsets.data(), ids.data(), nullptr};
        if (lands) call.embeddings = &embeddings, call.arena = arena;
        uform_trainer_step(&call);
        return outcome.status == uform_status_success_k;
    }
    std::string save(std::string const &path) {
        uform_outcome_t told {};
        uform_trainer_save_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &told, call.path = view(path);
        uform_trainer_save(&call);
        EXPECT_EQ(told.status, uform_status_success_k) << told.message;
        return uform_test::get_file(path);
    }
    std::string saved() {
        std::string const path =
            (std::filesystem::temp_directory_path() / ("uform-clips-" + std::to_string(::getpid()))).string();
        std::string const bytes = save(path);
        std::filesystem::remove(path);
        return bytes;
    }
};

/** The embeddings of a modality's items, by its own verb. */
template <typename call_>
void expect_served(run_t const &run, uform_model_t model, uform_modality_t modality, void (*verb)(call_ *)) {
    caller_t caller;
    text_tape_t tape;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < run.items.size(); ++i)
        if (run.items[i].modality == modality) tape.append(run.items[i].bytes), places.push_back(i);
    picture_outputs_t outputs;
    call_ call {};
    outputs.ask(call, model, embeddings_k);
    call.files = tape.view(), call.count = tape.count(), call.arena = caller.arena;
    ASSERT_TRUE(caller.make(verb, call)) << caller.outcome.message << ": " << caller.outcome.detail;
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto const *const trained = static_cast<float const *>(run.embeddings.data) + places[i] * 128;
        auto const *const served = static_cast<float const *>(outputs.embeddings.data) + i * 128;
        for (std::size_t j = 0; j < 128; ++j) ASSERT_NEAR(trained[j], served[j], 0x1p-21) << places[i];
    }
}

TEST(clip_steps, train_on_what_is_served) {
    run_t run(uform_objective_contrastive_k);
    std::string const path =
        (std::filesystem::temp_directory_path() / ("uform-clips-" + std::to_string(::getpid()))).string();
    run.save(path);
    ASSERT_TRUE(run.step(true)) << run.outcome.message << ": " << run.outcome.detail;
    uform_model_t model = nullptr;
    ASSERT_EQ(load_model(path, model).status, uform_status_success_k);
    std::filesystem::remove(path);
    expect_served(run, model, uform_modality_image_k, uform_image_encode);
    expect_served(run, model, uform_modality_video_k, uform_video_encode);
    expect_served(run, model, uform_modality_audio_k, uform_audio_encode);
    uform_model_free(model);
}

TEST(clip_steps, threads_change_no_bit) {
    std::string expected;
    for (std::size_t const threads : {0, 2, 3}) {
        run_t run(uform_objective_joint_k, threads);
        for (int step = 0; step < 2; ++step) ASSERT_TRUE(run.step()) << run.outcome.message;
        for (float const loss : {run.stats.masked_image_loss, run.stats.masked_video_loss, run.stats.masked_audio_loss})
            EXPECT_TRUE(loss > 0.5f && loss < 5) << loss;
        std::string const bytes = run.saved();
        if (expected.empty()) expected = bytes;
        EXPECT_TRUE(bytes == expected) << threads;
    }
}

TEST(clip_steps, a_damaged_file_changes_nothing) {
    run_t run(uform_objective_joint_k, 2);
    ASSERT_TRUE(run.step()) << run.outcome.message;
    std::string const before = run.saved();
    for (std::size_t const item : {1, 5, 6}) {
        SCOPED_TRACE(item);
        run.items = mixed();
        run.items[item].bytes.resize(run.items[item].bytes.size() / 2);
        if (item == 6) run.items[item].bytes = "RIFF and no more";
        EXPECT_FALSE(run.step());
        EXPECT_NE(run.outcome.status, uform_status_out_of_memory_k);
        EXPECT_EQ(run.outcome.item, item) << run.outcome.message;
        EXPECT_TRUE(run.saved() == before);
    }
    run.items = mixed();
    ASSERT_TRUE(run.step());
    EXPECT_EQ(run.stats.step, 2u);
}

} // namespace
} // namespace uform::test
