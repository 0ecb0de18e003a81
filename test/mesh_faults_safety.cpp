/**
 *  @file mesh_faults_safety.cpp
 *  @brief Memory that runs out in one process of two, at every allocation in turn: both get a status, and go on.
 *
 *  The two processes are two threads here, each with a mesh of its own: rank 1 is the test's thread, and what the engine
 *  allocates there is refused. UCX's own allocations are not: what it makes of a refusal is no promise of ours.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <link.h>
#include <string>
#include <thread>
#include <vector>

#include <uform/uform.h>

#include "processes.hpp"
#include "watched_allocations.hpp"

namespace {

using namespace uform::test;
using uform::testing::folder_t;

extern "C" char __executable_start, etext;

/** Code of the C++ library, which operator new is in. */
struct range_t {
    std::uintptr_t first = 0, last = 0;
} library_of_new;

void find_library_of_new() {
    Dl_info info {};
    ::dladdr(reinterpret_cast<void *>(static_cast<void *(*)(std::size_t)>(&::operator new)), &info);
    ::dl_iterate_phdr(
        [](dl_phdr_info *object, std::size_t, void *wanted) {
            for (int i = 0; i < object->dlpi_phnum; ++i) {
                ElfW(Phdr) const &part = object->dlpi_phdr[i];
                auto const first = std::uintptr_t(object->dlpi_addr + part.p_vaddr);
                if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
                if (object->dlpi_addr != reinterpret_cast<std::uintptr_t>(wanted)) continue;
                library_of_new = {first, first + part.p_memsz};
            }
            return 0;
        },
        info.dli_fbase);
}

thread_local bool is_victim = false;

bool is_of_the_engine(void const *caller) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(caller);
    bool const ours = caller == nullptr || (caller >= &__executable_start && caller < &etext) ||
                      (at >= library_of_new.first && at < library_of_new.last);
    return is_victim && ours;
}

std::string text_of(uform_outcome_t const &outcome) {
    return std::string(uform_status_name(outcome.status)) + " | " + outcome.message + " | " + outcome.detail;
}
bool is_success(uform_outcome_t const &outcome) { return outcome.status == uform_status_success_k; }

constexpr std::size_t hidden_k = 128;

/** One process of two; without an executor on its own thread alone. */
struct member_t {
    std::size_t rank;
    uform_objective_t objective = uform_objective_joint_k;
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_mesh_t mesh = nullptr;
    uform_trainer_t trainer = nullptr;
    uform_trainer_step_stats_t stats {};

    bool is_joint() const { return objective == uform_objective_joint_k; }
    void take_threads(std::size_t threads) {
        uform_executor_for_ram_t call {};
        call.executor = &executor, call.outcome = &outcome, call.threads = threads;
        uform_executor_for_ram(&call);
    }
    void join(std::string const &folder, std::size_t deadline) {
        uform_mesh_bootstrap_t call {};
        call.mesh = &mesh, call.executor = executor, call.outcome = &outcome;
        call.options.host_domain_index = rank, call.options.host_domain_count = 2;
        call.options.directory = {folder.data(), folder.size()}, call.options.job = {"faults", 6};
        call.options.deadline_milliseconds = deadline;
        uform_mesh_bootstrap(&call);
    }
    /** A joint run with every term, or masked text alone. */
    void start() {
        static std::size_t const widths[] = {64, hidden_k};
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.mesh = mesh;
        call.depth = 1, call.hidden = hidden_k, call.objective = objective, call.seed = 3, call.schedule.steps = 100;
        call.batch.max_rows_per_device = call.batch.max_segments_per_device = 16, call.batch.max_columns_per_row = 32;
        if (!is_joint()) return uform_trainer_init_ram(&call);
        call.batch.max_choices_per_item = 2, call.choices.weight = call.choices.brier_weight = 1;
        call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 2;
        call.regularizers.coding_rate_weight = call.regularizers.lipschitz_weight = 0.1f;
        call.late_interaction.weight = 1, call.late_interaction.width = 16;
        uform_trainer_init_ram(&call);
    }
    /** Two pairs of texts, the first of which chooses. */
    void step() {
        static std::size_t const offsets[] = {0, 3, 7, 10, 14}, edges[] = {0, 1, 2, 3, 4}, choices[] = {0, 2, 2, 2, 2};
        static std::uint32_t const ids[] = {1, 0, 3, 2};
        static uform_late_interaction_side_t const sides[] = {3, 3, 1, 2};
        static float const targets[] = {0.25f, 0.75f};
        stats = {};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = 4, call.stats = &stats;
        call.contents = {rank ? "oneeinstwozwei" : "sixachtsunmond", offsets, uform_scalar_u8_k};
        if (!is_joint()) return uform_trainer_step(&call);
        call.sides = sides, call.choices = {"yn", choices, uform_scalar_u8_k};
        call.choice_targets = {targets, choices, uform_scalar_f32_k};
        call.relations.attract = {edges, ids, nullptr};
        uform_trainer_step(&call);
    }
    void drop_trainer() { uform_trainer_free(std::exchange(trainer, nullptr)); }
    void leave() {
        uform_mesh_free(std::exchange(mesh, nullptr)), uform_executor_free(std::exchange(executor, nullptr));
    }
};

