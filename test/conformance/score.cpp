/**
 *  @file score.cpp
 *  @brief `uform_text_choose` and `uform_rerank`, held to what their header promises.
 */
#include <cmath>

#include "encoding.hpp"

namespace conformance {
namespace {

constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto shape_k = uform_status_shape_mismatch_k;
constexpr auto unsupported_k = uform_status_unsupported_k;

/** A model with a decoder and three groups; texts with their choices, of which one has none. */
struct choosing_t {
    model_t model;
    arena_t arena;
    tape_t texts {{"Is it? ", "", "Which? ", "Nothing to choose"}}, choices {{"yn", "ab", "abcd", ""}};
    uform_rows_tape_t probabilities {};
    uform_text_choose_stats_t stats {};

    choosing_t() {
        load_bytes(model, checkpoint_t(0, true, 3).bytes());
        make_arena(arena);
    }
    uform_text_choose_t call() {
        uform_text_choose_t call {};
        call.model = model, call.texts = texts.view(), call.choices = choices.view(), call.count = texts.count();
        call.probabilities = &probabilities, call.arena = arena, call.stats = &stats;
        return call;
    }
};

TEST(choose, refusals) {
    using call_t = uform_text_choose_t;
    choosing_t choosing;
    model_t bare;
    load_bytes(bare, checkpoint_t(24).bytes());
    static std::size_t const decreasing[] = {0, 3, 2, 4, 5};
    static std::uint32_t const groups[] = {0, 2, 3, 0};
    tape_t const twice({"yn", "aba", "abcd", ""});
    std::vector<breakage_t<call_t>> breakages {
        {"no model", invalid_k, "model", [](call_t &c) { c.model = nullptr; }},
        {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
        {"no texts", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = nullptr; }},
        {"texts that decrease", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = decreasing; }, 1},
        {"texts of another scalar", invalid_k, "texts.scalar", [](call_t &c) { c.texts.scalar = uform_scalar_f32_k; }},
        {"texts without data", invalid_k, "texts.data", [](call_t &c) { c.texts.data = nullptr; }},
        {"no choices", invalid_k, "choices.offsets", [](call_t &c) { c.choices.offsets = nullptr; }},
        {"choices that decrease", invalid_k, "choices.offsets", [](call_t &c) { c.choices.offsets = decreasing; }, 1},
        {"choices of another scalar", invalid_k, "choices.scalar",
         [](call_t &c) { c.choices.scalar = uform_scalar_f32_k; }},
        {"choices without data", invalid_k, "choices.data", [](call_t &c) { c.choices.data = nullptr; }},
        {"a choice twice", invalid_k, "choices", [&](call_t &c) { c.choices = twice.view(); }, 1},
        {"a group beyond", invalid_k, "temperature_groups", [](call_t &c) { c.temperature_groups = groups; }, 2},
        {"no output", invalid_k, "probabilities", [](call_t &c) { c.probabilities = nullptr; }},
        {"no arena", invalid_k, "arena", [](call_t &c) { c.arena = nullptr; }},
        {"landing as i8", unsupported_k, "outputs_scalar", [](call_t &c) { c.outputs_scalar = uform_scalar_i8_k; }},
        {"landing as e4m3", invalid_k, "outputs_scalar", [](call_t &c) { c.outputs_scalar = uform_scalar_e4m3_k; }},
        {"landing as nothing", invalid_k, "outputs_scalar", [](call_t &c) { c.outputs_scalar = -1; }},
        {"a model without a decoder", unsupported_k, "decoder", [&](call_t &c) { c.model = bare; }}};
    expect_refusals<call_t>(uform_text_choose, choosing.call(), breakages);
    EXPECT_EQ(choosing.probabilities.data, nullptr);
    EXPECT_SUCCESS(answer(uform_text_choose, choosing.call())); // it was right but for what was broken
}

TEST(choose, probabilities) {
    choosing_t choosing;
    static std::uint32_t const groups[] = {0, 1, 2, 2};
    auto call = choosing.call();
    call.temperature_groups = groups;
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    auto const &got = choosing.probabilities;
    ASSERT_EQ(got.count, 2u + 2 + 4);
    EXPECT_EQ(got.columns, 1u);
    EXPECT_EQ(got.scalar, uform_scalar_f32_k);
    EXPECT_EQ(std::vector<std::size_t>(got.offsets, got.offsets + 5), (std::vector<std::size_t> {0, 2, 4, 8, 8}));
    landed_t const rows(got);
    for (std::size_t i = 0; i < 3; ++i) {
        double sum = 0;
        for (std::size_t at = got.offsets[i]; at < got.offsets[i + 1]; ++at) {
            EXPECT_GE(rows.rows[at][0], 0);
            sum += rows.rows[at][0];
        }
        EXPECT_NEAR(sum, 1, 8 * 0x1p-24);
    }
    EXPECT_EQ(choosing.stats.truncated, 0u);
}

TEST(choose, follows_the_order_of_choices_and_has_its_bits_alone) {
    choosing_t choosing;
    EXPECT_SUCCESS(answer(uform_text_choose, choosing.call()));
    landed_t const forward(choosing.probabilities);
    tape_t const reversed({"ny", "ba", "dcba", ""});
    auto call = choosing.call();
    call.choices = reversed.view();
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    landed_t const backward(choosing.probabilities);
    for (std::size_t at : {0, 1}) EXPECT_NEAR(forward.rows[at][0], backward.rows[1 - at][0], 8 * 0x1p-24);
    for (std::size_t at : {4, 5, 6, 7}) EXPECT_NEAR(forward.rows[at][0], backward.rows[11 - at][0], 8 * 0x1p-24);
    tape_t const alone({"Which? "}), its({"abcd"});
    call.texts = alone.view(), call.choices = its.view(), call.count = 1;
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    EXPECT_EQ(landed_t(choosing.probabilities).bits, forward.bits.substr(16));
}

TEST(choose, edges) {
    choosing_t choosing;
    auto call = choosing.call();
    tape_t const texts({std::string(63, 'x'), std::string(64, 'x'), std::string(80, 'x')}), only({"y", "y", "yn"});
    call.texts = texts.view(), call.choices = only.view(), call.count = 3;
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    EXPECT_EQ(choosing.stats.truncated, 2u) << "one token of the context is the MASK";
    EXPECT_EQ(choosing.stats.tokens, 3u * 64);
    EXPECT_EQ(landed_t(choosing.probabilities).rows[0][0], 1) << "one choice is certain";
    call.count = 0, call.texts = {}, call.choices = {};
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    EXPECT_EQ(choosing.probabilities.count, 0u);
    ASSERT_NE(choosing.probabilities.offsets, nullptr);
    EXPECT_EQ(choosing.probabilities.offsets[0], 0u);
}

TEST(choose, lands_as_every_scalar_queued_or_not) {
    executor_t executor;
    make_executor(executor);
    choosing_t choosing;
    EXPECT_SUCCESS(answer(uform_text_choose, choosing.call()));
    landed_t const wide(choosing.probabilities);
    for (uform_scalar_t scalar :
         std::initializer_list<uform_scalar_t> {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k}) {
        outcome_t outcome;
        auto call = choosing.call();
        call.outputs_scalar = scalar, call.executor = executor, call.completion = uform_completion_queued_k;
        call.outcome = &outcome;
        uform_text_choose(&call);
        EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_success_k);
        EXPECT_EQ(choosing.probabilities.scalar, scalar);
        landed_t const narrow(choosing.probabilities);
        double const epsilon = scalar == uform_scalar_f32_k ? 0 : scalar == uform_scalar_bf16_k ? 0x1p-9 : 0x1p-12;
        for (std::size_t at = 0; at < wide.rows.size(); ++at)
            EXPECT_NEAR(narrow.rows[at][0], wide.rows[at][0], epsilon);
    }
    reports_t reports, stops;
    stops.stop_at = 1;
    auto call = choosing.call();
    call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_text_choose, call));
    EXPECT_TRUE(reports.orderly);
    EXPECT_EQ(reports.last, 4u);
    call.progress = stops.handler(), choosing.probabilities = {};
    EXPECT_STATUS(answer(uform_text_choose, call), uform_status_cancelled_k);
    EXPECT_EQ(choosing.probabilities.data, nullptr);
    call.outcome = nullptr;
    uform_text_choose(&call), uform_text_choose(nullptr);
}

