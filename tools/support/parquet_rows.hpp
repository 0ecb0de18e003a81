/**
 *  @file parquet_rows.hpp
 *  @brief Rows of a Parquet file as JSON objects, through Arrow C++; a build without it refuses such files by name.
 */
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace uform::tools {

class parquet_rows_t {
  public:
    /** Reads the `columns` named, those of them that the file has; all others stay on the disk. */
    parquet_rows_t(std::string const &path, std::span<std::string const> columns);
    parquet_rows_t(parquet_rows_t const &) = delete;
    ~parquet_rows_t();

    /** False once there are no more. Of memory a few thousand rows are held and the pages they come from, never a
     *  row group whole. What is null in a row is left out of its object. */
    bool next(std::string &json);
    /** Of the row given last, counted from one. */
    std::size_t number() const noexcept { return number_; }

  private:
    struct stream_t;
    std::string path_;
    std::unique_ptr<stream_t> stream_;
    std::size_t number_ = 0;
};

} // namespace uform::tools
