/**
 *  @file step_memory_unit.cpp
 *  @brief What a token of a step costs in memory: a wide row a block, and all that blocks compute where that is kept.
 *
 *  A step of twice the items is taken in a process of its own each time; the difference of two peaks leaves weights,
 *  threads and the program itself out.
 */
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include <uform/uform.h>

#include "resident_peak.hpp"

namespace {

constexpr std::size_t hidden_k = 128, heads_k = hidden_k / 64, depth_k = 3, length_k = 128;

/** Two steps over `items` texts, the second with the first one's memory; whether both were taken. */
bool take_steps(std::size_t items, std::size_t kept_bytes) {
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome {};
    uform_trainer_init_ram_t init {};
    init.trainer = &trainer, init.outcome = &outcome, init.depth = depth_k, init.hidden = hidden_k;
    init.batch.max_rows_per_device = init.batch.max_segments_per_device = items;
    init.batch.max_columns_per_row = length_k, init.batch.kept_activation_bytes = kept_bytes;
    init.objective = uform_objective_contrastive_k, init.schedule.steps = 8;
    uform_trainer_init_ram(&init);
    std::string data;
    std::vector<std::size_t> offsets {0}, edges {0};
    std::vector<std::uint32_t> ids;
    for (std::size_t item = 0; item < items; ++item) {
        data.append(length_k, char('a' + item % 26)), offsets.push_back(data.size());
        ids.push_back(std::uint32_t((item + items / 2) % items)), edges.push_back(ids.size());
    }
    uform_trainer_step_t step {};
    step.trainer = trainer, step.outcome = &outcome, step.count = items;
    step.contents.data = data.data(), step.contents.offsets = offsets.data();
    step.relations.attract.offsets = edges.data(), step.relations.attract.ids = ids.data();
    for (int i = 0; i < 2 && outcome.status == uform_status_success_k; ++i) uform_trainer_step(&step);
    uform_trainer_free(trainer);
    return outcome.status == uform_status_success_k;
}

std::size_t peak_of(std::size_t items, std::size_t kept_bytes) {
    return uform::test::resident_peak_of([=] { return take_steps(items, kept_bytes); });
}

/** Bytes that each token of a step adds where every block keeps what it can. */
double bytes_a_token(std::size_t kept_bytes) {
    constexpr std::size_t items = 64;
    std::size_t const fewer = peak_of(items, kept_bytes), more = peak_of(2 * items, kept_bytes);
    EXPECT_TRUE(fewer && more);
    return double(more - fewer) / double(items * length_k);
}

TEST(step_memory_unit, a_token_costs_a_wide_row_a_block) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory grows with the program's";
#endif
    // Inputs of blocks and the last output, float32; states, BFloat16; the rotary row, 64 floats; the pool's weights, one
    // a head; of an item five rows, raw embeddings and gradients among them; text, ids, norms: at most 32 bytes.
    double const inputs = (depth_k + 1) * hidden_k * 4.0;
    double const rest = hidden_k * 2.0 + 64 * 4 + heads_k * 4 + 5 * hidden_k * 4.0 / length_k + 32;
    double const found = bytes_a_token(0);
    std::printf("%.0f bytes a token, %.0f of them inputs of blocks\n", found, inputs);
    EXPECT_GE(found, inputs);
    EXPECT_LE(found, 1.02 * (inputs + rest)); // pages are whole, and sizes of them steps

    // Two norms, qkv, attended: six rows of BFloat16; gate, up, activated: twelve; between attention and MLP: two's worth.
    double const block = hidden_k * (18 * 2.0 + 4) + (heads_k + 2) * 4.0;
    double const kept = bytes_a_token(std::size_t(1) << 40) - found;
    std::printf("%.0f more where %zu blocks keep what they compute, %.0f expected\n", kept, depth_k, depth_k * block);
    EXPECT_NEAR(kept, depth_k * block, 0.02 * depth_k * block);
}

TEST(step_memory_unit, no_more_is_kept_than_was_granted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory grows with the program's";
#endif
    constexpr std::size_t items = 64, tokens = items * length_k;
    std::size_t const block = tokens * (hidden_k * 40 + (heads_k + 2) * 4), page = 4096;
    std::size_t const none = peak_of(items, 0), short_of_one = peak_of(items, block - 1), two = peak_of(items, 3 * block - 1);
    ASSERT_TRUE(none && short_of_one && two);
    EXPECT_NEAR(double(short_of_one), double(none), double(64 * page));
    EXPECT_NEAR(double(two - none), double(2 * block), 0.02 * double(2 * block));
}

} // namespace