/** Vectors of two columns, whose products a reader sees. */
struct ranking_t {
    arena_t arena;
    std::vector<float> query {1, 0, 0, 1};
    std::vector<float> documents {1, 0, 0, 1, /**/ -1, 0, /**/ 0.6f, 0.8f, /**/ -0.6f, -0.8f};
    std::vector<std::size_t> offsets {0, 2, 3, 4, 5};
    uform_rows_t scores {};

    ranking_t() { make_arena(arena); }
    uform_rerank_t call() {
        uform_rerank_t call {};
        call.query = {query.data(), 2, 2, 8, uform_scalar_f32_k};
        call.documents = {documents.data(), 5, 2, 8, uform_scalar_f32_k, offsets.data()};
        call.count = 4, call.scores = &scores, call.arena = arena;
        return call;
    }
};

TEST(rerank, refusals) {
    using call_t = uform_rerank_t;
    ranking_t ranking;
    static std::size_t const decreasing[] = {0, 2, 1, 4, 5}, empty[] = {0, 2, 2, 4, 5}, far[] = {0, 2, 3, 4, 6};
    std::vector<breakage_t<call_t>> breakages {
        {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
        {"a query of e4m3", invalid_k, "query.scalar", [](call_t &c) { c.query.scalar = uform_scalar_e4m3_k; }},
        {"a query of nothing", invalid_k, "query.scalar", [](call_t &c) { c.query.scalar = -1; }},
        {"a query without data", invalid_k, "query.data", [](call_t &c) { c.query.data = nullptr; }},
        {"a query without rows", shape_k, "query", [](call_t &c) { c.query.count = 0; }},
        {"a query's stride", shape_k, "query.stride", [](call_t &c) { c.query.stride = 4; }},
        {"another scalar", invalid_k, "documents.scalar", [](call_t &c) { c.documents.scalar = uform_scalar_bf16_k; }},
        {"another width", shape_k, "documents", [](call_t &c) { c.documents.columns = 1; }},
        {"no documents", invalid_k, "documents.data", [](call_t &c) { c.documents.data = nullptr; }},
        {"no offsets", invalid_k, "documents.offsets", [](call_t &c) { c.documents.offsets = nullptr; }},
        {"offsets that decrease", invalid_k, "documents.offsets", [](call_t &c) { c.documents.offsets = decreasing; },
         1},
        {"offsets past the rows", shape_k, "documents.offsets", [](call_t &c) { c.documents.offsets = far; }},
        {"a document's stride", shape_k, "documents.stride", [](call_t &c) { c.documents.stride = 4; }},
        {"a document without rows", shape_k, "document", [](call_t &c) { c.documents.offsets = empty; }, 1},
        {"no output", invalid_k, "scores", [](call_t &c) { c.scores = nullptr; }},
        {"no arena", invalid_k, "arena", [](call_t &c) { c.arena = nullptr; }},
        {"landing as i8", unsupported_k, "outputs_scalar", [](call_t &c) { c.outputs_scalar = uform_scalar_i8_k; }},
        {"landing as e4m3", invalid_k, "outputs_scalar", [](call_t &c) { c.outputs_scalar = uform_scalar_e4m3_k; }}};
    expect_refusals<call_t>(uform_rerank, ranking.call(), breakages);
    EXPECT_EQ(ranking.scores.data, nullptr);
}

TEST(rerank, values_that_are_not_finite) {
    ranking_t ranking;
    ranking.documents[7] = NAN;
    auto call = ranking.call();
    outcome_t outcome = answer(uform_rerank, call);
    EXPECT_STATUS(outcome, uform_status_malformed_k);
    EXPECT_EQ(outcome.item, 2u);
    EXPECT_EQ(ranking.scores.data, nullptr);
    ranking.documents[7] = 0.8f, ranking.query[1] = INFINITY;
    EXPECT_STATUS(answer(uform_rerank, call), uform_status_malformed_k);
}

/** What is computed but does not fit names the scalar it was to land as, not the document. */
TEST(rerank, scores_that_do_not_fit) {
    ranking_t ranking;
    for (float &x : ranking.query) x *= 300;
    for (float &x : ranking.documents) x *= 300;
    auto call = ranking.call();
    EXPECT_SUCCESS(answer(uform_rerank, call));
    EXPECT_EQ(landed_t(ranking.scores).rows[0][0], 90000);
    call.outputs_scalar = uform_scalar_f16_k;
    outcome_t outcome = answer(uform_rerank, call);
    EXPECT_STATUS(outcome, uform_status_malformed_k);
    EXPECT_STREQ(outcome.message, "a document's score does not fit outputs_scalar");
    EXPECT_STREQ(outcome.detail, "f16");
    EXPECT_EQ(outcome.item, 0u);
    ranking.query[0] = ranking.documents[0] = 3e19f, call.outputs_scalar = uform_scalar_f32_k;
    outcome = answer(uform_rerank, call); // 9e38 is no float
    EXPECT_STATUS(outcome, uform_status_malformed_k);
    EXPECT_STREQ(outcome.message, "a document's score is not finite");
    EXPECT_EQ(outcome.item, 0u);
}

/** The message names the scalars that would have done. */
TEST(rerank, landing_scalars_are_named) {
    ranking_t ranking;
    auto rerank = ranking.call();
    choosing_t choosing;
    auto choose = choosing.call();
    encoding_t const encoding;
    encoded_t got;
    auto encode = encoding.call(got);
    rerank.outputs_scalar = choose.outputs_scalar = encode.outputs_scalar = uform_scalar_e4m3_k;
    EXPECT_STREQ(answer(uform_rerank, rerank).message, "outputs_scalar must be f32, bf16 or f16");
    EXPECT_STREQ(answer(uform_text_choose, choose).message, "outputs_scalar must be f32, bf16 or f16");
    EXPECT_STREQ(answer(uform_text_encode, encode).message, "outputs_scalar must be f32, bf16 or f16");
    encode.states = nullptr;
    EXPECT_STREQ(answer(uform_text_encode, encode).message, "outputs_scalar must be f32, bf16, f16 or i8");
}

TEST(rerank, is_the_mean_of_the_largest_products) {
    ranking_t ranking;
    EXPECT_SUCCESS(answer(uform_rerank, ranking.call()));
    ASSERT_EQ(ranking.scores.count, 4u);
    EXPECT_EQ(ranking.scores.columns, 1u);
    EXPECT_EQ(ranking.scores.scalar, uform_scalar_f32_k);
    landed_t const got(ranking.scores);
    // Both tokens find themselves; (-1 + 0) / 2; (0.6 + 0.8) / 2; the same below zero, where padding would have won.
    double const expected[] = {1, -0.5, 0.7, -0.7};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got.rows[i][0], expected[i], 4 * 0x1p-24);
}

