/**
 *  @file written_files.hpp
 *  @brief What a tool is about to write, told apart from what it finds to read.
 */
#pragma once
#include <string>
#include <vector>

#include <sys/stat.h>

namespace uform::tools {

/** The places of a run's outputs. A folder that is read may be theirs too, so what lies in it already is looked at: what
 *  an earlier run wrote there, and what this one is writing, is passed over; anything else is an input, and must stay. */
class written_files_t {
  public:
    /** Empty names are none; `-` is standard output, which may be a file. */
    explicit written_files_t(std::vector<std::string> const &paths);

    /** Whether a file found in a folder is to be passed over. `about` is of the file itself, links followed. Fails where it
     *  is an input that would be written over. */
    bool hold(std::string const &path, struct stat const &about) const;
    /** Refuses a file that was named outright as an input. */
    void refuse(std::string const &path) const;

  private:
    struct place_t {
        std::string path;
        bool is_stream; // standard output
        bool exists;
        dev_t device;
        ino_t number;
    };
    place_t const *find(struct stat const &about) const noexcept;

    std::vector<place_t> places_;
};

} // namespace uform::tools
