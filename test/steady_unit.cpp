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

#include "caller_fixture.hpp"
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
    options.decoder = true;
    return options;
}

/** One text long enough to be shared by threads, and chunks of short ones for each of them. */
text_tape_t mixed_texts() {
    text_tape_t texts({std::string(200, 'w')});
    for (int i = 0; i < 24; ++i) texts.append("text " + std::to_string(i * 7919));
    return texts;
}
/** Legal bytes of each text: none, all, and numbers in between. */
text_tape_t mixed_choices(std::size_t count) {
    text_tape_t choices;
    for (std::size_t i = 0; i < count; ++i) {
        std::string legal;
        for (std::size_t byte = 0; byte < i * 51 % 257; ++byte) legal.push_back(char(byte));
        choices.append(legal);
    }
    return choices;
}

/** The part of a batch that one call is about. */
struct part_t {
    std::size_t first, count;
    int surfaces; // where there are any
};

/** Calls over parts of a batch, by one caller; a `call_` answers whether it succeeded and allocates nothing itself. */
class steady_t {
  protected:
    caller_t caller_;
    uform_completion_t completion_;

    steady_t(std::size_t threads, uform_completion_t completion) : caller_(threads), completion_(completion) {}

    /** Warms up on the whole batch of `items`, then repeats it. */
    template <typename call_>
    void expect_steady(std::size_t items, call_ const &call) {
        ASSERT_NO_FATAL_FAILURE(warm(items, call));
        expect_no_allocations([&](std::size_t) { return call(part_t {0, items, all_k}); });
    }
    /** Warms up on the whole batch of `items`, then calls for other parts of it each time. */
    template <typename call_>
    void expect_steady_below(std::size_t items, call_ const &call) {
        ASSERT_NO_FATAL_FAILURE(warm(items, call));
        expect_no_allocations([&](std::size_t index) {
            std::size_t const first = index * 7 % items, count = index * 5 % (items - first + 1);
            return call(part_t {first, count, 1 + int(index % 7)});
        });
    }

  private:
    template <typename call_>
    void warm(std::size_t items, call_ const &call) {
        bool succeeded = true;
        auto const largest = [&] { succeeded &= call(part_t {0, items, all_k}); };
        allocations.watch({}, largest);
        ASSERT_GT(allocations.seen(), 0u) << "nothing is watched, so the test would prove nothing";
        largest();
        ASSERT_TRUE(succeeded) << caller_.outcome.message;
    }
    template <typename call_>
    void expect_no_allocations(call_ const &call) {
        std::size_t succeeded = 0;
        allocations.watch({}, [&] {
            for (std::size_t index = 0; index < calls_k; ++index) succeeded += call(index);
        });
        EXPECT_EQ(succeeded, calls_k);
        EXPECT_EQ(allocations.seen(), 0u);
    }
};

class steady_model_unit : public testing::TestWithParam<std::tuple<std::size_t, uform_completion_t>>,
                          protected steady_t {
    checkpoint_fixture_t checkpoint_ {model_options()};
    text_tape_t const choices_;

  protected:
    uform_model_t model_ = checkpoint_.load();
    text_tape_t const texts_ = mixed_texts();

    steady_model_unit()
        : steady_t(std::get<0>(GetParam()), std::get<1>(GetParam())), choices_(mixed_choices(mixed_texts().count())) {}
    ~steady_model_unit() override { uform_model_free(model_); }

    bool encode(part_t part) {
        text_outputs_t outputs;
        uform_text_encode_t call = outputs.ask(model_, texts_, part.surfaces);
        call.texts.offsets += part.first, call.count = part.count;
        return caller_.make(uform_text_encode, call, completion_);
    }
    bool choose(part_t part) {
        uform_rows_tape_t probabilities;
        uform_text_choose_t call {};
        call.model = model_, call.texts = texts_.view(), call.choices = choices_.view(), call.count = part.count;
        call.texts.offsets += part.first, call.choices.offsets += part.first;
        call.probabilities = &probabilities;
        return caller_.make(uform_text_choose, call, completion_);
    }
};

TEST_P(steady_model_unit, one_encoded_batch_again_and_again) {
    expect_steady(texts_.count(), [&](part_t part) { return encode(part); });
}
TEST_P(steady_model_unit, encoded_batches_and_surfaces_below_the_largest) {
    expect_steady_below(texts_.count(), [&](part_t part) { return encode(part); });
}
TEST_P(steady_model_unit, one_batch_of_choices_again_and_again) {
    expect_steady(texts_.count(), [&](part_t part) { return choose(part); });
}
TEST_P(steady_model_unit, batches_of_choices_below_the_largest) {
    expect_steady_below(texts_.count(), [&](part_t part) { return choose(part); });
}

/** Documents on both sides of a block of staged rows, of an odd width, which kernels stage as well. */
class steady_rerank_unit : public testing::TestWithParam<std::tuple<std::size_t, uform_completion_t, uform_scalar_t>>,
                           protected steady_t {
    static constexpr std::size_t tokens_k = 20, width_k = 133;
    uform_scalar_t scalar_ = std::get<2>(GetParam());
    std::vector<std::size_t> offsets_ {0};
    std::string query_, rows_;

  protected:
    steady_rerank_unit() : steady_t(std::get<0>(GetParam()), std::get<1>(GetParam())) {
        for (std::size_t i = 0; i < 13; ++i) offsets_.push_back(offsets_.back() + (i % 4 ? 1 + i * 5 : 300));
        query_ = drawn_vectors(tokens_k * width_k, scalar_);
        rows_ = drawn_vectors(offsets_.back() * width_k, scalar_);
    }
    std::size_t documents() const { return offsets_.size() - 1; }

    bool rerank(part_t part) {
        std::size_t const stride = width_k * uform_scalar_bytes(scalar_);
        uform_rows_t scores;
        uform_rerank_t call {};
        call.query = {query_.data(), tokens_k, width_k, stride, scalar_};
        call.documents = {rows_.data(), offsets_.back(), width_k, stride, scalar_, offsets_.data() + part.first};
        call.count = part.count, call.scores = &scores;
        return caller_.make(uform_rerank, call, completion_);
    }
};

TEST_P(steady_rerank_unit, one_batch_again_and_again) {
    expect_steady(documents(), [&](part_t part) { return rerank(part); });
}
TEST_P(steady_rerank_unit, batches_below_the_largest) {
    expect_steady_below(documents(), [&](part_t part) { return rerank(part); });
}

auto const threads_k = testing::Values<std::size_t>(1, 2, 3);
auto const completions_k = testing::Values<uform_completion_t>(uform_completion_blocking_k, uform_completion_queued_k);

std::string name_of(std::size_t threads, uform_completion_t completion) {
    return std::to_string(threads) + "_" + uform_completion_name(completion);
}
INSTANTIATE_TEST_SUITE_P(executors, steady_model_unit, testing::Combine(threads_k, completions_k),
                         [](auto const &info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });
INSTANTIATE_TEST_SUITE_P(executors, steady_rerank_unit,
                         testing::Combine(threads_k, completions_k,
                                          testing::Values<uform_scalar_t>(uform_scalar_f32_k, uform_scalar_f16_k,
                                                                          uform_scalar_bf16_k, uform_scalar_i8_k)),
                         [](auto const &info) {
                             return name_of(std::get<0>(info.param), std::get<1>(info.param)) + "_" +
                                    uform_scalar_name(std::get<2>(info.param));
                         });

} // namespace
