/**
 *  @file caller_fixture.hpp
 *  @brief Whoever calls the verbs of `encode.h` in a test: threads and an arena, and inputs laid out as the verbs take them.
 *
 *  Calling allocates nothing here, so that a test may count what the engine allocates. Models are checkpoint_fixture.hpp's.
 */
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <uform/uform.h>
#include <uform/utilities/rows.hpp>

namespace uform::test {

/** Items of bytes, one after the other, behind `before`, which is no item's. */
struct text_tape_t {
    std::string data;
    std::vector<std::size_t> offsets;

    explicit text_tape_t(std::vector<std::string> const &items = {}, std::string const &before = {})
        : data(before), offsets {before.size()} {
        for (auto const &item : items) append(item);
    }
    void append(std::string const &item) { data += item, offsets.push_back(data.size()); }
    uform_tape_view_t view() const { return {data.data(), offsets.data(), uform_scalar_u8_k}; }
    std::size_t count() const { return offsets.size() - 1; }
};

/** Rows `[first, last)` of a view, as bytes. */
template <typename view_>
std::string bytes_of_rows(view_ const &view, std::size_t first, std::size_t last) {
    return {static_cast<char const *>(view.data) + first * view.stride, (last - first) * view.stride};
}
template <typename view_>
std::string bytes_of_rows(view_ const &view) {
    return bytes_of_rows(view, 0, view.count);
}

enum surfaces_t { embeddings_k = 1, states_k = 2, vectors_k = 4, all_k = 7 };

/** What `uform_text_encode` fills. */
struct text_outputs_t {
    uform_rows_t embeddings {};
    uform_rows_tape_t states {}, token_vectors {};
    uform_text_encode_stats_t stats {};

    /** A call that asks for a sum of `surfaces_t`. */
    uform_text_encode_t ask(uform_model_t model, text_tape_t const &texts, int surfaces) {
        uform_text_encode_t call {};
        call.model = model, call.texts = texts.view(), call.count = texts.count(), call.stats = &stats;
        call.embeddings = surfaces & embeddings_k ? &embeddings : nullptr;
        call.states = surfaces & states_k ? &states : nullptr;
        call.token_vectors = surfaces & vectors_k ? &token_vectors : nullptr;
        return call;
    }
    /** All that was asked for, as bytes. */
    std::string bytes(int surfaces) const {
        return (surfaces & embeddings_k ? bytes_of_rows(embeddings) : "") +
               (surfaces & states_k ? bytes_of_rows(states) : "") +
               (surfaces & vectors_k ? bytes_of_rows(token_vectors) : "");
    }
};

/** Appends `x` as a scalar that `uform_rerank` takes and answers what was stored; i8 is 127 times x, or -128 for NaN. */
inline float append_scalar(float x, uform_scalar_t scalar, std::string &bytes) {
    auto const append = [&](auto const &stored) {
        bytes.append(reinterpret_cast<char const *>(&stored), sizeof(stored));
    };
    if (scalar == uform_scalar_bf16_k) {
        bf16_t const narrow = round_to_bf16(x);
        return append(narrow), widen(narrow);
    }
    if (scalar == uform_scalar_f16_k) {
        std::uint16_t const narrow = round_to_f16(x);
        return append(narrow), widen_f16(narrow);
    }
    if (scalar == uform_scalar_i8_k) {
        std::int8_t const narrow = std::int8_t(std::isfinite(x) ? std::lround(127 * x) : -128);
        return append(narrow), float(narrow);
    }
    return append(x), x;
}

/** As many values of [-1, 1] as a scalar, none of them special. */
inline std::string drawn_vectors(std::size_t elements, uform_scalar_t scalar) {
    std::string bytes;
    for (std::size_t i = 0; i < elements; ++i) append_scalar(float(i * 7919 % 255) / 127 - 1, scalar, bytes);
    return bytes;
}

/** Threads, none meaning the test's own, and an arena. */
class caller_t {
  public:
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;

    explicit caller_t(std::size_t threads = 0, uform_cpu_class_t cpu_class = uform_cpu_class_derived_k) {
        if (threads) {
            uform_executor_for_ram_t make {};
            make.executor = &executor, make.outcome = &outcome, make.threads = threads, make.cpu_class = cpu_class;
            uform_executor_for_ram(&make);
            EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
        }
        uform_arena_init_t make {&arena, executor, &outcome};
        uform_arena_init(&make);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
    }
    ~caller_t() { uform_arena_free(arena), uform_executor_free(executor); }
    caller_t(caller_t const &) = delete;

    /** Makes the call and waits for its outcome; true where it succeeded. */
    template <typename arguments_>
    bool make(void (*verb)(arguments_ *), arguments_ &call,
              uform_completion_t completion = uform_completion_blocking_k) {
        call.executor = executor, call.arena = arena, call.outcome = &outcome, call.completion = completion;
        verb(&call);
        return uform_outcome_wait(&outcome) == uform_status_success_k;
    }
};

} // namespace uform::test
