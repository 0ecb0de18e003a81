/**
 *  @file mutations.cpp
 *  @brief Mutated calls of the verbs that encode, choose and rerank.
 */
#include "mutations.hpp"

#include "encoding.hpp"

namespace conformance {
namespace {

constexpr std::size_t rounds_k = 4000;
std::size_t const decreasing_k[] = {0, 5, 3, 8, 12}, beyond_k[] = {0, 1, 2, 3, std::size_t(1) << 63};

uform_progress_t stopping_handler() {
    return {[](std::size_t, std::size_t, void *) { return false; }, nullptr};
}

/** What every drawn call is made over: two models, two executors or none, tapes of four items. */
struct fixture_t {
    model_t full, bare;
    executor_t executor;
    arena_t arena;
    tape_t texts {{"Is it? ", "", std::string(64, 'x'), std::string(80, 'y')}}, choices {{"yn", "", "abcd", "ab"}};
    tape_t twice {{"yn", "aba", "abcd", ""}};

    fixture_t() {
        load_bytes(full, checkpoint_t(24, true, 3).bytes());
        load_bytes(bare, checkpoint_t().bytes());
        make_executor(executor), make_arena(arena);
    }
};

/** Fields that encoding and choosing share. */
template <typename call_>
void add_shared(std::vector<mutation_t<call_>> &mutations, fixture_t const &fixture) {
    for (mutation_t<call_> const &mutation : std::vector<mutation_t<call_>> {
             {"model",
              [&](call_ &c, draw_t &d) {
                  c.model = d.of<uform_model_t>({nullptr, fixture.bare});
              }},
             {"texts.data", [](call_ &c, draw_t &) { c.texts.data = nullptr; }},
             {"texts.scalar", [](call_ &c, draw_t &d) { c.texts.scalar = d.enumerator(); }},
             {"texts.offsets",
              [](call_ &c, draw_t &d) {
                  c.texts.offsets = d.of<std::size_t const *>({nullptr, decreasing_k, beyond_k});
              }},
             {"progress", [](call_ &c, draw_t &) { c.progress = stopping_handler(); }},
             {"stats", [](call_ &c, draw_t &) { c.stats = nullptr; }}})
        mutations.push_back(mutation);
}
/** Fields that every verb here has. */
template <typename call_>
void add_common(std::vector<mutation_t<call_>> &mutations, fixture_t const &fixture) {
    for (mutation_t<call_> const &mutation : std::vector<mutation_t<call_>> {
             {"executor", [&](call_ &c, draw_t &) { c.executor = fixture.executor; }},
             {"completion",
              [](call_ &c, draw_t &d) {
                  c.completion = d.of<std::int32_t>({-1, 1, 2, INT32_MAX});
              }},
             {"count",
              [](call_ &c, draw_t &d) {
                  c.count = d.size({0, 1, 2, 3});
              }},
             {"arena", [](call_ &c, draw_t &) { c.arena = nullptr; }},
             {"outputs_scalar", [](call_ &c, draw_t &d) { c.outputs_scalar = d.enumerator(); }}})
        mutations.push_back(mutation);
}

std::string told_stats(uform_encode_stats_t const &stats) {
    return std::to_string(stats.truncated) + " " + std::to_string(stats.tokens);
}

TEST(mutations, encode) {
    using call_t = uform_text_encode_t;
    fixture_t fixture;
    std::vector<mutation_t<call_t>> mutations {
        {"dimensions",
         [](call_t &c, draw_t &d) {
             c.dimensions = d.size({1, 64, 128, 129});
         }},
        {"embeddings", [](call_t &c, draw_t &) { c.embeddings = nullptr; }},
        {"states", [](call_t &c, draw_t &) { c.states = nullptr; }},
        {"token_vectors", [](call_t &c, draw_t &) { c.token_vectors = nullptr; }}};
    add_common(mutations, fixture), add_shared(mutations, fixture);
    record_t record("encode");
    draw_t draw(1);
    for (std::size_t round = 0; round < rounds_k; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        encoded_t got;
        call_t call {};
        call.model = fixture.full, call.texts = fixture.texts.view(), call.count = 4, call.arena = fixture.arena;
        call.embeddings = &got.embeddings, call.stats = &got.stats;
        if (draw.below(2)) call.states = &got.states, draw.note("with states");
        if (draw.below(2)) call.token_vectors = &got.token_vectors, draw.note("with token_vectors");
        outcome_t const outcome = answer_mutated(uform_text_encode, call, mutations, draw);
        bool const succeeded = outcome.status == uform_status_success_k;
        EXPECT_EQ(got.embeddings.data != nullptr, succeeded && call.embeddings);
        EXPECT_EQ(got.states.data != nullptr, succeeded && call.states);
        EXPECT_EQ(got.token_vectors.data != nullptr, succeeded && call.token_vectors);
        record.add(round, "encode", draw.take_trace(), outcome, told_stats(got.stats));
    }
    EXPECT_GT(record.counts[uform_status_success_k], rounds_k / 8);
    EXPECT_GE(record.counts.size(), 5u) << "success, cancelled, shape-mismatch, unsupported, invalid-argument";
}

TEST(mutations, choose) {
    using call_t = uform_text_choose_t;
    fixture_t fixture;
    static std::uint32_t const right[] = {0, 1, 2, 2}, wrong[] = {0, 2, 3, 9};
    std::vector<mutation_t<call_t>> mutations {
        {"choices.data", [](call_t &c, draw_t &) { c.choices.data = nullptr; }},
        {"choices.scalar", [](call_t &c, draw_t &d) { c.choices.scalar = d.enumerator(); }},
        {"choices.offsets",
         [](call_t &c, draw_t &d) {
             c.choices.offsets = d.of<std::size_t const *>({nullptr, decreasing_k, beyond_k});
         }},
        {"choices", [&](call_t &c, draw_t &) { c.choices = fixture.twice.view(); }},
        {"temperature_groups",
         [](call_t &c, draw_t &d) {
             c.temperature_groups = d.of<std::uint32_t const *>({right, wrong});
         }},
        {"probabilities", [](call_t &c, draw_t &) { c.probabilities = nullptr; }}};
    add_common(mutations, fixture), add_shared(mutations, fixture);
    record_t record("choose");
    draw_t draw(2);
    for (std::size_t round = 0; round < rounds_k; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_rows_tape_t probabilities {};
        uform_text_choose_stats_t stats {};
        call_t call {};
        call.model = fixture.full, call.texts = fixture.texts.view(), call.choices = fixture.choices.view();
        call.count = 4, call.arena = fixture.arena, call.probabilities = &probabilities, call.stats = &stats;
        outcome_t const outcome = answer_mutated(uform_text_choose, call, mutations, draw);
        EXPECT_EQ(probabilities.data != nullptr, outcome.status == uform_status_success_k);
        record.add(round, "choose", draw.take_trace(), outcome, told_stats(stats));
    }
    EXPECT_GT(record.counts[uform_status_success_k], rounds_k / 8);
    EXPECT_GE(record.counts.size(), 4u) << "success, cancelled, unsupported, invalid-argument";
}

/** Rows of any scalar's reading: small, of products that overflow f16 alone, of products that overflow f32. */
struct vectors_t {
    std::vector<std::uint32_t> small, middling, huge; // all readings are finite but huge's as f16