struct pattern_t {
    char const *name;
    refusals_t (*refusals)(std::size_t);
};
// Scratch asks twice, at first for more than it needs, and libstdc++ allocates an exception in between.
constexpr pattern_t patterns_k[] = {{"alone",
                                     [](std::size_t number) {
                                         return refusals_t {number, number};
                                     }},
                                    {"three in a row",
                                     [](std::size_t number) {
                                         return refusals_t {number, number + 2};
                                     }},
                                    {"all from", [](std::size_t number) {
                                         return refusals_t {number, SIZE_MAX};
                                     }}};

class mesh_faults_safety : public testing::Test {
  protected:
    member_t first_ {0}, second_ {1};

    void SetUp() override {
        find_library_of_new();
        allocations.only = is_of_the_engine;
        folder_t folder;
        both_join(folder, 20000);
        if (second_.outcome.status == uform_status_unsupported_k) GTEST_SKIP() << text_of(second_.outcome);
        is_victim = true;
        leave(); // what UCX and the C library make once is made by now
    }
    void TearDown() override { is_victim = false, allocations.only = nullptr; }

    /** Rank 0 on a thread, rank 1 here under refusals. */
    void both(std::function<void(member_t &)> const &call, refusals_t refusals = {}) {
        std::thread other([&] { call(first_); });
        allocations.watch(refusals, [&] { call(second_); });
        other.join();
    }
    void both_join(folder_t const &folder, std::size_t deadline, refusals_t refusals = {}) {
        std::string const path = folder.path.string(); // made here: what the test allocates is not to be refused
        both([&](member_t &member) { member.join(path, deadline); }, refusals);
    }
    void leave() {
        both([](member_t &member) { member.drop_trainer(), member.leave(); });
    }
    void join() {
        folder_t folder;
        both_join(folder, 20000);
        ASSERT_TRUE(is_success(first_.outcome)) << text_of(first_.outcome);
        ASSERT_TRUE(is_success(second_.outcome)) << text_of(second_.outcome);
    }
    /** Of a call that agrees: rank 1 ran out of memory and rank 0 heard of it, or neither saw anything. */
    void expect_agreement() {
        if (is_success(second_.outcome)) {
            EXPECT_TRUE(is_success(first_.outcome)) << text_of(first_.outcome);
            return;
        }
        EXPECT_EQ(second_.outcome.status, uform_status_out_of_memory_k) << text_of(second_.outcome);
        EXPECT_EQ(first_.outcome.status, uform_status_out_of_memory_k) << text_of(first_.outcome);
        EXPECT_STREQ(first_.outcome.message, "another process of the run refused");
        EXPECT_EQ(std::string(first_.outcome.detail).find("rank 1: "), 0u) << first_.outcome.detail;
        EXPECT_TRUE(std::strstr(first_.outcome.detail, "memory")) << first_.outcome.detail;
        ++refused_calls_;
    }
    bool fault_step(refusals_t refusals, uform_trainer_step_stats_t &expected);
    std::size_t refused_calls_ = 0;
};

TEST_F(mesh_faults_safety, bootstrap_and_describe) {
    std::size_t const kept = allocations.live();
    for (pattern_t const &pattern : {patterns_k[0], patterns_k[2]}) {
        std::size_t number = 1, short_deadline = 150;
        for (std::size_t deadline = short_deadline;;) {
            SCOPED_TRACE(testing::Message() << pattern.name << " " << number);
            folder_t folder;
            auto const start = std::chrono::steady_clock::now();
            both_join(folder, deadline, pattern.refusals(number));
            auto const spent = std::chrono::steady_clock::now() - start;
            bool const met = allocations.refused() != 0;
            // A process that gives up may be given up on by itself, a refusal lingers a second, a farewell another.
            EXPECT_LT(spent, std::chrono::milliseconds(deadline + 5000));
            for (member_t *member : {&first_, &second_}) {
                EXPECT_EQ(is_success(member->outcome), member->mesh != nullptr);
                EXPECT_NE(member->outcome.message[0] == 0, !is_success(member->outcome)) << "no words";
            }
            if (met && !is_success(second_.outcome)) {
                ++refused_calls_;
                EXPECT_TRUE(second_.outcome.status == uform_status_out_of_memory_k ||
                            second_.outcome.status == uform_status_io_k) // its peer was late as well
                    << text_of(second_.outcome);
                EXPECT_FALSE(is_success(first_.outcome));
                EXPECT_TRUE(std::strstr(first_.outcome.detail, "rank 1") ||
                            std::strstr(first_.outcome.detail, "memory"))
                    << text_of(first_.outcome);
            }
            bool const joined = is_success(first_.outcome) && is_success(second_.outcome);
            if (joined) {
                uform_mesh_description_t description {};
                uform_mesh_describe_t call {};
                call.mesh = second_.mesh, call.outcome = &second_.outcome, call.description = &description;
                allocations.watch(refusals_t {1, SIZE_MAX}, [&] { uform_mesh_describe(&call); });
                EXPECT_TRUE(is_success(second_.outcome));
                EXPECT_EQ(description.host_domain_index, 1u);
                EXPECT_EQ(allocations.seen(), 0u) << "describing allocates nothing";
            }
            leave();
            EXPECT_EQ(allocations.live(), kept) << "blocks are left behind";
            EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "a file is left behind";
            if (HasFailure()) return;
            if (met)
                ++number, deadline = short_deadline;
            else if (joined)
                break;
            else
                deadline *= 10; // a busy machine: both were late
            ASSERT_LT(deadline, 100000u);
        }
        std::printf("%s: %zu places\n", pattern.name, number - 1);
    }
    EXPECT_GT(refused_calls_, 20u);
    ASSERT_NO_FATAL_FAILURE(join()) << "the library is usable still";
    leave();
}