TEST(rerank, of_every_scalar_and_stride) {
    ranking_t ranking;
    signed char const narrow[] = {127, 0, 0, 0, 127, 0, 127, 127, 0, -127, -127, 0}; // rows of two in three bytes
    std::size_t const offsets[] = {0, 1, 2};
    auto call = ranking.call();
    call.query = {narrow, 2, 2, 3, uform_scalar_i8_k};
    call.documents = {narrow + 6, 2, 2, 3, uform_scalar_i8_k, offsets}, call.count = 2;
    EXPECT_SUCCESS(answer(uform_rerank, call));
    EXPECT_NEAR(landed_t(ranking.scores).rows[0][0], 1, 4 * 0x1p-24);
    EXPECT_NEAR(landed_t(ranking.scores).rows[1][0], -1, 4 * 0x1p-24);
    std::uint16_t const bf16[] = {0x3f80, 0xbf00}, f16[] = {0x3c00, 0xb800}; // 1 and -1/2
    for (auto const &[scalar, data] : {std::pair(uform_scalar_bf16_k, bf16), std::pair(uform_scalar_f16_k, f16)}) {
        call.query = {data, 1, 2, 4, scalar}, call.documents = {data, 1, 2, 4, scalar, offsets}, call.count = 1;
        EXPECT_SUCCESS(answer(uform_rerank, call));
        EXPECT_EQ(landed_t(ranking.scores).rows[0][0], 1.25f);
    }
}

