/**
 *  @file stored_lines.hpp
 *  @brief Lines that stay on the disk and are read again in any order.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace uform::tools {

/** Where a line is. */
struct place_t {
    std::uint64_t offset;
    std::uint32_t bytes;
};

/** The lines of a plain file where they lie; those of any other, which is read only front to back, in a copy without a
 *  name, which the system takes away with the process, however it ends. */
class stored_lines_t {
  public:
    /** `copy_path` names the folder that has room for a copy, and the copy while it is being made. */
    stored_lines_t(std::string path, std::string const &copy_path);
    stored_lines_t(stored_lines_t const &) = delete;
    stored_lines_t(stored_lines_t &&other) noexcept;
    ~stored_lines_t();

    /** Keeps a line that is at `offset` of the file, if the file is plain. */
    place_t keep(std::string_view line, std::uint64_t offset);
    /** Ends the writing of a copy. */
    void flush();
    /** Tells the system which line comes soon, so that a disk works on many at once. */
    void announce(place_t place) const noexcept;
    /** Any thread may, once flushed. */
    void read(place_t place, std::string &line) const;

  private:
    std::string path_;
    std::string copy_path_; // empty where the lines lie in the file itself
    std::string pending_;
    std::uint64_t size_ = 0; // of the copy, with what is pending
    int descriptor_ = -1;
};

} // namespace uform::tools
