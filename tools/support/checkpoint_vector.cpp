/**
 *  @file checkpoint_vector.cpp
 *  @brief A safetensors file copied tensor by tensor, in the order of its data.
 */
#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "support/checkpoint_header.hpp"
#include "support/checkpoint_vector.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/output_file.hpp"

namespace uform::tools {

namespace {

using json_t = nlohmann::ordered_json;

struct extent_t {
    std::string name;
    std::uint64_t begin, end; // of the data
};

/** A checkpoint open for copying. */
struct source_t {
    std::string path;
    json_t header;
    std::uint64_t data_begin; // in the file
    std::ifstream file;

    explicit source_t(std::string const &path) : path(path) {
        std::string const text = checkpoint_header_text(path);
        header = json_t::parse(text, nullptr, false);
        if (!header.is_object()) fail_at(path, 0, "is not a safetensors file; name a UForm checkpoint");
        data_begin = 8 + text.size();
        file.open(path, std::ios::binary);
    }
    extent_t extent(std::string const &name) const {
        auto const &offsets = header.at(name).at("data_offsets");
        return {name, offsets.at(0).get<std::uint64_t>(), offsets.at(1).get<std::uint64_t>()};
    }
    /** Every tensor, in the order of the data. */
    std::vector<extent_t> extents() const {
        std::vector<extent_t> all;
        for (auto const &[name, value] : header.items())
            if (name != "__metadata__") all.push_back(extent(name));
        std::stable_sort(all.begin(), all.end(),
                         [](extent_t const &a, extent_t const &b) { return a.begin < b.begin; });
        return all;
    }
    void read(std::uint64_t at, char *target, std::size_t bytes) {
        file.seekg(std::streamoff(data_begin + at));
        if (!file.read(target, std::streamsize(bytes)))
            fail_at(path, 0, "cannot be read to its end; it was changed meanwhile, try again");
    }
};

std::string eight_bytes(std::uint64_t value) {
    std::string bytes;
    for (int byte = 0; byte < 8; ++byte) bytes += char(value >> 8 * byte & 255);
    return bytes;
}

void copy(source_t &source, extent_t const &extent, output_file_t &out) {
    std::string piece(std::size_t(1) << 20, '\0');
    for (std::uint64_t at = extent.begin; at < extent.end; at += piece.size()) {
        leave_if_interrupted();
        piece.resize(std::size_t(std::min<std::uint64_t>(piece.size(), extent.end - at)));
        source.read(at, piece.data(), piece.size());
        out.write(piece);
    }
}

} // namespace

std::vector<float> read_checkpoint_vector(std::string const &path, std::string_view name) {
    source_t source(path);
    std::string const key(name);
    if (!source.header.contains(key)) return {};
    extent_t const extent = source.extent(key);
    std::vector<float> values((extent.end - extent.begin) / sizeof(float));
    source.read(extent.begin, reinterpret_cast<char *>(values.data()), values.size() * sizeof(float));
    return values;
}

void write_checkpoint_vector(std::string const &path, std::string const &target, std::string_view name,
                             std::span<float const> values) {
    source_t source(path);
    std::string const key(name);
    std::uint64_t const bytes = values.size_bytes();
    json_t header = source.header;
    std::vector<extent_t> extents = source.extents();
    if (!header.contains(key)) extents.push_back({key, 0, 0});
    std::uint64_t at = 0;
    for (extent_t const &extent : extents) {
        std::uint64_t const end = at + (extent.name == key ? bytes : extent.end - extent.begin);
        header[extent.name]["data_offsets"] = {at, end};
        at = end;
    }
    header[key] = {{"dtype", "F32"}, {"shape", {values.size()}}, {"data_offsets", header[key]["data_offsets"]}};
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' '); // spaces may pad the JSON, so that data starts aligned
    output_file_t out(target);
    out.write(eight_bytes(text.size()) + text);
    for (extent_t const &extent : extents)
        if (extent.name == key)
            out.write({reinterpret_cast<char const *>(values.data()), values.size_bytes()});
        else
            copy(source, extent, out);
    out.commit();
}

} // namespace uform::tools
