/**
 *  @file encode_unit.cpp
 *  @brief An item's bits through the C ABI: the same alone, in any batch, in any order, at any thread count, every way
 *  of asking.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include <nlohmann/json.hpp>

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

constexpr std::size_t hidden_k = 128, width_k = 32, context_k = 512;

model_options_t options() {
    model_options_t options;
    options.geometry = {hidden_k, 2, context_k};
    options.token_width = width_k;
    return options;
}

std::vector<std::string> batch97() {
    std::ifstream file(UFORM_SOURCE_DIR "/test/cases/text/batch97.json");
    return nlohmann::json::parse(file).get<std::vector<std::string>>();
}

/** What one item answered, as bytes. */
struct item_t {
    std::string embedding, states, vectors;
    bool operator==(item_t const &) const = default;
};

class encoder_t : public caller_t {
  public:
    uform_text_encode_stats_t stats {};

    using caller_t::caller_t;

    std::vector<item_t> encode(uform_model_t model, std::vector<std::string> const &texts, int surfaces = all_k,
                               uform_completion_t completion = uform_completion_blocking_k) {
        text_tape_t const tape(texts);
        text_outputs_t outputs;
        uform_text_encode_t call = outputs.ask(model, tape, surfaces);
        EXPECT_TRUE(make(uform_text_encode, call, completion)) << outcome.message << ": " << outcome.detail;
        stats = outputs.stats;
        auto const &[embeddings, states, vectors, _] = outputs;
        std::vector<item_t> items(texts.size());
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (call.embeddings) items[i].embedding = bytes_of_rows(embeddings, i, i + 1);
            if (call.states) items[i].states = bytes_of_rows(states, states.offsets[i], states.offsets[i + 1]);
            if (call.token_vectors)
                items[i].vectors = bytes_of_rows(vectors, vectors.offsets[i], vectors.offsets[i + 1]);
        }
        return items;
    }
};

float const *floats(std::string const &bytes) { return reinterpret_cast<float const *>(bytes.data()); }

class encode_unit : public testing::Test {
  protected:
    checkpoint_fixture_t checkpoint {options()};
    uform_model_t model = checkpoint.load();
    std::vector<std::string> texts = batch97();
    ~encode_unit() override { uform_model_free(model); }
};

void expect_bits_of_the_item_alone(uform_model_t model, std::vector<std::string> const &texts) {
    encoder_t one(1), two(2), three(3), caller(0);
    std::vector<item_t> const expected = one.encode(model, texts);
    EXPECT_TRUE(expected == two.encode(model, texts));
    EXPECT_TRUE(expected == three.encode(model, texts));
    EXPECT_TRUE(expected == caller.encode(model, texts));
    EXPECT_TRUE(expected == two.encode(model, texts, all_k, uform_completion_queued_k));
    for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_TRUE(expected[i] == two.encode(model, {texts[i]})[0]) << i;
    std::vector<std::string> reversed(texts.rbegin(), texts.rend());
    std::vector<item_t> answers = two.encode(model, reversed);
    std::reverse(answers.begin(), answers.end());
    EXPECT_TRUE(expected == answers);
    for (std::size_t first = 0; first < texts.size(); first += 7) {
        std::size_t const last = std::min(texts.size(), first + 7);
        answers = one.encode(model, {texts.begin() + first, texts.begin() + last});
        EXPECT_TRUE(std::equal(answers.begin(), answers.end(), expected.begin() + first)) << first;
    }
}

TEST_F(encode_unit, order_chunks_and_threads_change_no_bit) { expect_bits_of_the_item_alone(model, texts); }

TEST_F(encode_unit, order_chunks_and_threads_change_no_bit_of_e4m3) {
    encoder_t encoder(1);
    std::vector<std::string> prefixes; // serial is slow
    for (std::size_t i = 0; i < 14; ++i) prefixes.push_back(texts[i].substr(0, 20 + i));
    for (uform_cpu_class_t const each : {uform_cpu_class_derived_k, uform_cpu_class_serial_k}) {
        uform_model_t quantized = checkpoint.load(nullptr, each, uform_scalar_e4m3_k);
        expect_bits_of_the_item_alone(quantized, each ? prefixes : texts);
        EXPECT_FALSE(encoder.encode(quantized, prefixes) == encoder.encode(model, prefixes)); // it is another model
        uform_model_free(quantized);
    }
}

TEST_F(encode_unit, asking_for_more_changes_no_bit) {
    encoder_t encoder(2);
    std::vector<item_t> const expected = encoder.encode(model, texts);
    for (int surfaces = 1; surfaces < all_k; ++surfaces) {
        std::vector<item_t> const answers = encoder.encode(model, texts, surfaces);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            EXPECT_TRUE(!(surfaces & embeddings_k) || answers[i].embedding == expected[i].embedding);
            EXPECT_TRUE(!(surfaces & states_k) || answers[i].states == expected[i].states);
            EXPECT_TRUE(!(surfaces & vectors_k) || answers[i].vectors == expected[i].vectors);
        }
    }
}

