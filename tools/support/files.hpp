/**
 *  @file files.hpp
 *  @brief Files as the tools use them: whole, line by line, and written so that nobody sees half of one.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/** Where the bytes of `path` live: itself, or what a chain of symbolic links ends at, which need not exist. */
std::string link_target(std::string const &path);

/** Refuses to write over what is read: a `target` that is the same file as `source`. Empty names and `-` never are. */
void check_apart(std::string const &target, std::string const &source);

/** Refuses to write over a picture, a clip, a recording or a shard: by a slip of the hand, or found in a folder that is
 *  read, and gone for good. */
void spare_media(std::string const &target);

/** The name a checkpoint can be renamed to: a regular file or none yet, links followed. */
std::string checkpoint_target(std::string const &path);

/** Refuses early what would only fail after hours of work: a target whose folder is missing or read-only. */
void check_writable(std::string const &path);

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

/** A file under construction: `<name>.tmp.<pid>` until `commit` renames it over its name; destroyed before that, it
 *  leaves no trace. Standard output, `-`, and targets that are no regular file (a pipe, a device) are written directly. */
class output_file_t {
  public:
    explicit output_file_t(std::string const &path);
    output_file_t(output_file_t const &) = delete;
    ~output_file_t();

    void write(std::string_view bytes);
    void flush();
    /** Overwrites bytes already written; only where `seekable`. */
    void write_at(std::size_t position, std::string_view bytes);
    bool seekable() const noexcept { return !temporary_.empty(); }
    void commit();

  private:
    void put(std::string_view bytes);

    std::string path_;
    std::string temporary_; // empty where written directly
    std::string pending_;
    int descriptor_ = -1;
    bool owns_descriptor_ = false;
};

/** Removes what processes that live no more left beside `path`: `<path>.<kind>.<pid>`, for each kind named, and what
 *  begins so and goes on after another dot. */
void remove_leftovers(std::string const &path, std::initializer_list<std::string_view> kinds);

/** A file that is deleted at the end of a scope, if it exists by then. */
class temporary_path_t {
  public:
    explicit temporary_path_t(std::string path) : path_(std::move(path)) {}
    temporary_path_t(temporary_path_t const &) = delete;
    ~temporary_path_t();
    std::string const &path() const noexcept { return path_; }

  private:
    std::string path_;
};

} // namespace uform::tools
