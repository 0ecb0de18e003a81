/**
 *  @file masking_unit.cpp
 *  @brief Corruption: coverage, shares and span lengths within five standard deviations, keys, hostile settings.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include <uform/encoder/geometry.hpp>
#include <uform/train/masking.hpp>
#include <uform/train/streams.hpp>

namespace uform::testing {
namespace {

struct corrupted_t {
    std::vector<std::uint16_t> ids;
    std::vector<std::uint32_t> positions;
    bool operator==(corrupted_t const &) const = default;
};
corrupted_t corrupt(std::vector<std::uint8_t> const &bytes, mask_key_t key, masking_t const &masking = {}) {
    corrupted_t out {std::vector<std::uint16_t>(bytes.size(), 0xeeee), std::vector<std::uint32_t>(bytes.size())};
    out.positions.resize(corrupt_text(masking, key, bytes, out.ids.data(), out.positions.data()));
    return out;
}
std::vector<std::uint8_t> text_of(std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = std::uint8_t(i * 31);
    return bytes;
}

TEST(masking_unit, coverage_is_exact_in_the_mean) {
    for (std::size_t length : {1, 5, 37, 400}) {
        std::vector<std::uint8_t> const bytes = text_of(length);
        std::size_t const items = 4000;
        double covered = 0;
        for (std::size_t item = 0; item < items; ++item) {
            std::size_t const count = corrupt(bytes, {1, 1, item}).positions.size();
            double const wanted = double(0.15f) * double(length);
            EXPECT_TRUE(count == std::size_t(wanted) || count == std::size_t(wanted) + 1) << count;
            covered += double(count);
        }
        // Each count is a Bernoulli rounding: its deviation is at most a half.
        EXPECT_NEAR(covered / items, 0.15 * double(length), 5 * 0.5 / std::sqrt(double(items))) << length;
    }
}

TEST(masking_unit, shares_of_what_is_shown) {
    std::vector<std::uint8_t> const bytes = text_of(400);
    double covered = 0, masks = 0, kept = 0;
    for (std::size_t item = 0; item < 1000; ++item) {
        corrupted_t const out = corrupt(bytes, {3, 9, item});
        std::size_t next = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            bool const is_covered = next < out.positions.size() && out.positions[next] == at;
            next += is_covered;
            ASSERT_TRUE(is_covered || out.ids[at] == bytes[at]);
            covered += is_covered, masks += out.ids[at] == mask_token_k, kept += is_covered && out.ids[at] == bytes[at];
            ASSERT_LE(out.ids[at], mask_token_k);
        }
        ASSERT_EQ(next, out.positions.size()) << "positions ascend";
    }
    EXPECT_NEAR(masks / covered, 0.8, 5 * std::sqrt(0.8 * 0.2 / covered));
    double const same = 0.1 + 0.1 / 256; // a random byte may be the right one
    EXPECT_NEAR(kept / covered, same, 5 * std::sqrt(same * (1 - same) / covered));
}

TEST(masking_unit, spans_are_geometric) {
    // Two spans in 4,096 bytes hardly touch; at a share this small most of the items hold one span, cut at ten bytes.
    masking_t masking;
    masking.token_mask_probability = 10.0f / 4096;
    std::vector<std::uint8_t> const bytes = text_of(4096);
    std::size_t const items = 4000;
    double whole = 0;
    for (std::size_t item = 0; item < items; ++item) {
        auto const positions = corrupt(bytes, {5, 1, item}, masking).positions;
        whole += positions.back() - positions.front() + 1 == positions.size();
    }
    // P(length >= 10) = (15/16)^9 = 0.559, for the odd item of eleven bytes (15/16)^10; an end or a touch
    // adds 10 / 4096.
    double const expected = std::pow(15.0 / 16, 9);
    EXPECT_NEAR(whole / double(items), expected, 5 * std::sqrt(0.25 / double(items)) + 2 * 10.0 / 4096);
}

TEST(masking_unit, keys) {
    std::vector<std::uint8_t> const bytes = text_of(300);
    EXPECT_EQ(corrupt(bytes, {1, 2, 3}), corrupt(bytes, {1, 2, 3}));
    EXPECT_NE(corrupt(bytes, {1, 2, 3}).positions, corrupt(bytes, {2, 2, 3}).positions);
    EXPECT_NE(corrupt(bytes, {1, 2, 3}).positions, corrupt(bytes, {1, 3, 3}).positions);
    EXPECT_NE(corrupt(bytes, {1, 2, 3}).positions, corrupt(bytes, {1, 2, 4}).positions);
}

TEST(masking_unit, edges) {
    EXPECT_TRUE(corrupt({}, {1, 1, 1}).positions.empty());
    masking_t all;
    all.token_mask_probability = 1, all.token_mean_span = 1, all.replace_fraction = 1, all.random_fraction = 0;
    corrupted_t const out = corrupt(text_of(50), {1, 1, 1}, all);
    EXPECT_EQ(out.positions.size(), 50u);
    for (std::uint16_t id : out.ids) EXPECT_EQ(id, mask_token_k);
    all.token_mean_span = 1e30f;
    EXPECT_EQ(corrupt(text_of(50), {1, 1, 1}, all).positions.size(), 50u);
    all.token_mask_probability = 0.25f; // spans without an end: a few, where the default mean makes sixty
    auto const positions = corrupt(text_of(4000), {1, 1, 1}, all).positions;
    ASSERT_EQ(positions.size(), 1000u);
    std::size_t runs = 1;
    for (std::size_t i = 1; i < positions.size(); ++i) runs += positions[i] != positions[i - 1] + 1;
    EXPECT_LT(runs, 10u);
}

TEST(masking_unit, units_are_chosen_evenly) {
    std::size_t const count = 10, items = 4000;
    std::vector<double> hits(count);
    for (std::size_t item = 0; item < items; ++item) {
        std::vector<std::uint32_t> chosen(count);
        chosen.resize(choose_masked(0.75f, streams::image_masks_k, {1, 1, item}, count, chosen.data()));
        EXPECT_EQ(chosen.size(), 8u); // 7.5 rounds up
        EXPECT_EQ(std::set(chosen.begin(), chosen.end()).size(), 8u);
        for (std::uint32_t unit : chosen) hits.at(unit) += 1;
    }
    for (double hit : hits) EXPECT_NEAR(hit / double(items), 0.8, 5 * std::sqrt(0.8 * 0.2 / double(items)));
}

TEST(masking_unit, defaults_and_refusals) {
    masking_t zero;
    zero.token_mask_probability = zero.token_mean_span = zero.replace_fraction = zero.random_fraction = 0;
    zero.image_mask_ratio = zero.text_weight = 0, zero.video_mask_ratio = 0.5f;
    masking_t const derived = derive_masking(zero);
    EXPECT_EQ(derived.token_mask_probability, 0.15f);
    EXPECT_EQ(derived.token_mean_span, 16);
    EXPECT_EQ(derived.replace_fraction, 0.8f);
    EXPECT_EQ(derived.random_fraction, 0.1f);
    EXPECT_EQ(derived.image_mask_ratio, 0.75f);
    EXPECT_EQ(derived.video_mask_ratio, 0.5f);
    EXPECT_EQ(derived.text_weight, 1);
    EXPECT_FALSE(validate_masking(derived));
    for (float bad : {-0.1f, 1.5f, float(NAN)}) {
        masking_t masking;
        masking.token_mask_probability = bad;
        EXPECT_STREQ(validate_masking(masking).message, "masking.token_mask_probability must lie between 0 and 1");
    }
    masking_t masking;
    masking.random_fraction = 0.3f;
    EXPECT_TRUE(validate_masking(masking));
    masking = {}, masking.token_mean_span = 0.5f;
    EXPECT_TRUE(validate_masking(masking));
    masking = {}, masking.audio_weight = INFINITY;
    EXPECT_TRUE(validate_masking(masking));
}

} // namespace
} // namespace uform::testing