TEST_F(encode_unit, two_executors_at_once_change_no_bit) {
    encoder_t alone(1);
    std::vector<std::string> const few(texts.begin(), texts.begin() + 8);
    std::vector<item_t> const expected = alone.encode(model, few);
    auto const loop = [&] {
        encoder_t encoder(2);
        for (int round = 0; round < 50; ++round) EXPECT_TRUE(expected == encoder.encode(model, few));
    };
    std::thread other(loop);
    loop();
    other.join();
}

TEST_F(encode_unit, text_edges) {
    std::ifstream file(UFORM_SOURCE_DIR "/test/cases/text/cases.json");
    std::vector<std::string> edges, names;
    nlohmann::json const cases = nlohmann::json::parse(file); // outlives its items
    for (auto const &[name, hex] : cases.items()) {
        names.push_back(name), edges.emplace_back();
        std::string const digits = hex;
        for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
            edges.back().push_back(char(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
    encoder_t encoder(2);
    std::vector<item_t> const answers = encoder.encode(model, edges);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        double squares = 0;
        for (std::size_t column = 0; column < hidden_k; ++column)
            squares += double(floats(answers[i].embedding)[column]) * floats(answers[i].embedding)[column];
        EXPECT_NEAR(squares, 1, 1e-5) << names[i];
        EXPECT_EQ(answers[i].states.size(), std::max<std::size_t>(edges[i].size(), 1) * hidden_k * sizeof(float))
            << names[i];
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(answers[i].embedding == answers[j].embedding) << names[i] << " " << names[j];
    }
}

TEST_F(encode_unit, long_texts_are_cut_at_the_context) {
    encoder_t encoder(2);
    std::string const prefix(context_k, 'x');
    std::vector<item_t> const expected = encoder.encode(model, {prefix});
    EXPECT_EQ(encoder.stats.truncated, 0u);
    EXPECT_TRUE(expected == encoder.encode(model, {prefix + "y"}));
    EXPECT_EQ(encoder.stats.truncated, 1u);
    EXPECT_TRUE(expected == encoder.encode(model, {std::string(10 << 20, 'x')}));
    EXPECT_EQ(encoder.stats.truncated, 1u);
    EXPECT_EQ(encoder.stats.tokens, context_k);
}

TEST_F(encode_unit, no_items_are_no_rows) {
    encoder_t encoder(2);
    EXPECT_TRUE(encoder.encode(model, {}).empty());
    EXPECT_EQ(encoder.stats.tokens, 0u);
}

TEST_F(encode_unit, every_class_agrees_with_serial) {
    encoder_t encoder(0);
    std::vector<std::string> const few(texts.begin(), texts.begin() + 6);
    uform_model_t serial = checkpoint.load(nullptr, uform_cpu_class_serial_k);
    std::vector<item_t> const expected = encoder.encode(serial, few), answers = encoder.encode(model, few);
    uform_model_free(serial);
    for (std::size_t i = 0; i < few.size(); ++i) {
        double cosine = 0;
        for (std::size_t column = 0; column < hidden_k; ++column)
            cosine += double(floats(answers[i].embedding)[column]) * floats(expected[i].embedding)[column];
        // Both round as often as the golden test counts, and 1 - cosine is half the squared distance.
        double const distance = 2 * 0x1p-9 * (2 * 12 + 4);
        EXPECT_GT(cosine, 1 - distance * distance / 2);
    }
}

TEST_F(encode_unit, dimensions_are_renormalized_prefixes) {
    encoder_t encoder(1);
    std::vector<item_t> const whole = encoder.encode(model, {texts[0]}, embeddings_k);
    text_tape_t const tape({texts[0]});
    caller_t caller;
    text_outputs_t outputs;
    uform_rows_t const &rows = outputs.embeddings;
    uform_text_encode_t call = outputs.ask(model, tape, embeddings_k);
    call.dimensions = 64;
    ASSERT_TRUE(caller.make(uform_text_encode, call)) << caller.outcome.message;
    ASSERT_EQ(rows.columns, 64u);
    double squares = 0;
    for (std::size_t i = 0; i < 64; ++i)
        squares += double(floats(whole[0].embedding)[i]) * floats(whole[0].embedding)[i];
    for (std::size_t i = 0; i < 64; ++i) // two roundings of float each side
        EXPECT_NEAR(static_cast<float const *>(rows.data)[i], floats(whole[0].embedding)[i] / std::sqrt(squares),
                    4 * 0x1p-24);
    call.dimensions = hidden_k + 1;
    caller.make(uform_text_encode, call);
    EXPECT_EQ(caller.outcome.status, uform_status_shape_mismatch_k);
}

} // namespace
