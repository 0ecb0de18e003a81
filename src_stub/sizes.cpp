/**
 *  @file sizes.cpp
 *  @brief What makes a safetensors file a UForm 4 checkpoint: metadata, the list of tensors, and a header to write.
 */
#include "checkpoint.hpp"

#include <charconv>

#include "failure.hpp"

namespace uform_stub {
namespace {

void check_range(char const *field, std::size_t value, std::size_t first, std::size_t last, uform_status_t status) {
    if (value < first || value > last)
        fail(status, "a model's size is out of range",
             std::string(field) + " is " + std::to_string(value) + ", expected " + std::to_string(first) + " to " +
                 std::to_string(last));
}

void check_format(checkpoint_t const &checkpoint) {
    if (checkpoint.text("format") != "uform")
        malformed("not a uform checkpoint",
                  "metadata field 'format' is '" + checkpoint.text("format").substr(0, 64) + "', expected 'uform'");
    if (count_in(checkpoint, "version") != 4) malformed("checkpoint version is not the one this build reads");
}

/** Rows of a tensor that may be absent: zero then. */
std::size_t rows_of(checkpoint_t const &checkpoint, char const *name) {
    tensor_t const *tensor = checkpoint.find(name);
    return tensor && !tensor->shape.empty() ? tensor->shape[0] : 0;
}

/** The image entry is there where any of its tensors is. */
void read_image(checkpoint_t const &checkpoint, sizes_t &sizes) {
    if (!checkpoint.find("image.projection.weight") && !checkpoint.find("image.projection.bias") &&
        !checkpoint.find("image.mask"))
        return;
    std::uint64_t const side = 16, channels = 4;
    sizes.patch_side = count_in(checkpoint, "image.patch_side", &side);
    sizes.channels = count_in(checkpoint, "image.channels", &channels);
    check_range("image.patch_side", sizes.patch_side, 1, 64, uform_status_malformed_k);
}

/** A head is there where any of its tensors is. */
void read_heads(checkpoint_t const &checkpoint, sizes_t &sizes) {
    sizes.token_width = rows_of(checkpoint, "tokens.projection");
    std::uint64_t const missing = sizes.token_width, promised = count_in(checkpoint, "token_width", &missing);
    if (sizes.token_width && promised != sizes.token_width) malformed("token_width disagrees with tokens.projection");
    auto const either = [&](char const *first, char const *second) {
        std::size_t const rows = rows_of(checkpoint, first);
        return rows ? rows : rows_of(checkpoint, second);
    };
    sizes.decoder = checkpoint.find("decoder.weight") || checkpoint.find("decoder.bias");
    sizes.choice_groups = rows_of(checkpoint, "choices.inverse_temperatures");
    sizes.contrastive_groups = either("contrastive.log_inverse_temperature", "contrastive.bias");
    sizes.late_interaction_groups = either("late_interaction.log_inverse_temperature", "late_interaction.bias");
}

void check_tensor(checkpoint_t const &checkpoint, spec_t const &spec) {
    tensor_t const *tensor = checkpoint.find(spec.name);
    std::string const name = "tensor '" + spec.name + "'";
    if (!tensor) malformed("checkpoint lacks a tensor", name);
    if (tensor->shape != spec.shape) malformed("a tensor's shape does not fit the model", name);
    if (tensor->is_f32 != spec.is_f32) malformed("a tensor's dtype does not fit the model", name);
}

} // namespace

std::size_t spec_t::bytes() const {
    std::size_t bytes = is_f32 ? 4 : 2;
    for (std::size_t const extent : shape) bytes *= extent;
    return bytes;
}

std::vector<spec_t> tensors_of(sizes_t const &sizes) {
    std::size_t const hidden = sizes.hidden, inner = 4 * hidden;
    std::vector<spec_t> list {{"text.embedding", false, {258, hidden}}};
    if (std::size_t const side = sizes.patch_side) {
        list.push_back({"image.projection.weight", false, {hidden, sizes.channels * side * side}});
        list.push_back({"image.projection.bias", false, {hidden}});
        list.push_back({"image.mask", false, {hidden}});
    }
    for (std::size_t i = 0; i < sizes.depth; ++i) {
        std::string const block = "blocks." + std::to_string(i) + ".";
        list.push_back({block + "attention.norm", true, {hidden}});
        list.push_back({block + "attention.qkv", false, {3 * hidden, hidden}});
        list.push_back({block + "attention.output", false, {hidden, hidden}});
        list.push_back({block + "mlp.norm", true, {hidden}});
        list.push_back({block + "mlp.gate", false, {inner, hidden}});
        list.push_back({block + "mlp.up", false, {inner, hidden}});
        list.push_back({block + "mlp.down", false, {hidden, inner}});
    }
    list.push_back({"norm", true, {hidden}});
    list.push_back({"pool.query", false, {hidden}});
    list.push_back({"pool.hidden", false, {hidden, hidden}});
    list.push_back({"pool.output", false, {hidden, hidden}});
    if (sizes.token_width) list.push_back({"tokens.projection", false, {sizes.token_width, hidden}});
    if (sizes.decoder) list.push_back({"decoder.weight", false, {256, hidden}});
    if (sizes.decoder) list.push_back({"decoder.bias", false, {256}});
    if (sizes.choice_groups) list.push_back({"choices.inverse_temperatures", true, {sizes.choice_groups}});
    for (auto const &[term, groups] : {std::pair("contrastive", sizes.contrastive_groups),
                                       std::pair("late_interaction", sizes.late_interaction_groups)}) {
        if (!groups) continue;
        list.push_back({std::string(term) + ".log_inverse_temperature", true, {groups}});
        list.push_back({std::string(term) + ".bias", true, {groups}});
    }
    return list;
}

void check_sizes(sizes_t const &sizes, std::int32_t status) {
    check_range("hidden", sizes.hidden, 128, 16384, status);
    if (sizes.hidden % 128)
        fail(status, "hidden is not a multiple of 128", "hidden is " + std::to_string(sizes.hidden));
    check_range("depth", sizes.depth, 1, 1024, status);
    check_range("context", sizes.context, 1, 65536, status);
    check_range("token_width", sizes.token_width, 0, 16384, status);
    if (sizes.patch_side) check_range("image.patch_side", sizes.patch_side, 1, 64, status);
    if (sizes.patch_side) check_range("image.channels", sizes.channels, 3, 4, status);
    for (std::size_t const groups : {sizes.choice_groups, sizes.contrastive_groups, sizes.late_interaction_groups})
        check_range("temperature_groups", groups, 0, 65536, status);
}

std::uint64_t count_in(checkpoint_t const &checkpoint, char const *key, std::uint64_t const *missing) {
    std::string const *text = checkpoint.metadata(key);
    if (!text && missing) return *missing;
    std::string const field = "field '" + std::string(key) + "'";
    if (!text) malformed("checkpoint metadata lacks a field", field);
    std::uint64_t value = 0;
    auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size())
        malformed("checkpoint metadata holds no whole number", field + " is '" + text->substr(0, 64) + "'");
    return value;
}

