/**
 *  @file types_unit.cpp
 *  @brief The words of `uform/types.h`: values, sizes, spellings and sentinels, and the verbs that answer at once.
 */
#include <gtest/gtest.h>

#include <filesystem>

#include <cstring>
#include <set>
#include <string>
#include <type_traits>

#include <uform/uform.h>

namespace {

uform_bytes_view_t view_of(std::string const &text) { return {text.data(), text.size()}; }

/** Walks every enumerator in `[0, count)`: a name each, all different, in lower case, and back. */
template <typename name_, typename from_>
void expect_round_trip(name_ name, from_ from, std::int32_t count) {
    std::set<std::string> seen;
    for (std::int32_t value = 0; value < count; ++value) {
        std::string const spelled = name(value);
        EXPECT_NE(spelled, "unknown") << value;
        EXPECT_TRUE(seen.insert(spelled).second) << spelled;
        EXPECT_EQ(spelled.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << spelled;
        EXPECT_EQ(from(view_of(spelled)), value) << spelled;
        EXPECT_EQ(from(view_of(spelled.substr(0, spelled.size() - 1))), -1) << spelled;
        EXPECT_EQ(from(view_of(spelled + '\0')), -1) << spelled;
    }
    for (std::int32_t value : {-2, -1, count, count + 1, INT32_MAX, INT32_MIN})
        EXPECT_STREQ(name(value), "unknown") << value;
    for (std::string text : {"", "unknown", "Unknown", " ", "_"}) EXPECT_EQ(from(view_of(text)), -1) << text;
    EXPECT_EQ(from(uform_bytes_view_t {nullptr, 0}), -1);
}

TEST(types, names_round_trip) {
    expect_round_trip(uform_status_name, uform_status_from_name, 15);
    expect_round_trip(uform_scalar_name, uform_scalar_from_name, 9);
    expect_round_trip(uform_completion_name, uform_completion_from_name, 2);
    expect_round_trip(uform_mood_name, uform_mood_from_name, 2);
    expect_round_trip(uform_cpu_class_name, uform_cpu_class_from_name, 12);
    expect_round_trip(uform_gpu_class_name, uform_gpu_class_from_name, 8);
}

TEST(types, spellings_are_the_published_ones) {
    EXPECT_STREQ(uform_status_name(3), "shape-mismatch");
    EXPECT_STREQ(uform_status_name(14), "invalid-argument");
    EXPECT_STREQ(uform_cpu_class_name(uform_cpu_class_intel_haswell_k), "intel-haswell");
    EXPECT_STREQ(uform_cpu_class_name(uform_cpu_class_aws_graviton2_k), "aws-graviton2");
    EXPECT_STREQ(uform_gpu_class_name(uform_gpu_class_amd_cdna5_k), "amd-cdna5");
    EXPECT_STREQ(uform_scalar_name(uform_scalar_e4m3_k), "e4m3");
}

TEST(types, statuses_keep_their_order) {
    std::int32_t const order[] = {uform_status_success_k,
                                  uform_status_deferred_k,
                                  uform_status_out_of_memory_k,
                                  uform_status_shape_mismatch_k,
                                  uform_status_unsupported_layout_k,
                                  uform_status_unknown_kind_k,
                                  uform_status_io_k,
                                  uform_status_device_k,
                                  uform_status_malformed_k,
                                  uform_status_internal_k,
                                  uform_status_config_mismatch_k,
                                  uform_status_contended_k,
                                  uform_status_cancelled_k,
                                  uform_status_unsupported_k,
                                  uform_status_invalid_argument_k};
    for (std::int32_t i = 0; i < 15; ++i) EXPECT_EQ(order[i], i);
}

TEST(types, enums_are_four_bytes_and_structs_plain) {
    static_assert(sizeof(uform_status_t) == 4 && sizeof(uform_scalar_t) == 4 && sizeof(uform_mood_t) == 4);
    static_assert(sizeof(uform_cpu_class_t) == 4 && sizeof(uform_gpu_class_t) == 4 && sizeof(uform_objective_t) == 4);
    static_assert(sizeof(uform_modality_t) == 4 && sizeof(uform_pair_loss_form_t) == 4);
    static_assert(std::is_trivially_copyable_v<uform_outcome_t> && std::is_standard_layout_v<uform_outcome_t>);
    static_assert(sizeof(uform_outcome_t) == 2 * sizeof(void *) + sizeof(std::size_t) + 256);
    // A tape of rows starts like rows do.
    static_assert(offsetof(uform_rows_tape_t, scalar) == offsetof(uform_rows_t, scalar));
    static_assert(offsetof(uform_rows_tape_t, stride) == offsetof(uform_rows_t, stride));
    EXPECT_EQ(uform_pair_loss_form_softmax_k, 4);
}

TEST(types, scalars_have_sizes) {
    std::size_t const bytes[] = {0, 4, 2, 2, 1, 1, 1, 4, 8};
    for (std::int32_t i = 0; i < 9; ++i) EXPECT_EQ(uform_scalar_bytes(i), bytes[i]) << uform_scalar_name(i);
    for (std::int32_t i : {-1, 9, INT32_MAX}) EXPECT_EQ(uform_scalar_bytes(i), 0u);
}

TEST(types, version_is_the_header_s) {
    std::string const expected = std::to_string(UFORM_VERSION_MAJOR) + "." + std::to_string(UFORM_VERSION_MINOR) + "." +
                                 std::to_string(UFORM_VERSION_PATCH);
    EXPECT_EQ(uform_version(), expected);
}

TEST(types, capabilities_agree_with_themselves) {
    uform_capabilities_t const machine = uform_capabilities();
    EXPECT_EQ(machine.cpu_classes & ~machine.cpu_classes_built, 0u);
    EXPECT_TRUE(machine.cpu_classes >> uform_cpu_class_serial_k & 1);
    EXPECT_TRUE(machine.cpu_classes >> machine.cpu_class & 1);
    EXPECT_EQ(machine.cpu_classes & 1, 0u) << "derived is not a class to dispatch as";
    EXPECT_GE(machine.threads, 1u);
    EXPECT_EQ(machine.gpu_devices, uform_gpu_devices(nullptr, 0));
}

TEST(types, every_class_pins_or_is_refused_by_name) {
    uform_capabilities_t const machine = uform_capabilities();
    for (std::int32_t cpu_class = -2; cpu_class < 14; ++cpu_class) {
        uform_executor_t executor = reinterpret_cast<uform_executor_t>(8);
        uform_outcome_t outcome;
        uform_executor_for_ram_t call {};
        call.executor = &executor, call.outcome = &outcome, call.cpu_class = cpu_class, call.threads = 1;
        uform_executor_for_ram(&call);
        bool const is_class = cpu_class >= 0 && cpu_class < 12;
        bool const runs = cpu_class == 0 || (is_class && machine.cpu_classes >> cpu_class & 1);
        EXPECT_EQ(outcome.status, runs       ? uform_status_success_k
                                  : is_class ? uform_status_unsupported_k
                                             : uform_status_invalid_argument_k)
            << cpu_class;
        EXPECT_EQ(executor != nullptr, runs);
        EXPECT_EQ(outcome.item, SIZE_MAX);
        if (!runs) {
            EXPECT_NE(std::strstr(outcome.message, "cpu_class"), nullptr);
        }
        if (!runs && is_class) {
            EXPECT_NE(std::strstr(outcome.detail, uform_cpu_class_name(cpu_class)), nullptr);
        }
        uform_executor_free(executor);
    }
}

TEST(types, refusals_name_the_field) {
    uform_executor_t executor = nullptr;
    uform_outcome_t outcome;
    size_t const nowhere = 3000, domains[] = {0};
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.outcome = &outcome;

    call.memory_domains = &nowhere, call.memory_domains_count = 1;
    uform_executor_for_ram(&call);
    EXPECT_EQ(outcome.status, uform_status_invalid_argument_k);
    EXPECT_NE(std::strstr(outcome.message, "memory_domains"), nullptr);
    EXPECT_NE(std::strstr(outcome.detail, "3000"), nullptr);

    call.memory_domains = nullptr;
    uform_executor_for_ram(&call);
    EXPECT_STREQ(outcome.message, "memory_domains must not be NULL");

    call.memory_domains = domains, call.threads = SIZE_MAX;
    uform_executor_for_ram(&call);
    EXPECT_EQ(outcome.status, uform_status_invalid_argument_k);
    EXPECT_NE(std::strstr(outcome.message, "threads"), nullptr);

    call.executor = nullptr, call.threads = 1;
    uform_executor_for_ram(&call);
    EXPECT_STREQ(outcome.message, "executor must not be NULL");

    uform_executor_drain_t drain {};
    drain.outcome = &outcome, drain.mood = 7;
    uform_executor_drain(&drain);
    EXPECT_EQ(outcome.status, uform_status_invalid_argument_k);
    EXPECT_NE(std::strstr(outcome.message, "mood"), nullptr);

    uform_arena_init_t arena {};
    arena.outcome = &outcome;
    uform_arena_init(&arena);
    EXPECT_STREQ(outcome.message, "arena must not be NULL");
}

TEST(types, nowhere_to_answer_does_nothing) {
    uform_executor_for_ram(nullptr), uform_executor_drain(nullptr), uform_arena_init(nullptr);
    uform_executor_for_vram(nullptr), uform_executor_on_pool(nullptr);
    uform_executor_t executor = nullptr;
    uform_executor_for_ram_t call {};
    call.executor = &executor;
    uform_executor_for_ram(&call);
    EXPECT_EQ(executor, nullptr);
    EXPECT_EQ(uform_outcome_status(nullptr), uform_status_invalid_argument_k);
    EXPECT_EQ(uform_outcome_wait(nullptr), uform_status_invalid_argument_k);
    uform_executor_free(nullptr), uform_arena_free(nullptr);
}

TEST(types, absent_executors_are_unsupported) {
    uform_executor_t executor = reinterpret_cast<uform_executor_t>(8);
    uform_outcome_t outcome;
    uform_executor_for_vram_t vram {};
    vram.executor = &executor, vram.outcome = &outcome;
    uform_executor_for_vram(&vram);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_unsupported_k);
    EXPECT_EQ(executor, nullptr);
    EXPECT_STRNE(outcome.message, "");

    uform_executor_on_pool_t pool {};
    pool.executor = &executor, pool.outcome = &outcome;
    uform_executor_on_pool(&pool);
    EXPECT_EQ(uform_outcome_status(&outcome), uform_status_unsupported_k);
}

TEST(types, executor_on_a_memory_domain_drains_and_frees) {
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome;
    size_t const domains[] = {0};
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.outcome = &outcome, call.memory_domains = domains, call.memory_domains_count = 1;
    uform_executor_for_ram(&call);
    if (!std::filesystem::exists(
            "/sys/devices/system/node/node0")) { // asked of the system, not of the answer under test
        EXPECT_EQ(outcome.status, uform_status_invalid_argument_k);
        GTEST_SKIP() << "this system names no NUMA nodes";
    }
    ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    EXPECT_STREQ(outcome.message, "");
    for (uform_mood_t mood : {uform_mood_parked_k, uform_mood_spinning_k}) {
        uform_executor_drain_t drain {executor, &outcome, mood};
        uform_executor_drain(&drain);
        EXPECT_EQ(outcome.status, uform_status_success_k);
    }
    uform_arena_init_t init {&arena, executor, &outcome};
    uform_arena_init(&init);
    EXPECT_EQ(outcome.status, uform_status_success_k);
    uform_arena_free(arena);
    uform_executor_free(executor);
}

} // namespace
