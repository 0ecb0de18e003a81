/**
 *  @file trainer_unit.cpp
 *  @brief A run through the C ABI: it learns, its bits ignore threads, and resuming equals never having stopped.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <uform/encoder/strips.hpp>
#include <uform/uform.h>

namespace {

/** Everything the tests write, gone with the program. */
struct folder_t {
    std::filesystem::path const path =
        std::filesystem::temp_directory_path() / ("uform-trainer-" + std::to_string(::getpid()));
    folder_t() { std::filesystem::create_directories(path); }
    ~folder_t() { std::filesystem::remove_all(path); }
};

std::string temporary(char const *name) {
    static folder_t const folder;
    return (folder.path / name).string();
}
uform_bytes_view_t view(std::string const &text) {
    return {reinterpret_cast<unsigned char const *>(text.data()), text.size()};
}

std::string read_file(std::string const &path) {
    std::string bytes;
    if (FILE *file = std::fopen(path.c_str(), "rb")) {
        char chunk[4096];
        for (size_t got; (got = std::fread(chunk, 1, sizeof(chunk), file));) bytes.append(chunk, got);
        std::fclose(file);
    }
    return bytes;
}

struct run_t {
    uform_executor_t executor = nullptr;
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome {};
    std::vector<uform_trainer_step_stats_t> stats;

    /** `kept` is memory for activations that are not to be computed twice. */
    explicit run_t(size_t threads, uform_objective_t objective = uform_objective_contrastive_k,
                   std::string const &resume = "", uform_cpu_class_t cpu_class = uform_cpu_class_derived_k,
                   size_t steps = 12, uform_status_t expected = uform_status_success_k, size_t rows = 64,
                   size_t kept = 0) {
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = threads, make.cpu_class = cpu_class;
        uform_executor_for_ram(&make);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
        uform_trainer_init_ram_t init {};
        static size_t const widths[] = {64, 128};
        init.trainer = &trainer, init.executor = executor, init.outcome = &outcome, init.resume = view(resume);
        init.depth = 2, init.hidden = 128, init.objective = objective, init.seed = 7;
        init.batch.max_rows_per_device = rows, init.batch.max_segments_per_device = 64,
        init.batch.max_columns_per_row = 64, init.batch.kept_activation_bytes = kept;
        init.contrastive.pair_loss = uform_pair_loss_form_softmax_k, init.contrastive.inverse_temperature = 10;
        init.contrastive.matryoshka_dimensions = widths, init.contrastive.matryoshka_dimensions_count = 2;
        init.regularizers.coding_rate_weight = 0.02f;
        init.schedule.steps = steps, init.schedule.learning_rate = 3e-3f, init.schedule.warmup_steps = 2;
        uform_trainer_init_ram(&init);
        EXPECT_EQ(outcome.status, expected) << outcome.message << ": " << outcome.detail;
    }
    ~run_t() {
        uform_trainer_free(trainer);
        uform_executor_free(executor);
    }

