/**
 *  @file encode_refusals.cpp
 *  @brief Every field of `uform_text_encode` wrong in turn, what failure leaves untouched, and stops by progress.
 */
#include "encoding.hpp"

namespace conformance {
namespace {

using call_t = uform_text_encode_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;

TEST(encode_refusals, every_field) {
    encoding_t const encoding;
    encoded_t got;
    model_t bare;
    load_bytes(bare, checkpoint_t().bytes());
    static std::size_t const decreasing[] = {0, 4, 3, 5}, late[] = {0, 4, 5, 4}, endless[] = {0, 4, 5, SIZE_MAX};
    std::vector<breakage_t<call_t>> breakages {
        {"no model", invalid_k, "model", [](call_t &c) { c.model = nullptr; }},
        {"a completion below", invalid_k, "completion", [](call_t &c) { c.completion = -1; }},
        {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
        {"no offsets", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = nullptr; }},
        {"offsets that decrease", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = decreasing; }, 1},
        {"offsets that decrease last", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = late; }, 2},
        {"offsets beyond memory", invalid_k, "texts.offsets", [](call_t &c) { c.texts.offsets = endless; }},
        {"no data", invalid_k, "texts.data", [](call_t &c) { c.texts.data = nullptr; }},
        {"endless items", invalid_k, "texts", [](call_t &c) { c.count = SIZE_MAX; }},
        {"no output", invalid_k, "embeddings",
         [](call_t &c) { c.embeddings = nullptr, c.states = nullptr, c.token_vectors = nullptr; }},
        {"no arena", invalid_k, "arena", [](call_t &c) { c.arena = nullptr; }},
        {"too many dimensions", uform_status_shape_mismatch_k, "dimensions", [](call_t &c) { c.dimensions = 129; }},
        {"endless dimensions", uform_status_shape_mismatch_k, "dimensions", [](call_t &c) { c.dimensions = SIZE_MAX; }},
        {"states as i8", uform_status_unsupported_k, "i8", [](call_t &c) { c.outputs_scalar = uform_scalar_i8_k; }},
        {"a model without a token head", uform_status_unsupported_k, "token_vectors",
         [&](call_t &c) { c.model = bare; }}};
    for (uform_scalar_t scalar :
         std::initializer_list<uform_scalar_t> {uform_scalar_f32_k, uform_scalar_i8_k, uform_scalar_u32_k, -1, 9})
        breakages.push_back(
            {"texts of another scalar", invalid_k, "texts.scalar", [=](call_t &c) { c.texts.scalar = scalar; }});
    for (uform_scalar_t scalar : std::initializer_list<uform_scalar_t> {uform_scalar_e4m3_k, uform_scalar_u8_k,
                                                                        uform_scalar_u32_k, uform_scalar_u64_k, -1, 9})
        breakages.push_back(
            {"landing as no output does", invalid_k, "outputs_scalar", [=](call_t &c) { c.outputs_scalar = scalar; }});
    expect_refusals<call_t>(uform_text_encode, encoding.call(got), breakages);
    auto const right = encoding.call(got);
    EXPECT_SUCCESS(answer(uform_text_encode, right)); // it was right but for what was broken
}

TEST(encode_refusals, are_the_same_when_queued) {
    encoding_t const encoding;
    executor_t executor;
    make_executor(executor);
    encoded_t got;
    auto call = encoding.call(got);
    call.executor = executor, call.completion = uform_completion_queued_k, call.dimensions = 129;
    uform_text_encode(&call);
    EXPECT_EQ(got.outcome.status, uform_status_shape_mismatch_k) << "refused before anything is queued";
    expect_final(got.outcome);
}

TEST(encode_refusals, the_first_of_two_is_told) {
    encoding_t const encoding;
    encoded_t got;
    static std::size_t const decreasing[] = {0, 4, 3, 5};
    auto call = encoding.call(got);
    call.model = nullptr, call.completion = 2, call.texts.offsets = decreasing, call.dimensions = 129;
    EXPECT_NE(std::string(answer(uform_text_encode, call).message).find("model"), std::string::npos);
    call.model = encoding.model;
    EXPECT_NE(std::string(answer(uform_text_encode, call).message).find("completion"), std::string::npos);
    call.completion = 0;
    EXPECT_NE(std::string(answer(uform_text_encode, call).message).find("offsets"), std::string::npos);
    call.texts = encoding.texts.view();
    EXPECT_STATUS(answer(uform_text_encode, call), uform_status_shape_mismatch_k);
}

