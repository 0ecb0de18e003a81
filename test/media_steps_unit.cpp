/**
 *  @file media_steps_unit.cpp
 *  @brief Steps over files through the C ABI: pictures train as they are served, threads change no bit, a damaged file
 *  stops a step before anything changed, and so does memory that runs out.
 */
#include "picture_fixture.hpp"

#include "watched_allocations.hpp"

namespace uform::test {
namespace {

/** Captions and pictures, pair by pair; the sizes differ, and so do the formats. */
std::vector<std::string> captioned() {
    std::vector<std::string> items;
    for (char const *name : {"image/base.jpg", "image/exif_6.jpg", "image/size_17x17.png", "image/lossless.webp",
                             "image/alpha_hidden_a.png", "image/size_1x4096.png"})
        items.push_back(name), items.push_back(case_file(name));
    return items;
}

struct run_t : caller_t {
    uform_trainer_t trainer = nullptr;
    text_tape_t contents {captioned()};
    std::vector<uform_modality_t> modalities;
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;
    uform_trainer_step_stats_t stats {};
    uform_rows_t embeddings {};
    uform_rows_tape_t token_vectors {};

    explicit run_t(uform_objective_t objective, std::size_t threads = 0, std::size_t columns = 512)
        : caller_t(threads) {
        for (std::uint32_t i = 0; i < contents.count(); ++i) {
            modalities.push_back(i % 2 ? uform_modality_image_k : uform_modality_text_k);
            ids.push_back(i ^ 1), offsets.push_back(ids.size());
        }
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.depth = 2, call.hidden = 128, call.objective = objective, call.seed = 5;
        call.batch.max_rows_per_device = 8, call.batch.max_segments_per_device = 16;
        call.batch.max_columns_per_row = columns, call.batch.image.patch_side = 16;
        call.contrastive.pair_loss = uform_pair_loss_form_softmax_k, call.schedule.steps = 8;
        call.late_interaction.weight = 0.5f, call.late_interaction.width = 32;
        call.executor = executor, call.outcome = &outcome;
        uform_trainer_init_ram(&call);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    }
    ~run_t() { uform_trainer_free(trainer); }