TEST_F(mesh_faults_safety, starting_a_trainer) {
    ASSERT_NO_FATAL_FAILURE(join());
    std::size_t const kept = allocations.live();
    for (pattern_t const &pattern : patterns_k) {
        std::size_t number = 1;
        for (bool met = true; met; ++number) {
            SCOPED_TRACE(testing::Message() << pattern.name << " " << number);
            both([](member_t &member) { member.start(); }, pattern.refusals(number));
            met = allocations.refused() != 0;
            expect_agreement();
            both([](member_t &member) { member.drop_trainer(); });
            EXPECT_EQ(allocations.live(), kept) << "blocks are left behind";
            if (HasFailure()) return;
        }
        std::printf("%s: %zu places\n", pattern.name, number - 2);
    }
    EXPECT_GT(refused_calls_, 20u);
    leave();
}

/** Rank 1's first step under refusals, then again with memory; false where it allocated too little to meet one. */
bool mesh_faults_safety::fault_step(refusals_t refusals, uform_trainer_step_stats_t &expected) {
    both([](member_t &member) { member.start(); });
    both([](member_t &member) { member.step(); }, refusals);
    bool const met = allocations.refused() != 0;
    expect_agreement();
    if (!is_success(second_.outcome)) both([](member_t &member) { member.step(); });
    if (expected.step == 0) expected = second_.stats;
    for (member_t const *member : {&first_, &second_}) {
        EXPECT_TRUE(is_success(member->outcome)) << "not with memory either: " << text_of(member->outcome);
        EXPECT_EQ(std::memcmp(&member->stats, &expected, sizeof(expected)), 0) << "another answer than ever";
    }
    both([](member_t &member) { member.drop_trainer(); });
    return met;
}

TEST_F(mesh_faults_safety, a_first_step) {
    ASSERT_NO_FATAL_FAILURE(join());
    std::size_t const kept = allocations.live();
    uform_trainer_step_stats_t expected {};
    fault_step({}, expected);
    ASSERT_GT(expected.late_interaction_loss * expected.choices_loss * expected.masked_text_loss, 0);
    for (pattern_t const &pattern : {patterns_k[1], patterns_k[2]}) { // scratch that is refused once asks for less
        std::size_t number = 1;
        for (bool met = true; met && !HasFailure(); ++number) {
            SCOPED_TRACE(testing::Message() << pattern.name << " " << number);
            met = fault_step(pattern.refusals(number), expected);
            EXPECT_EQ(allocations.live(), kept) << "blocks are left behind";
        }
        std::printf("%s: %zu places\n", pattern.name, number - 2);
    }
    EXPECT_GT(refused_calls_, 40u);
    leave();
}

/**
 *  On threads the update's scratch is not what the towers left behind, so it has places of its own: they must come
 *  before the last agreement. An executor keeps its scratch, so each place needs one of its own, and a mesh with it.
 */
TEST_F(mesh_faults_safety, a_first_step_on_threads) {
    std::size_t number = 1;
    uform_trainer_step_stats_t expected {};
    for (bool met = true; met && !HasFailure(); ++number) {
        SCOPED_TRACE(testing::Message() << "all from " << number);
        for (member_t *member : {&first_, &second_})
            member->objective = uform_objective_masked_k, member->take_threads(2);
        ASSERT_NO_FATAL_FAILURE(join());
        met = fault_step({number, SIZE_MAX}, expected);
        leave();
    }
    std::printf("all from: %zu places\n", number - 2);
    EXPECT_GT(refused_calls_, 8u);
}

} // namespace
