/**
 *  @file tensor_file.hpp
 *  @brief A checkpoint as named tensors in memory: parsed from bytes, changed, written as bytes again.
 *
 *  For tools that make one checkpoint of another. Whether the tensors make a model is for the engine, which checks what
 *  is read here before it is parsed and what is written before it gets a name.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace uform::tools {

/** One tensor, row-major; a vector is one row. */
struct stored_tensor_t {
    std::string name;
    bool f32 = false; // else BF16
    std::vector<std::size_t> shape;
    std::string data; // elements, little-endian

    std::size_t rows() const noexcept { return shape.size() == 2 ? shape[0] : 1; }
    std::size_t columns() const noexcept { return shape.empty() ? 1 : shape.back(); }
    std::size_t scalar_bytes() const noexcept { return f32 ? 4 : 2; }
    float at(std::size_t index) const noexcept;
    /** Rounds to the tensor's scalar, to nearest even. */
    void put(std::size_t index, float value) noexcept;
};

struct tensor_file_t {
    std::vector<std::pair<std::string, std::string>> metadata;
    std::vector<stored_tensor_t> tensors;

    stored_tensor_t const *find(std::string_view name) const noexcept;
    /** Empty where there is none. */
    std::string note(std::string_view key) const;
    void set_note(std::string_view key, std::string value);
};

/** A finite float as the nearest BFloat16, ties to even. */
float as_bf16(float value) noexcept;

/** The tensors in the order of their data. `path` names the file in failures. */
tensor_file_t parse_tensors(std::string_view bytes, std::string const &path);

/** The bytes of a safetensors file; its data starts at a multiple of 64. */
std::string serialized(tensor_file_t const &file);

} // namespace uform::tools
