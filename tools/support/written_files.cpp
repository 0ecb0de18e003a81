/**
 *  @file written_files.cpp
 *  @brief Compares by device and number, so that a name's spelling does not matter; and by what files begin with.
 */
#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/output_file.hpp"
#include "support/row_writer.hpp"
#include "support/written_files.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t looked_at_k = std::size_t(1) << 16; // bytes of a file: a row's come behind its input's name

/** Whether a file is of a run, by its content: rows, their names, or a log. Whatever else it may be is an input. */
bool is_of_a_run(std::string const &path) {
    std::string const head = read_head(path, looked_at_k);
    return head.empty() || begins_as_rows(head) || head.starts_with("{\"row\":0,\"index\":") ||
           head.starts_with("{\"event\":\"");
}

/** Whether `name` is that of a file under construction for `path`. */
bool is_temporary_of(std::string const &name, std::string const &path) {
    std::string const start = std::filesystem::path(path).filename().string() + ".tmp.";
    return name.size() > start.size() && name.starts_with(start) &&
           name.find_first_not_of("0123456789", start.size()) == name.npos;
}

std::filesystem::path folder_of(std::string const &path) {
    std::filesystem::path const folder = std::filesystem::path(path).parent_path();
    return folder.empty() ? "." : folder;
}

[[noreturn]] void refuse_target(std::string const &target) {
    fail_at(target, 0, "is read as well, and would be written over; choose another name");
}

} // namespace

written_files_t::written_files_t(std::vector<std::string> const &paths) {
    for (std::string const &path : paths) {
        if (path.empty()) continue;
        bool const is_stream = path == "-";
        struct stat about = {};
        bool const exists = (is_stream ? ::fstat(STDOUT_FILENO, &about) : ::stat(path.c_str(), &about)) == 0;
        places_.push_back({is_stream ? path : link_target(path), is_stream, exists && S_ISREG(about.st_mode),
                           about.st_dev, about.st_ino});
    }
}

written_files_t::place_t const *written_files_t::find(struct stat const &about) const noexcept {
    auto const found = std::find_if(places_.begin(), places_.end(), [&](place_t const &place) {
        return place.exists && place.device == about.st_dev && place.number == about.st_ino;
    });
    return found == places_.end() ? nullptr : &*found;
}

bool written_files_t::hold(std::string const &path, struct stat const &about) const {
    if (place_t const *const place = find(about)) {
        if (!place->is_stream && !is_of_a_run(path)) refuse_target(path);
        return true;
    }
    std::string const name = std::filesystem::path(path).filename().string();
    std::error_code failed;
    return std::any_of(places_.begin(), places_.end(), [&](place_t const &place) {
        return !place.is_stream && is_temporary_of(name, place.path) &&
               std::filesystem::equivalent(folder_of(path), folder_of(place.path), failed);
    });
}

void written_files_t::refuse(std::string const &path) const {
    struct stat about = {};
    if (::stat(path.c_str(), &about) == 0 && find(about)) refuse_target(path);
}

} // namespace uform::tools
