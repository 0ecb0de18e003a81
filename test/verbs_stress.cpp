/**
 *  @file verbs_stress.cpp
 *  @brief Eight threads on two executors: mixed verbs, cancellation, and frees of everything a queued call still names.
 *
 *  Built for ThreadSanitizer and AddressSanitizer as much as for its own expectations: each call ends in a status that
 *  its situation allows, each success has the item's one and only bits, and nothing hangs. UFORM_STRESS_SECONDS sets how
 *  long (two by default), UFORM_TEST_SEED the dice; a failure prints the seed.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

constexpr std::size_t threads_k = 8;

std::size_t number_from(char const *variable, std::size_t otherwise) {
    char const *const text = std::getenv(variable);
    return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

model_options_t options() {
    model_options_t options;
    options.geometry = {128, 1, 64};
    options.token_width = 16, options.decoder = true;
    return options;
}

uform_executor_t executor_of(std::size_t threads) {
    uform_executor_t executor = nullptr;
    uform_outcome_t outcome;
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.outcome = &outcome, call.threads = threads;
    uform_executor_for_ram(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    return executor;
}
uform_arena_t arena_of(uform_executor_t executor) {
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome;
    uform_arena_init_t call {};
    call.arena = &arena, call.executor = executor, call.outcome = &outcome;
    uform_arena_init(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    return arena;
}

/** Texts enough for several chunks, so that a stop comes before the end. */
struct texts_t {
    std::string data;
    std::vector<std::size_t> offsets {0};
    texts_t() {
        for (std::size_t i = 0; i < 40; ++i) {
            for (std::size_t byte = 0; byte < i * 7 % 71; ++byte) data.push_back(char(byte * 31 + i));
            offsets.push_back(data.size());
        }
    }
};

/** What the threads share. */
struct world_t {
    checkpoint_fixture_t checkpoint {options()};
    texts_t texts;
    uform_model_t model = checkpoint.load();
    uform_executor_t executors[2] = {executor_of(2), executor_of(3)};
    uform_arena_t shared = arena_of(nullptr);
    std::string embeddings, probabilities, scores; // of every item, computed alone
    std::atomic<bool> over {false};
    std::atomic<std::size_t> successes {0}, contended {0}, cancelled {0};

    ~world_t() {
        uform_arena_free(shared);
        for (uform_executor_t executor : executors) uform_executor_free(executor);
        uform_model_free(model);
    }
};

bool always_stop(std::size_t, std::size_t, void *) { return false; }

/** One call of one thread: its outcome, its arena, and where its rows land. */
class caller_t {
    world_t &world_;
    std::mt19937_64 dice_;
    uform_outcome_t outcome_ {};
    uform_arena_t arena_ = arena_of(nullptr);
    uform_rows_t rows_ {};
    uform_rows_tape_t tape_ {};
    std::vector<unsigned char> choices_;
    std::vector<std::size_t> choice_offsets_;

  public:
    caller_t(world_t &world, std::uint64_t seed) : world_(world), dice_(seed) {
        for (std::size_t i = 0; i < 41; ++i) choice_offsets_.push_back(3 * i);
        for (std::size_t i = 0; i < 40; ++i) choices_.insert(choices_.end(), {'a', 'b', 'c'});
    }
    ~caller_t() { uform_arena_free(arena_); }

    void run() {
        using step_t = void (caller_t::*)();
        static constexpr step_t steps[] = {&caller_t::encode,     &caller_t::choose,        &caller_t::rerank,
                                           &caller_t::alone,      &caller_t::cancel,        &caller_t::free_arena,
                                           &caller_t::free_model, &caller_t::free_executor, &caller_t::share_arena,
                                           &caller_t::drain,      &caller_t::refuse,        &caller_t::reload};
        while (!world_.over.load(std::memory_order_relaxed)) (this->*steps[dice_() % std::size(steps)])();
    }

