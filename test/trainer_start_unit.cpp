/**
 *  @file trainer_start_unit.cpp
 *  @brief How runs begin and how they refuse: warm starts, losses that blow up, a trainer that is busy.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <uform/uform.h>
#include <uform/utilities/checkpoint.hpp>

namespace {

uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }

/** A folder of this test's own, gone with it. */
class trainer_start_unit : public testing::Test {
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("uform-start-" + std::to_string(::getpid()));

  protected:
    uform_outcome_t outcome {};

    trainer_start_unit() { std::filesystem::create_directories(folder_); }
    ~trainer_start_unit() override { std::filesystem::remove_all(folder_); }
    std::string path(char const *name) const { return (folder_ / name).string(); }

    uform_trainer_t start(uform_objective_t objective, uint64_t seed, std::string const &initial = "",
                          float learning_rate = 3e-3f) {
        uform_trainer_t trainer = nullptr;
        uform_trainer_init_ram_t init {};
        init.trainer = &trainer, init.outcome = &outcome, init.hidden = 128, init.depth = 1, init.seed = seed;
        init.objective = objective, init.initial = view(initial);
        init.batch.max_rows_per_device = init.batch.max_segments_per_device = 8, init.batch.max_columns_per_row = 32;
        init.contrastive.pair_loss = uform_pair_loss_form_softmax_k, init.contrastive.inverse_temperature = 10;
        init.schedule.steps = 8, init.schedule.learning_rate = learning_rate, init.schedule.warmup_steps = 1;
        uform_trainer_init_ram(&init);
        return trainer;
    }
    void step(uform_trainer_t trainer) {
        static char const data[] = "einsoneZWEItwo";
        static size_t const offsets[] = {0, 4, 7, 11, 14}, edge_offsets[] = {0, 1, 2, 3, 4};
        static uint32_t const ids[] = {1, 0, 3, 2};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.outcome = &outcome, call.count = 4;
        call.contents.data = data, call.contents.offsets = offsets;
        call.relations.attract.offsets = edge_offsets, call.relations.attract.ids = ids;
        uform_trainer_step(&call);
    }
    std::string save(uform_trainer_t trainer, char const *name, uform_progress_t progress = {}) {
        uform_trainer_save_t call {};
        std::string const target = path(name);
        call.trainer = trainer, call.outcome = &outcome, call.path = view(target), call.progress = progress;
        uform_trainer_save(&call);
        return target;
    }
    static std::string bytes_of(std::string const &file) {
        std::ostringstream bytes;
        bytes << std::ifstream(file, std::ios::binary).rdbuf();
        return bytes.str();
    }
};

TEST_F(trainer_start_unit, initial_gives_what_matches_and_the_seed_the_rest) {
    uform_trainer_t masked = start(uform_objective_masked_k, 1);
    std::string const source = save(masked, "masked.safetensors");
    uform_trainer_free(masked);
    uform_trainer_t warm = start(uform_objective_contrastive_k, 2, source);
    ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    std::string const target = save(warm, "warm.safetensors");
    uform_trainer_free(warm);
    uform_trainer_t cold = start(uform_objective_contrastive_k, 2);
    std::string const drawn = save(cold, "cold.safetensors");
    uform_trainer_free(cold);

    uform::checkpoint_t a, b, c;
    ASSERT_FALSE(a.open(source) || b.open(target) || c.open(drawn));
    std::size_t shared = 0;
    for (uform::tensor_t const &tensor : b.tensors()) {
        uform::tensor_t const *other = a.find(tensor.name) ? a.find(tensor.name) : c.find(tensor.name);
        ASSERT_NE(other, nullptr) << tensor.name;
        EXPECT_TRUE(std::ranges::equal(tensor.data, other->data)) << tensor.name;
        shared += a.find(tensor.name) != nullptr;
    }
    EXPECT_GT(shared, 10u);
    EXPECT_EQ(a.find("contrastive.bias"), nullptr);
    EXPECT_NE(b.find("contrastive.bias"), nullptr);
}

