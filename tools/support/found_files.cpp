/**
 *  @file found_files.cpp
 *  @brief Walks and globs; what cannot be read on the way is a problem of its own, not the end.
 */
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <glob.h>
#include <memory>
#include <new>
#include <sys/stat.h>

#include "support/error.hpp"
#include "support/found_files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

namespace fs = std::filesystem;

std::string reason_of(int code) {
    errno = code;
    return fmt::format("cannot be read, {}", system_reason());
}

/** Whether a failure says that there is nothing under a name, such as a link to nowhere or to itself. */
bool is_nothing(int code) noexcept { return code == ENOENT || code == ENOTDIR || code == ELOOP; }

constexpr char const *not_entered_k =
    "may be listed but not entered, so nothing in it can be read; check its permissions";

/** Links to folders are not followed, as they may lead in circles; those to files are. */
void walk(fs::path const &folder, written_files_t const &written, std::vector<found_file_t> &found) {
    leave_if_interrupted();
    std::error_code failed;
    std::vector<fs::path> entries;
    fs::directory_iterator at(folder, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed))
        if (!at->path().filename().native().starts_with('.')) entries.push_back(at->path());
    if (failed) found.push_back({folder.string(), reason_of(failed.value())});
    std::sort(entries.begin(), entries.end(),
              [](fs::path const &a, fs::path const &b) { return a.native() < b.native(); });
    for (fs::path const &entry : entries) {
        struct stat about = {};
        if (::lstat(entry.c_str(), &about) != 0) {
            int const code = errno;
            if (code == EACCES && ::access(folder.c_str(), X_OK) != 0) // and so do all its entries
                return found.push_back({folder.string(), not_entered_k});
            if (!is_nothing(code)) found.push_back({entry.string(), reason_of(code)}); // else gone since
            continue;
        }
        if (S_ISDIR(about.st_mode)) {
            walk(entry, written, found);
            continue;
        }
        if (S_ISLNK(about.st_mode) && ::stat(entry.c_str(), &about) != 0) {
            if (!is_nothing(errno)) found.push_back({entry.string(), reason_of(errno)});
            continue;
        }
        if (S_ISREG(about.st_mode) && !written.hold(entry.string(), about)) found.push_back({entry.string(), {}});
    }
}

std::vector<found_file_t> unread; // of the call of `glob` that runs, which hands its callback nothing of ours

int note_unread(char const *folder, int code) noexcept {
    try {
        if (!is_nothing(code)) unread.push_back({folder, reason_of(code)});
        return 0; // the other folders may be read
    } catch (...) {
        return 1; // for want of memory, which may not pass through C
    }
}

void find(fs::path const &path, written_files_t const &written, std::vector<found_file_t> &found) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) return written.refuse(path.string()), found.push_back({path.string(), {}});
    std::size_t const before = found.size();
    walk(path, written, found);
    if (found.size() == before) found.push_back({path.string(), "the folder holds no files"});
}

} // namespace

std::vector<found_file_t> find_files(std::string const &name, written_files_t const &written) {
    std::vector<found_file_t> found;
    std::error_code failed;
    bool const is_pattern = name.find_first_of("*?[") != name.npos && !fs::exists(name, failed);
    if (!is_pattern) return find(name, written, found), found;
    glob_t matches = {};
    std::unique_ptr<glob_t, void (*)(glob_t *)> const owner(&matches, ::globfree);
    unread.clear();
    int const failed_glob = ::glob(name.c_str(), 0, note_unread, &matches);
    found.swap(unread);
    if (failed_glob == GLOB_NOSPACE || failed_glob == GLOB_ABORTED) throw std::bad_alloc();
    if (failed_glob != 0 && found.empty()) return {{name, "matches no file"}};
    std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    std::sort(paths.begin(), paths.end()); // glob sorts by the locale
    for (std::string const &path : paths) {
        struct stat about = {};
        bool const is_file = ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
        if (!is_file || !written.hold(path, about)) find(path, written, found);
    }
    return found;
}

} // namespace uform::tools