    uform_text_encode_t encode_call(uform_model_t model, uform_executor_t executor) {
        uform_text_encode_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome_, call.completion = completion();
        call.texts = {world_.texts.data.data(), world_.texts.offsets.data(), uform_scalar_u8_k};
        call.count = world_.texts.offsets.size() - 1, call.embeddings = &rows_, call.arena = arena_;
        return call;
    }
    std::string encode_on(uform_executor_t executor) {
        uform_text_encode_t call = encode_call(world_.model, executor);
        uform_text_encode(&call);
        return finished() ? bytes(rows_) : std::string();
    }
    std::string choose_on(uform_executor_t executor) {
        uform_text_choose_t call {};
        call.model = world_.model, call.executor = executor, call.outcome = &outcome_, call.completion = completion();
        call.texts = {world_.texts.data.data(), world_.texts.offsets.data(), uform_scalar_u8_k};
        call.choices = {choices_.data(), choice_offsets_.data(), uform_scalar_u8_k};
        call.count = world_.texts.offsets.size() - 1, call.probabilities = &tape_, call.arena = arena_;
        uform_text_choose(&call);
        return finished() ? bytes(tape_) : std::string();
    }
    std::string rerank_on(uform_executor_t executor) {
        static float const query[] = {1, 0, 0, 0, 0, 1, 0, 0};
        static float const documents[] = {-1, 0, 0, 0, .5f, .5f, .5f, .5f, 0, 0, 1, 0};
        static std::size_t const offsets[] = {0, 1, 3};
        uform_rerank_t call {};
        call.executor = executor, call.outcome = &outcome_, call.completion = completion();
        call.query = {query, 2, 4, 16, uform_scalar_f32_k};
        call.documents = {documents, 3, 4, 16, uform_scalar_f32_k, offsets};
        call.count = 2, call.scores = &rows_, call.arena = arena_;
        uform_rerank(&call);
        return finished() ? bytes(rows_) : std::string();
    }

  private:
    uform_executor_t executor() { return world_.executors[dice_() % 2]; }
    uform_completion_t completion() { return dice_() % 2 ? uform_completion_queued_k : uform_completion_blocking_k; }
    template <typename view_>
    static std::string bytes(view_ const &view) {
        return {static_cast<char const *>(view.data), view.count * view.stride};
    }
    /** Waits; true on success. Where an executor or an arena is another's too, `contended` is the other right answer. */
    bool finished() {
        uform_status_t const status = uform_outcome_wait(&outcome_);
        if (status == uform_status_success_k) ++world_.successes;
        if (status == uform_status_contended_k) ++world_.contended;
        EXPECT_TRUE(status == uform_status_success_k || status == uform_status_contended_k)
            << outcome_.message << ": " << outcome_.detail;
        return status == uform_status_success_k;
    }
    static void expect_same(std::string const &answer, std::string const &expected) {
        EXPECT_TRUE(answer.empty() || answer == expected) << "other bits than alone";
    }

