/**
 *  @file classes_unit.cpp
 *  @brief Detection of CPU classes on machines that are not here: words of CPUID and XCR0 in, classes out.
 */
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/names.hpp>

namespace {

using namespace uform;

// Words as those processors report them, cut to the bits that classes read.
constexpr std::uint32_t osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29, fma = 1u << 12;
constexpr std::uint32_t leaf1 = osxsave | avx | f16c | fma;
constexpr std::uint32_t avx2 = 1u << 5, avx512f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
constexpr std::uint32_t avx512 = avx2 | avx512f | dq | bw | vl;
constexpr std::uint32_t vnni = 1u << 11, bf16 = 1u << 5, amx = 1u << 22 | 1u << 24, fp8 = 1u << 4;

struct machine_t {
    char const *name;
    cpuid_words_t words;
    uform_cpu_class_t best;
};

machine_t const machines[] = {
    {"before AVX", {f16c, 0, 0, 0, 0, 0, 0}, uform_cpu_class_serial_k},
    {"Sandy Bridge: AVX without AVX2", {osxsave | avx, 0, 0, 0, 0, 0, 0x7}, uform_cpu_class_serial_k},
    {"Haswell", {leaf1, avx2, 0, 0, 0, 0, 0x7}, uform_cpu_class_intel_haswell_k},
    {"Haswell without F16C", {leaf1 & ~f16c, avx2, 0, 0, 0, 0, 0x7}, uform_cpu_class_serial_k},
    {"Haswell without FMA", {leaf1 & ~fma, avx2, 0, 0, 0, 0, 0x7}, uform_cpu_class_serial_k},
    {"Haswell, a system that saves XMM alone", {leaf1, avx2, 0, 0, 0, 0, 0x3}, uform_cpu_class_serial_k},
    {"Haswell, a system without XSAVE", {leaf1 & ~osxsave, avx2, 0, 0, 0, 0, 0x7}, uform_cpu_class_serial_k},
    {"Haswell, AVX masked off by a hypervisor", {leaf1 & ~avx, avx2, 0, 0, 0, 0, 0x7}, uform_cpu_class_serial_k},
    {"Knights Landing: no BW, DQ, VL", {leaf1, avx2 | avx512f, 0, 0, 0, 0, 0xe7}, uform_cpu_class_intel_haswell_k},
    {"Skylake", {leaf1, avx512, 0, 0, 0, 0, 0xe7}, uform_cpu_class_intel_skylake_k},
    {"Skylake, a system that saves YMM alone", {leaf1, avx512, 0, 0, 0, 0, 0x7}, uform_cpu_class_intel_haswell_k},
    {"Skylake, a system that saves no mask registers",
     {leaf1, avx512, 0, 0, 0, 0, 0xc7},
     uform_cpu_class_intel_haswell_k},
    {"Skylake, ZMM without YMM", {leaf1, avx512, 0, 0, 0, 0, 0xe3}, uform_cpu_class_serial_k},
    {"Cascade Lake: VNNI without BF16", {leaf1, avx512, vnni, 0, 0, 0, 0xe7}, uform_cpu_class_intel_skylake_k},
    {"BF16 without VNNI", {leaf1, avx512, 0, 0, bf16, 0, 0xe7}, uform_cpu_class_intel_skylake_k},
    {"Genoa", {leaf1, avx512, vnni, 0, bf16, 0, 0xe7}, uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids", {leaf1, avx512, vnni, amx, bf16, 0, 0x600e7, 0x600e7}, uform_cpu_class_intel_sapphire_rapids_k},
    {"Sapphire Rapids, tile data not saved",
     {leaf1, avx512, vnni, amx, bf16, 0, 0x200e7, 0x600e7},
     uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids, an old system", {leaf1, avx512, vnni, amx, bf16, 0, 0xe7}, uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids, tiles refused to the process",
     {leaf1, avx512, vnni, amx, bf16, 0, 0x600e7, 0x200e7},
     uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids, a system that was not asked",
     {leaf1, avx512, vnni, amx, bf16, 0, 0x600e7},
     uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids, a permission without registers",
     {leaf1, avx512, vnni, amx, bf16, 0, 0xe7, 0x600e7},
     uform_cpu_class_amd_genoa_k},
    {"Sapphire Rapids, tiles of integers alone",
     {leaf1, avx512, vnni, 1u << 24, bf16, 0, 0x600e7, 0x600e7},
     uform_cpu_class_amd_genoa_k},
    {"Diamond Rapids", {leaf1, avx512, vnni, amx, bf16, fp8, 0x600e7, 0x600e7}, uform_cpu_class_intel_diamond_rapids_k},
};

bool all_kernels(uform_cpu_class_t) noexcept { return true; }
bool up_to_skylake(uform_cpu_class_t cpu_class) noexcept { return cpu_class <= uform_cpu_class_intel_skylake_k; }
bool no_kernels(uform_cpu_class_t) noexcept { return false; }

TEST(classes, machines_derive_the_best_they_run) {
    for (machine_t const &machine : machines)
        EXPECT_STREQ(name_of_cpu_class(derive_class(all_kernels, features_of(machine.words))),
                     name_of_cpu_class(machine.best))
            << machine.name;
}

TEST(classes, classes_without_kernels_are_derived_past) {
    for (machine_t const &machine : machines) {
        uform_cpu_class_t const derived = derive_class(up_to_skylake, features_of(machine.words));
        EXPECT_EQ(derived, std::min<uform_cpu_class_t>(machine.best, uform_cpu_class_intel_skylake_k)) << machine.name;
        EXPECT_EQ(derive_class(no_kernels, features_of(machine.words)), uform_cpu_class_serial_k);
    }
}

/** Arm's kernel tells features by name, so machines are sets of them. */
TEST(classes, arm_machines_derive_the_best_they_run) {
    constexpr features_t a57 = feature_neon_k, graviton2 = a57 | feature_dot_product_k | feature_neon_fp16_k;
    constexpr features_t sve = graviton2 | feature_sve_k, v1 = sve | feature_arm_bf16_k;
    constexpr features_t vera = v1 | feature_sve2_k | feature_arm_fp8_k; // of 128 bits
    struct {
        features_t features;
        uform_cpu_class_t best, with_kernels;
    } const machines[] = {
        {a57, uform_cpu_class_neon_k, uform_cpu_class_neon_k},
        {a57 | feature_dot_product_k, uform_cpu_class_neon_k, uform_cpu_class_neon_k},
        {graviton2, uform_cpu_class_aws_graviton2_k, uform_cpu_class_neon_k},
        {sve | feature_sve_256_k, uform_cpu_class_aws_graviton2_k, uform_cpu_class_neon_k}, // no bf16
        {v1, uform_cpu_class_aws_graviton2_k, uform_cpu_class_neon_k},                      // of 128 or 512 bits
        {v1 | feature_sve_256_k, uform_cpu_class_aws_graviton3_k, uform_cpu_class_aws_graviton3_k},
        {vera, uform_cpu_class_nvidia_vera_k, uform_cpu_class_neon_k},
        {vera | feature_sve_256_k, uform_cpu_class_nvidia_vera_k, uform_cpu_class_aws_graviton3_k},
    };
    has_kernels_t const has_kernels = [](uform_cpu_class_t cpu_class) noexcept {
        return cpu_class == uform_cpu_class_neon_k || cpu_class == uform_cpu_class_aws_graviton3_k;
    };
    for (auto const &machine : machines) {
        EXPECT_STREQ(name_of_cpu_class(derive_class(all_kernels, machine.features)), name_of_cpu_class(machine.best));
        EXPECT_STREQ(name_of_cpu_class(derive_class(has_kernels, machine.features)),
                     name_of_cpu_class(machine.with_kernels));
    }
}

TEST(classes, a_class_that_includes_another_is_preferred) {
    auto const rows = class_rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = i + 1; j < rows.size(); ++j) {
            EXPECT_NE(rows[i].cpu_class, rows[j].cpu_class);
            EXPECT_NE(rows[i].required & ~rows[j].required, 0u)
                << name_of_cpu_class(rows[i].cpu_class) << " hides " << name_of_cpu_class(rows[j].cpu_class);
        }
    EXPECT_EQ(rows.back().cpu_class, uform_cpu_class_serial_k);
    EXPECT_EQ(rows.size(), cpu_class_names().size() - 1) << "every class but `derived` has a row";
}

TEST(classes, pins_run_or_say_what_is_missing) {
    features_t const haswell = features_of(machines[2].words);
    uform_cpu_class_t resolved = -7;
    EXPECT_FALSE(resolve_class(uform_cpu_class_derived_k, all_kernels, resolved, haswell));
    EXPECT_EQ(resolved, uform_cpu_class_intel_haswell_k);
    EXPECT_FALSE(resolve_class(uform_cpu_class_serial_k, all_kernels, resolved, haswell));
    EXPECT_EQ(resolved, uform_cpu_class_serial_k);

    resolved = -7;
    failure_t failure = resolve_class(uform_cpu_class_intel_skylake_k, all_kernels, resolved, haswell);
    EXPECT_EQ(failure.status, uform_status_unsupported_k);
    EXPECT_STREQ(failure.detail, "intel-skylake lacks avx512f, avx512bw, avx512dq, avx512vl, "
                                 "the system's support for zmm registers");
    failure = resolve_class(uform_cpu_class_intel_haswell_k, no_kernels, resolved, haswell);
    EXPECT_EQ(failure.status, uform_status_unsupported_k);
    EXPECT_STREQ(failure.detail, "intel-haswell");
    failure = resolve_class(uform_cpu_class_neon_k, no_kernels, resolved, haswell); // of another architecture
    EXPECT_STREQ(failure.message, "cpu_class has no kernels in this build");
    EXPECT_STREQ(failure.detail, "neon");
    failure = resolve_class(99, all_kernels, resolved, haswell);
    EXPECT_EQ(failure.status, uform_status_invalid_argument_k);
    EXPECT_EQ(resolved, -7) << "refusals write nothing";
}

/** Derivation goes past tiles that the system refuses; a pin is told what is missing, and that it is the system's. */
TEST(classes, tiles_are_the_systems_to_refuse) {
    cpuid_words_t words {leaf1, avx512, vnni, amx, bf16, 0, 0x600e7, 0};
    uform_cpu_class_t resolved = -7;
    failure_t const failure =
        resolve_class(uform_cpu_class_intel_sapphire_rapids_k, all_kernels, resolved, features_of(words));
    EXPECT_EQ(failure.status, uform_status_unsupported_k);
    EXPECT_STREQ(failure.detail, "intel-sapphire-rapids lacks the system's support for tiles");
    EXPECT_FALSE(resolve_class(uform_cpu_class_derived_k, all_kernels, resolved, features_of(words)));
    EXPECT_EQ(resolved, uform_cpu_class_amd_genoa_k);
    words.permitted = 0x600e7;
    EXPECT_FALSE(resolve_class(uform_cpu_class_derived_k, all_kernels, resolved, features_of(words)));
    EXPECT_EQ(resolved, uform_cpu_class_intel_sapphire_rapids_k);
}

/** Diamond Rapids has no kernels yet, so it runs those of Sapphire Rapids. */
TEST(classes, this_build_has_kernels_for_tiles) {
#if defined(__x86_64__)
    features_t const diamond = features_of({leaf1, avx512, vnni, amx, bf16, fp8, 0x600e7, 0x600e7});
    EXPECT_EQ(derive_class(has_kernels, diamond), uform_cpu_class_intel_sapphire_rapids_k);
#endif
}

TEST(classes, every_pin_on_an_empty_machine_fits_its_detail) {
    for (class_row_t const &row : class_rows()) {
        uform_cpu_class_t resolved = 0;
        failure_t const failure = resolve_class(row.cpu_class, all_kernels, resolved, 0);
        EXPECT_EQ(bool(failure), row.required != 0) << name_of_cpu_class(row.cpu_class);
        EXPECT_LT(std::strlen(failure.detail), failure_t::detail_capacity_k);
    }
}

TEST(classes, this_machine_runs_serial) {
    EXPECT_TRUE(runs_here(uform_cpu_class_serial_k));
    EXPECT_FALSE(runs_here(uform_cpu_class_derived_k));
    EXPECT_FALSE(runs_here(uform_cpu_class_unknown_k));
#if defined(__x86_64__)
    __builtin_cpu_init(); // libgcc's own reading of CPUID and XCR0
    EXPECT_EQ(runs_here(uform_cpu_class_intel_haswell_k),
              __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    EXPECT_EQ(runs_here(uform_cpu_class_intel_skylake_k),
              __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    EXPECT_EQ(runs_here(uform_cpu_class_amd_genoa_k), runs_here(uform_cpu_class_intel_skylake_k) &&
                                                          __builtin_cpu_supports("avx512bf16") &&
                                                          __builtin_cpu_supports("avx512vnni"));
#endif
}

} // namespace
