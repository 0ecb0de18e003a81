/**
 *  @file placement_unit.cpp
 *  @brief Memory asked for on a NUMA node carries that policy; memory asked for nowhere is an ordinary allocation.
 *
 *  What the system answers for a page is asked through get_mempolicy(2). Where there is no node or no policy to be had,
 *  as in containers that forbid the calls, the tests say so and skip.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include <uform/utilities/lane.hpp>
#include <uform/utilities/placement.hpp>

#include "checkpoint_fixture.hpp"
#include "model_handle.hpp"

namespace {

using namespace uform;
using namespace uform::test;

/** Policy and nodes of the page at `memory`; false where the system does not say. */
bool policy_of(void const *memory, int &policy, domains_t &nodes) {
    constexpr unsigned long of_address_k = 2; // MPOL_F_ADDR
    return ::syscall(SYS_get_mempolicy, &policy, nodes.words, domains_t::capacity_k, memory, of_address_k) == 0;
}

bool can_place() {
    placed_t probe;
    domains_t node, found;
    int policy = 0;
    node.add(0);
    return std::filesystem::exists("/sys/devices/system/node/node0") && probe.map(1, node) &&
           policy_of(probe.data(), policy, found) && policy == 1;
}

#define SKIP_WITHOUT_PLACEMENT()                                                                                       \
    if (!can_place()) GTEST_SKIP() << "this system places no memory: no node 0, or mbind is forbidden"

TEST(placement, asked_for_nowhere_it_is_the_allocators) {
    placed_t memory;
    ASSERT_TRUE(memory.resize(100, {}));
    EXPECT_EQ(memory.size(), 100u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0u);
    std::memset(memory.data(), 1, 100);
    ASSERT_TRUE(memory.resize(0, {}));
    EXPECT_EQ(memory.data(), nullptr);
    EXPECT_FALSE(memory.map(SIZE_MAX, {}));
    EXPECT_EQ(memory.size(), 0u);
}

TEST(placement, mapped_pages_are_zero_and_move) {
    placed_t memory;
    ASSERT_TRUE(memory.map(10000, {}));
    for (std::size_t i = 0; i < 10000; ++i) ASSERT_EQ(memory.data()[i], std::byte {});
    std::byte *const data = memory.data();
    placed_t moved(std::move(memory));
    EXPECT_EQ(moved.data(), data);
    EXPECT_EQ(memory.data(), nullptr);
}

TEST(placement, nodes_are_read_or_refused) {
    domains_t domains;
    EXPECT_FALSE(read_domains(nullptr, 0, domains));
    EXPECT_EQ(domains.count(), 0u);
    EXPECT_EQ(read_domains(nullptr, 1, domains).status, uform_status_invalid_argument_k);
    std::size_t const absent[] = {1023}, beyond[] = {1024}, far[] = {SIZE_MAX};
    for (std::size_t const *nodes : {absent, beyond, far}) {
        failure_t const failure = read_domains(nodes, 1, domains);
        EXPECT_EQ(failure.status, uform_status_invalid_argument_k);
        EXPECT_NE(std::strstr(failure.detail, "memory_domains[0]"), nullptr);
    }
}

TEST(placement, scratch_blocks_prefer_their_node) {
    SKIP_WITHOUT_PLACEMENT();
    domains_t node, found;
    node.add(0);
    scratch_t scratch;
    scratch.place(node);
    for (int block = 0; block < 3; ++block) {
        void *const memory = scratch.claim<std::byte>(std::size_t(1) << (17 + block));
        int policy = 0;
        ASSERT_TRUE(policy_of(memory, policy, found));
        EXPECT_EQ(policy, 1) << "preferred";
        EXPECT_EQ(found.words[0], 1u);
    }
}

TEST(placement, executors_place_their_arenas_and_models) {
    SKIP_WITHOUT_PLACEMENT();
    model_options_t options;
    options.geometry = {128, 1, 64};
    checkpoint_fixture_t const checkpoint(options);
    std::size_t const nodes[] = {0};
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;
    uform_executor_for_ram_t make {};
    make.executor = &executor, make.outcome = &outcome, make.memory_domains = nodes, make.memory_domains_count = 1;
    uform_executor_for_ram(&make);
    ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    uform_arena_init_t init {};
    init.arena = &arena, init.executor = executor, init.outcome = &outcome;
    uform_arena_init(&init);
    uform_model_t const model = checkpoint.load(executor);

    std::size_t const offsets[] = {0, 3};
    uform_rows_t rows {};
    uform_text_encode_t call {};
    call.model = model, call.executor = executor, call.outcome = &outcome, call.texts = {"abc", offsets, 0};
    call.count = 1, call.embeddings = &rows, call.arena = arena;
    uform_text_encode(&call);
    ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    void const *const places[] = {rows.data, model->model.tower.weights.embedding,
                                  model->model.tower.weights.blocks[0].qkv.data};
    for (void const *const place : places) {
        int policy = 0;
        domains_t found;
        ASSERT_TRUE(policy_of(place, policy, found));
        EXPECT_EQ(policy, 1);
        EXPECT_EQ(found.words[0], 1u);
    }
    uform_model_free(model), uform_arena_free(arena), uform_executor_free(executor);
}

} // namespace
