/**
 *  @file found_files.hpp
 *  @brief The files that a name on the command line or in a list stands for: itself, a folder's, a pattern's.
 */
#pragma once
#include <string>
#include <vector>

#include "support/written_files.hpp"

namespace uform::tools {

/** A file, or why there is none to be had under a name. */
struct found_file_t {
    std::string path;
    std::string problem; // empty: none so far
};

/** What `name` stands for. A folder: all regular files in it and in its folders, sorted, but for those whose names, or
 *  whose folders' names, begin with a dot, and for those that `written` holds. A pattern of the shell's `*`, `?` and
 *  `[…]`, where no file is called like it: whatever matches, folders as above. Anything else: a file. */
std::vector<found_file_t> find_files(std::string const &name, written_files_t const &written);

} // namespace uform::tools
