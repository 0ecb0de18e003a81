/**
 *  @file output_file.cpp
 *  @brief Writes beside, then renames; looks first at what a name stands for.
 */
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/output_file.hpp"
#include "support/signature.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t chunk_k = std::size_t {1} << 16;

/** Makes a rename last through a loss of power, where the folder may be opened and its file system can. */
void sync_folder(std::string const &path) {
    std::filesystem::path const folder = std::filesystem::path(path).parent_path();
    int const descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    bool const synced = ::fsync(descriptor) == 0 || errno == EINVAL;
    int const reason = errno;
    ::close(descriptor);
    errno = reason;
    if (!synced) fail_at(path, 0, "is written, but its folder cannot be flushed, {}; check the disk", system_reason());
}

} // namespace

std::string link_target(std::string const &path) {
    constexpr int links_limit_k = 40; // the kernel's own
    std::filesystem::path target = path;
    std::error_code failed;
    for (int link = 0; link < links_limit_k && std::filesystem::is_symlink(target, failed); ++link) {
        std::filesystem::path const next = std::filesystem::read_symlink(target, failed);
        if (failed) break;
        target = target.parent_path() / next; // an absolute `next` replaces it all
    }
    return target.string();
}

void check_apart(std::string const &target, std::string const &source) {
    if (target.empty() || source.empty() || target == "-" || source == "-") return;
    std::error_code failed;
    bool const exists = std::filesystem::exists(target, failed);
    if (exists && !std::filesystem::is_regular_file(target, failed)) return; // a device or a pipe loses nothing
    if (exists ? std::filesystem::equivalent(target, source, failed) : target == source)
        fail_at(target, 0, "is read as well, and would be written over; choose another name");
}

void spare_media(std::string const &target) {
    if (target.empty() || target == "-" || ::access(target.c_str(), F_OK) != 0) return;
    if (::access(target.c_str(), R_OK) != 0)
        fail_at(
            target, 0,
            "may not be read, so it could be a picture, a clip, a recording or a shard, which would be written over; "
            "choose another name, or change its permissions");
    std::string const head = read_head(target, signature_bytes_k);
    if (modality_of(head) || is_tar(head))
        fail_at(target, 0,
                "is a picture, a clip, a recording or a shard, and would be written over; choose another name");
}

std::string checkpoint_target(std::string const &path) {
    spare_media(path);
    if (path == "-") fail_usage("--output: a checkpoint cannot go to standard output; name a file");
    check_writable(path);
    struct stat about = {};
    if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
        fail_at(path, 0, "is not a regular file; name one, it is replaced whole");
    return link_target(path);
}

void check_writable(std::string const &path) {
    if (path == "-") return;
    check_path(path, path);
    std::filesystem::path folder = std::filesystem::path(link_target(path)).parent_path();
    if (folder.empty()) folder = ".";
    struct stat about = {};
    if (::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
        fail_at(path, 0, "its folder does not exist; create {} first", folder.string());
    if (::access(folder.c_str(), W_OK) != 0)
        fail_at(path, 0, "cannot write into {}, {}; choose another place", folder.string(), system_reason());
    if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) fail_at(path, 0, "is a folder; name a file in it");
}

output_file_t::output_file_t(std::string const &path) : path_(path == "-" ? "stdout" : path) {
    if (path == "-") {
        descriptor_ = STDOUT_FILENO;
        return;
    }
    struct stat about = {};
    check_path(path, path);
    bool const special = ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
    if (!special) {
        check_writable(path), spare_media(path);
        path_ = link_target(path);
        temporary_ = fmt::format("{}.tmp.{}", path_, ::getpid());
    }
    int const flags = O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC);
    descriptor_ = ::open(special ? path.c_str() : temporary_.c_str(), flags, 0666);
    owns_descriptor_ = descriptor_ >= 0;
    if (descriptor_ < 0) fail_at(path, 0, "cannot write it, {}; choose another place", system_reason());
}

output_file_t::~output_file_t() {
    if (owns_descriptor_) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void output_file_t::put(std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t const count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
            continue;
        }
        if (errno == EPIPE) throw quiet_exit_t {exit_broken_pipe_k};
        int const reason = errno;
        leave_if_interrupted();
        errno = reason;
        if (errno != EINTR) fail_at(path_, 0, "cannot write it, {}; free some space and try again", system_reason());
    }
}

void output_file_t::flush() {
    put(pending_);
    pending_.clear();
}

void output_file_t::write(std::string_view bytes) {
    pending_.append(bytes);
    if (pending_.size() >= chunk_k) flush();
}

void output_file_t::write_at(std::size_t position, std::string_view bytes) {
    flush();
    while (!bytes.empty()) {
        ssize_t const count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(position));
        if (count < 0) fail_at(path_, 0, "cannot write it, {}; free some space and try again", system_reason());
        bytes.remove_prefix(static_cast<std::size_t>(count)), position += static_cast<std::size_t>(count);
    }
}

void output_file_t::commit() {
    flush();
    if (temporary_.empty()) return;
    if (::fsync(descriptor_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
        fail_at(path_, 0, "cannot finish writing it, {}; free some space and try again", system_reason());
    temporary_.clear();
    sync_folder(path_);
}

void remove_leftovers(std::string const &path, std::initializer_list<std::string_view> kinds) {
    std::filesystem::path const whole = path;
    std::filesystem::path const folder = whole.has_parent_path() ? whole.parent_path() : ".";
    std::error_code failed;
    std::vector<std::filesystem::path> found;
    for (auto each = std::filesystem::directory_iterator(folder, failed);
         !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
        std::string const name = each->path().filename().string();
        for (std::string_view const kind : kinds) {
            std::string const start = fmt::format("{}.{}.", whole.filename().string(), kind);
            if (!name.starts_with(start)) continue;
            pid_t process = 0;
            char const *const end = name.data() + name.size();
            auto const [rest, wrong] = std::from_chars(name.data() + start.size(), end, process);
            bool const ours = wrong == std::errc() && process > 0 && (rest == end || *rest == '.');
            if (ours && ::kill(process, 0) != 0 && errno == ESRCH) found.push_back(each->path());
        }
    }
    for (std::filesystem::path const &each : found) std::filesystem::remove(each, failed);
}

temporary_path_t::~temporary_path_t() { ::unlink(path_.c_str()); }

} // namespace uform::tools