    vectors_t() : small(2048), middling(2048, 0x43960000), huge(2048, 0x7e7e7e7e) { // 300; 8.5e37 thrice
        std::uint32_t state = 3;
        for (std::uint32_t &word : small) { // bytes from 0x30 to 0x3f
            state = state * 1664525u + 1013904223u;
            word = 0x30303030u | (state >> 4 & 0x0f0f0f0fu);
        }
    }
};

/** Fields of the query and of the documents alike. */
template <typename view_>
std::vector<mutation_t<uform_rerank_t>> vector_mutations(view_ uform_rerank_t::*view, vectors_t const &vectors,
                                                         std::size_t rows) {
    using call_t = uform_rerank_t;
    return {{"data",
             [=, &vectors](call_t &c, draw_t &d) {
                 auto const *bytes = reinterpret_cast<char const *>(vectors.small.data());
                 (c.*view).data = d.of<void const *>(
                     {nullptr, bytes + 1, bytes + 2, bytes + 4, vectors.middling.data(), vectors.huge.data()});
             }},
            {"count",
             [=](call_t &c, draw_t &d) {
                 (c.*view).count = d.size({0, 1, rows - 1, rows + 1, 64});
             }},
            {"columns",
             [=](call_t &c, draw_t &d) {
                 (c.*view).columns = d.size({0, 1, 7, 9, 16});
             }},
            {"stride",
             [=](call_t &c, draw_t &d) { // three rows of 2^61 bytes each would be addresses like others
                 constexpr std::size_t top = std::size_t(1) << 62;
                 (c.*view).stride = d.of<std::size_t>(
                     {0, 1, 8, 30, 31, 33, 34, 36, 64, top, top + 64, 2 * top, SIZE_MAX - 31, SIZE_MAX});
             }},
            {"scalar", [=](call_t &c, draw_t &d) { (c.*view).scalar = d.enumerator(); }}};
}

std::vector<mutation_t<uform_rerank_t>> rerank_mutations(vectors_t const &vectors) {
    using call_t = uform_rerank_t;
    static std::size_t const empty[] = {0, 2, 2, 4, 5}, far[] = {0, 2, 3, 4, 600}, late[] = {3, 4, 6, 7, 8};
    std::vector<mutation_t<call_t>> mutations {
        {"documents.offsets",
         [](call_t &c, draw_t &d) {
             c.documents.offsets = d.of<std::size_t const *>({nullptr, decreasing_k, beyond_k, empty, far, late});
         }},
        {"both columns",
         [](call_t &c, draw_t &d) {
             c.query.columns = c.documents.columns = d.size({0, 1, 7, 8, 9, 16});
         }},
        {"both scalars", [](call_t &c, draw_t &d) { c.query.scalar = c.documents.scalar = d.enumerator(); }},
        {"both data",
         [&vectors](call_t &c, draw_t &d) {
             c.query.data = c.documents.data = d.of<void const *>({vectors.middling.data(), vectors.huge.data()});
         }},
        {"scores", [](call_t &c, draw_t &) { c.scores = nullptr; }}};
    for (auto const &mutation : vector_mutations(&call_t::query, vectors, 3)) mutations.push_back(mutation);
    for (auto const &mutation : vector_mutations(&call_t::documents, vectors, 8)) mutations.push_back(mutation);
    return mutations;
}

TEST(mutations, rerank) {
    using call_t = uform_rerank_t;
    fixture_t fixture;
    vectors_t const vectors;
    static std::size_t const offsets[] = {0, 2, 3, 4, 8};
    auto mutations = rerank_mutations(vectors);
    add_common(mutations, fixture);
    record_t record("rerank");
    draw_t draw(3);
    for (std::size_t round = 0; round < 2 * rounds_k; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_rows_t scores {};
        call_t call {};
        call.query = {vectors.small.data(), 3, 8, 32, uform_scalar_f32_k};
        call.documents = {vectors.small.data() + 64, 8, 8, 32, uform_scalar_f32_k, offsets};
        call.count = 4, call.scores = &scores, call.arena = fixture.arena;
        outcome_t const outcome = answer_mutated(uform_rerank, call, mutations, draw);
        EXPECT_EQ(scores.data != nullptr, outcome.status == uform_status_success_k);
        record.add(round, "rerank", draw.take_trace(), outcome, std::to_string(scores.count));
    }
    EXPECT_GT(record.counts[uform_status_success_k], rounds_k / 8);
    EXPECT_GE(record.counts.size(), 5u) << "success, malformed, shape-mismatch, unsupported, invalid-argument";
}

} // namespace
} // namespace conformance
