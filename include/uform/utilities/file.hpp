/**
 *  @file file.hpp
 *  @brief Files whole: mapped or read for reading, replaced atomically for writing.
 *
 *  Paths are OS bytes. Every refusal is `io` with the path and the system's reason in the detail; a path with a NUL
 *  byte is `invalid_argument`. A mapping is private and read-only: whoever cuts the file short under it gets the
 *  kernel's SIGBUS, so files are replaced by rename, never rewritten. Knows nothing of what the bytes mean.
 */
#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** A regular file open for reading, and its bytes once mapped or read. */
class input_file_t {
    int descriptor_ = -1;
    std::size_t size_ = 0;
    void *mapping_ = nullptr;
    buffer_t<std::byte> copy_;
    std::span<std::byte const> bytes_;
    buffer_t<char> path_; // NUL-ended, for messages

  public:
    input_file_t() noexcept = default;
    input_file_t(input_file_t &&other) noexcept { *this = std::move(other); }
    input_file_t &operator=(input_file_t &&other) noexcept;
    ~input_file_t() noexcept;

    failure_t open(std::string_view path) noexcept;
    std::size_t size() const noexcept { return size_; }
    /** Copies `target.size()` bytes from `offset` on. */
    failure_t peek(std::size_t offset, std::span<std::byte> target) const noexcept;
    failure_t map() noexcept;
    /** Reads the file to memory, in place of a mapping, so that its byte `aligned` lies at a multiple of 64. */
    failure_t read(std::size_t aligned) noexcept;
    std::span<std::byte const> bytes() const noexcept { return bytes_; }
};

/**
 *  A file written beside its final path as `<path>.<pid>.<number>.tmp`, then renamed into place. Whatever fails, and a
 *  destructor without `commit`, removes the temporary and leaves the previous file as it was. The temporary is locked
 *  as long as its writer lives, so that what a dead one left is told from one that is being written.
 */
class replacing_file_t {
    int descriptor_ = -1;
    bool renamed_ = false;
    buffer_t<char> path_, temporary_; // NUL-ended

    failure_t abandon(char const *message) noexcept;
    bool claim() noexcept;

  public:
    replacing_file_t() noexcept = default;
    replacing_file_t(replacing_file_t const &) = delete;
    replacing_file_t &operator=(replacing_file_t const &) = delete;
    ~replacing_file_t() noexcept { discard(); }

    failure_t create(std::string_view path) noexcept;
    failure_t append(std::span<std::byte const> bytes) noexcept;
    /** Flushes the file to its device, renames it, and flushes the directory that now names it. */
    failure_t commit() noexcept;
    /** Whether `commit` came as far as the rename; true where only a flush of the directory failed. */
    bool renamed() const noexcept { return renamed_; }
    void discard() noexcept;
};

/** Hands each name in the folder that holds `path` to `visit`; none where the folder cannot be read. */
void visit_folder_of(std::string_view path, void (*visit)(void *context, std::string_view name),
                     void *context) noexcept;
/** Takes the digits off the front of `text`; false where there are none. */
bool take_digits(std::string_view &text) noexcept;
/** Whether a name is `<base>.<pid>.<number>.tmp`, of a file named `base` under construction. */
bool is_temporary_of(std::string_view name, std::string_view base) noexcept;
/** Unlinks a temporary whose writer is dead: one that nobody has locked. Leaves what it is not sure of. */
void remove_if_abandoned(char const *path) noexcept;
/** Unlinks what dead writers of `path` left under construction. */
void remove_abandoned(std::string_view path) noexcept;

} // namespace uform
