/**
 *  @file checkpoint_header.cpp
 *  @brief Parses the header of a safetensors file with every size checked against the file's.
 */
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <simdjson.h>

#include "support/checkpoint_header.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t length_bytes_k = 8; // before the header
constexpr char const *shorter_k = "is shorter than its own header says; it was cut, fetch it again or remove it";
constexpr std::uint64_t largest_header_k = 100'000'000; // the limit of the safetensors format

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

} // namespace

std::string checkpoint_header_text(std::string const &path) {
    check_path(path, path);
    std::ifstream file(path, std::ios::binary);
    if (!file) fail_at(path, 0, "cannot read it, {}; check the path and its permissions", system_reason());
    unsigned char prefix[length_bytes_k] = {};
    std::uint64_t length = 0;
    if (file.read(reinterpret_cast<char *>(prefix), sizeof prefix))
        for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
    if (length < 2 || length > largest_header_k) fail_at(path, 0, "is not a safetensors file; name a UForm checkpoint");
    file.seekg(0, std::ios::end);
    if (std::uint64_t(file.tellg()) < length + sizeof prefix) fail_at(path, 0, "{}", shorter_k);
    std::string text(length, ' ');
    file.seekg(sizeof prefix);
    file.read(text.data(), std::streamsize(length));
    return text;
}

std::uint64_t checkpoint_header_t::number(std::string_view key) const {
    auto const found = metadata.find(key);
    if (found == metadata.end()) fail_at(path, 0, "its metadata lacks \"{}\"; it is not a UForm 4 checkpoint", key);
    std::string const &text = found->second;
    std::uint64_t value = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size())
        fail_at(path, 0, "its metadata \"{}\" is \"{}\" where a number belongs; it is damaged", key, text);
    return value;
}

std::string checkpoint_header_t::prefix(std::string_view side) const {
    auto const found = metadata.find(fmt::format("prefix.{}", side));
    return found == metadata.end() ? std::string() : unescaped(found->second);
}

namespace {

/** Where the last tensor ends, from where data begins. What is no tensor is for the engine to refuse. */
std::uint64_t data_bytes(simdjson::dom::object root) noexcept {
    std::uint64_t end = 0;
    for (auto const [name, tensor] : root) {
        std::uint64_t found = 0;
        if (!tensor["data_offsets"].at(1).get(found)) end = std::max(end, found);
    }
    return end;
}

} // namespace

checkpoint_header_t read_checkpoint_header(std::string const &path) {
    checkpoint_header_t header {path, {}};
    simdjson::padded_string const text(checkpoint_header_text(path));
    simdjson::dom::parser parser;
    simdjson::dom::object root, metadata;
    if (parser.parse(text).get(root)) fail_at(path, 0, "is not a safetensors file; name a UForm checkpoint");
    std::error_code failed;
    std::uint64_t const bytes = std::filesystem::file_size(path, failed), data = data_bytes(root);
    if (!failed && bytes - text.size() - length_bytes_k < data) fail_at(path, 0, "{}", shorter_k);
    if (root["__metadata__"].get(metadata)) return header;
    for (auto const [key, value] : metadata) {
        std::string_view spelled;
        if (!value.get(spelled)) header.metadata.emplace(key, spelled);
    }
    return header;
}

std::string unescaped(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const escape = text[i] == '\\' && i + 1 < text.size();
        if (escape && text[i + 1] == '\\') bytes += '\\', ++i;
        else if (escape && text[i + 1] == 'x' && i + 3 < text.size() && hex_digit(text[i + 2]) >= 0 &&
                 hex_digit(text[i + 3]) >= 0)
            bytes += char(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3])), i += 3;
        else bytes += text[i];
    }
    return bytes;
}

} // namespace uform::tools
