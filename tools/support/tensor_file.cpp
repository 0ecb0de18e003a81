/**
 *  @file tensor_file.cpp
 *  @brief The safetensors format, read and written whole.
 */
#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "support/tensor_file.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t length_bytes_k = 8, alignment_k = 64;

std::uint32_t bits_of(float value) noexcept {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float float_of(std::uint32_t bits) noexcept {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

std::uint16_t rounded_bits(float value) noexcept {
    std::uint32_t const bits = bits_of(value);
    return std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

[[noreturn]] void refuse(std::string const &path) {
    fail_at(path, 0, "is not a safetensors file of BF16 and F32 tensors; name a UForm checkpoint");
}

stored_tensor_t parse_tensor(std::string const &name, nlohmann::json const &entry, std::string_view data,
                             std::string const &path) {
    stored_tensor_t tensor {name, entry.at("dtype") == "F32", entry.at("shape"), {}};
    auto const offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) refuse(path);
    if (!tensor.f32 && entry.at("dtype") != "BF16") refuse(path);
    tensor.data = data.substr(offsets[0], offsets[1] - offsets[0]);
    std::size_t expected = tensor.scalar_bytes();
    for (std::size_t const extent : tensor.shape) expected *= extent;
    if (expected != tensor.data.size()) refuse(path);
    return tensor;
}

std::string header_of(tensor_file_t const &file) {
    nlohmann::ordered_json header, notes;
    for (auto const &[key, value] : file.metadata) notes[key] = value;
    header["__metadata__"] = notes;
    std::size_t offset = 0;
    for (stored_tensor_t const &tensor : file.tensors) {
        std::size_t const end = offset + tensor.data.size();
        header[tensor.name] = {
            {"dtype", tensor.f32 ? "F32" : "BF16"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    text.append((alignment_k - (length_bytes_k + text.size()) % alignment_k) % alignment_k, ' ');
    return text;
}

} // namespace

float as_bf16(float value) noexcept { return float_of(std::uint32_t(rounded_bits(value)) << 16); }

float stored_tensor_t::at(std::size_t index) const noexcept {
    std::uint32_t bits = 0;
    std::memcpy(reinterpret_cast<char *>(&bits) + 4 - scalar_bytes(), data.data() + index * scalar_bytes(),
                scalar_bytes());
    return float_of(bits);
}

void stored_tensor_t::put(std::size_t index, float value) noexcept {
    std::uint32_t const bits = f32 ? bits_of(value) : std::uint32_t(rounded_bits(value)) << 16;
    std::memcpy(data.data() + index * scalar_bytes(), reinterpret_cast<char const *>(&bits) + 4 - scalar_bytes(),
                scalar_bytes());
}

stored_tensor_t const *tensor_file_t::find(std::string_view name) const noexcept {
    auto const found =
        std::find_if(tensors.begin(), tensors.end(), [&](auto const &each) { return each.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

std::string tensor_file_t::note(std::string_view key) const {
    for (auto const &[known, value] : metadata)
        if (known == key) return value;
    return {};
}

void tensor_file_t::set_note(std::string_view key, std::string value) {
    for (auto &[known, old] : metadata)
        if (known == key) return void(old = std::move(value));
    metadata.emplace_back(key, std::move(value));
}

tensor_file_t parse_tensors(std::string_view bytes, std::string const &path) {
    std::uint64_t length = 0;
    if (bytes.size() < length_bytes_k) refuse(path);
    for (std::size_t i = length_bytes_k; i-- > 0;) length = length << 8 | std::uint8_t(bytes[i]);
    if (length > bytes.size() - length_bytes_k) refuse(path);
    std::string_view const text = bytes.substr(length_bytes_k, length), data = bytes.substr(length_bytes_k + length);
    tensor_file_t file;
    std::vector<std::pair<std::size_t, stored_tensor_t>> placed;
    try {
        nlohmann::ordered_json const header = nlohmann::ordered_json::parse(text);
        for (auto const &[name, entry] : header.items()) {
            if (name != "__metadata__") {
                placed.emplace_back(entry.at("data_offsets").at(0), parse_tensor(name, entry, data, path));
                continue;
            }
            for (auto const &[key, value] : entry.items()) file.metadata.emplace_back(key, value);
        }
    } catch (nlohmann::json::exception const &) {
        refuse(path);
    }
    std::stable_sort(placed.begin(), placed.end(), [](auto const &a, auto const &b) { return a.first < b.first; });
    for (auto &[offset, tensor] : placed) file.tensors.push_back(std::move(tensor));
    return file;
}

std::string serialized(tensor_file_t const &file) {
    std::string bytes, header = header_of(file);
    std::size_t total = length_bytes_k + header.size();
    for (stored_tensor_t const &tensor : file.tensors) total += tensor.data.size();
    bytes.reserve(total);
    for (std::size_t i = 0; i < length_bytes_k; ++i) bytes += char(std::uint64_t(header.size()) >> (8 * i) & 0xff);
    bytes += header;
    for (stored_tensor_t const &tensor : file.tensors) bytes += tensor.data;
    return bytes;
}

} // namespace uform::tools
