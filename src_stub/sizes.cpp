/**
 *  @file sizes.cpp
 *  @brief What makes a safetensors file a UForm 4 checkpoint: metadata, the list of tensors, and a header to write.
 */
#include "checkpoint.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

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

constexpr char const *media_k[] = {"image", "video", "audio"};

bool holds_any(checkpoint_t const &checkpoint, std::string const &medium, std::vector<char const *> const &names) {
    return std::any_of(names.begin(), names.end(),
                       [&](char const *name) { return checkpoint.find(medium + "." + name) != nullptr; });
}

/** One number of an entry: what it is called, what it is where the metadata says nothing, and its range. */
struct entry_field_t {
    std::size_t medium;
    char const *name;
    std::size_t *value;
    std::uint64_t missing;
    std::size_t first, last;
};
std::vector<entry_field_t> entry_fields(sizes_t &sizes) {
    return {{0, "image.patch_side", &sizes.image.patch_side, 16, 1, 64},
            {0, "image.channels", &sizes.image.channels, 4, 3, 4},
            {1, "video.patch_side", &sizes.video.patch_side, 16, 1, 64},
            {1, "video.tube_frames", &sizes.video.tube_frames, 2, 1, 64},
            {1, "video.frame_stride", &sizes.video.frame_stride, 1, 1, 4096},
            {2, "audio.chunk_samples", &sizes.audio.chunk_samples, 320, 1, 16384},
            {2, "audio.sample_rate", &sizes.audio.sample_rate, 16000, 1000, 768000}};
}

/** An entry is there where any of its tensors is. */
void read_entries(checkpoint_t const &checkpoint, sizes_t &sizes) {
    for (entry_field_t const &field : entry_fields(sizes)) {
        if (!holds_any(checkpoint, media_k[field.medium], {"projection.weight", "projection.bias", "mask"})) continue;
        *field.value = count_in(checkpoint, field.name, &field.missing);
        check_range(field.name, *field.value, field.first, field.last, uform_status_malformed_k);
    }
    if (sizes.video.patch_side) sizes.video.channels = 3;
    for (std::size_t medium = 0; medium < 3; ++medium)
        sizes.reconstructs[medium] =
            holds_any(checkpoint, media_k[medium], {"reconstruction.weight", "reconstruction.bias"});
    count_token_values(sizes);
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

void count_token_values(sizes_t &sizes) {
    auto const &[image, video, audio] = std::tie(sizes.image, sizes.video, sizes.audio);
    sizes.token_values[0] = image.channels * image.patch_side * image.patch_side;
    sizes.token_values[1] = video.channels * video.tube_frames * video.patch_side * video.patch_side;
    sizes.token_values[2] = audio.chunk_samples;
}

std::vector<std::pair<char const *, std::size_t>> entries_of(sizes_t sizes) {
    std::vector<std::pair<char const *, std::size_t>> list;
    for (entry_field_t const &field : entry_fields(sizes))
        list.emplace_back(field.name, sizes.enters(field.medium) ? *field.value : 0);
    return list;
}

std::vector<spec_t> tensors_of(sizes_t const &sizes) {
    std::size_t const hidden = sizes.hidden, inner = 4 * hidden;
    std::vector<spec_t> list {{"text.embedding", false, {258, hidden}}};
    for (std::size_t medium = 0; medium < 3; ++medium) {
        if (!sizes.token_values[medium]) continue;
        std::string const name = media_k[medium];
        list.push_back({name + ".projection.weight", false, {hidden, sizes.token_values[medium]}});
        list.push_back({name + ".projection.bias", false, {hidden}});
        list.push_back({name + ".mask", false, {hidden}});
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
    for (std::size_t medium = 0; medium < 3; ++medium) {
        if (!sizes.reconstructs[medium] || !sizes.token_values[medium]) continue;
        std::string const name = media_k[medium];
        list.push_back({name + ".reconstruction.weight", false, {sizes.token_values[medium], hidden}});
        list.push_back({name + ".reconstruction.bias", false, {sizes.token_values[medium]}});
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
    sizes_t entries = sizes; // the table points to what it may write
    for (entry_field_t const &field : entry_fields(entries))
        if (sizes.enters(field.medium)) check_range(field.name, *field.value, field.first, field.last, status);
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
    read_entries(checkpoint, sizes);
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
