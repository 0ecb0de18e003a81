/**
 *  @file names.cpp
 *  @brief Every enum's spellings, there and back, the sentinels, and the size of scalars.
 */
#include "conformance.hpp"

namespace conformance {
namespace {

struct spelling_t {
    std::int32_t value;
    char const *name;
};

template <typename name_, typename from_>
void expect_spellings(name_ name, from_ from, std::vector<spelling_t> const &spellings) {
    for (auto const &[value, spelled] : spellings) {
        EXPECT_STREQ(name(value), spelled);
        EXPECT_EQ(from(view(spelled)), value) << spelled;
        EXPECT_EQ(from(view(std::string(spelled) + "x")), -1) << spelled;
        EXPECT_EQ(from(view(std::string(spelled) + '\0')), -1) << spelled;
        EXPECT_EQ(from(view(std::string(spelled).substr(0, std::strlen(spelled) - 1))), -1) << spelled;
    }
    std::int32_t const beyond = spellings.back().value + 1;
    for (std::int32_t value : {-1, -2, beyond, INT32_MAX, INT32_MIN}) EXPECT_STREQ(name(value), "unknown") << value;
    for (std::string text : {"", "unknown", "Blocking", "F32", "SUCCESS", " "}) EXPECT_EQ(from(view(text)), -1) << text;
    EXPECT_EQ(from(uform_bytes_view_t {nullptr, 0}), -1);
}

TEST(names, statuses) {
    expect_spellings(uform_status_name, uform_status_from_name,
                     {{0, "success"},
                      {1, "deferred"},
                      {2, "out-of-memory"},
                      {3, "shape-mismatch"},
                      {4, "unsupported-layout"},
                      {5, "unknown-kind"},
                      {6, "io"},
                      {7, "device"},
                      {8, "malformed"},
                      {9, "internal"},
                      {10, "config-mismatch"},
                      {11, "contended"},
                      {12, "cancelled"},
                      {13, "unsupported"},
                      {14, "invalid-argument"}});
}
TEST(names, scalars) {
    expect_spellings(uform_scalar_name, uform_scalar_from_name,
                     {{0, "default"},
                      {1, "f32"},
                      {2, "bf16"},
                      {3, "f16"},
                      {4, "e4m3"},
                      {5, "i8"},
                      {6, "u8"},
                      {7, "u32"},
                      {8, "u64"}});
    std::size_t const bytes[] = {0, 4, 2, 2, 1, 1, 1, 4, 8};
    for (std::int32_t scalar = 0; scalar < 9; ++scalar) EXPECT_EQ(uform_scalar_bytes(scalar), bytes[scalar]) << scalar;
    for (std::int32_t scalar : {-1, 9, INT32_MAX, INT32_MIN}) EXPECT_EQ(uform_scalar_bytes(scalar), 0u) << scalar;
}
TEST(names, completions_and_moods) {
    expect_spellings(uform_completion_name, uform_completion_from_name, {{0, "blocking"}, {1, "queued"}});
    expect_spellings(uform_mood_name, uform_mood_from_name, {{0, "spinning"}, {1, "parked"}});
}
TEST(names, classes) {
    expect_spellings(uform_cpu_class_name, uform_cpu_class_from_name,
                     {{0, "derived"},
                      {1, "serial"},
                      {2, "intel-haswell"},
                      {3, "intel-skylake"},
                      {4, "amd-genoa"},
                      {5, "intel-sapphire-rapids"},
                      {6, "intel-diamond-rapids"},
                      {7, "neon"},
                      {8, "aws-graviton2"},
                      {9, "aws-graviton3"},
                      {10, "nvidia-vera"},
                      {11, "wasm-simd"}});
    expect_spellings(uform_gpu_class_name, uform_gpu_class_from_name,
                     {{0, "derived"},
                      {1, "nvidia-ampere"},
                      {2, "nvidia-ada"},
                      {3, "nvidia-hopper"},
                      {4, "nvidia-blackwell"},
                      {5, "amd-cdna3"},
                      {6, "amd-cdna4"},
                      {7, "amd-cdna5"}});
}
TEST(names, modalities) {
    expect_spellings(uform_modality_name, uform_modality_from_name,
                     {{0, "text"}, {1, "image"}, {2, "video"}, {3, "audio"}});
}
TEST(names, training) {
    expect_spellings(uform_objective_name, uform_objective_from_name,
                     {{0, "masked"}, {1, "contrastive"}, {2, "joint"}});
    expect_spellings(uform_negatives_name, uform_negatives_from_name, {{0, "ambient"}, {1, "named"}});
    expect_spellings(uform_pair_loss_form_name, uform_pair_loss_form_from_name,
                     {{0, "derived"}, {1, "balanced"}, {2, "ranked"}, {3, "sigmoid"}, {4, "softmax"}});
    expect_spellings(uform_late_interaction_side_name, uform_late_interaction_side_from_name,
                     {{0, "none"}, {1, "query"}, {2, "document"}, {3, "query-and-document"}});
    char const *const tiers[] = {"none", "peer", "multicast"};
    for (std::int32_t tier = 0; tier < 3; ++tier) EXPECT_STREQ(uform_multimem_tier_name(tier), tiers[tier]);
    for (std::int32_t tier : {-1, 3, INT32_MIN}) EXPECT_STREQ(uform_multimem_tier_name(tier), "unknown");
}
TEST(names, version_is_the_header_s) {
    std::string const declared = std::to_string(UFORM_VERSION_MAJOR) + "." + std::to_string(UFORM_VERSION_MINOR) + "." +
                                 std::to_string(UFORM_VERSION_PATCH);
    EXPECT_EQ(uform_version(), declared);
    EXPECT_EQ(uform_version(), uform_version()) << "static storage";
}

} // namespace
} // namespace conformance
