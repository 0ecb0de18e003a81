/**
 *  @file checkpoint.cpp
 *  @brief The container: a file's length, its JSON, its tensors laid out without overlap, gap or remainder.
 */
#include "checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "failure.hpp"

namespace uform_stub {
namespace {

constexpr std::size_t header_start_k = 8, header_limit_k = std::size_t(1) << 20, tensors_limit_k = 16384,
                      rank_limit_k = 8;

std::string named(std::string_view tensor) { return "tensor '" + std::string(tensor.substr(0, 64)) + "'"; }

std::uint64_t length_of(std::string_view bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = header_start_k; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
    return length;
}

/** The bytes that dtype and shape ask for. */
std::size_t bytes_expected(tensor_t const &tensor) {
    std::size_t bytes = tensor.is_f32 ? 4 : 2;
    for (std::size_t const extent : tensor.shape) {
        if (extent && bytes > SIZE_MAX / extent) malformed("tensor shape overflows", named(tensor.name));
        bytes *= extent;
    }
    return bytes;
}

void read_dtype(json_t const &dtype, tensor_t &tensor) {
    if (dtype.kind != json_t::string_k) malformed("tensor dtype is not a string", named(tensor.name));
    tensor.is_f32 = dtype.text == "F32";
    if (!tensor.is_f32 && dtype.text != "BF16") malformed("tensor dtype is neither BF16 nor F32", named(tensor.name));
}

void read_shape(json_t const &shape, tensor_t &tensor) {
    if (shape.kind != json_t::array_k) malformed("tensor shape is not an array", named(tensor.name));
    if (shape.items.size() > rank_limit_k) malformed("tensor has more than 8 dimensions", named(tensor.name));
    for (auto const &[_, extent] : shape.items) {
        if (extent.kind != json_t::count_k)
            malformed("tensor shape holds a value that is not a count", named(tensor.name));
        tensor.shape.push_back(extent.count);
    }
}

void read_span(json_t const &offsets, std::string_view data, tensor_t &tensor) {
    if (offsets.kind != json_t::array_k || offsets.items.size() != 2 ||
        offsets.items[0].second.kind != json_t::count_k || offsets.items[1].second.kind != json_t::count_k)
        malformed("data_offsets are not two whole numbers", named(tensor.name));
    std::uint64_t const first = offsets.items[0].second.count, last = offsets.items[1].second.count;
    if (first > last || last > data.size()) malformed("data_offsets fall outside the data", named(tensor.name));
    if (bytes_expected(tensor) != last - first) malformed("tensor shape and data_offsets disagree", named(tensor.name));
    if (first % (tensor.is_f32 ? 4 : 2)) malformed("tensor data is not aligned to its scalar", named(tensor.name));
    tensor.data = data.substr(first, last - first);
}

} // namespace

checkpoint_t::checkpoint_t(std::string bytes) : bytes_(std::move(bytes)) {
    if (bytes_.size() < header_start_k)
        malformed("not a checkpoint: too short", std::to_string(bytes_.size()) + " bytes");
    std::uint64_t const length = length_of(bytes_);
    if (length > bytes_.size() - header_start_k) malformed("checkpoint header passes the end of the file");
    if (length > header_limit_k) malformed("checkpoint header is too large");
    std::string_view const header = std::string_view(bytes_).substr(header_start_k, length);
    std::string_view const data = std::string_view(bytes_).substr(header_start_k + length);
    if (!header.starts_with('{')) malformed("checkpoint header is not a JSON object");
    json_t const json = parse_json(header);
    if (json.items.size() > tensors_limit_k) malformed("checkpoint holds too many tensors");
    for (auto const &[name, entry] : json.items)
        if (name == "__metadata__")
            read_metadata(entry);
        else
            read_tensor(name, entry, data);
    check_layout(data);
}

void checkpoint_t::read_metadata(json_t const &entry) {
    if (entry.kind != json_t::object_k) malformed("__metadata__ is not an object");
    for (auto const &[key, value] : entry.items) {
        if (value.kind != json_t::string_k)
            malformed("a metadata value is not a string", "key '" + key.substr(0, 64) + "'");
        metadata_[key] = value.text;
    }
}

void checkpoint_t::read_tensor(std::string const &name, json_t const &entry, std::string_view data) {
    tensor_t tensor;
    tensor.name = name;
    if (name.find('\0') != name.npos) malformed("a tensor's name holds a NUL byte", named(name));
    if (entry.kind != json_t::object_k) malformed("a tensor's entry is not an object", named(name));
    for (auto const &[key, _] : entry.items)
        if (key != "dtype" && key != "shape" && key != "data_offsets")
            malformed("a tensor's entry has an unknown key", named(name));
    if (entry.items.size() != 3) malformed("a tensor's entry lacks dtype, shape or data_offsets", named(name));
    read_dtype(*entry.find("dtype"), tensor), read_shape(*entry.find("shape"), tensor);
    read_span(*entry.find("data_offsets"), data, tensor);
    tensors_.push_back(std::move(tensor));
}

void checkpoint_t::check_layout(std::string_view data) {
    std::sort(tensors_.begin(), tensors_.end(), [](tensor_t const &a, tensor_t const &b) {
        return a.data.data() != b.data.data() ? a.data.data() < b.data.data() : a.data.size() < b.data.size();
    });
    char const *expected = data.data();
    for (tensor_t const &tensor : tensors_) {
        if (tensor.data.data() < expected) malformed("tensors overlap", named(tensor.name));
        if (tensor.data.data() > expected) malformed("tensors leave a gap", named(tensor.name));
        expected += tensor.data.size();
    }
    if (expected != data.data() + data.size()) malformed("bytes follow the last tensor");
}

tensor_t const *checkpoint_t::find(std::string_view name) const {
    auto const found =
        std::find_if(tensors_.begin(), tensors_.end(), [&](tensor_t const &t) { return t.name == name; });
    return found == tensors_.end() ? nullptr : &*found;
}

std::string const *checkpoint_t::metadata(std::string_view key) const {
    auto const found = metadata_.find(key);
    return found == metadata_.end() ? nullptr : &found->second;
}

void check_finite(tensor_t const &tensor) {
    std::size_t const bytes = tensor.is_f32 ? 4 : 2;
    for (std::size_t at = 0; at < tensor.data.size(); at += bytes) {
        std::uint16_t upper; // of a little-endian float: the half with the exponent
        std::memcpy(&upper, tensor.data.data() + at + bytes - 2, 2);
        if ((upper & 0x7f80) == 0x7f80)
            malformed("a tensor holds a value that is not finite",
                      named(tensor.name) + ": element " + std::to_string(at / bytes));
    }
}

std::string read_file(std::string_view path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (path.size() > 65536) refuse("path is too long");
    fs::file_status const status = fs::status(std::string(path), error);
    if (error || !fs::exists(status)) fail(uform_status_io_k, "a file cannot be opened", std::string(path));
    if (fs::is_directory(status)) fail(uform_status_io_k, "a file cannot be read", std::string(path));
    if (!fs::is_regular_file(status)) fail(uform_status_io_k, "not a regular file", std::string(path));
    std::ifstream file {std::string(path), std::ios::binary};
    if (!file) fail(uform_status_io_k, "a file cannot be opened", std::string(path));
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (file.bad()) fail(uform_status_io_k, "a file cannot be read", std::string(path));
    return bytes;
}

} // namespace uform_stub
