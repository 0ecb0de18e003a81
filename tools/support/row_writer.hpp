/**
 *  @file row_writer.hpp
 *  @brief Rows of vectors as `.npy`, JSONL or safetensors, streamed.
 *
 *  The two binary formats say in their header how many rows follow. Into a file, rows are streamed behind room for a
 *  header, which is written last; into a pipe, rows are kept until the last one is known.
 */
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <uform/types.h>

#include "support/files.hpp"

namespace uform::tools {

enum class output_format_t { npy_k, jsonl_k, safetensors_k };

/** What the rows are. */
struct row_layout_t {
    std::string name; // of the tensor or the JSON key
    std::size_t columns = 0;
    uform_scalar_t scalar = uform_scalar_f32_k;
    bool per_token = false; // rows come with offsets
};

class row_writer_t {
  public:
    row_writer_t(std::string const &path, output_format_t format, row_layout_t layout);

    /** Appends the rows of `items` items; `offsets` counts within this call. */
    void append(uform_rows_tape_t const &rows, std::size_t items);
    /** Writes what is still due and makes the file appear under its name. */
    void finish();

    std::size_t items() const noexcept { return items_; }

  private:
    void append_jsonl(uform_rows_tape_t const &rows, std::size_t items);
    void append_binary(uform_rows_tape_t const &rows);
    std::string header() const;

    output_file_t file_;
    output_format_t format_;
    row_layout_t layout_;
    std::size_t items_ = 0;
    std::size_t rows_ = 0;
    std::vector<std::uint64_t> offsets_ {0}; // [items + 1] where per token
    std::string kept_;                       // rows for a pipe
};

} // namespace uform::tools
