/**
 *  @file files.hpp
 *  @brief Files as the tools read them: whole, in part, and line by line.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/decompressor.hpp"

namespace uform::tools {

/** Refuses a path no system call can name; `what` says where it came from. */
void check_path(std::string_view path, std::string_view what);

/** Whether a path ends so, in small letters or in capitals: readers go by a file's name. */
bool is_named(std::string_view path, std::string_view ending) noexcept;

/** All bytes of a file, which fails where it has more than `limit`. */
std::string read_file(std::string const &path, std::size_t limit = SIZE_MAX);

/** Bytes of a regular file from `offset` on, fewer at its end. */
std::string read_part(std::string const &path, std::uint64_t offset, std::size_t bytes);

/** The first `bytes` of a regular file, fewer of a short one; nothing of what can be read only once. */
std::string read_head(std::string const &path, std::size_t bytes);

/** Gives the standard streams that a shell closed to /dev/null, else the next file opened would get their number, and
 *  messages for stderr would land in it. Reading or writing them still fails. */
void occupy_standard_streams() noexcept;

/** Gives lines of a file or of standard input, `-`, of any length and any bytes. Only the newline is taken off: a
 *  carriage return stays, and a last line without a newline counts. A file named `.zst` is decompressed as it is read. */
class line_reader_t {
  public:
    explicit line_reader_t(std::string const &path);
    /** Of an open descriptor, which it closes; `path` is what failures call it. */
    line_reader_t(int descriptor, std::string path) : path_(std::move(path)), descriptor_(descriptor) {}
    line_reader_t(line_reader_t const &) = delete;
    ~line_reader_t();

    /** False once there are no more. */
    bool next(std::string &line);
    std::size_t line_number() const noexcept { return line_number_; }
    /** Where the last line begins, in bytes as they are after decompression. */
    std::uint64_t offset() const noexcept { return offset_; }
    std::string const &path() const noexcept { return path_; }

  private:
    bool refill();
    bool refill_decompressed();

    std::string path_;
    std::unique_ptr<decompressor_t> decompressor_; // null where the file is plain
    int descriptor_ = -1;
    std::string buffer_; // bytes read and not yet handed out, from `begin_`
    std::size_t begin_ = 0;
    std::size_t line_number_ = 0;
    std::uint64_t offset_ = 0;      // of the last line
    std::uint64_t next_offset_ = 0; // of the one after it
    bool ended_ = false;
};

} // namespace uform::tools
