/**
 *  @file initialize_unit.cpp
 *  @brief Fresh weights: their moments, the local heads' literals, and the same bits whatever the order or machine.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <uform/encoder/initialize.hpp>

using namespace uform;

namespace {

model_options_t model_of(std::size_t hidden, std::size_t depth) {
    model_options_t options;
    options.geometry = {hidden, depth, 4096};
    options.token_width = 128, options.decoder = true, options.choice_groups = 2;
    options.contrastive_groups = 2, options.late_interaction_groups = 1;
    return options;
}

tensor_spec_t spec_of(model_options_t const &model, std::string_view name) {
    tensor_spec_t found;
    for_each_tensor(model, [&](tensor_spec_t const &spec) {
        if (spec.name() == name) found = spec;
    });
    EXPECT_EQ(found.name(), name);
    return found;
}

std::vector<float> values_of(model_options_t const &model, std::string_view name, std::uint64_t seed = 7) {
    tensor_spec_t const spec = spec_of(model, name);
    initialization_t options;
    options.seed = seed;
    std::vector<float> values(spec.elements());
    initialize_rows(spec, options, model, {0, spec.rows}, values.data());
    return values;
}

/** Five standard errors around a normal's mean 0 and variance `variance`, column 0 left out. */
void expect_normal(std::vector<float> const &values, std::size_t columns, double variance) {
    double sum = 0.0, squares = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % columns == 0) continue;
        sum += values[i], squares += double(values[i]) * values[i], ++count;
    }
    EXPECT_NEAR(sum / double(count), 0.0, 5.0 * std::sqrt(variance / double(count)));
    EXPECT_NEAR(squares / double(count) / variance, 1.0, 5.0 * std::sqrt(2.0 / double(count)));
}

float bf16(double value) { return widen(round_to_bf16(float(value))); }

/** The offset that a head's column 0 encodes, checked pair by pair against libm; 0 where it is an ordinary head. */
void expect_local(std::vector<float> const &qkv, std::size_t hidden, std::size_t head, int offset) {
    SCOPED_TRACE("head " + std::to_string(head) + " offset " + std::to_string(offset));
    std::size_t const pairs = std::abs(offset) >= 3 ? 12 : 8;
    for (std::size_t j = 0; j < pairs; ++j) {
        double const theta = std::pow(10000.0, -double(j) / 32.0);
        std::size_t const q = head * 64 + j, k = hidden + head * 64 + j;
        EXPECT_EQ(qkv[q * hidden], bf16(std::cos(offset * theta)));
        EXPECT_EQ(qkv[(q + 32) * hidden], bf16(std::sin(offset * theta)));
        EXPECT_EQ(qkv[k * hidden], 1.0f);
        EXPECT_EQ(qkv[(k + 32) * hidden], 0.0f);
    }
    std::size_t const after = hidden + head * 64 + pairs; // the first pair left alone
    EXPECT_NE(qkv[after * hidden], 1.0f);
    EXPECT_NE(qkv[(after + 32) * hidden], 0.0f);
}

} // namespace

TEST(initialize, linear_weights_have_the_variance_of_their_fan_in) {
    model_options_t const model = model_of(128, 3);
    for (char const *name :
         {"blocks.0.attention.qkv", "blocks.2.attention.qkv", "blocks.1.attention.output", "blocks.0.mlp.gate",
          "blocks.2.mlp.up", "pool.hidden", "tokens.projection", "decoder.weight"}) {
        SCOPED_TRACE(name);
        expect_normal(values_of(model, name), 128, 1.0 / 128);
    }
    expect_normal(values_of(model, "blocks.0.mlp.down"), 512, 1.0 / 512);
    expect_normal(values_of(model, "text.embedding"), 128, 1.0);
}

TEST(initialize, constants_are_where_they_belong) {
    model_options_t const model = model_of(128, 2);
    for (char const *name : {"norm", "blocks.0.attention.norm", "blocks.1.mlp.norm"})
        for (float const value : values_of(model, name)) ASSERT_EQ(value, 1.0f) << name;
    for (char const *name : {"pool.query", "pool.output", "decoder.bias"})
        for (float const value : values_of(model, name)) ASSERT_EQ(value, 0.0f) << name;
    std::vector<float> const embedding = values_of(model, "text.embedding");
    for (std::size_t row = 0; row < 258; ++row) EXPECT_EQ(embedding[row * 128], 4.0f);
    EXPECT_EQ(values_of(model, "choices.inverse_temperatures"), (std::vector<float> {1.0f, 1.0f}));
    EXPECT_EQ(values_of(model, "contrastive.log_inverse_temperature"), (std::vector<float> {2.3025851f, 2.3025851f}));
    EXPECT_EQ(values_of(model, "contrastive.bias"), (std::vector<float> {0.0f, 0.0f}));
    EXPECT_EQ(values_of(model, "late_interaction.log_inverse_temperature"), (std::vector<float> {0.0f}));
}