    /** Pairs of numbers written as words and as digits; a function of the step's number. `change` edits the call. */
    template <typename change_>
    void step(size_t number, change_ const &change) {
        static char const *const words[] = {"zero", "one", "two",   "three", "four",
                                            "five", "six", "seven", "eight", "nine"};
        std::string data;
        std::vector<size_t> offsets {0}, attract_offsets {0};
        std::vector<uint32_t> attract;
        constexpr size_t pairs = 16;
        for (size_t side = 0; side < 2; ++side)
            for (size_t pair = 0; pair < pairs; ++pair) {
                size_t const value = pair * 61 + number * 7;
                for (char digit : std::to_string(value))
                    data += side ? std::string(1, digit) : std::string(words[digit - '0']) + " ";
                offsets.push_back(data.size());
                attract.push_back(uint32_t(side ? pair : pair + pairs));
                attract_offsets.push_back(attract.size());
            }
        uform_trainer_step_t call {};
        uform_trainer_step_stats_t report {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = 2 * pairs;
        call.contents.data = data.data(), call.contents.offsets = offsets.data();
        call.relations.attract.offsets = attract_offsets.data(), call.relations.attract.ids = attract.data();
        call.stats = &report;
        change(call);
        uform_trainer_step(&call);
        stats.push_back(report);
    }
    void step(size_t number) {
        step(number, [](uform_trainer_step_t &) {});
        ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message << ": " << outcome.detail;
    }
    void steps(size_t first, size_t last) {
        for (size_t number = first; number < last; ++number) step(number);
    }
    std::string save(char const *name, uform_progress_t progress = {}, bool optimizer = true) {
        std::string const path = temporary(name);
        uform_trainer_save_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.path = view(path),
        call.optimizer = optimizer, call.progress = progress;
        uform_trainer_save(&call);
        if (progress.callback) return path; // whose answer is the test's to judge
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << ": " << outcome.detail;
        return path;
    }
};

TEST(trainer_unit, learns) {
    run_t run(2, uform_objective_contrastive_k, "", uform_cpu_class_derived_k, 60);
    run.steps(0, 60);
    EXPECT_LT(run.stats.back().contrastive_loss, 0.6 * run.stats.front().contrastive_loss);
    EXPECT_EQ(run.stats.back().step, 60u);
    EXPECT_GT(run.stats.back().effective_rank, 1);
    EXPECT_GT(run.stats.back().gradient_norm, 0);
}

TEST(trainer_unit, masked_text_learns_its_unigrams) {
    run_t run(2, uform_objective_joint_k, "", uform_cpu_class_derived_k, 60);
    run.steps(0, 60);
    EXPECT_GT(run.stats.front().masked_text_loss, 4); // near ln 256
    EXPECT_LT(run.stats.back().masked_text_loss, 0.7 * run.stats.front().masked_text_loss);
}

TEST(trainer_unit, threads_change_no_bit) {
    std::string saved[4];
    size_t const threads[] = {1, 2, 3, 9}; // nine are more than slabs: one chunk at a time then goes over all of them
    for (int i = 0; i < 4; ++i) {
        run_t run(threads[i], uform_objective_joint_k);
        run.steps(0, 4);
        saved[i] = read_file(run.save("threads.safetensors"));
        ASSERT_FALSE(saved[i].empty());
    }
    EXPECT_TRUE(saved[0] == saved[1]);
    EXPECT_TRUE(saved[0] == saved[2]);
    EXPECT_TRUE(saved[0] == saved[3]);
}

/** Whether no block, the first or both keep what they compute, that is what the way back reads. */
TEST(trainer_unit, kept_activations_change_no_bit) {
    std::string expected;
    for (size_t const kept : {size_t(0), size_t(2) << 20, size_t(1) << 40})
        for (size_t const threads : {1, 2, 9}) {
            run_t run(threads, uform_objective_joint_k, "", uform_cpu_class_derived_k, 12, uform_status_success_k, 64, kept);
            run.steps(0, 3);
            size_t const block = run.stats.back().tokens * (128 * 40 + (2 + 2) * 4);
            ASSERT_GT(run.stats.back().tokens, uform::strip_tokens_k) << "a replay is of several strips";
            ASSERT_TRUE(block <= 2 << 20 && 2 << 20 < 2 * block) << block << " bytes fill a block";
            std::string const saved = read_file(run.save("kept.safetensors"));
            if (expected.empty()) expected = saved;
            EXPECT_FALSE(saved.empty());
            EXPECT_TRUE(saved == expected) << kept << " bytes kept, " << threads << " threads";
        }
}

/** A step of texts of these lengths, the i-th of letter i, with weighted attract edges. */
struct lettered_step_t {
    std::string data;
    std::vector<size_t> offsets {0};
    std::vector<size_t> edge_offsets;
    std::vector<uint32_t> ids;
    std::vector<float> weights;