    void encode() { expect_same(encode_on(executor()), world_.embeddings); }
    void choose() { expect_same(choose_on(executor()), world_.probabilities); }
    void rerank() { expect_same(rerank_on(executor()), world_.scores); }
    void alone() { expect_same(encode_on(nullptr), world_.embeddings); }
    void cancel() {
        uform_text_encode_t call = encode_call(world_.model, executor());
        call.progress.callback = always_stop;
        rows_ = {};
        uform_text_encode(&call);
        uform_status_t const status = uform_outcome_wait(&outcome_);
        EXPECT_TRUE(status == uform_status_cancelled_k || status == uform_status_contended_k) << outcome_.message;
        EXPECT_EQ(rows_.data, nullptr) << "a cancelled call published";
        world_.cancelled += status == uform_status_cancelled_k;
    }
    /** Whatever a queued call names may be freed at once: the free waits, and the outcome is final after it. */
    void free_arena() {
        uform_text_encode_t call = encode_call(world_.model, executor());
        call.completion = uform_completion_queued_k;
        uform_text_encode(&call);
        uform_arena_free(arena_);
        finished();
        arena_ = arena_of(nullptr);
    }
    void free_model() {
        uform_model_t const own = world_.checkpoint.load();
        uform_text_encode_t call = encode_call(own, executor());
        call.completion = uform_completion_queued_k;
        uform_text_encode(&call);
        uform_model_free(own);
        expect_same(finished() ? bytes(rows_) : std::string(), world_.embeddings);
    }
    void free_executor() {
        uform_executor_t const own = executor_of(1 + dice_() % 3);
        uform_text_encode_t call = encode_call(world_.model, own);
        call.completion = uform_completion_queued_k;
        uform_text_encode(&call);
        uform_executor_free(own);
        EXPECT_NE(uform_outcome_status(&outcome_), uform_status_contended_k);
        expect_same(finished() ? bytes(rows_) : std::string(), world_.embeddings);
    }
    void share_arena() { // its rows may be rewound by another at once, so they are not read
        uform_text_encode_t call = encode_call(world_.model, dice_() % 2 ? executor() : nullptr);
        call.arena = world_.shared;
        uform_text_encode(&call);
        finished();
    }
    void drain() {
        uform_executor_drain_t call {};
        call.executor = executor(), call.outcome = &outcome_;
        call.mood = dice_() % 2 ? uform_mood_parked_k : uform_mood_spinning_k;
        uform_executor_drain(&call);
        EXPECT_EQ(outcome_.status, uform_status_success_k);
    }
    void refuse() {
        uform_text_encode_t call = encode_call(world_.model, executor());
        call.dimensions = 129;
        uform_text_encode(&call);
        EXPECT_EQ(outcome_.status, uform_status_shape_mismatch_k);
        std::size_t const falling[] = {0, 2, 1};
        call.dimensions = 0, call.texts.offsets = falling, call.count = 2;
        uform_text_encode(&call);
        EXPECT_EQ(outcome_.status, uform_status_invalid_argument_k);
        EXPECT_EQ(outcome_.item, 1u);
    }
    void reload() {
        uform_model_t own = nullptr;
        uform_model_load_ram_t call {};
        call.model = &own, call.executor = executor(), call.outcome = &outcome_, call.completion = completion();
        call.path = view(world_.checkpoint.path());
        uform_model_load_ram(&call);
        bool const loaded = finished();
        EXPECT_EQ(loaded, own != nullptr);
        uform_model_free(own);
    }
};

TEST(verbs, eight_threads_on_two_executors) {
    std::uint64_t const seed = number_from("UFORM_TEST_SEED", std::random_device {}());
    SCOPED_TRACE("UFORM_TEST_SEED=" + std::to_string(seed));
    world_t world;
    caller_t first(world, seed);
    world.embeddings = first.encode_on(nullptr), world.probabilities = first.choose_on(nullptr);
    world.scores = first.rerank_on(nullptr);
    ASSERT_FALSE(world.embeddings.empty() || world.probabilities.empty() || world.scores.empty());

    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < threads_k; ++i)
        threads.emplace_back([&world, seed, i] { caller_t(world, seed + i).run(); });
    std::this_thread::sleep_for(std::chrono::seconds(number_from("UFORM_STRESS_SECONDS", 2)));
    world.over = true;
    for (std::thread &thread : threads) thread.join();

    // Every situation occurred, and both executors work on.
    EXPECT_GT(world.successes, 0u);
    EXPECT_GT(world.contended, 0u);
    EXPECT_GT(world.cancelled, 0u);
    for (uform_executor_t executor : world.executors) {
        EXPECT_TRUE(first.encode_on(executor) == world.embeddings);
        EXPECT_TRUE(first.choose_on(executor) == world.probabilities);
        EXPECT_TRUE(first.rerank_on(executor) == world.scores);
    }
    std::printf("%zu successes, %zu contended, %zu cancelled\n", world.successes.load(), world.contended.load(),
                world.cancelled.load());
}

} // namespace
