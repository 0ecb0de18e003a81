/**
 *  @file weights_unit.cpp
 *  @brief The list of tensors against names and sizes written by hand, and what a checkpoint that does not fit is told.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <uform/encoder/weights.hpp>
#include <uform/utilities/random.hpp>

#include "safetensors_bytes.hpp"

using namespace uform;
using namespace uform_test;

namespace {

model_options_t bare(std::size_t hidden, std::size_t depth) {
    model_options_t options;
    options.geometry = {hidden, depth, 4096};
    return options;
}
model_options_t everything() {
    model_options_t options = bare(128, 2);
    options.token_width = 64, options.decoder = true, options.choice_groups = 3;
    options.contrastive_groups = 2, options.late_interaction_groups = 1;
    return options;
}

/** "name dtype [shape]" of every tensor. */
std::vector<std::string> listed(model_options_t const &options) {
    std::vector<std::string> lines;
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        std::string line(spec.name());
        line.append(" ").append(name_of(spec.dtype)).append(" [");
        tensor_layout_t const layout = spec.layout();
        for (std::size_t axis = 0; axis < layout.rank; ++axis)
            line.append(axis ? "," : "").append(std::to_string(layout.shape[axis]));
        EXPECT_EQ(spec.index, lines.size());
        lines.push_back(line.append("]"));
    });
    return lines;
}

/** A saved model of zeros, but for tensors that `edit` changes or drops (by answering false). */
template <typename edit_>
std::string saved(model_options_t const &options, edit_ edit, std::vector<metadata_entry_t> metadata) {
    std::vector<tensor_spec_t> specs;
    for_each_tensor(options, [&](tensor_spec_t const &spec) { specs.push_back(spec); });
    std::vector<tensor_layout_t> layouts;
    std::size_t bytes = 0;
    for (tensor_spec_t const &spec : specs) {
        tensor_layout_t layout = spec.layout();
        if (!edit(layout)) continue;
        layouts.push_back(layout);
        std::size_t size = bytes_of(layout.dtype);
        for (std::size_t axis = 0; axis < layout.rank; ++axis) size *= layout.shape[axis];
        bytes += size;
    }
    folder_t const folder;
    checkpoint_writer_t writer;
    EXPECT_FALSE(writer.begin(folder / "model", layouts, metadata));
    EXPECT_FALSE(writer.append(bytes_of(std::string(bytes, 0))));
    EXPECT_FALSE(writer.commit());
    return get_file(folder / "model");
}
constexpr auto keep_all = [](tensor_layout_t &) { return true; };

std::vector<metadata_entry_t> const truth {{"format", "uform"}, {"version", "4"},    {"hidden", "128"},
                                           {"depth", "2"},      {"context", "4096"}, {"token_width", "64"}};

failure_t options_of(std::string const &file, model_options_t &options) {
    checkpoint_t checkpoint;
    EXPECT_FALSE(checkpoint.from_bytes(bytes_of(file)));
    return read_options(checkpoint, options);
}

void expect_malformed(std::string const &file, std::string const &detail) {
    model_options_t options;
    failure_t const failure = options_of(file, options);
    EXPECT_EQ(failure.status, uform_status_malformed_k);
    EXPECT_EQ(failure.detail, detail) << failure.message;
    EXPECT_EQ(options.geometry.hidden, 0u);
}

} // namespace

