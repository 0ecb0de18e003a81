/**
 *  @file record_lines.hpp
 *  @brief The records of a file one after the other, as JSON, whatever the file's format.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "support/files.hpp"
#include "support/parquet_rows.hpp"
#include "support/shard_rows.hpp"

namespace uform::tools {

/** Lines of JSONL, plain or `.zst`; rows of `.parquet` and entries of `.tar`, as JSON objects of the columns named and no
 *  others. */
class record_lines_t {
  public:
    record_lines_t(std::string const &path, std::span<column_t const> columns);

    /** False once there are no more. */
    bool next(std::string &json);
    /** Of the record given last, counted from one. */
    std::size_t number() const noexcept {
        return rows_ ? rows_->number() : entries_ ? entries_->number() : lines_->line_number();
    }
    /** Where its line begins in the file, if the file is plain. */
    std::uint64_t offset() const noexcept { return lines_ ? lines_->offset() + mark_bytes_ : 0; }

  private:
    std::optional<parquet_rows_t> rows_;
    std::optional<shard_rows_t> entries_;
    std::optional<line_reader_t> lines_;
    std::size_t mark_bytes_ = 0; // before the last line, of the file's encoding
};

} // namespace uform::tools
