/**
 *  @file file.cpp
 *  @brief Mapped reading and atomic replacing of files, over POSIX.
 */
#include <uform/utilities/file.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace uform {
namespace {

constexpr std::size_t path_limit_k = 65536; // far above any system's PATH_MAX

/** What an errno means, in English: strerror_r would translate to the host's locale, which no verb reads. */
char const *reason_of(int error, [[maybe_unused]] std::span<char> text) noexcept {
#if defined(__GLIBC__)
    char const *const reason = ::strerrordesc_np(error);
    return reason ? reason : "unknown error";
#else
    return ::strerror_r(error, text.data(), text.size()) == 0 ? text.data() : "unknown error";
#endif
}

failure_t fail_io(char const *message, char const *path, int error) noexcept {
    char text[96] = {};
    char const *const reason = reason_of(error, text);
    // The reason comes first: a long path must not push it out of the detail.
    return fail(uform_status_io_k, message, "%s: %s", reason, path);
}

failure_t copy_path(std::string_view path, buffer_t<char> &target) noexcept {
    if (path.empty()) return fail(uform_status_invalid_argument_k, "path is empty");
    if (path.size() > path_limit_k) return fail(uform_status_invalid_argument_k, "path is too long");
    if (path.find('\0') != path.npos) return fail(uform_status_invalid_argument_k, "path holds a NUL byte");
    if (!target.resize(path.size() + 1)) return fail(uform_status_out_of_memory_k, "no memory for a path");
    std::memcpy(target.data(), path.data(), path.size());
    return {};
}

/** Zero, or the errno of the first read that failed; EIO where the file ends early. */
int read_fully(int descriptor, std::size_t offset, std::span<std::byte> target) noexcept {
    while (!target.empty()) {
        ssize_t const got = ::pread(descriptor, target.data(), target.size(), off_t(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        target = target.subspan(std::size_t(got)), offset += std::size_t(got);
    }
    return 0;
}

} // namespace

input_file_t &input_file_t::operator=(input_file_t &&other) noexcept {
    std::swap(descriptor_, other.descriptor_), std::swap(size_, other.size_), std::swap(mapping_, other.mapping_);
    std::swap(copy_, other.copy_), std::swap(bytes_, other.bytes_), std::swap(path_, other.path_);
    return *this;
}

input_file_t::~input_file_t() noexcept {
    if (mapping_) ::munmap(mapping_, size_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

failure_t input_file_t::open(std::string_view path) noexcept {
    *this = input_file_t();
    if (failure_t const failure = copy_path(path, path_)) return failure;
    // Without O_NONBLOCK a named pipe would wait for its writer.
    descriptor_ = ::open(path_.data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return fail_io("a file cannot be opened", path_.data(), errno);
    struct stat about;
    if (::fstat(descriptor_, &about) != 0) return fail_io("a file cannot be inspected", path_.data(), errno);
    if (S_ISDIR(about.st_mode)) return fail_io("a file cannot be read", path_.data(), EISDIR);
    if (!S_ISREG(about.st_mode)) return fail_io("not a regular file", path_.data(), ESPIPE);
    size_ = std::size_t(about.st_size);
    return {};
}

failure_t input_file_t::peek(std::size_t offset, std::span<std::byte> target) const noexcept {
    int const error = read_fully(descriptor_, offset, target);
    return error ? fail_io("a file cannot be read", path_.data(), error) : failure_t {};
}

failure_t input_file_t::map() noexcept {
    if (size_ == 0) return {};
    void *const mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (mapping == MAP_FAILED) return fail_io("a file cannot be mapped", path_.data(), errno);
    mapping_ = mapping, bytes_ = {static_cast<std::byte const *>(mapping), size_};
    return {};
}

failure_t input_file_t::read(std::size_t aligned) noexcept {
    if (mapping_) ::munmap(std::exchange(mapping_, nullptr), size_);
    bytes_ = {};
    std::size_t const lead = (64 - aligned % 64) % 64;
    if (!copy_.resize(lead + size_)) return fail(uform_status_out_of_memory_k, "no memory to read a file");
    bytes_ = copy_.span().subspan(lead);
    return peek(0, copy_.span().subspan(lead));
}

failure_t replacing_file_t::abandon(char const *message) noexcept {
    int const error = errno;
    failure_t const failure = fail_io(message, path_.data(), error);
    discard();
    return failure;
}

void replacing_file_t::discard() noexcept {
    if (descriptor_ < 0) return;
    ::close(descriptor_), ::unlink(temporary_.data());
    descriptor_ = -1;
}

/** Locks the temporary. False where somebody took it for abandoned, before it was locked; where a file system has no
 *  locks, nobody can. */
bool replacing_file_t::claim() noexcept {
    struct stat about;
    bool const taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && (::fstat(descriptor_, &about) != 0 || about.st_nlink > 0)) return true;
    discard();
    return false;
}

failure_t replacing_file_t::create(std::string_view path) noexcept {
    static std::atomic<unsigned> counter {0};
    discard(), renamed_ = false;
    if (failure_t const failure = copy_path(path, path_)) return failure;
    std::size_t const capacity = path.size() + 40; // two decimal integers and the punctuation
    if (!temporary_.resize(capacity)) return fail(uform_status_out_of_memory_k, "no memory for a path");
    // A crashed process of the same identifier may have left its temporary behind: its name is passed over.
    for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
        std::snprintf(temporary_.data(), capacity, "%s.%ld.%u.tmp", path_.data(), long(::getpid()),
                      counter.fetch_add(1, std::memory_order_relaxed));
        descriptor_ = ::open(temporary_.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && errno != EEXIST) break;
        if (descriptor_ >= 0 && claim()) break;
    }
    if (descriptor_ < 0) return fail_io("a file cannot be created", temporary_.data(), errno);
    return {};
}

failure_t replacing_file_t::append(std::span<std::byte const> bytes) noexcept {
    if (descriptor_ < 0) return fail(uform_status_internal_k, "a file is written before it is created");
    while (!bytes.empty()) {
        // Linux moves at most 2 GiB a call; 1 GiB is safe everywhere.
        ssize_t const put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), std::size_t(1) << 30));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return abandon("a file cannot be written");
        bytes = bytes.subspan(std::size_t(put));
    }
    return {};
}