TEST_F(trainer_start_unit, initial_without_a_match_is_refused) {
    uform::checkpoint_writer_t writer;
    uform::tensor_layout_t layout;
    layout.name = "foreign", layout.dtype = uform::dtype_t::f32_k, layout.rank = 1, layout.shape[0] = 1;
    float const value = 1;
    ASSERT_FALSE(writer.begin(path("foreign.safetensors"), {&layout, 1}, {}));
    ASSERT_FALSE(writer.append(std::as_bytes(std::span(&value, 1))) || writer.commit());
    EXPECT_EQ(start(uform_objective_contrastive_k, 1, path("foreign.safetensors")), nullptr);
    EXPECT_EQ(outcome.status, uform_status_config_mismatch_k);
    EXPECT_EQ(start(uform_objective_contrastive_k, 1, path("nowhere.safetensors")), nullptr);
    EXPECT_EQ(outcome.status, uform_status_io_k);
}

TEST_F(trainer_start_unit, refusals_name_one_regularizer) {
    uform_trainer_t trainer = nullptr;
    uform_trainer_init_ram_t init {};
    init.trainer = &trainer, init.outcome = &outcome, init.depth = 1, init.hidden = 128, init.schedule.steps = 1;
    init.batch.max_rows_per_device = init.batch.max_segments_per_device = 1, init.batch.max_columns_per_row = 4;
    init.objective = uform_objective_contrastive_k;
    auto const refused = [&](float uform_regularizers_t::*field, char const *name) {
        uform_trainer_init_ram_t call = init;
        call.regularizers.*field = -1;
        uform_trainer_init_ram(&call);
        EXPECT_EQ(outcome.status, uform_status_invalid_argument_k);
        EXPECT_NE(std::strstr(outcome.message, name), nullptr) << outcome.message;
        EXPECT_EQ(trainer, nullptr);
    };
    refused(&uform_regularizers_t::coding_rate_weight, "regularizers.coding_rate_weight");
    refused(&uform_regularizers_t::lipschitz_weight, "regularizers.lipschitz_weight");
    refused(&uform_regularizers_t::coding_rate_epsilon_squared, "regularizers.coding_rate_epsilon_squared");
}

TEST_F(trainer_start_unit, a_loss_that_blows_up_writes_nothing) {
    uform_trainer_t trainer = start(uform_objective_contrastive_k, 1, "", 1e30f);
    step(trainer); // the first update ruins the weights
    for (int i = 0; i < 4 && outcome.status == uform_status_success_k; ++i) step(trainer);
    EXPECT_EQ(outcome.status, uform_status_malformed_k);
    EXPECT_NE(std::strstr(outcome.detail, "step"), nullptr) << outcome.detail;
    std::string const before = bytes_of(save(trainer, "before.safetensors"));
    step(trainer);
    EXPECT_EQ(outcome.status, uform_status_malformed_k);
    EXPECT_TRUE(before == bytes_of(save(trainer, "after.safetensors")));
    uform_trainer_free(trainer);
}

TEST_F(trainer_start_unit, a_busy_trainer_is_contended) {
    uform_trainer_t trainer = start(uform_objective_contrastive_k, 1);
    struct gate_t {
        std::atomic<int> stage {0};
    } gate;
    uform_progress_t const progress {[](size_t, size_t, void *context) {
                                         gate_t &gate = *static_cast<gate_t *>(context);
                                         if (gate.stage.load() == 0) gate.stage.store(1);
                                         while (gate.stage.load() == 1) std::this_thread::yield();
                                         return true;
                                     },
                                     &gate};
    uform_outcome_t saving {};
    std::string const target = path("busy.safetensors");
    std::thread saver([&] {
        uform_trainer_save_t call {};
        call.trainer = trainer, call.outcome = &saving, call.path = view(target), call.progress = progress;
        uform_trainer_save(&call);
    });
    while (gate.stage.load() == 0) std::this_thread::yield();
    step(trainer);
    EXPECT_EQ(outcome.status, uform_status_contended_k);
    gate.stage.store(2);
    saver.join();
    EXPECT_EQ(saving.status, uform_status_success_k);
    step(trainer);
    EXPECT_EQ(outcome.status, uform_status_success_k);
    uform_trainer_free(trainer);
}

} // namespace
