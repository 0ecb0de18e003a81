/**
 *  @file checkpoints.hpp
 *  @brief Checkpoints written by hand: every tensor of a small model with any heads, and files with one thing wrong.
 */
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conformance {

/** The length of a header (or a lie), the header, the data. */
inline std::string safetensors(std::string const &header, std::string const &data, std::uint64_t length = UINT64_MAX) {
    if (length == UINT64_MAX) length = header.size();
    std::string file;
    for (int i = 0; i < 8; ++i) file += char(length >> (8 * i) & 0xff);
    return file + header + data;
}

struct tensor_t {
    std::string name, dtype;
    std::vector<std::size_t> shape;

    std::size_t bytes() const {
        std::size_t bytes = dtype == "F32" ? 4 : 2;
        for (std::size_t extent : shape) bytes *= extent;
        return bytes;
    }
};

/** A model 128 wide and one block deep, with the heads asked for; its fields are spoiled one at a time by tests. */
struct checkpoint_t {
    std::map<std::string, std::string> metadata {
        {"format", "uform"}, {"version", "4"}, {"hidden", "128"}, {"depth", "1"}, {"context", "64"}};
    std::vector<tensor_t> tensors;
    std::map<std::string, std::string> data; // of tensors that are not drawn

    explicit checkpoint_t(std::size_t token_width = 0, bool decoder = false, std::size_t choice_groups = 0) {
        tensors = {{"text.embedding", "BF16", {258, 128}},
                   {"blocks.0.attention.norm", "F32", {128}},
                   {"blocks.0.attention.qkv", "BF16", {384, 128}},
                   {"blocks.0.attention.output", "BF16", {128, 128}},
                   {"blocks.0.mlp.norm", "F32", {128}},
                   {"blocks.0.mlp.gate", "BF16", {512, 128}},
                   {"blocks.0.mlp.up", "BF16", {512, 128}},
                   {"blocks.0.mlp.down", "BF16", {128, 512}},
                   {"norm", "F32", {128}},
                   {"pool.query", "BF16", {128}},
                   {"pool.hidden", "BF16", {128, 128}},
                   {"pool.output", "BF16", {128, 128}}};
        if (token_width) tensors.push_back({"tokens.projection", "BF16", {token_width, 128}});
        if (token_width) metadata["token_width"] = std::to_string(token_width);
        if (decoder) tensors.push_back({"decoder.weight", "BF16", {256, 128}});
        if (decoder) tensors.push_back({"decoder.bias", "BF16", {256}});
        if (choice_groups) tensors.push_back({"choices.inverse_temperatures", "F32", {choice_groups}});
    }

    /** An image entry: patches of `side` pixels on a side. */
    checkpoint_t &with_images(std::size_t side = 16, std::size_t channels = 4) {
        tensors.push_back({"image.projection.weight", "BF16", {128, channels * side * side}});
        tensors.push_back({"image.projection.bias", "BF16", {128}});
        tensors.push_back({"image.mask", "BF16", {128}});
        metadata["image.patch_side"] = std::to_string(side), metadata["image.channels"] = std::to_string(channels);
        return *this;
    }

    checkpoint_t &with_clips(std::size_t side = 16, std::size_t frames = 2, std::size_t stride = 1) {
        tensors.push_back({"video.projection.weight", "BF16", {128, 3 * frames * side * side}});
        tensors.push_back({"video.projection.bias", "BF16", {128}});
        tensors.push_back({"video.mask", "BF16", {128}});
        metadata["video.patch_side"] = std::to_string(side), metadata["video.tube_frames"] = std::to_string(frames);
        metadata["video.frame_stride"] = std::to_string(stride);
        return *this;
    }

    checkpoint_t &with_audio(std::size_t chunk = 320, std::size_t rate = 16000) {
        tensors.push_back({"audio.projection.weight", "BF16", {128, chunk}});
        tensors.push_back({"audio.projection.bias", "BF16", {128}});
        tensors.push_back({"audio.mask", "BF16", {128}});
        metadata["audio.chunk_samples"] = std::to_string(chunk), metadata["audio.sample_rate"] = std::to_string(rate);
        return *this;
    }

    tensor_t &operator[](std::string const &name) {
        for (tensor_t &tensor : tensors)
            if (tensor.name == name) return tensor;
        return tensors.emplace_back();
    }

    /** The header's entry of tensor `at`, whose data starts at `offset`. */
    static std::string entry(tensor_t const &tensor, std::size_t offset) {
        std::string text = "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
        for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
            text.append(axis ? "," : "").append(std::to_string(tensor.shape[axis]));
        return text + "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + tensor.bytes()) +
               "]}";
    }
    std::string header() const {
        std::string text = "{\"__metadata__\":{", comma;
        for (auto const &[key, value] : metadata)
            text.append(comma).append("\"" + key + "\":\"" + value + "\""), comma = ",";
        text += "}";
        std::size_t offset = 0;
        for (tensor_t const &tensor : tensors) text.append(",").append(entry(tensor, offset)), offset += tensor.bytes();
        return text + "}";
    }
    /** Scales of one; elsewhere values of either sign from 1/8 up to 1/4: a linear congruential generator decides. */
    std::string drawn() const {
        std::string bytes;
        std::uint32_t state = 1;
        for (tensor_t const &tensor : tensors) {
            if (auto const own = data.find(tensor.name); own != data.end()) {
                bytes += own->second;
                continue;
            }
            for (std::size_t i = 0; i < tensor.bytes(); i += tensor.dtype == "F32" ? 4 : 2) {
                state = state * 1664525u + 1013904223u;
                std::uint16_t const small = std::uint16_t(0x3e00 | (state >> 25) | (state >> 9 & 0x8000));
                if (tensor.dtype == "F32")
                    bytes.append({0, 0, char(0x80), 0x3f});
                else
                    bytes += char(small & 0xff), bytes += char(small >> 8);
            }
        }
        return bytes;
    }
    std::string bytes() const { return safetensors(header(), drawn()); }
};

} // namespace conformance