failure_t replacing_file_t::commit() noexcept {
    if (descriptor_ < 0) return fail(uform_status_internal_k, "a file is committed before it is created");
    if (::fsync(descriptor_) != 0) return abandon("a file cannot be flushed");
    if (::rename(temporary_.data(), path_.data()) != 0) return abandon("a file cannot be renamed into place");
    renamed_ = true;
    int const closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0 && errno != EINTR) return fail_io("a file cannot be closed", path_.data(), errno);
    char *const slash = std::strrchr(path_.data(), '/');
    if (slash) slash[slash == path_.data()] = 0; // the path becomes its directory
    char const *const directory = slash ? path_.data() : ".";
    int const descriptor = ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return fail_io("a directory cannot be opened", directory, errno);
    // Some network file systems know no flush of directories and say EINVAL.
    int const error = ::fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;
    ::close(descriptor);
    return error ? fail_io("a directory cannot be flushed", directory, error) : failure_t {};
}

void visit_folder_of(std::string_view path, void (*visit)(void *context, std::string_view name),
                     void *context) noexcept {
    buffer_t<char> folder;
    std::size_t const slash = path.rfind('/');
    std::string_view const parent = slash == path.npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    if (copy_path(parent, folder)) return;
    DIR *const stream = ::opendir(folder.data());
    if (!stream) return;
    while (dirent const *const entry = ::readdir(stream)) visit(context, entry->d_name);
    ::closedir(stream);
}

bool take_digits(std::string_view &text) noexcept {
    std::size_t const count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
}

bool is_temporary_of(std::string_view name, std::string_view base) noexcept {
    auto const take_dot = [&name] { return name.starts_with('.') && (name.remove_prefix(1), true); };
    if (!name.starts_with(base)) return false;
    name.remove_prefix(base.size());
    return take_dot() && take_digits(name) && take_dot() && take_digits(name) && name == ".tmp";
}

/** The name is looked at again under the lock: by then it may be a living writer's. */
void remove_if_abandoned(char const *path) noexcept {
    struct stat locked, named;
    int const descriptor = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0) return;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &locked) == 0 && S_ISREG(locked.st_mode) &&
        ::lstat(path, &named) == 0 && locked.st_dev == named.st_dev && locked.st_ino == named.st_ino)
        ::unlink(path);
    ::close(descriptor);
}

void remove_abandoned(std::string_view path) noexcept {
    visit_folder_of(
        path,
        [](void *context, std::string_view name) {
            std::string_view const path = *static_cast<std::string_view const *>(context);
            std::size_t const folder = path.rfind('/') + 1; // zero where there is none
            buffer_t<char> found;
            if (!is_temporary_of(name, path.substr(folder)) || !found.resize(folder + name.size() + 1)) return;
            std::memcpy(found.data(), path.data(), folder),
                std::memcpy(found.data() + folder, name.data(), name.size());
            remove_if_abandoned(found.data());
        },
        &path);
}

} // namespace uform