    uform_trainer_step_t given() {
        static uform_late_interaction_side_t const sides[] = {1, 2, 1, 2, 3, 3, 1, 2, 1, 2, 0, 0};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = contents.count();
        call.contents = contents.view(), call.modalities = modalities.data(), call.sides = sides;
        call.relations.attract = {offsets.data(), ids.data(), nullptr}, call.stats = &stats;
        return call;
    }
    bool step() {
        uform_trainer_step_t call = given();
        uform_trainer_step(&call);
        return outcome.status == uform_status_success_k;
    }
    std::string saved(std::string const &path = "") {
        std::string const name =
            (std::filesystem::temp_directory_path() / ("uform-steps-" + std::to_string(::getpid()) + ".safetensors"))
                .string();
        uform_trainer_save_t call {};
        uform_outcome_t told {};
        call.trainer = trainer, call.executor = executor, call.outcome = &told;
        call.path = view(path.empty() ? name : path);
        uform_trainer_save(&call);
        EXPECT_EQ(told.status, uform_status_success_k) << told.message;
        std::string const bytes = uform_test::get_file(path.empty() ? name : path);
        if (path.empty()) std::filesystem::remove(name);
        return bytes;
    }
};

/** What a step scores before its update is what the checkpoint saved before it answers when it is served. */
TEST(media_steps, train_on_what_is_served) {
    run_t run(uform_objective_contrastive_k);
    std::string const path =
        (std::filesystem::temp_directory_path() / ("uform-served-" + std::to_string(::getpid()) + ".safetensors"))
            .string();
    run.saved(path);
    uform_trainer_step_t call = run.given();
    call.embeddings = &run.embeddings, call.token_vectors = &run.token_vectors, call.arena = run.arena;
    uform_trainer_step(&call);
    ASSERT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message << ": " << run.outcome.detail;
    EXPECT_EQ(run.stats.truncated, 0u);

    caller_t caller;
    uform_model_t model = nullptr;
    ASSERT_EQ(load_model(path, model).status, uform_status_success_k);
    std::vector<std::string> files;
    for (std::size_t i = 1; i < run.contents.count(); i += 2) files.push_back(captioned()[i]);
    text_tape_t const tape(files);
    picture_outputs_t outputs;
    uform_image_encode_t encode {};
    outputs.ask(encode, model);
    encode.files = tape.view(), encode.count = tape.count(), encode.arena = caller.arena;
    ASSERT_TRUE(caller.make(uform_image_encode, encode)) << caller.outcome.message;
    auto const near = [](void const *a, void const *b, std::size_t columns, std::size_t item) {
        for (std::size_t i = 0; i < columns; ++i) // one rounding more or less of a norm
            ASSERT_NEAR(static_cast<float const *>(a)[i], static_cast<float const *>(b)[i], 0x1p-21) << item;
    };
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::size_t const item = 2 * i + 1, tokens = outputs.states.offsets[i + 1] - outputs.states.offsets[i];
        near(static_cast<char const *>(run.embeddings.data) + item * run.embeddings.stride,
             static_cast<char const *>(outputs.embeddings.data) + i * outputs.embeddings.stride, 128, item);
        ASSERT_EQ(run.token_vectors.offsets[item + 1] - run.token_vectors.offsets[item], tokens);
        near(static_cast<char const *>(run.token_vectors.data) + run.token_vectors.offsets[item] * 32 * sizeof(float),
             static_cast<char const *>(outputs.token_vectors.data) + outputs.states.offsets[i] * 32 * sizeof(float),
             tokens * 32, item);
    }
    uform_model_free(model), std::filesystem::remove(path);
}

TEST(media_steps, threads_change_no_bit) {
    std::string expected;
    for (std::size_t const threads : {0, 2, 3}) {
        run_t run(uform_objective_joint_k, threads);
        for (int step = 0; step < 2; ++step) ASSERT_TRUE(run.step()) << run.outcome.message;
        EXPECT_GT(run.stats.masked_image_loss, 0);
        std::string const bytes = run.saved();
        if (expected.empty()) expected = bytes;
        EXPECT_TRUE(bytes == expected) << threads;
    }
}

/** Of each, the header is whole: what is wrong shows when the step decodes it. */
TEST(media_steps, a_damaged_file_changes_nothing) {
    run_t run(uform_objective_joint_k, 2);
    ASSERT_TRUE(run.step());
    std::string const before = run.saved();
    for (char const *name : {"bad/truncated.jpg", "bad/png_corrupt.png", "bad/png_truncated.png"}) {
        SCOPED_TRACE(name);
        std::vector<std::string> items = captioned();
        items[5] = case_file(name);
        run.contents = text_tape_t(items);
        EXPECT_FALSE(run.step());
        EXPECT_EQ(run.outcome.status, uform_status_malformed_k) << run.outcome.message;
        EXPECT_EQ(run.outcome.item, 5u);
        EXPECT_TRUE(run.saved() == before);
    }
    run.contents = text_tape_t(captioned());
    ASSERT_TRUE(run.step());
    EXPECT_EQ(run.stats.step, 2u);
}

TEST(media_steps, rows_too_narrow_cut_pictures) {
    run_t run(uform_objective_contrastive_k, 0, 8); // base.jpg alone has more patches than a row has room for
    ASSERT_TRUE(run.step()) << run.outcome.message << ": " << run.outcome.detail;
    EXPECT_GT(run.stats.truncated, 0u);
}

/** A run is made afresh for every allocation that its first step makes; one refused leaves weights as they were. */
TEST(media_steps, every_allocation) {
    std::string untouched, expected;
    for (std::size_t number = 0;; ++number) {
        run_t run(uform_objective_joint_k);
        std::vector<std::string> items = captioned();
        items.resize(4), run.contents = text_tape_t(items);
        uform_trainer_step_t call = run.given();
        call.count = 4, run.offsets.resize(5), call.relations.attract.offsets = run.offsets.data();
        if (number == 0) untouched = run.saved();
        allocations.watch(number ? refusals_t {number, number} : refusals_t {}, [&] { uform_trainer_step(&call); });
        bool const refused = allocations.refused();
        std::string const saved = run.saved();
        if (number == 0) {
            ASSERT_FALSE(saved == untouched);
            expected = saved;
            continue;
        }
        if (!refused) break;
        ASSERT_TRUE(saved == untouched || saved == expected) << number; // or it found another way
        uform_trainer_step(&call);
        ASSERT_EQ(run.outcome.status, uform_status_success_k) << number;
    }
}

} // namespace
} // namespace uform::test
