/**
 *  @file e4m3_unit.cpp
 *  @brief Models loaded at E4M3 through the C ABI: their memory, their description, and how far the shipped model's
 *  embeddings move.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

uform_model_description_t describe(uform_model_t model) {
    uform_outcome_t outcome;
    uform_model_description_t description {};
    uform_model_describe_t call {};
    call.model = model, call.outcome = &outcome, call.description = &description;
    uform_model_describe(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k);
    return description;
}

/** Embeddings of `texts`, one row each. */
std::vector<float> embed(uform_model_t model, std::vector<std::string> const &texts) {
    text_tape_t const tape(texts);
    caller_t caller;
    text_outputs_t outputs;
    uform_text_encode_t call = outputs.ask(model, tape, embeddings_k);
    EXPECT_TRUE(caller.make(uform_text_encode, call)) << caller.outcome.message;
    float const *first = static_cast<float const *>(outputs.embeddings.data);
    return {first, first + texts.size() * outputs.embeddings.columns};
}
double cosine_of(std::vector<float> const &x, std::vector<float> const &y, std::size_t row, std::size_t columns) {
    double sum = 0; // of unit rows
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) sum += double(x[i]) * y[i];
    return sum;
}

std::vector<std::string> sample_texts(std::size_t every) {
    std::ifstream file(UFORM_SOURCE_DIR "/scripts/data/sample/test.jsonl");
    std::vector<std::string> texts;
    std::string line;
    for (std::size_t i = 0; std::getline(file, line); ++i) {
        if (i % every) continue;
        nlohmann::json const record = nlohmann::json::parse(line);
        texts.push_back(record["query"]), texts.push_back(record["document"]);
    }
    return texts;
}

TEST(e4m3_unit, block_matrices_take_half_the_memory) {
    constexpr std::size_t hidden = 256, depth = 3;
    model_options_t options;
    options.geometry = {hidden, depth, 64};
    checkpoint_fixture_t const checkpoint(options);
    for (uform_cpu_class_t const each : {uform_cpu_class_serial_k, uform_cpu_class_derived_k}) {
        uform_model_t wide = checkpoint.load(nullptr, each),
                      narrow = checkpoint.load(nullptr, each, uform_scalar_e4m3_k);
        uform_model_description_t const before = describe(wide), after = describe(narrow);
        EXPECT_EQ(before.quantization, uform_scalar_bf16_k);
        EXPECT_EQ(after.quantization, uform_scalar_e4m3_k);
        EXPECT_EQ(before.cpu_class, after.cpu_class);
        // qkv 3, output 1, gate and up 8, down 4: 16 squares of the width, each weight a byte less. All else stays.
        EXPECT_EQ(before.memory_usage - after.memory_usage, 16 * hidden * hidden * depth);
        uform_model_free(wide), uform_model_free(narrow);
    }
}

/** What E4M3 is for: half the memory, and every one of the sample's 1,000 held-out texts where it was. */
TEST(e4m3_unit, the_shipped_model_keeps_its_directions) {
    std::string const path = UFORM_SOURCE_DIR "/models/nano-text.safetensors";
    std::vector<std::string> const texts = sample_texts(1);
    ASSERT_EQ(texts.size(), 1000u);
    uform_model_t wide = nullptr, narrow = nullptr;
    ASSERT_EQ(load_model(path, wide, nullptr, 0, uform_scalar_bf16_k).status, uform_status_success_k);
    ASSERT_EQ(load_model(path, narrow, nullptr, 0, uform_scalar_e4m3_k).status, uform_status_success_k);
    std::size_t const columns = describe(wide).dimensions;
    std::vector<float> const expected = embed(wide, texts), actual = embed(narrow, texts);
    double least = 1, sum = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        double const cosine = cosine_of(actual, expected, i, columns);
        least = std::min(least, cosine), sum += cosine;
        EXPECT_GE(cosine, 0.99) << texts[i];
    }
    std::printf("cosines to BFloat16 of %zu texts: mean %.4f, least %.4f\n", texts.size(),
                sum / double(texts.size()), least);
    uform_model_free(wide), uform_model_free(narrow);
}

/** A text finds its own translation among all of the sample's as often as before: R@1 may lose two in a hundred. */
TEST(e4m3_unit, the_shipped_model_still_finds_translations) {
    std::string const path = UFORM_SOURCE_DIR "/models/nano-text.safetensors";
    std::vector<std::string> const texts = sample_texts(1); // query, document, query, document, ...
    std::size_t const pairs = texts.size() / 2;
    double recalls[2] = {};
    for (int i = 0; i < 2; ++i) {
        uform_model_t model = nullptr;
        ASSERT_EQ(load_model(path, model, nullptr, 0, i ? uform_scalar_e4m3_k : uform_scalar_bf16_k).status,
                  uform_status_success_k);
        std::vector<float> const rows = embed(model, texts);
        std::size_t const columns = describe(model).dimensions;
        auto const score = [&](std::size_t query, std::size_t document) {
            float const *x = &rows[2 * query * columns], *y = &rows[(2 * document + 1) * columns];
            return std::inner_product(x, x + columns, y, 0.0);
        };
        for (std::size_t query = 0; query < pairs; ++query) {
            double const own = score(query, query);
            bool first = true;
            for (std::size_t other = 0; other < pairs && first; ++other) first = score(query, other) <= own;
            recalls[i] += double(first) / double(pairs);
        }
        uform_model_free(model);
    }
    EXPECT_GE(recalls[1], recalls[0] - 0.02) << "from " << recalls[0];
    RecordProperty("bf16", std::to_string(recalls[0]));
    RecordProperty("e4m3", std::to_string(recalls[1]));
}

TEST(e4m3_unit, other_scalars_and_other_weights_are_refused) {
    std::string const path = UFORM_SOURCE_DIR "/models/nano-text.safetensors";
    uform_model_t model = nullptr;
    for (int const scalar : {int(uform_scalar_f32_k), int(uform_scalar_f16_k), int(uform_scalar_i8_k), 99})
        EXPECT_EQ(load_model(path, model, nullptr, 0, scalar).status, uform_status_invalid_argument_k) << scalar;
    std::ifstream file(path, std::ios::binary);
    std::string bytes {std::istreambuf_iterator<char>(file), {}};
    std::string const needle = "blocks.0.mlp.down";
    std::size_t const header = 8 + *reinterpret_cast<std::uint64_t const *>(bytes.data());
    std::size_t const entry = bytes.find(needle), digits = bytes.find("data_offsets", entry) + 15;
    ASSERT_LT(entry, header);
    std::size_t const offset = header + std::stoull(bytes.substr(digits));
    for (std::uint16_t const bits : std::initializer_list<std::uint16_t> {
             0x7f80, 0xff80, 0x7fc0}) { // both infinities would saturate, NaN stays one
        std::memcpy(bytes.data() + offset, &bits, sizeof(bits));
        uform_outcome_t outcome;
        uform_model_load_ram_buffer_t call {};
        call.model = &model, call.outcome = &outcome, call.buffer = view(bytes);
        call.quantization = uform_scalar_e4m3_k;
        uform_model_load_ram_buffer(&call);
        EXPECT_EQ(outcome.status, uform_status_malformed_k);
        EXPECT_NE(std::string(outcome.detail).find(needle), std::string::npos) << outcome.detail;
    }
}

} // namespace
