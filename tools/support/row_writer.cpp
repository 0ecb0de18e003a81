/**
 *  @file row_writer.cpp
 *  @brief Headers of a fixed size, and numbers as text.
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "support/row_writer.hpp"

namespace uform::tools {

namespace {

constexpr char const *names_k[] = {"embedding", "embeddings", "states", "token_vectors"}; // of `row_layout_t`
constexpr std::string_view npy_start_k("\x93NUMPY\x01\x00", 8);                           // of version 1.0
constexpr std::size_t npy_header_k = 128;         // the format wants a multiple of 64
constexpr std::size_t safetensors_length_k = 8;   // bytes before the JSON
constexpr std::size_t safetensors_header_k = 512; // those included; spaces may pad the JSON

char const *npy_type(uform_scalar_t scalar) noexcept {
    switch (scalar) {
    case uform_scalar_bf16_k: return "<u2"; // NumPy has no BFloat16: its bits
    case uform_scalar_f16_k: return "<f2";
    case uform_scalar_i8_k: return "|i1";
    default: return "<f4";
    }
}

char const *safetensors_type(uform_scalar_t scalar) noexcept {
    switch (scalar) {
    case uform_scalar_bf16_k: return "BF16";
    case uform_scalar_f16_k: return "F16";
    case uform_scalar_i8_k: return "I8";
    default: return "F32";
    }
}

/** IEEE 754 binary16 to binary32, exactly. */
float from_f16(std::uint16_t bits) noexcept {
    int const exponent = bits >> 10 & 31, fraction = bits & 1023;
    float const sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
    if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * HUGE_VALF;
    return sign * std::ldexp(float(1024 + fraction), exponent - 25);
}