TEST(weights, tensors_in_the_order_of_the_file) {
    EXPECT_EQ(listed(everything()), (std::vector<std::string> {"text.embedding BF16 [258,128]",
                                                               "blocks.0.attention.norm F32 [128]",
                                                               "blocks.0.attention.qkv BF16 [384,128]",
                                                               "blocks.0.attention.output BF16 [128,128]",
                                                               "blocks.0.mlp.norm F32 [128]",
                                                               "blocks.0.mlp.gate BF16 [512,128]",
                                                               "blocks.0.mlp.up BF16 [512,128]",
                                                               "blocks.0.mlp.down BF16 [128,512]",
                                                               "blocks.1.attention.norm F32 [128]",
                                                               "blocks.1.attention.qkv BF16 [384,128]",
                                                               "blocks.1.attention.output BF16 [128,128]",
                                                               "blocks.1.mlp.norm F32 [128]",
                                                               "blocks.1.mlp.gate BF16 [512,128]",
                                                               "blocks.1.mlp.up BF16 [512,128]",
                                                               "blocks.1.mlp.down BF16 [128,512]",
                                                               "norm F32 [128]",
                                                               "pool.query BF16 [128]",
                                                               "pool.hidden BF16 [128,128]",
                                                               "pool.output BF16 [128,128]",
                                                               "tokens.projection BF16 [64,128]",
                                                               "decoder.weight BF16 [256,128]",
                                                               "decoder.bias BF16 [256]",
                                                               "choices.inverse_temperatures F32 [3]",
                                                               "contrastive.log_inverse_temperature F32 [2]",
                                                               "contrastive.bias F32 [2]",
                                                               "late_interaction.log_inverse_temperature F32 [1]",
                                                               "late_interaction.bias F32 [1]"}));
    EXPECT_EQ(count_tensors(everything()), 27u);
    EXPECT_EQ(count_tensors(bare(128, 2)), 19u);
}

// The tier table's 51 M, 204 M, 405 M, 1.6 B and 3.2 B.
TEST(weights, parameters_of_the_tiers) {
    EXPECT_EQ(std::llround(double(count_parameters(bare(512, 12))) / 1e6), 51);
    EXPECT_EQ(std::llround(double(count_parameters(bare(1024, 12))) / 1e6), 204);
    EXPECT_EQ(std::llround(double(count_parameters(bare(1024, 24))) / 1e6), 405);
    EXPECT_EQ(std::llround(double(count_parameters(bare(2048, 24))) / 1e8), 16);
    EXPECT_EQ(std::llround(double(count_parameters(bare(2048, 48))) / 1e8), 32);
    // 4 (16 * 128^2 + 2 * 128) + 258 * 128 + 2 * 128^2 + norm and query
    EXPECT_EQ(count_parameters(bare(128, 4)), 1'115'648u);
}

TEST(weights, every_tensor_of_the_largest_tier_draws_from_its_own_stream) {
    std::set<std::uint32_t> streams;
    model_options_t options = everything();
    options.geometry = {2048, 48, 4096};
    for_each_tensor(options, [&](tensor_spec_t const &spec) { streams.insert(stream_of_name(spec.name())); });
    EXPECT_EQ(streams.size(), count_tensors(options));
}

TEST(weights, options_and_notes_survive_a_file) {
    folder_t const folder;
    model_options_t const options = everything();
    model_notes_t notes;
    notes.step = 1234, notes.seed = UINT64_MAX, notes.objective = "contrastive", notes.prefix_query = "query: \xc3\xa9";
    checkpoint_writer_t writer;
    ASSERT_FALSE(begin_model(writer, folder / "model", options, notes));
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        EXPECT_FALSE(writer.append(bytes_of(std::string(spec.elements() * bytes_of(spec.dtype), 0))));
    });
    ASSERT_FALSE(writer.commit());
    checkpoint_t checkpoint;
    ASSERT_FALSE(checkpoint.open(folder / "model"));
    model_options_t read;
    failure_t const failure = read_options(checkpoint, read);
    ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
    EXPECT_EQ(listed(read), listed(options));
    EXPECT_EQ(read.geometry.context, 4096u);
    model_notes_t read_back;
    ASSERT_FALSE(read_notes(checkpoint, read_back));
    EXPECT_EQ(read_back.step, 1234u);
    EXPECT_EQ(read_back.seed, UINT64_MAX);
    EXPECT_EQ(read_back.objective, "contrastive");
    EXPECT_EQ(read_back.prefix_query, "query: \xc3\xa9");
    EXPECT_EQ(read_back.prefix_document, "");
    EXPECT_EQ(checkpoint.metadata("version"), "4");
}

TEST(weights, absent_heads_are_absent) {
    model_options_t options;
    std::string const file = saved(
        everything(),
        [](tensor_layout_t &t) {
            return t.name.starts_with("text") || t.name.starts_with("blocks") || t.name == "norm" ||
                   t.name.starts_with("pool");
        },
        truth);
    failure_t const failure = options_of(file, options);
    ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
    EXPECT_EQ(listed(options), listed(bare(128, 2)));
}

