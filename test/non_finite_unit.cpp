/**
 *  @file non_finite_unit.cpp
 *  @brief An output that is not finite ends its call with the item's index, and changes nothing for the calls after.
 *
 *  The models are ordinary but for one column of x, which is zero in the embedding of every byte except 'X'. A norm that
 *  scales this column too far therefore ruins exactly the texts with an 'X' in them.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

constexpr std::size_t hidden_k = 128, column_k = 77;

/** Loads a drawn model whose norm of that name scales the column by `scale`. */
uform_model_t load_scaled(char const *norm, float scale) {
    model_options_t options;
    options.geometry = {hidden_k, 1, 512}, options.token_width = 32;
    checkpoint_fixture_t const drawn(options);
    std::ifstream file(drawn.path(), std::ios::binary);
    std::string const bytes {std::istreambuf_iterator<char>(file), {}};
    buffer_t<std::byte> edited; // aligned, so that the checkpoint's tensors are views of it
    EXPECT_TRUE(edited.resize(bytes.size()));
    std::memcpy(edited.data(), bytes.data(), bytes.size());
    checkpoint_t checkpoint;
    EXPECT_FALSE(checkpoint.from_bytes(edited.span()));
    auto *const embedding = const_cast<bf16_t *>(checkpoint.find("text.embedding")->bf16());
    for (std::size_t token = 0; token < vocabulary_k; ++token)
        embedding[token * hidden_k + column_k] = round_to_bf16(token == 'X' ? 1e4f : 0.0f);
    const_cast<float *>(checkpoint.find(norm)->f32())[column_k] = scale;

    uform_model_t model = nullptr;
    uform_outcome_t outcome;
    uform_model_load_ram_buffer_t call {};
    call.model = &model, call.outcome = &outcome, call.buffer = {edited.data(), edited.size()};
    uform_model_load_ram_buffer(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    return model;
}

class encoder_t : public caller_t {
    uform_model_t model_;

  public:
    bool untouched = false; // of the last call

    encoder_t(std::size_t threads, uform_model_t model) : caller_t(threads), model_(model) {}

    /** Everything asked for, as bytes; empty where the call failed. */
    std::string encode(std::vector<std::string> const &texts, int surfaces, uform_scalar_t scalar) {
        text_tape_t const tape(texts);
        text_outputs_t outputs, poisoned;
        std::memset(static_cast<void *>(&poisoned), 0x5a, sizeof(poisoned));
        std::memcpy(static_cast<void *>(&outputs), &poisoned, sizeof(poisoned));
        uform_text_encode_t call = outputs.ask(model_, tape, surfaces);
        call.outputs_scalar = scalar;
        bool const succeeded = make(uform_text_encode, call);
        untouched = std::memcmp(&outputs, &poisoned, sizeof(outputs)) == 0;
        return succeeded ? outputs.bytes(surfaces) : "";
    }
};

/** Chunks for every thread, and one text that all threads share. */
std::vector<std::string> good_texts() {
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) texts.push_back("a text of some bytes, number " + std::to_string(i * 7919));
    texts[20] = std::string(500, 'w');
    return texts;
}

/** Spoils each of a few items in turn; before and after, the good batch must have the same bits. */
void expect_refused(uform_model_t model, int surfaces, uform_scalar_t scalar,
                    char const *message = "the item's output is not finite", char const *detail = "") {
    std::vector<std::string> const good = good_texts();
    for (std::size_t threads : {1, 3}) {
        encoder_t encoder(threads, model);
        std::string const expected = encoder.encode(good, surfaces, scalar);
        ASSERT_FALSE(expected.empty()) << encoder.outcome.message << encoder.outcome.item;
        for (std::size_t bad : {0, 1, 19, 20, 39}) {
            std::vector<std::string> texts = good;
            texts[bad][texts[bad].size() / 2] = 'X';
            EXPECT_TRUE(encoder.encode(texts, surfaces, scalar).empty());
            EXPECT_EQ(encoder.outcome.status, uform_status_malformed_k);
            EXPECT_STREQ(encoder.outcome.message, message);
            EXPECT_STREQ(encoder.outcome.detail, detail);
            EXPECT_EQ(encoder.outcome.item, bad);
            EXPECT_TRUE(encoder.untouched);
            EXPECT_TRUE(encoder.encode(good, surfaces, scalar) == expected) << bad;
        }
    }
}

TEST(non_finite, activations_beyond_float_name_their_item) {
    // x of an 'X' is 1e4 in one column of 128, so its norm is 1e4 / sqrt(128) and the scaled column sqrt(128) times the
    // scale: beyond 3.4e38, which is infinite as BFloat16, then not a number once it meets a weight of either sign.
    uform_model_t const model = load_scaled("blocks.0.attention.norm", 3.2e37f);
    for (uform_scalar_t scalar : {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k, uform_scalar_i8_k})
        for (int surfaces : {embeddings_k, states_k, vectors_k, all_k}) {
            if (scalar == uform_scalar_i8_k && surfaces & states_k) continue; // not to be had
            ASSERT_NO_FATAL_FAILURE(expect_refused(model, surfaces, scalar)) << scalar << " " << surfaces;
        }
    uform_model_free(model);
}

TEST(non_finite, states_beyond_binary16_name_their_item) {
    // The same column of the states is up to 1e4 * sqrt(128) = 113,137, above the 65,504 that binary16 ends at.
    uform_model_t const model = load_scaled("norm", 1e4f);
    ASSERT_NO_FATAL_FAILURE(
        expect_refused(model, states_k, uform_scalar_f16_k, "the item's output does not fit outputs_scalar", "f16"));
    encoder_t encoder(2, model);
    EXPECT_FALSE(encoder.encode({"an X"}, states_k, uform_scalar_bf16_k).empty());
    EXPECT_FALSE(encoder.encode({"an X"}, embeddings_k, uform_scalar_f16_k).empty()) << "unit rows fit";
    uform_model_free(model);
}

} // namespace