TEST(rerank, lands_as_every_scalar_queued_or_not) {
    executor_t executor;
    make_executor(executor);
    ranking_t ranking;
    for (uform_scalar_t scalar :
         std::initializer_list<uform_scalar_t> {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k}) {
        outcome_t outcome;
        auto call = ranking.call();
        call.outputs_scalar = scalar, call.executor = executor, call.completion = uform_completion_queued_k;
        call.outcome = &outcome;
        uform_rerank(&call);
        EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_success_k);
        EXPECT_EQ(ranking.scores.scalar, scalar);
        EXPECT_NEAR(landed_t(ranking.scores).rows[2][0], 0.7, 0x1p-9);
        EXPECT_EQ(landed_t(ranking.scores).rows[1][0], -0.5f);
    }
    reports_t reports, stops;
    stops.stop_at = 1;
    auto call = ranking.call();
    call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_rerank, call));
    EXPECT_TRUE(reports.orderly);
    EXPECT_EQ(reports.last, 4u);
    call.progress = stops.handler();
    EXPECT_STATUS(answer(uform_rerank, call), uform_status_cancelled_k);
    call = ranking.call(), call.count = 0, call.documents = {nullptr, 0, 2, 8, uform_scalar_f32_k, nullptr};
    EXPECT_SUCCESS(answer(uform_rerank, call));
    EXPECT_EQ(ranking.scores.count, 0u);
    call.outcome = nullptr;
    uform_rerank(&call), uform_rerank(nullptr);
}

TEST(rerank, of_what_encoding_gave) {
    encoding_t const encoding;
    encoded_t got;
    auto encode = encoding.call(got);
    uform_text_encode(&encode);
    ranking_t ranking;
    auto call = ranking.call();
    call.documents = got.token_vectors, call.count = 3;
    call.query = {got.token_vectors.data, 12, 24, got.token_vectors.stride, uform_scalar_f32_k};
    EXPECT_SUCCESS(answer(uform_rerank, call));
    landed_t const scores(ranking.scores);
    EXPECT_NEAR(scores.rows[0][0], 1, 4 * 24 * 0x1p-24) << "every token finds itself";
    for (std::size_t i : {1, 2}) EXPECT_LT(scores.rows[i][0], 1);
    call.arena = encoding.arena;
    call.documents.columns = 23;
    EXPECT_STATUS(answer(uform_rerank, call), shape_k);
}

} // namespace
} // namespace conformance
