/**
 *  @file tower_unit.cpp
 *  @brief The whole forward against an independent NumPy reading of the model, and the serial class against its bits.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include <uform/utilities/classes.hpp>

#include "model_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

nlohmann::json golden() {
    std::ifstream file(UFORM_SOURCE_DIR "/test/golden/tower.json");
    return nlohmann::json::parse(file);
}
geometry_t geometry_of(nlohmann::json const &golden) { return {golden["hidden"], golden["depth"], golden["context"]}; }
std::vector<std::string> texts_of(nlohmann::json const &golden) {
    std::vector<std::string> texts;
    for (auto const &item : golden["items"]) {
        texts.emplace_back();
        for (int byte : item["bytes"]) texts.back().push_back(char(byte));
    }
    return texts;
}
template <typename scalar_>
double relative_error(scalar_ const *row, nlohmann::json const &expected) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        double const reference = expected[i];
        error += (double(widen(row[i])) - reference) * (double(widen(row[i])) - reference);
        norm += reference * reference;
    }
    return std::sqrt(error / norm);
}
/** Worst relative L2 error of every answer against the golden file. */
template <typename answers_>
double worst_error(answers_ const &answers, nlohmann::json const &golden) {
    std::size_t const hidden = golden["hidden"], width = golden["token_width"];
    double worst = 0;
    for (std::size_t item = 0; item < golden["items"].size(); ++item) {
        auto const &expected = golden["items"][item];
        EXPECT_EQ(answers.offsets[item + 1] - answers.offsets[item], expected["tokens"]);
        std::size_t const last = answers.offsets[item + 1] - 1;
        worst = std::max(worst, relative_error(&answers.embeddings[item * hidden], expected["embedding"]));
        worst = std::max(worst, relative_error(&answers.states[last * hidden], expected["last_state"]));
        std::vector<double> vector(answers.vectors.begin() + last * width,
                                   answers.vectors.begin() + (last + 1) * width);
        worst = std::max(worst, relative_error(vector.data(), expected["last_vector"]));
    }
    return worst;
}

TEST(tower_unit, double_agrees_with_numpy) {
    auto const expected = golden();
    serial::kit<double> kit;
    model_fixture_t<serial::kit<double>> model(kit, geometry_of(expected), expected["token_width"]);
    lane_t lane;
    EXPECT_LT(worst_error(model.encode(lane, texts_of(expected)), expected), 1e-12);
}

TEST(tower_unit, bfloat16_stays_near_double) {
    auto const expected = golden();
    model_fixture_t<kit_table_t> model(serial_table(), geometry_of(expected), expected["token_width"]);
    lane_t lane;
    // A rounding to BFloat16 moves a value by 2^-8 of it at most and by 2^-9 in the mean, which a row's norm sees; a
    // block rounds its weights and eight activations, the heads three more, each with a gain near one.
    double const roundings = double(model.geometry.depth) * 12 + 4;
    EXPECT_LT(worst_error(model.encode(lane, texts_of(expected)), expected), 0x1p-9 * roundings);
}

/** The serial class promises the same bits on every machine: a hash of them is part of the repository. */
TEST(tower_unit, serial_bits_are_golden) {
    model_fixture_t<kit_table_t> model(serial_table(), {128, 2, 24}, 32);
    lane_t lane;
    ASSERT_EQ(serial_texts(), texts_of(golden()));
    EXPECT_EQ(hash_of(model.encode(lane, serial_texts())), serial_hash_k);
}

TEST(tower_unit, packed_equals_alone) {
    auto const expected = golden();
    model_fixture_t<kit_table_t> model(serial_table(), geometry_of(expected), expected["token_width"]);
    auto const texts = texts_of(expected);
    lane_t lane;
    auto const together = model.encode(lane, texts);
    for (std::size_t item = 0; item < texts.size(); ++item) {
        auto const alone = model.encode(lane, {texts[item]});
        EXPECT_EQ(0, std::memcmp(alone.embeddings.data(), &together.embeddings[item * model.geometry.hidden],
                                 alone.embeddings.size() * sizeof(float)));
        EXPECT_EQ(0, std::memcmp(alone.states.data(), &together.states[together.offsets[item] * model.geometry.hidden],
                                 alone.states.size() * sizeof(bf16_t)));
    }
}

/** What a forward leaves, of two blocks that keep all they compute, as bytes. */
std::string kept_of(model_fixture_t<kit_table_t> const &model, std::vector<std::string> const &texts,
                    std::size_t strip_tokens) {
    lane_t lane;
    text_batch_t<float> batch;
    auto const text_of = [&](std::size_t i) {
        return std::span<unsigned char const>((unsigned char const *)texts[i].data(), texts[i].size());
    };
    EXPECT_TRUE(pack_texts(lane, model.rotary, texts.size(), text_of, batch));
    geometry_t const &geometry = model.geometry;
    std::size_t const tokens = batch.items.tokens(), cells = tokens * geometry.hidden, inner = geometry.inner();
    std::vector<block_stash_t<float>> stashes(geometry.depth);
    for (block_stash_t<float> &stash : stashes) {
        stash.middle = lane.claim<float>(cells);
        EXPECT_TRUE(stash.claim(lane, geometry, tokens));
    }
    residuals_t<float> const residuals {lane.claim<float>(cells * (geometry.depth + 1)), cells, stashes};
    states_t<float> states;
    EXPECT_TRUE(states.claim(lane, geometry, tokens));
    tower_forward(model.kit, lane, model.tower.weights, batch, residuals, states, strip_tokens);
    EXPECT_FALSE(lane.failed());
    std::string bytes;
    auto const keep = [&](auto const *values, std::size_t count) {
        bytes.append(reinterpret_cast<char const *>(values), count * sizeof(*values));
    };
    keep(residuals.data, cells * (geometry.depth + 1)), keep(states.states, cells), keep(states.inverse_rms, tokens);
    for (block_stash_t<float> const &stash : stashes) {
        keep(stash.normed, cells), keep(stash.attention_inverse_rms, tokens), keep(stash.qkv, 3 * cells);
        keep(stash.attended, cells), keep(stash.lse, tokens * geometry.heads()), keep(stash.middle, cells);
        keep(stash.mlp_normed, cells), keep(stash.mlp_inverse_rms, tokens);
        keep(stash.gate_up, 2 * tokens * inner), keep(stash.activated, tokens * inner);
    }
    return bytes;
}

TEST(tower_unit, strips_change_no_bit) {
    std::vector<std::string> texts;
    for (std::size_t length : {5, 1, 7, 30, 12, 3, 9}) texts.push_back(std::string(length, char('a' + length)));
    for (uform_cpu_class_t class_ = uform_cpu_class_serial_k; class_ <= uform_cpu_class_wasm_simd_k; ++class_) {
        if (!has_kernels(class_) || !runs_here(class_)) continue;
        model_fixture_t<kit_table_t> model(*kit_of(class_), {128, 2, 40}, 32);
        std::string const whole = kept_of(model, texts, SIZE_MAX);
        for (std::size_t tokens : {1, 12, 13, 30, 66, 67})
            EXPECT_TRUE(kept_of(model, texts, tokens) == whole) << kit_of(class_)->name << ", strips of " << tokens;
    }
}

} // namespace
