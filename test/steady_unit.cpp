/**
 *  @file steady_unit.cpp
 *  @brief A loop of calls that is warm allocates nothing: no memory, no mapping, no thread, on any thread.
 *
 *  Warm is an executor and an arena that have served the largest batch twice: once to find out what it takes, once to
 *  bring it together.
 */
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint_fixture.hpp"
#include "watched_allocations.hpp"

namespace {

using namespace uform;
using namespace uform::test;

constexpr std::size_t calls_k = 1000;

model_options_t model_options() {
    model_options_t options;
    options.geometry = {128, 1, 256};
    options.token_width = 32;
    return options;
}

struct steady_t {
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;
    uform_model_t model;
    std::string data;
    std::vector<std::size_t> offsets {0};

    steady_t(std::size_t threads, uform_model_t model) : model(model) {
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = threads;
        uform_executor_for_ram(&make);
        uform_arena_init_t init {&arena, executor, &outcome};
        uform_arena_init(&init);
        // One text long enough to be shared by threads, and chunks of short ones for each of them.
        std::vector<std::string> texts {std::string(200, 'w')};
        for (int i = 0; i < 24; ++i) texts.push_back("text " + std::to_string(i * 7919));
        for (auto const &text : texts) data += text, offsets.push_back(data.size());
    }
    ~steady_t() { uform_arena_free(arena), uform_executor_free(executor); }

    std::size_t texts() const { return offsets.size() - 1; }
    /** Encodes texts `[first, first + count)` and answers whether it succeeded. Allocates nothing of its own. */
    bool encode(std::size_t first, std::size_t count, int surfaces, uform_completion_t completion) {
        uform_rows_t embeddings;
        uform_rows_tape_t states, vectors;
        uform_text_encode_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome, call.completion = completion;
        call.texts = {data.data(), offsets.data() + first, uform_scalar_u8_k}, call.count = count, call.arena = arena;
        call.embeddings = surfaces & 1 ? &embeddings : nullptr, call.states = surfaces & 2 ? &states : nullptr;
        call.token_vectors = surfaces & 4 ? &vectors : nullptr;
        uform_text_encode(&call);
        return uform_outcome_wait(&outcome) == uform_status_success_k;
    }
};

class steady_unit : public testing::TestWithParam<std::tuple<std::size_t, uform_completion_t>> {
  protected:
    checkpoint_fixture_t checkpoint_ {model_options()};
    uform_model_t model_ = checkpoint_.load();
    uform_completion_t completion_ = std::get<1>(GetParam());
    steady_t steady_ {std::get<0>(GetParam()), model_};
    ~steady_unit() override { uform_model_free(model_); }

    void warm() {
        bool succeeded = true;
        auto const largest = [&] { succeeded &= steady_.encode(0, steady_.texts(), 7, completion_); };
        allocations.watch({}, largest);
        ASSERT_GT(allocations.seen(), 0u) << "nothing is watched, so the test would prove nothing";
        largest();
        ASSERT_TRUE(succeeded);
    }
};

TEST_P(steady_unit, one_batch_again_and_again) {
    warm();
    std::size_t succeeded = 0;
    allocations.watch({}, [&] {
        for (std::size_t call = 0; call < calls_k; ++call)
            succeeded += steady_.encode(0, steady_.texts(), 7, completion_);
    });
    EXPECT_EQ(succeeded, calls_k);
    EXPECT_EQ(allocations.seen(), 0u);
}

TEST_P(steady_unit, batches_and_surfaces_below_the_largest) {
    warm();
    std::size_t succeeded = 0;
    allocations.watch({}, [&] {
        for (std::size_t call = 0; call < calls_k; ++call) {
            std::size_t const first = call * 7 % steady_.texts(), count = call * 5 % (steady_.texts() - first + 1);
            succeeded += steady_.encode(first, count, 1 + int(call % 7), completion_);
        }
    });
    EXPECT_EQ(succeeded, calls_k);
    EXPECT_EQ(allocations.seen(), 0u);
}

INSTANTIATE_TEST_SUITE_P(executors, steady_unit,
                         testing::Combine(testing::Values<std::size_t>(1, 2, 3),
                                          testing::Values<uform_completion_t>(uform_completion_blocking_k,
                                                                              uform_completion_queued_k)),
                         [](auto const &info) {
                             return std::to_string(std::get<0>(info.param)) + "_" +
                                    uform_completion_name(std::get<1>(info.param));
                         });

} // namespace
