/**
 *  @file executors.cpp
 *  @brief Executors, arenas, outcomes, and what the library says it can dispatch to.
 */
#include "conformance.hpp"

namespace conformance {
namespace {

TEST(outcomes, null_is_an_answer) {
    EXPECT_EQ(uform_outcome_status(nullptr), uform_status_invalid_argument_k);
    EXPECT_EQ(uform_outcome_wait(nullptr), uform_status_invalid_argument_k);
}
TEST(outcomes, a_final_one_is_read_and_waited_for) {
    outcome_t outcome;
    outcome.status = uform_status_io_k;
    EXPECT_EQ(uform_outcome_status(&outcome), uform_status_io_k);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_io_k);
}

TEST(executors, refusals) {
    executor_t executor;
    std::size_t const absent[] = {SIZE_MAX};
    uform_executor_for_ram_t right {};
    right.executor = executor.out(), right.threads = 1;
    using call_t = uform_executor_for_ram_t;
    auto const invalid = uform_status_invalid_argument_k;
    expect_refusals<call_t>(uform_executor_for_ram, right,
                            {{"no output", invalid, "executor", [](call_t &c) { c.executor = nullptr; }},
                             {"too many threads", invalid, "threads", [](call_t &c) { c.threads = 4097; }},
                             {"endless threads", invalid, "threads", [](call_t &c) { c.threads = SIZE_MAX; }},
                             {"a class below", invalid, "cpu_class", [](call_t &c) { c.cpu_class = -1; }},
                             {"a class beyond", invalid, "cpu_class", [](call_t &c) { c.cpu_class = 12; }},
                             {"another processor's class", uform_status_unsupported_k, "cpu_class",
                              [](call_t &c) { c.cpu_class = uform_cpu_class_wasm_simd_k; }},
                             {"NULL nodes", invalid, "memory_domains", [](call_t &c) { c.memory_domains_count = 1; }},
                             {"a node that is not there", invalid, "memory_domains",
                              [&](call_t &c) { c.memory_domains = absent, c.memory_domains_count = 1; }}});
    EXPECT_EQ(executor, nullptr);
}

TEST(executors, failure_makes_the_output_null) {
    uform_executor_t executor = reinterpret_cast<uform_executor_t>(0x1);
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.cpu_class = -1;
    EXPECT_STATUS(answer(uform_executor_for_ram, call), uform_status_invalid_argument_k);
    EXPECT_EQ(executor, nullptr);
}

TEST(executors, no_outcome_no_call) {
    uform_executor_t executor = reinterpret_cast<uform_executor_t>(0x1);
    uform_executor_for_ram_t call {};
    call.executor = &executor;
    uform_executor_for_ram(&call);
    EXPECT_EQ(executor, reinterpret_cast<uform_executor_t>(0x1)) << "the call did something";
    uform_executor_for_ram(nullptr);
}

TEST(executors, a_pin_succeeds_where_the_capabilities_name_it) {
    std::uint64_t const runs = uform_capabilities().cpu_classes;
    for (uform_cpu_class_t cpu_class = 1; cpu_class < 12; ++cpu_class) {
        executor_t executor;
        uform_executor_for_ram_t call {};
        call.executor = executor.out(), call.threads = 1, call.cpu_class = cpu_class;
        outcome_t const outcome = answer(uform_executor_for_ram, call);
        SCOPED_TRACE(uform_cpu_class_name(cpu_class));
        EXPECT_STATUS(outcome, runs >> cpu_class & 1 ? uform_status_success_k : uform_status_unsupported_k);
        EXPECT_EQ(executor != nullptr, outcome.status == uform_status_success_k);
    }
}

TEST(executors, defaults_and_counts_of_threads) {
    for (std::size_t threads : {0, 1, 2, 3}) {
        executor_t executor;
        make_executor(executor, threads);
        EXPECT_NE(executor, nullptr);
    }
}

TEST(executors, a_node_of_this_machine) {
    if (!std::ifstream("/sys/devices/system/node/node0/cpulist")) GTEST_SKIP() << "the system names no nodes";
    std::size_t const node[] = {0};
    executor_t executor;
    uform_executor_for_ram_t call {};
    call.executor = executor.out(), call.threads = 1, call.memory_domains = node, call.memory_domains_count = 1;
    EXPECT_SUCCESS(answer(uform_executor_for_ram, call));
}

TEST(executors, of_gpus_and_pools_are_unsupported) {
    uform_executor_t executor = reinterpret_cast<uform_executor_t>(0x1);
    uform_executor_for_vram_t vram {};
    vram.executor = &executor;
    EXPECT_STATUS(answer(uform_executor_for_vram, vram), uform_status_unsupported_k);
    EXPECT_EQ(executor, nullptr);
    vram.executor = nullptr;
    EXPECT_STATUS(answer(uform_executor_for_vram, vram), uform_status_invalid_argument_k);
    executor = reinterpret_cast<uform_executor_t>(0x1);
    uform_executor_on_pool_t pool {};
    pool.executor = &executor;
    EXPECT_STATUS(answer(uform_executor_on_pool, pool), uform_status_unsupported_k);
    EXPECT_EQ(executor, nullptr);
    pool.executor = nullptr;
    EXPECT_STATUS(answer(uform_executor_on_pool, pool), uform_status_invalid_argument_k);
    uform_executor_for_vram(nullptr), uform_executor_on_pool(nullptr);
    vram.outcome = nullptr, pool.outcome = nullptr;
    uform_executor_for_vram(&vram), uform_executor_on_pool(&pool);
}

TEST(executors, drain) {
    executor_t executor;
    make_executor(executor);
    uform_executor_drain_t call {};
    EXPECT_SUCCESS(answer(uform_executor_drain, call)); // NULL drains at once
    for (uform_mood_t mood : {uform_mood_spinning_k, uform_mood_parked_k}) {
        call.executor = executor, call.mood = mood;
        EXPECT_SUCCESS(answer(uform_executor_drain, call));
    }
    for (uform_mood_t mood : {-1, 2}) {
        call.mood = mood, call.executor = executor;
        EXPECT_STATUS(answer(uform_executor_drain, call), uform_status_invalid_argument_k);
        call.executor = nullptr;
        EXPECT_STATUS(answer(uform_executor_drain, call), uform_status_invalid_argument_k);
    }
    uform_executor_drain(nullptr);
}

TEST(arenas, of_any_executor) {
    executor_t executor;
    make_executor(executor);
    arena_t alone, beside;
    make_arena(alone);
    uform_arena_init_t call {};
    call.arena = beside.out(), call.executor = executor;
    EXPECT_SUCCESS(answer(uform_arena_init, call));
    EXPECT_NE(alone, nullptr);
    EXPECT_NE(beside, nullptr);
    call.arena = nullptr;
    EXPECT_STATUS(answer(uform_arena_init, call), uform_status_invalid_argument_k);
    uform_arena_init(nullptr);
    uform_arena_t untouched = reinterpret_cast<uform_arena_t>(0x1);
    call = {}, call.arena = &untouched;
    uform_arena_init(&call);
    EXPECT_EQ(untouched, reinterpret_cast<uform_arena_t>(0x1));
}

TEST(frees, null_is_safe) {
    uform_executor_free(nullptr);
    uform_arena_free(nullptr);
    uform_model_free(nullptr);
    uform_trainer_free(nullptr);
    uform_mesh_free(nullptr);
}

TEST(capabilities, hold_together) {
    uform_capabilities_t const can = uform_capabilities();
    EXPECT_TRUE(can.cpu_classes >> uform_cpu_class_serial_k & 1) << "serial runs everywhere";
    EXPECT_EQ(can.cpu_classes & ~can.cpu_classes_built, 0u);
    EXPECT_EQ(can.cpu_classes_built & 1, 0u) << "derived is no class";
    EXPECT_EQ(can.cpu_classes_built >> 12, 0u);
    EXPECT_TRUE(can.cpu_classes >> can.cpu_class & 1);
    EXPECT_GE(can.threads, 1u);
    EXPECT_EQ(can.gpu_classes_built, 0u);
    EXPECT_EQ(can.gpu_classes, 0u);
    EXPECT_EQ(can.gpu_devices, 0u);
    EXPECT_EQ(uform_gpu_devices(nullptr, 0), 0u);
    uform_gpu_device_t device;
    EXPECT_EQ(uform_gpu_devices(&device, 1), 0u);
}

} // namespace
} // namespace conformance