    void add(size_t length, char letter) { data.append(length, letter), offsets.push_back(data.size()); }
    void operator()(uform_trainer_step_t &call) const {
        call.count = offsets.size() - 1, call.contents.data = data.data(), call.contents.offsets = offsets.data();
        call.relations.attract = {edge_offsets.data(), ids.data(), weights.data()};
    }
};

TEST(trainer_unit, dropped_items_leave_no_trace) {
    // Two rows of 64: the first two texts fill one each but for four bytes, the third finds no room, the last one does.
    lettered_step_t given, kept;
    given.add(60, 'a'), given.add(60, 'b'), given.add(60, 'c'), given.add(4, 'd');
    given.edge_offsets = {0, 1, 3, 4, 6}, given.ids = {1, 0, 2, 3, 0, 2}, given.weights = {1, 2, 0.5f, 1, 3, 1};
    kept.add(60, 'a'), kept.add(60, 'b'), kept.add(4, 'd');
    kept.edge_offsets = {0, 1, 2, 3}, kept.ids = {1, 0, 0}, kept.weights = {1, 2, 3};
    std::string saved[2];
    for (size_t i = 0; i < 2; ++i) {
        run_t run(1, uform_objective_contrastive_k, "", uform_cpu_class_derived_k, 12, uform_status_success_k, 2);
        run.step(0, i ? kept : given);
        ASSERT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message << ": " << run.outcome.detail;
        EXPECT_EQ(run.stats.back().dropped, i ? 0u : 1u);
        EXPECT_EQ(run.stats.back().tokens, 124u);
        saved[i] = read_file(run.save("dropped.safetensors"));
    }
    EXPECT_TRUE(saved[0] == saved[1]);
}

TEST(trainer_unit, resume_equals_never_stopping) {
    run_t whole(2, uform_objective_joint_k);
    whole.steps(0, 8);
    std::string const expected = read_file(whole.save("whole.safetensors"));
    std::string path;
    {
        run_t half(2, uform_objective_joint_k);
        half.steps(0, 5);
        path = half.save("half.safetensors");
    }
    run_t rest(1, uform_objective_joint_k, path);
    rest.steps(5, 8);
    EXPECT_EQ(rest.stats.front().step, 6u);
    std::string const resumed = read_file(rest.save("half.safetensors"));
    EXPECT_TRUE(expected == resumed);
    EXPECT_FALSE(std::filesystem::exists(temporary("half.5.optimizer.safetensors"))); // the older moments went
    EXPECT_TRUE(std::filesystem::exists(temporary("half.8.optimizer.safetensors")));
}

TEST(trainer_unit, resume_refuses_what_is_not_its_run) {
    uform_objective_t const contrastive = uform_objective_contrastive_k;
    uform_cpu_class_t const derived = uform_cpu_class_derived_k;
    std::string path;
    {
        run_t run(1);
        run.steps(0, 2);
        path = run.save("other.safetensors");
        run_t other(1); // the same seed and step, other data; its weights land beside the first one's moments
        other.steps(3, 5);
        EXPECT_EQ(other.save("other.safetensors", {}, false), path);
    }
    run_t moments(1, contrastive, path, derived, 12, uform_status_config_mismatch_k);
    EXPECT_NE(std::string(moments.outcome.detail).find("other.2.optimizer.safetensors"), std::string::npos);
    std::filesystem::remove(temporary("other.2.optimizer.safetensors"));
    run_t anew(1, contrastive, path);
    run_t schedule(1, contrastive, path, derived, 13, uform_status_config_mismatch_k);
    EXPECT_STREQ(schedule.outcome.detail, "schedule.steps: saved 12, asked 13");
    run_t objective(1, uform_objective_joint_k, path, derived, 12, uform_status_config_mismatch_k);
    EXPECT_EQ(objective.trainer, nullptr);
}

TEST(trainer_unit, stopped_saves_leave_the_pair_before) {
    run_t run(1);
    run.steps(0, 1);
    std::string const path = run.save("stopped.safetensors"), before = read_file(path);
    run.steps(1, 2);
    run.save("stopped.safetensors", {[](size_t, size_t, void *) { return false; }, nullptr});
    EXPECT_EQ(run.outcome.status, uform_status_cancelled_k);
    EXPECT_TRUE(read_file(path) == before);
    EXPECT_TRUE(std::filesystem::exists(temporary("stopped.1.optimizer.safetensors")));
    EXPECT_FALSE(std::filesystem::exists(temporary("stopped.2.optimizer.safetensors")));
}

TEST(trainer_unit, steps_land_unit_embeddings) {
    run_t run(2);
    uform_arena_t arena = nullptr;
    uform_arena_init_t init {&arena, run.executor, &run.outcome};
    uform_arena_init(&init);
    uform_rows_t rows {};
    run.step(0, [&](uform_trainer_step_t &call) { call.embeddings = &rows, call.arena = arena; });
    ASSERT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message << ": " << run.outcome.detail;
    ASSERT_EQ(rows.count, 32u);
    ASSERT_EQ(rows.columns, 128u);
    for (size_t row = 0; row < rows.count; ++row) {
        float const *values = reinterpret_cast<float const *>(static_cast<char const *>(rows.data) + row * rows.stride);
        double squares = 0;
        for (size_t column = 0; column < rows.columns; ++column) squares += double(values[column]) * values[column];
        EXPECT_NEAR(squares, 1, 0x1p-21) << row; // two roundings a value: 2^-23 of it, 2^-22 of its square
    }
    uform_arena_free(arena);
}

TEST(trainer_unit, masked_steps_read_no_contrastive_arguments) {
    run_t run(1, uform_objective_masked_k);
    std::vector<uint32_t> const groups(32, 3);
    run.step(0, [&](uform_trainer_step_t &call) { call.temperature_groups = groups.data(); });
    EXPECT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message;
    uform_rows_t rows {};
    run.step(1, [&](uform_trainer_step_t &call) { call.embeddings = &rows; });
    EXPECT_EQ(run.outcome.status, uform_status_unsupported_k) << "nothing is scored";
    run.step(1);
    EXPECT_EQ(run.stats.back().step, 2u) << "a refused step is none";
}

TEST(trainer_unit, saved_models_load_and_encode) {
    run_t run(2);
    run.steps(0, 2);
    std::string const path = run.save("served.safetensors");
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &run.outcome, load.path = view(path);
    uform_model_load_ram(&load);
    ASSERT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message << run.outcome.detail;
    uform_arena_t arena = nullptr;
    uform_arena_init_t init {&arena, nullptr, &run.outcome};
    uform_arena_init(&init);
    size_t const offsets[] = {0, 3, 3};
    uform_rows_t rows {};
    uform_text_encode_t encode {};
    encode.model = model, encode.outcome = &run.outcome, encode.texts.data = "one", encode.texts.offsets = offsets;
    encode.count = 2, encode.embeddings = &rows, encode.arena = arena;
    uform_text_encode(&encode);
    EXPECT_EQ(run.outcome.status, uform_status_success_k) << run.outcome.message << run.outcome.detail;
    EXPECT_EQ(rows.count, 2u);
    EXPECT_EQ(rows.columns, 128u);
    uform_arena_free(arena);
    uform_model_free(model);
}

} // namespace