sizes_t read_sizes(checkpoint_t const &checkpoint) {
    sizes_t sizes;
    check_format(checkpoint);
    sizes.hidden = count_in(checkpoint, "hidden"), sizes.depth = count_in(checkpoint, "depth");
    sizes.context = count_in(checkpoint, "context");
    read_image(checkpoint, sizes);
    read_heads(checkpoint, sizes);
    check_sizes(sizes, uform_status_malformed_k);
    for (spec_t const &spec : tensors_of(sizes)) check_tensor(checkpoint, spec);
    return sizes;
}

std::string header_of(std::vector<spec_t> const &tensors,
                      std::vector<std::pair<std::string, std::string>> const &metadata) {
    std::string json;
    for (auto const &[key, value] : metadata)
        json.append(json.empty() ? "{\"__metadata__\":{" : ",").append(quoted(key)).append(":").append(quoted(value));
    json.append("}");
    std::size_t offset = 0;
    for (spec_t const &spec : tensors) {
        json.append(",").append(quoted(spec.name)).append(":{\"dtype\":");
        json.append(spec.is_f32 ? "\"F32\"" : "\"BF16\"").append(",\"shape\":[");
        for (std::size_t axis = 0; axis < spec.shape.size(); ++axis)
            json.append(axis ? "," : "").append(std::to_string(spec.shape[axis]));
        json.append("],\"data_offsets\":[").append(std::to_string(offset)).append(",");
        json.append(std::to_string(offset += spec.bytes())).append("]}");
    }
    json.append("}");
    json.resize((8 + json.size() + 63) / 64 * 64 - 8, ' ');
    std::string file;
    for (std::size_t i = 0; i < 8; ++i) file += char(json.size() >> (8 * i) & 0xff);
    return file.append(json);
}

} // namespace uform_stub
