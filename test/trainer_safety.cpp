/**
 *  @file trainer_safety.cpp
 *  @brief Hostile counts and offsets of a step: refused before arrays are read that a wrong count is too long for.
 */
#include <gtest/gtest.h>

#include <memory>

#include <uform/uform.h>

namespace {

constexpr std::size_t room_k = 4;

struct run_t {
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome;

    run_t() {
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.outcome = &outcome, call.depth = 1, call.hidden = 128;
        call.batch.max_rows_per_device = 2, call.batch.max_segments_per_device = room_k;
        call.batch.max_columns_per_row = 16, call.objective = uform_objective_contrastive_k;
        call.schedule.steps = 1;
        uform_trainer_init_ram(&call);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    }
    ~run_t() { uform_trainer_free(trainer); }

    void refuses(uform_trainer_step_t call, uform_status_t status, char const *message) {
        call.trainer = trainer, call.outcome = &outcome;
        uform_trainer_step(&call);
        EXPECT_EQ(outcome.status, status) << outcome.message;
        EXPECT_STREQ(outcome.message, message);
    }
};

TEST(trainer_safety, a_count_beyond_the_room_reads_no_item) {
    run_t run;
    // One item's worth of everything, in blocks of their exact sizes: a sanitizer sees a read beyond them.
    auto const offsets = std::make_unique<std::size_t[]>(2);
    auto const groups = std::make_unique<std::uint32_t[]>(1);
    for (std::size_t const count : {room_k + 1, std::size_t(PTRDIFF_MAX), SIZE_MAX}) {
        uform_trainer_step_t call {};
        call.count = count, call.contents.offsets = offsets.get(), call.temperature_groups = groups.get();
        call.relations.attract.offsets = offsets.get();
        run.refuses(call, uform_status_shape_mismatch_k, "count is more than batch.max_segments_per_device");
    }
}

TEST(trainer_safety, edges_beyond_the_items_read_no_id) {
    run_t run;
    std::size_t const texts[] = {0, 1, 2};
    auto const ids = std::make_unique<std::uint32_t[]>(1);
    for (std::size_t const last : {std::size_t(3), std::size_t(1000), std::size_t(PTRDIFF_MAX), SIZE_MAX}) {
        std::size_t const offsets[] = {0, 0, last};
        uform_trainer_step_t call {};
        call.count = 2, call.contents = {"ab", texts, uform_scalar_u8_k};
        call.relations.attract = {offsets, ids.get(), nullptr};
        run.refuses(call, uform_status_invalid_argument_k, "relations.attract.ids must ascend within each item");
    }
}

} // namespace
