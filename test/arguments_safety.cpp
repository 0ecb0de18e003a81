/**
 *  @file arguments_safety.cpp
 *  @brief Hostile views: every one is refused by name, or its items lie inside its data.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include <uform/utilities/arguments.hpp>

namespace {

using namespace uform;

TEST(arguments, tapes_are_refused_by_field) {
    std::size_t const rising[] = {0, 2, 2, 5}, falling[] = {0, 3, 2, 5}, far[] = {0, 1, 2, SIZE_MAX};
    alignas(4) char const data[] = "abcdefghijklmnopqrstuvwxyz";
    uform_scalar_t const u8 = uform_scalar_u8_k, f32 = uform_scalar_f32_k;
    auto const check = [](uform_tape_view_t view, std::size_t count, uform_scalar_t scalar) {
        return check_tape<"texts">(view, count, scalar);
    };
    EXPECT_FALSE(check({data, rising, 0}, 3, u8));
    EXPECT_FALSE(check({data, rising, u8}, 3, u8));
    EXPECT_FALSE(check({data, rising, f32}, 3, f32));
    EXPECT_FALSE(check({nullptr, nullptr, 0}, 0, u8)) << "no items need nothing";
    EXPECT_FALSE(check({nullptr, rising, 0}, 0, u8));
    EXPECT_FALSE(check({nullptr, rising + 1, 0}, 1, u8)) << "an empty item needs no data";

    EXPECT_STREQ(check({data, falling, 0}, 3, u8).message, "texts.offsets must not decrease");
    EXPECT_EQ(check({data, falling, 0}, 3, u8).item, 1u);
    EXPECT_STREQ(check({data, falling, 0}, 3, u8).detail, "offsets[1] is 3, offsets[2] is 2");
    EXPECT_FALSE(check({data, falling, 0}, 1, u8)) << "offsets past the count are not read";
    EXPECT_STREQ(check({data, nullptr, 0}, 3, u8).message, "texts.offsets must not be NULL");
    EXPECT_STREQ(check({nullptr, rising, 0}, 3, u8).message, "texts.data must not be NULL where an item is not empty");
    EXPECT_STREQ(check({data, rising, f32}, 3, u8).message, "texts.scalar is not what the verb takes");
    EXPECT_STREQ(check({data, rising, f32}, 3, u8).detail, "f32, not u8");
    EXPECT_STREQ(check({data, rising, 77}, 0, u8).message, "texts.scalar is not what the verb takes");
    EXPECT_STREQ(check({data, far, 0}, 3, u8).message, "texts.offsets end beyond any memory");
    EXPECT_STREQ(check({data, rising, 0}, SIZE_MAX, u8).message, "texts has more items than can be addressed");
    EXPECT_STREQ(check({data, rising, 0}, items_limit_k + 1, u8).message, "texts has more items than can be addressed");
    EXPECT_STREQ(check({data + 1, rising, 0}, 3, f32).message, "texts.data is not aligned to its scalar");
    EXPECT_FALSE(check({data + 1, rising, 0}, 3, u8));
    std::size_t const floats[] = {0, SIZE_MAX / 4};
    EXPECT_STREQ(check({data, floats, 0}, 1, f32).message, "texts.offsets end beyond any memory");
}

TEST(arguments, accepted_tapes_give_their_items) {
    std::size_t const offsets[] = {1, 3, 3, 6};
    char const data[] = "_abcde_";
    ASSERT_FALSE(check_tape<"texts">({data, offsets, 0}, 3, uform_scalar_u8_k));
    tape_t<char> const items({data, offsets, 0}, 3);
    EXPECT_EQ(std::string(items[0].data(), items[0].size()), "ab");
    EXPECT_EQ(items[1].size(), 0u);
    EXPECT_EQ(std::string(items[2].data(), items[2].size()), "cde");
    EXPECT_EQ(items.size(), 3u);
    EXPECT_EQ(tape_t<char>({nullptr, offsets + 1, 0}, 1)[0].size(), 0u);
    EXPECT_EQ(tape_t<char>({nullptr, nullptr, 0}, std::size_t(0)).size(), 0u);
    std::uint32_t const chosen[] = {2, 0, 2};
    tape_t<char> const some({data, offsets, 0}, std::span<std::uint32_t const>(chosen));
    ASSERT_EQ(some.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(std::string(some[i].data(), some[i].size()), chosen[i] == 2 ? "cde" : "ab");
}

TEST(arguments, random_offsets_are_refused_or_stay_inside) {
    std::uint64_t const seed = 42;
    std::mt19937_64 random(seed);
    std::vector<char> const data(64, 'x');
    std::size_t accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        std::size_t const count = random() % 4;
        std::vector<std::size_t> offsets(count + 1);
        for (std::size_t &offset : offsets)
            offset = random() % 8 ? random() % 65 : ~(random() % 4);
        if (check_tape<"texts">({data.data(), offsets.data(), 0}, count, uform_scalar_u8_k)) continue;
        ++accepted;
        tape_t<char> const items({data.data(), offsets.data(), 0}, count);
        for (std::size_t i = 0; i < count; ++i)
            for (char const &c : items[i])
                ASSERT_TRUE(&c >= data.data() && &c < data.data() + data.size()) << "seed " << seed << " round " << round;
    }
    EXPECT_GT(accepted, 1000u);
}

TEST(arguments, paths_hold_no_nul) {
    EXPECT_FALSE(check_path<"path">({"/a/\xff", 4}));
    EXPECT_STREQ(check_path<"path">({"a\0b", 3}).message, "path must not hold a NUL byte");
    EXPECT_STREQ(check_path<"path">({"a\0b", 3}).detail, "at byte 1");
    EXPECT_STREQ(check_path<"path">({"ab", 3}).message, "path must not hold a NUL byte") << "the terminator counts";
    EXPECT_STREQ(check_path<"path">({nullptr, 0}).message, "path must not be empty");
    EXPECT_FALSE(check_path<"resume">({nullptr, 0}, presence_t::optional_k));
    EXPECT_STREQ(check_path<"path">({nullptr, 3}).message, "path.data must not be NULL");
    EXPECT_STREQ(check_path<"path">({"", SIZE_MAX}).message, "path.length is beyond any memory");
}

TEST(arguments, outputs_scalars) {
    for (uform_scalar_t scalar : {uform_scalar_default_k, uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k})
        EXPECT_FALSE(check_outputs_scalar(scalar, false)) << scalar;
    EXPECT_FALSE(check_outputs_scalar(uform_scalar_i8_k, true));
    EXPECT_EQ(check_outputs_scalar(uform_scalar_i8_k, false).status, uform_status_unsupported_k);
    for (uform_scalar_t scalar : {-1, 4, 6, 7, 8, 9, 1 << 30})
        EXPECT_EQ(check_outputs_scalar(scalar, true).status, uform_status_invalid_argument_k) << scalar;
}

} // namespace