float from_bf16(std::uint16_t bits) noexcept {
    std::uint32_t const wide = std::uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

template <typename element_> element_ load(char const *row, std::size_t column) noexcept {
    element_ value;
    std::memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

void append_number(std::string &text, char const *row, std::size_t column, uform_scalar_t scalar) {
    auto out = std::back_inserter(text);
    switch (scalar) {
    case uform_scalar_i8_k: fmt::format_to(out, "{}", int(load<std::int8_t>(row, column))); break;
    case uform_scalar_f16_k: fmt::format_to(out, "{}", from_f16(load<std::uint16_t>(row, column))); break;
    case uform_scalar_bf16_k: fmt::format_to(out, "{}", from_bf16(load<std::uint16_t>(row, column))); break;
    default: fmt::format_to(out, "{}", load<float>(row, column)); break;
    }
}

std::string_view bytes_of(std::vector<std::uint64_t> const &values) noexcept {
    return {reinterpret_cast<char const *>(values.data()), values.size() * sizeof(std::uint64_t)};
}

void append_row(std::string &text, char const *row, row_layout_t const &layout) {
    text += '[';
    for (std::size_t column = 0; column < layout.columns; ++column) {
        if (column) text += ',';
        append_number(text, row, column, layout.scalar);
    }
    text += ']';
}

bool take(std::string_view &text, std::string_view start) noexcept {
    bool const is_there = text.starts_with(start);
    if (is_there) text.remove_prefix(start.size());
    return is_there;
}

void skip(std::string_view &text, std::size_t bytes) noexcept { text.remove_prefix(std::min(bytes, text.size())); }

/** Behind what a line of JSONL says before its row; empty where it is no row's. */
std::string_view behind_origin(std::string_view line) noexcept {
    if (!take(line, "{\"index\":")) return {};
    skip(line, line.find_first_not_of("0123456789"));
    if (!take(line, ",\"input\":\"")) return line;
    while (!line.empty() && line[0] != '"') skip(line, line[0] == '\\' ? 2 : 1);
    skip(line, 1);
    return line;
}

} // namespace

bool begins_as_rows(std::string_view head) {
    if (head.starts_with(npy_start_k)) return true;
    std::string_view tensors = head;
    skip(tensors, safetensors_length_k);
    return std::any_of(std::begin(names_k), std::end(names_k), [&](char const *name) {
        return tensors.starts_with(fmt::format("{{\"{}\":{{\"dtype\":", name)) ||
               behind_origin(head).starts_with(fmt::format(",\"{}\":[", name));
    });
}

std::string as_json(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

row_writer_t::row_writer_t(std::string const &path, output_format_t format, row_layout_t layout)
    : file_(path), format_(format), layout_(std::move(layout)) {
    if (format_ != output_format_t::jsonl_k && file_.seekable()) file_.write(header()); // room for the final one
}

std::string row_writer_t::header() const {
    if (format_ == output_format_t::npy_k) {
        std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                                       npy_type(layout_.scalar), rows_, layout_.columns);
        text.resize(npy_header_k - 11, ' ');
        std::size_t const length = text.size() + 1;
        return std::string(npy_start_k) + char(length & 255) + char(length >> 8) + text + '\n';
    }
    std::uint64_t const bytes = rows_ * layout_.columns * uform_scalar_bytes(layout_.scalar);
    nlohmann::ordered_json json;
    json[layout_.name] = {{"dtype", safetensors_type(layout_.scalar)},
                          {"shape", {rows_, layout_.columns}},
                          {"data_offsets", {std::uint64_t(0), bytes}}};
    std::uint64_t end = bytes;
    auto const add = [&](char const *name, std::vector<std::uint64_t> const &values) {
        std::uint64_t const begin = std::exchange(end, end + values.size() * sizeof(std::uint64_t));
        json[name] = {{"dtype", "U64"}, {"shape", {values.size()}}, {"data_offsets", {begin, end}}};
    };
    if (layout_.per_token) add("offsets", offsets_);
    if (layout_.of_files) add("index", indices_);
    std::string text = json.dump();
    text.resize(safetensors_header_k - safetensors_length_k, ' ');
    std::string prefix;
    for (std::size_t byte = 0; byte < safetensors_length_k; ++byte)
        prefix += char(std::uint64_t(text.size()) >> 8 * byte & 255);
    return prefix + text;
}

void row_writer_t::append_jsonl(uform_rows_tape_t const &rows, std::size_t first,
                                std::span<row_origin_t const> origins) {
    char const *const data = static_cast<char const *>(rows.data);
    std::string text;
    for (std::size_t i = 0; i < origins.size(); ++i) {
        std::size_t const item = first + i;
        text = fmt::format("{{\"index\":{},", origins[i].index);
        if (layout_.of_files) text += fmt::format("\"input\":{},", as_json(origins[i].input));
        text += fmt::format("\"{}\":", layout_.name);
        if (!layout_.per_token) append_row(text, data + item * rows.stride, layout_);
        else {
            text += '[';
            for (std::size_t row = rows.offsets[item]; row < rows.offsets[item + 1]; ++row) {
                if (row != rows.offsets[item]) text += ',';
                append_row(text, data + row * rows.stride, layout_);
            }
            text += ']';
        }
        file_.write(text += "}\n");
    }
}

void row_writer_t::append_binary(uform_rows_tape_t const &rows, std::size_t begin, std::size_t end) {
    std::size_t const bytes = layout_.columns * uform_scalar_bytes(layout_.scalar);
    for (std::size_t row = begin; row < end; ++row) {
        std::string_view const packed(static_cast<char const *>(rows.data) + row * rows.stride, bytes);
        if (file_.seekable()) file_.write(packed);
        else kept_ += packed;
    }
}

void row_writer_t::append(uform_rows_tape_t const &rows, std::size_t first, std::span<row_origin_t const> origins) {
    std::size_t const items = origins.size();
    std::size_t const begin = layout_.per_token ? rows.offsets[first] : first;
    std::size_t const end = layout_.per_token ? rows.offsets[first + items] : first + items;
    if (format_ == output_format_t::jsonl_k)
        append_jsonl(rows, first, origins);
    else
        append_binary(rows, begin, end);
    if (layout_.per_token && format_ == output_format_t::safetensors_k)
        for (std::size_t item = 1; item <= items; ++item)
            offsets_.push_back(rows_ + rows.offsets[first + item] - begin);
    if (layout_.of_files && format_ == output_format_t::safetensors_k)
        for (row_origin_t const &origin : origins) indices_.push_back(origin.index);
    if (format_ == output_format_t::jsonl_k && !file_.seekable()) file_.flush(); // a reader may wait for it
    items_ += items, rows_ += end - begin;
}

void row_writer_t::finish() {
    if (format_ != output_format_t::jsonl_k) {
        if (!file_.seekable()) file_.write(header()), file_.write(kept_);
        if (layout_.per_token) file_.write(bytes_of(offsets_));
        file_.write(bytes_of(indices_));
        if (file_.seekable()) file_.write_at(0, header());
    }
    file_.commit();
}

} // namespace uform::tools
