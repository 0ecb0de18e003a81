/**
 *  @file row_writer.hpp
 *  @brief Rows of vectors as `.npy`, JSONL or safetensors, streamed.
 *
 *  The two binary formats say in their header how many rows follow. Into a file, rows are streamed behind room for a
 *  header, which is written last; into a pipe, rows are kept until the last one is known. Where items are files, JSONL
 *  names each row's and safetensors has a tensor `index` of their numbers.
 */
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <uform/types.h>

#include "support/output_file.hpp"

namespace uform::tools {

enum class output_format_t { npy_k, jsonl_k, safetensors_k };

/** What the rows are. */
struct row_layout_t {
    std::string name; // of the tensor or the JSON key
    std::size_t columns = 0;
    uform_scalar_t scalar = uform_scalar_f32_k;
    bool per_token = false; // rows come with offsets
    bool of_files = false;  // which may be skipped, so rows say which input they are of
};

/** What an item's rows are of. */
struct row_origin_t {
    std::size_t index = 0; // among all inputs, skipped ones included
    std::string input;     // a file's name
};

/** Whether a file begins as one of rows does; nothing else writes JSONL or safetensors like that. Any `.npy` may be rows. */
bool begins_as_rows(std::string_view head);

/** A string of JSON; bytes that are not UTF-8 are replaced. */
std::string as_json(std::string_view text);

class row_writer_t {
  public:
    row_writer_t(std::string const &path, output_format_t format, row_layout_t layout);

    /** Appends the rows of items `first`, `first + 1`, … of one call, one for each origin. */
    void append(uform_rows_tape_t const &rows, std::size_t first, std::span<row_origin_t const> origins);
    /** Writes what is still due and makes the file appear under its name. */
    void finish();

    std::size_t items() const noexcept { return items_; }

  private:
    void append_jsonl(uform_rows_tape_t const &rows, std::size_t first, std::span<row_origin_t const> origins);
    void append_binary(uform_rows_tape_t const &rows, std::size_t begin, std::size_t end);
    std::string header() const;

    output_file_t file_;
    output_format_t format_;
    row_layout_t layout_;
    std::size_t items_ = 0;
    std::size_t rows_ = 0;
    std::vector<std::uint64_t> offsets_ {0}; // [items + 1] where per token
    std::vector<std::uint64_t> indices_;     // [items] where of files
    std::string kept_;                       // rows for a pipe
};

} // namespace uform::tools