TEST(initialize, temperatures_start_where_the_caller_says) {
    model_options_t const model = model_of(128, 1);
    initialization_t options;
    options.contrastive_inverse_temperature = 20.0f, options.contrastive_bias = -10.0f;
    options.late_interaction_inverse_temperature = 2.0f, options.late_interaction_bias = -1.0f;
    options.choice_inverse_temperature = 3.0f;
    auto const first = [&](char const *name) {
        tensor_spec_t const spec = spec_of(model, name);
        std::vector<float> values(spec.columns);
        initialize_rows(spec, options, model, {0, 1}, values.data());
        return values[0];
    };
    EXPECT_EQ(first("contrastive.log_inverse_temperature"), 2.9957323f);
    EXPECT_EQ(first("contrastive.bias"), -10.0f);
    EXPECT_EQ(first("late_interaction.log_inverse_temperature"), 0.69314718f);
    EXPECT_EQ(first("late_interaction.bias"), -1.0f);
    EXPECT_EQ(first("choices.inverse_temperatures"), 3.0f);
}

TEST(initialize, local_heads_of_every_width) {
    struct expectation_t {
        std::size_t hidden;
        std::vector<int> first, second; // offsets by head in blocks 0 and 1
    };
    for (expectation_t const &e :
         {expectation_t {128, {-1, 1}, {-2, 2}}, expectation_t {256, {-2, -1, 1, 2}, {-4, -3, 3, 4}},
          expectation_t {384, {-2, -1, 1, 0, 0, 0}, {-4, -3, 3, 0, 0, 0}},
          expectation_t {512, {-2, -1, 1, 2, 0, 0, 0, 0}, {-4, -3, 3, 4, 0, 0, 0, 0}}}) {
        std::vector<float> const qkv[] = {values_of(model_of(e.hidden, 3), "blocks.0.attention.qkv"),
                                          values_of(model_of(e.hidden, 3), "blocks.1.attention.qkv")};
        for (std::size_t block = 0; block < 2; ++block)
            for (std::size_t head = 0; head < e.hidden / 64; ++head) {
                int const offset = (block ? e.second : e.first)[head];
                EXPECT_EQ(local_offset(block, head, e.hidden / 64), offset);
                if (offset)
                    expect_local(qkv[block], e.hidden, head, offset);
                else
                    EXPECT_NE(qkv[block][(e.hidden + head * 64) * e.hidden], 1.0f);
            }
    }
    static constexpr int wide[] = {-2, -1, 1, 2, -2, -1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0};
    for (std::size_t head = 0; head < 16; ++head) {
        EXPECT_EQ(local_offset(2, head, 16), 0);
        EXPECT_EQ(local_offset(0, head, 16), wide[head]);
    }
}

// The values of qkv's v rows are never local.
TEST(initialize, values_rows_stay_random) {
    std::vector<float> const qkv = values_of(model_of(128, 1), "blocks.0.attention.qkv");
    double squares = 0.0;
    for (std::size_t row = 256; row < 384; ++row) squares += double(qkv[row * 128]) * qkv[row * 128];
    EXPECT_NEAR(squares, 1.0, 5.0 * std::sqrt(2.0 / 128));
}

TEST(initialize, any_slice_has_the_bits_of_the_whole) {
    model_options_t const model = model_of(128, 2);
    initialization_t options;
    options.seed = 7;
    for (char const *name : {"text.embedding", "blocks.0.attention.qkv", "blocks.1.mlp.down", "norm"}) {
        tensor_spec_t const spec = spec_of(model, name);
        std::vector<float> const whole = values_of(model, name);
        std::vector<float> rows(spec.elements());
        for (std::size_t row = spec.rows; row-- > 0;)
            initialize_rows(spec, options, model, {row, 1}, rows.data() + row * spec.columns);
        EXPECT_EQ(rows, whole) << name;
        std::vector<bf16_t> narrow(spec.elements());
        initialize_rows(spec, options, model, {0, spec.rows}, narrow.data());
        for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(widen(narrow[i]), whole[i]) << name;
    }
}

TEST(initialize, heads_and_depth_move_no_other_tensor) {
    model_options_t const model = model_of(128, 2);
    model_options_t deeper = model;
    deeper.geometry.depth = 5, deeper.token_width = 0;
    for (char const *name : {"blocks.1.mlp.up", "pool.hidden", "decoder.weight"}) {
        EXPECT_EQ(values_of(model, name), values_of(deeper, name));
        EXPECT_NE(values_of(model, name, 7), values_of(model, name, 8));
    }
    EXPECT_NE(values_of(model, "blocks.0.mlp.up"), values_of(model, "blocks.1.mlp.up"));
}

// A literal of this implementation: a machine that starts a model from other bits is found here.
TEST(initialize, bits_are_the_same_on_every_machine) {
    model_options_t const model = model_of(128, 4);
    std::uint64_t hash = 14695981039346656037u;
    for_each_tensor(model, [&](tensor_spec_t const &spec) {
        for (float const value : values_of(model, spec.name())) {
            std::uint32_t bits;
            std::memcpy(&bits, &value, 4);
            hash = (hash ^ bits) * 1099511628211u;
        }
    });
    EXPECT_EQ(hash, 2796666007932715461u);
}