TEST(encode_refusals, failure_writes_no_output) {
    encoding_t const encoding;
    encoded_t got, before;
    std::memset(&got.embeddings, 0x5a, sizeof(got.embeddings)), std::memset(&got.states, 0x5a, sizeof(got.states));
    std::memset(&got.token_vectors, 0x5a, sizeof(got.token_vectors)), got.stats = {7, 8};
    before.embeddings = got.embeddings, before.states = got.states, before.token_vectors = got.token_vectors;
    reports_t stops;
    stops.stop_at = 1;
    for (bool refused : {true, false}) {
        auto call = encoding.call(got);
        if (refused)
            call.dimensions = 129;
        else
            call.progress = stops.handler();
        outcome_t const outcome = answer(uform_text_encode, call);
        EXPECT_STATUS(outcome, refused ? uform_status_shape_mismatch_k : uform_status_cancelled_k);
        EXPECT_EQ(std::memcmp(&got.embeddings, &before.embeddings, sizeof(before.embeddings)), 0);
        EXPECT_EQ(std::memcmp(&got.states, &before.states, sizeof(before.states)), 0);
        EXPECT_EQ(std::memcmp(&got.token_vectors, &before.token_vectors, sizeof(before.token_vectors)), 0);
        EXPECT_EQ(got.stats.truncated, 7u);
        EXPECT_EQ(got.stats.tokens, 8u);
    }
    auto call = encoding.call(got); // and everything is usable afterwards
    EXPECT_SUCCESS(answer(uform_text_encode, call));
}

TEST(encode_refusals, no_outcome_no_call) {
    encoding_t const encoding;
    encoded_t got;
    auto call = encoding.call(got);
    call.outcome = nullptr;
    uform_text_encode(&call), uform_text_encode(nullptr);
    EXPECT_EQ(got.embeddings.data, nullptr);
    EXPECT_EQ(got.stats.tokens, 0u);
}

TEST(encode_progress, rises_to_the_count) {
    encoding_t const encoding(std::vector<std::string>(300, "some text of a few tokens"));
    executor_t executor;
    make_executor(executor);
    for (uform_executor_t on : {uform_executor_t(nullptr), uform_executor_t(executor)}) {
        encoded_t got;
        reports_t reports;
        auto call = encoding.call(got);
        call.progress = reports.handler(), call.executor = on;
        EXPECT_SUCCESS(answer(uform_text_encode, call));
        EXPECT_TRUE(reports.orderly);
        EXPECT_EQ(reports.total, 300u);
        EXPECT_EQ(reports.last, 300u);
    }
}

TEST(encode_progress, stops_a_call) {
    encoding_t const encoding(std::vector<std::string>(300, "some text of a few tokens"));
    executor_t executor;
    make_executor(executor);
    for (std::size_t stop_at : {1, 2}) {
        encoded_t got;
        reports_t reports;
        reports.stop_at = stop_at;
        auto call = encoding.call(got);
        call.progress = reports.handler(), call.executor = executor;
        outcome_t const outcome = answer(uform_text_encode, call);
        EXPECT_STATUS(outcome, uform_status_cancelled_k);
        EXPECT_EQ(outcome.item, SIZE_MAX);
        EXPECT_EQ(reports.calls, stop_at) << "no report after a stop";
        EXPECT_EQ(got.embeddings.data, nullptr);
    }
}

TEST(encode_progress, nothing_to_count_reports_nothing) {
    encoding_t const encoding;
    encoded_t got;
    reports_t reports;
    reports.stop_at = 1;
    auto call = encoding.call(got);
    call.count = 0, call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_text_encode, call));
    EXPECT_EQ(reports.calls, 0u);
}

TEST(encode_progress, a_stop_at_the_last_report_still_stops) {
    encoding_t const encoding({"one"});
    encoded_t got;
    reports_t reports;
    reports.stop_at = 1;
    auto call = encoding.call(got);
    call.progress = reports.handler();
    EXPECT_STATUS(answer(uform_text_encode, call), uform_status_cancelled_k);
    EXPECT_EQ(reports.last, 1u);
}

} // namespace
} // namespace conformance