TEST(weights, tensors_that_do_not_fit_are_named_with_both_shapes) {
    auto const without = [](std::string_view name) {
        return saved(
            everything(), [=](tensor_layout_t &t) { return t.name != name; }, truth);
    };
    expect_malformed(without("blocks.1.mlp.up"), "tensor 'blocks.1.mlp.up'");
    expect_malformed(without("norm"), "tensor 'norm'");
    expect_malformed(without("decoder.bias"), "tensor 'decoder.bias'");
    expect_malformed(without("decoder.weight"), "tensor 'decoder.weight'");
    expect_malformed(without("contrastive.log_inverse_temperature"), "tensor 'contrastive.log_inverse_temperature'");
    expect_malformed(saved(
                         everything(),
                         [](tensor_layout_t &t) {
                             if (t.name == "blocks.1.mlp.up") t.shape[0] = 256;
                             return true;
                         },
                         truth),
                     "tensor 'blocks.1.mlp.up': [256, 128], expected [512, 128]");
    expect_malformed(saved(
                         everything(),
                         [](tensor_layout_t &t) {
                             if (t.name == "norm") t.rank = 3, t.shape[0] = 1, t.shape[1] = 1, t.shape[2] = 128;
                             return true;
                         },
                         truth),
                     "tensor 'norm': [1, 1, 128], expected [128]");
    expect_malformed(saved(
                         everything(),
                         [](tensor_layout_t &t) {
                             if (t.name == "norm") t.rank = 2, t.shape[0] = 128, t.shape[1] = 1;
                             return true;
                         },
                         truth),
                     "tensor 'norm': [128, 1], expected [128]");
    expect_malformed(saved(
                         everything(),
                         [](tensor_layout_t &t) {
                             if (t.name == "norm") t.dtype = dtype_t::bf16_k;
                             return true;
                         },
                         truth),
                     "tensor 'norm': BF16, expected F32");
    expect_malformed(saved(
                         everything(),
                         [](tensor_layout_t &t) {
                             if (t.name == "pool.query")
                                 t.rank = 4, t.shape[0] = 0, t.shape[1] = t.shape[2] = t.shape[3] = SIZE_MAX;
                             return true;
                         },
                         truth),
                     "tensor 'pool.query': [0, 18446744073709551615, 18446744073709551615, ...], expected [128]");
}

TEST(weights, metadata_that_makes_no_sense_is_named) {
    auto const with = [](std::string_view key, std::string_view value) {
        std::vector<metadata_entry_t> metadata = truth;
        for (metadata_entry_t &entry : metadata)
            if (entry.key == key) entry.value = value;
        return saved(everything(), keep_all, metadata);
    };
    auto const without = [](std::string_view key) {
        std::vector<metadata_entry_t> metadata;
        for (metadata_entry_t const &entry : truth)
            if (entry.key != key) metadata.push_back(entry);
        return saved(everything(), keep_all, metadata);
    };
    expect_malformed(with("format", "pt"), "metadata field 'format' is 'pt', expected 'uform'");
    expect_malformed(without("format"), "metadata field 'format' is '', expected 'uform'");
    expect_malformed(with("version", "3"), "version 3, expected 4");
    expect_malformed(with("hidden", "192"), "hidden is 192");
    expect_malformed(with("hidden", "0"), "hidden is 0, expected 128 to 16384");
    expect_malformed(with("hidden", "-128"), "field 'hidden' is '-128'");
    expect_malformed(with("hidden", "128 "), "field 'hidden' is '128 '");
    expect_malformed(with("hidden", "99999999999999999999999"), "field 'hidden' is '99999999999999999999999'");
    expect_malformed(with("hidden", "18446744073709551488"), "hidden is 18446744073709551488, expected 128 to 16384");
    expect_malformed(with("depth", "0"), "depth is 0, expected 1 to 1024");
    expect_malformed(with("depth", "3"), "tensor 'blocks.2.attention.norm'");
    expect_malformed(with("context", "0"), "context is 0, expected 1 to 65536");
    expect_malformed(without("depth"), "field 'depth'");
    expect_malformed(with("token_width", "128"), "metadata 128, tensor 64 rows");
    model_options_t options;
    EXPECT_FALSE(options_of(without("token_width"), options));
    EXPECT_EQ(options.token_width, 64u);
}
