/**
 *  @file found_files.cpp
 *  @brief Walks and globs; what cannot be read on the way is a problem of its own, not the end.
 */
#include <algorithm>
#include <filesystem>
#include <glob.h>
#include <memory>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/found_files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

namespace fs = std::filesystem;

bool is_written(fs::path const &path, std::span<std::string const> written) {
    std::error_code failed;
    return std::any_of(written.begin(), written.end(), [&](std::string const &own) {
        return !own.empty() && own != "-" && (path == own || fs::equivalent(path, own, failed));
    });
}

std::string reason_of(std::error_code const &failed) { return fmt::format("cannot be read, {}", failed.message()); }

/** Links to folders are not followed, as they may lead in circles; those to files are. */
void walk(fs::path const &folder, std::span<std::string const> written, std::vector<found_file_t> &found) {
    leave_if_interrupted();
    std::error_code failed;
    std::vector<fs::path> entries;
    fs::directory_iterator at(folder, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed))
        if (!at->path().filename().native().starts_with('.')) entries.push_back(at->path());
    if (failed) found.push_back({folder.string(), reason_of(failed)});
    std::sort(entries.begin(), entries.end(),
              [](fs::path const &a, fs::path const &b) { return a.native() < b.native(); });
    for (fs::path const &entry : entries) {
        std::error_code unknown;
        fs::file_status const status = fs::symlink_status(entry, unknown);
        if (fs::is_directory(status))
            walk(entry, written, found);
        else if (fs::is_regular_file(fs::status(entry, unknown)) && !is_written(entry, written))
            found.push_back({entry.string(), {}});
    }
}

void find(fs::path const &path, std::span<std::string const> written, std::vector<found_file_t> &found) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) return found.push_back({path.string(), {}});
    std::size_t const before = found.size();
    walk(path, written, found);
    if (found.size() == before) found.push_back({path.string(), "the folder holds no files"});
}

} // namespace

std::vector<found_file_t> find_files(std::string const &name, std::span<std::string const> written) {
    std::vector<found_file_t> found;
    std::error_code failed;
    bool const is_pattern = name.find_first_of("*?[") != name.npos && !fs::exists(name, failed);
    if (!is_pattern) return find(name, written, found), found;
    glob_t matches = {};
    std::unique_ptr<glob_t, void (*)(glob_t *)> const owner(&matches, ::globfree);
    if (::glob(name.c_str(), 0, nullptr, &matches) != 0 || matches.gl_pathc == 0) return {{name, "matches no file"}};
    std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    std::sort(paths.begin(), paths.end()); // glob sorts by the locale
    for (std::string const &path : paths)
        if (!is_written(path, written)) find(path, written, found);
    return found;
}

} // namespace uform::tools
