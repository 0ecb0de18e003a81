/**
 *  @file output_file.hpp
 *  @brief Files as the tools write them: where nothing is lost by it, and so that nobody sees half of one.
 */
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace uform::tools {

/** Where the bytes of `path` live: itself, or what a chain of symbolic links ends at, which need not exist. */
std::string link_target(std::string const &path);

/** Refuses to write over what is read: a `target` that is the same file as `source`. Empty names and `-` never are. */
void check_apart(std::string const &target, std::string const &source);

/** Refuses to write over a picture, a clip, a recording or a shard: by a slip of the hand, or found in a folder that is
 *  read, and gone for good. A file that may not be read could be one. */
void spare_media(std::string const &target);

/** The name a checkpoint can be renamed to: a regular file or none yet, links followed. */
std::string checkpoint_target(std::string const &path);

/** Refuses early what would only fail after hours of work: a target whose folder is missing or read-only. */
void check_writable(std::string const &path);

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
