/**
 *  @file packing_unit.cpp
 *  @brief First-fit decreasing by hand, what is cut and dropped, and its promises over random steps.
 */
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include <uform/train/packing.hpp>

#include "reversed_team.hpp"

namespace uform::testing {
namespace {

struct packed_step_t {
    packing_t packing;
    std::vector<placement_t> placements;
};
packed_step_t pack(packing_limits_t const &limits, std::vector<std::uint32_t> const &lengths,
                   std::vector<std::uint32_t> const &bags = {}) {
    packed_step_t out {{}, std::vector<placement_t>(lengths.size())};
    lane_t lane;
    poison(lane);
    out.packing = pack_items(lane, limits, lengths, bags, out.placements.data());
    return out;
}

TEST(packing_unit, by_hand) {
    // Rows of 10: 7 + 3 (item 0), 6 + 3 (item 4) + the empty item's PAD, 15 cut to 10 first.
    auto const [packing, placements] = pack({4, 10, 8, 0}, {3, 7, 6, 15, 3, 0});
    std::uint32_t const expected[6][4] = {{3, 0, 0, 10}, {1, 1, 0, 7}, {0, 1, 7, 3},
                                          {2, 2, 0, 6},  {4, 2, 6, 3}, {5, 2, 9, 1}};
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(placements[i].item, expected[i][0]) << i;
        EXPECT_EQ(placements[i].row, expected[i][1]) << i;
        EXPECT_EQ(placements[i].column, expected[i][2]) << i;
        EXPECT_EQ(placements[i].tokens, expected[i][3]) << i;
    }
    EXPECT_EQ(packing.placed, 6u);
    EXPECT_EQ(packing.rows, 3u);
    EXPECT_EQ(packing.tokens, 30u);
    EXPECT_EQ(packing.truncated, 1u);
    EXPECT_EQ(packing.dropped, 0u);
}

TEST(packing_unit, drops) {
    auto const rows = pack({1, 10, 8, 0}, {6, 6, 4});
    EXPECT_EQ(rows.packing.dropped, 1u);
    EXPECT_EQ(rows.placements[2].item, 1u) << "the later of two equals";
    EXPECT_EQ(rows.placements[2].row, no_row_k);
    auto const segments = pack({4, 10, 2, 0}, {1, 2, 3});
    EXPECT_EQ(segments.packing.dropped, 1u);
    EXPECT_EQ(segments.placements[2].item, 0u);
    auto const bags = pack({4, 10, 9, 2}, {1, 9, 2, 3, 4}, {7, 3, 7, 5, 3});
    EXPECT_EQ(bags.packing.dropped, 1u);
    EXPECT_EQ(bags.placements[4].item, 3u) << "bag 5 is mentioned third";
    EXPECT_EQ(pack({0, 10, 9, 0}, {1}).packing.dropped, 1u);
    EXPECT_EQ(pack({1, 0, 9, 0}, {1}).packing.dropped, 1u);
    EXPECT_EQ(pack({1, 10, 9, 0}, {}).packing.placed, 0u);
    EXPECT_EQ(pack({SIZE_MAX, 10, 9, 0}, {9, 9, 9}).packing.rows, 3u) << "a limit takes no memory";
}

TEST(packing_unit, promises) {
    std::mt19937 generator(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> lengths(generator() % 60), bags;
        for (std::uint32_t &length : lengths) length = generator() % 40, bags.push_back(generator() % 9);
        packing_limits_t const limits {generator() % 20, 32, 1 + generator() % 60, generator() % 10};
        auto const [packing, placements] = pack(limits, lengths, bags);
        std::vector<int> seen(lengths.size());
        std::size_t tokens = 0, end = 0;
        for (std::size_t i = 0; i < placements.size(); ++i) {
            ++seen[placements[i].item];
            if (i >= packing.placed) {
                EXPECT_EQ(placements[i].row, no_row_k);
                continue;
            }
            bool const opens = i == 0 || placements[i].row != placements[i - 1].row;
            EXPECT_EQ(placements[i].column, opens ? 0 : end) << "rows have no gaps";
            end = placements[i].column + placements[i].tokens;
            EXPECT_LE(end, 32u);
            EXPECT_EQ(placements[i].tokens, std::clamp<std::uint32_t>(lengths[placements[i].item], 1, 32));
            tokens += placements[i].tokens;
        }
        for (int count : seen) EXPECT_EQ(count, 1);
        EXPECT_EQ(tokens, packing.tokens);
        EXPECT_LE(packing.rows, limits.max_rows);
        EXPECT_LE(packing.placed, limits.max_segments);
        EXPECT_EQ(packing.placed + packing.dropped, lengths.size());
    }
}

} // namespace
} // namespace uform::testing
