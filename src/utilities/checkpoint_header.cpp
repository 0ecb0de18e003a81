/**
 *  @file checkpoint_header.cpp
 *  @brief The checks a safetensors header must pass before anyone sees a tensor.
 *
 *  Nothing is allocated in proportion to what the header claims, only to what it holds; every product and difference of
 *  the file's numbers is checked for overflow before it is used.
 */
#include "checkpoint_header.hpp"

#include <algorithm>
#include <cstring>

namespace uform {
namespace {

constexpr std::size_t depth_limit_k = 8; // the format nests 3 deep

using shown_t = shown_text_t;
using wide_t = unsigned long long; // what %llu takes

failure_t malformed(char const *message, std::string_view tensor) noexcept {
    return fail(uform_status_malformed_k, message, "tensor '%s'", shown_t(tensor).text);
}

failure_t read_dtype(json_value_t value, tensor_t &tensor) noexcept {
    std::string_view text;
    if (!value.read(text)) return malformed("tensor dtype is not a string", tensor.name);
    for (dtype_t const dtype : {dtype_t::bf16_k, dtype_t::f32_k})
        if (text == name_of(dtype)) {
            tensor.dtype = dtype;
            return {};
        }
    static constexpr std::string_view others[] = {"BOOL", "U8",  "I8",  "F8_E5M2", "F8_E4M3", "I16", "U16",
                                                  "F16",  "I32", "U32", "F64",     "I64",     "U64"};
    bool const known = std::find(std::begin(others), std::end(others), text) != std::end(others);
    return fail(uform_status_malformed_k, known ? "tensor dtype is neither BF16 nor F32" : "tensor dtype is unknown",
                "tensor '%s': dtype '%s'", shown_t(tensor.name).text, shown_t(text).text);
}

failure_t read_shape(json_value_t value, tensor_t &tensor) noexcept {
    if (!value.is_array()) return malformed("tensor shape is not an array", tensor.name);
    json_walk_t::member_t extent;
    for (json_walk_t walk(value); walk.next(extent);) {
        if (tensor.rank == tensor_t::rank_limit_k) return malformed("tensor has more than 8 dimensions", tensor.name);
        std::uint64_t count;
        if (!extent.value.read(count)) return malformed("tensor shape holds a value that is not a count", tensor.name);
        tensor.shape[tensor.rank++] = std::size_t(count);
    }
    return {};
}

/** The bytes that dtype and shape ask for; false on overflow. */
bool bytes_expected(tensor_t const &tensor, std::size_t &bytes) noexcept {
    bytes = bytes_of(tensor.dtype);
    for (std::size_t axis = 0; axis < tensor.rank; ++axis)
        if (__builtin_mul_overflow(bytes, tensor.shape[axis], &bytes)) return false;
    return true;
}

} // namespace

std::string_view header_reader_t::keep(std::string_view text) noexcept {
    char *const kept = target_.text_.data() + text_used_;
    if (!text.empty()) std::memcpy(kept, text.data(), text.size());
    text_used_ += text.size();
    return {kept, text.size()};
}

failure_t header_reader_t::read(std::span<std::byte const> file, std::uint64_t header_bytes) noexcept {
    char const *const text = reinterpret_cast<char const *>(file.data()) + header_start_k;
    data_ = file.subspan(header_start_k + std::size_t(header_bytes));
    if (header_bytes == 0 || text[0] != '{')
        return fail(uform_status_malformed_k, "checkpoint header is not a JSON object");
    json_t json;
    if (failure_t const failure = json.parse({text, std::size_t(header_bytes)}, depth_limit_k)) return failure;
    if (!json.root().is_object()) return fail(uform_status_malformed_k, "checkpoint header is not a JSON object");
    if (failure_t const failure = refuse_duplicate_keys(json.root())) return failure;
    // An unescaped string is never longer than the JSON it came from.
    if (!target_.text_.resize(std::size_t(header_bytes)))
        return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's names");
    if (failure_t const failure = read_members(json.root())) return failure;
    return check_layout();
}

failure_t header_reader_t::read_members(json_value_t root) noexcept {
    json_walk_t::member_t member;
    std::size_t count = 0;
    for (json_walk_t walk(root); walk.next(member);) count += member.key != "__metadata__";
    if (count > checkpoint_t::tensors_limit_k)
        return fail(uform_status_malformed_k, "checkpoint holds too many tensors", "%zu, at most %zu", count,
                    checkpoint_t::tensors_limit_k);
    if (!target_.tensors_.resize(count))
        return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's tensors");
    count = 0;
    for (json_walk_t walk(root); walk.next(member);) {
        failure_t const failure = member.key == "__metadata__"
                                      ? read_metadata(member.value)
                                      : read_tensor(member.key, member.value, target_.tensors_[count++]);
        if (failure) return failure;
    }
    return {};
}

failure_t header_reader_t::read_metadata(json_value_t metadata) noexcept {
    if (!metadata.is_object()) return fail(uform_status_malformed_k, "__metadata__ is not an object");
    if (failure_t const failure = refuse_duplicate_keys(metadata)) return failure;
    json_walk_t::member_t member;
    std::size_t count = 0;
    for (json_walk_t walk(metadata); walk.next(member);) ++count;
    if (!target_.metadata_.resize(count))
        return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's metadata");
    count = 0;
    for (json_walk_t walk(metadata); walk.next(member);) {
        std::string_view value;
        if (!member.value.read(value))
            return fail(uform_status_malformed_k, "a metadata value is not a string", "key '%s'",
                        shown_t(member.key).text);
        target_.metadata_[count++] = {keep(member.key), keep(value)};
    }
    return {};
}

failure_t header_reader_t::read_tensor(std::string_view name, json_value_t entry, tensor_t &tensor) noexcept {
    tensor.name = keep(name);
    if (name.find('\0') != name.npos) return malformed("a tensor's name holds a NUL byte", name);
    if (!entry.is_object()) return malformed("a tensor's entry is not an object", name);
    if (failure_t const failure = refuse_duplicate_keys(entry)) return failure;
    json_walk_t::member_t member;
    std::optional<json_value_t> dtype, shape, offsets;
    for (json_walk_t walk(entry); walk.next(member);) {
        auto *const field = member.key == "dtype"          ? &dtype
                            : member.key == "shape"        ? &shape
                            : member.key == "data_offsets" ? &offsets
                                                           : nullptr;
        if (!field) return malformed("a tensor's entry has an unknown key", name);
        *field = member.value;
    }
    if (!dtype || !shape || !offsets) return malformed("a tensor's entry lacks dtype, shape or data_offsets", name);
    if (failure_t const failure = read_dtype(*dtype, tensor)) return failure;
    if (failure_t const failure = read_shape(*shape, tensor)) return failure;
    return read_span(*offsets, tensor);
}

failure_t header_reader_t::read_span(json_value_t offsets, tensor_t &tensor) const noexcept {
    std::uint64_t bounds[2];
    std::size_t count = 0;
    json_walk_t::member_t bound;
    for (json_walk_t walk(offsets); walk.next(bound); ++count)
        if (count == 2 || !bound.value.read(bounds[count]))
            return malformed("data_offsets are not two whole numbers", tensor.name);
    if (count != 2 || !offsets.is_array()) return malformed("data_offsets are not two whole numbers", tensor.name);
    if (bounds[0] > bounds[1] || bounds[1] > data_.size())
        return fail(uform_status_malformed_k, "data_offsets fall outside the data",
                    "tensor '%s': [%llu, %llu) of %zu bytes", shown_t(tensor.name).text, wide_t(bounds[0]),
                    wide_t(bounds[1]), data_.size());
    std::size_t expected;
    shown_shape_t const shape({tensor.shape, tensor.rank});
    if (!bytes_expected(tensor, expected))
        return fail(uform_status_malformed_k, "tensor shape overflows", "tensor '%s': shape %s",
                    shown_t(tensor.name).text, shape.text);
    if (expected != bounds[1] - bounds[0])
        return fail(uform_status_malformed_k, "tensor shape and data_offsets disagree",
                    "tensor '%s': %s %s takes %zu bytes, offsets span %llu", shown_t(tensor.name).text,
                    name_of(tensor.dtype), shape.text, expected, wide_t(bounds[1] - bounds[0]));
    if (bounds[0] % bytes_of(tensor.dtype) != 0)
        return fail(uform_status_malformed_k, "tensor data is not aligned to its scalar",
                    "tensor '%s': %s at offset %llu", shown_t(tensor.name).text, name_of(tensor.dtype),
                    wide_t(bounds[0]));
    tensor.data = data_.subspan(std::size_t(bounds[0]), expected);
    return {};
}

failure_t header_reader_t::check_layout() noexcept {
    auto const &tensors = target_.tensors_;
    std::sort(tensors.begin(), tensors.end(), [](tensor_t const &left, tensor_t const &right) {
        if (left.data.data() != right.data.data()) return left.data.data() < right.data.data();
        return left.data.size() < right.data.size();
    });
    std::byte const *expected = data_.data();
    for (tensor_t const &tensor : tensors) {
        if (tensor.data.data() != expected)
            return fail(uform_status_malformed_k,
                        tensor.data.data() < expected ? "tensors overlap" : "tensors leave a gap",
                        "tensor '%s': starts at byte %td, the one before ends at %td", shown_t(tensor.name).text,
                        tensor.data.data() - data_.data(), expected - data_.data());
        expected += tensor.data.size();
    }
    std::size_t const used = std::size_t(expected - data_.data());
    if (used == data_.size()) return {};
    return fail(uform_status_malformed_k, "bytes follow the last tensor", "%zu of %zu bytes belong to a tensor", used,
                data_.size());
}

} // namespace uform
