/**
 *  @file parquet_rows.hpp
 *  @brief Rows of a Parquet file as JSON objects, through `uform_parquet`; a build without it refuses such files by name.
 */
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>

#include "support/files.hpp"

namespace uform::tools {

class parquet_rows_t {
  public:
    /** Reads the `columns` named, those of them that the file has; all others stay on the disk. */
    parquet_rows_t(std::string const &path, std::span<std::string const> columns);
    parquet_rows_t(parquet_rows_t const &) = delete;
    ~parquet_rows_t();

    /** False once there are no more. What is null in a row is left out of its object. */
    bool next(std::string &json);
    /** Of the row given last, counted from one. */
    std::size_t number() const noexcept { return lines_->line_number(); }

  private:
    void check_end();

    std::string path_;
    std::optional<line_reader_t> lines_; // of the reader's output
    int errors_ = -1;                    // a nameless file, for what the reader says on stderr
    pid_t process_ = 0;                  // zero once its end is known
};

} // namespace uform::tools
