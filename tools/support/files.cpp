/**
 *  @file files.cpp
 *  @brief Reads through `read`, so that ctrl-C is noticed.
 */
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t chunk_k = std::size_t {1} << 16;

std::string shown(std::string const &path) { return path == "-" ? "stdin" : path; }

int open_to_read(std::string const &path) {
    check_path(path, path);
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 && errno == EINTR) leave_if_interrupted(); // while a named pipe waited for its writer
    if (descriptor < 0) fail_at(path, 0, "cannot read it, {}; check the path and its permissions", system_reason());
    return descriptor;
}

struct descriptor_t {
    int number;
    ~descriptor_t() { ::close(number); }
};

/** One `read`, retried where a signal we do not stop for came between. */
std::size_t read_some(int descriptor, char *target, std::size_t capacity, std::string const &path) {
    while (true) {
        ssize_t const count = ::read(descriptor, target, capacity);
        if (count >= 0) return static_cast<std::size_t>(count);
        int const reason = errno;
        leave_if_interrupted();
        errno = reason;
        if (errno != EINTR) fail_at(shown(path), 0, "cannot read it, {}", system_reason());
    }
}

} // namespace

void occupy_standard_streams() noexcept {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        // The lowest free number is this stream's; the wrong direction keeps its use an error.
        [[maybe_unused]] int const taken = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void check_path(std::string_view path, std::string_view what) {
    if (path.empty()) fail("{}: the path is empty; name a file", what);
    if (path.find('\0') != path.npos) fail("{}: the path holds a NUL byte; remove it", what);
}

bool is_named(std::string_view path, std::string_view ending) noexcept {
    if (path.size() < ending.size()) return false;
    path.remove_prefix(path.size() - ending.size());
    for (std::size_t i = 0; i < ending.size(); ++i) {
        char const small = path[i] >= 'A' && path[i] <= 'Z' ? char(path[i] + ('a' - 'A')) : path[i];
        if (small != ending[i]) return false;
    }
    return true;
}

std::string read_part(std::string const &path, std::uint64_t offset, std::size_t bytes) {
    descriptor_t const file {open_to_read(path)};
    std::string part(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
        ssize_t const count = ::pread(file.number, part.data() + done, bytes - done, off_t(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_at(path, 0, "cannot read it, {}; check the path and its permissions", system_reason());
        if (count == 0) break;
        done += std::size_t(count);
    }
    part.resize(done);
    return part;
}

std::string read_head(std::string const &path, std::size_t bytes) {
    struct stat about = {};
    if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return {};
    return read_part(path, 0, bytes);
}

std::string read_file(std::string const &path, std::size_t limit) {
    descriptor_t const file {open_to_read(path)};
    int const descriptor = file.number;
    std::string bytes;
    struct stat about = {};
    bool const is_regular = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
    bool const exceeds = is_regular && std::size_t(about.st_size) > limit; // told before it is read
    try {
        if (is_regular && !exceeds) bytes.reserve(std::size_t(about.st_size) + chunk_k);
        while (true) {
            if (exceeds || bytes.size() > limit)
                fail_at(path, 0, "holds more than {} bytes; such a file is not read", limit);
            std::size_t const before = bytes.size();
            bytes.resize(before + chunk_k);
            std::size_t const count = read_some(descriptor, bytes.data() + before, chunk_k, path);
            bytes.resize(before + count);
            if (count == 0) return bytes;
        }
    } catch (std::bad_alloc const &) {
        bytes = {};
        fail_at(path, 0, "does not fit into memory");
    }
}

line_reader_t::line_reader_t(std::string const &path)
    : path_(shown(path)), decompressor_(is_named(path, ".zst") ? std::make_unique<decompressor_t>(path) : nullptr),
      descriptor_(path == "-" ? STDIN_FILENO : open_to_read(path)) {}

line_reader_t::~line_reader_t() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

bool line_reader_t::refill() {
    if (ended_) return false;
    buffer_.erase(0, begin_), begin_ = 0;
    if (decompressor_) return refill_decompressed();
    std::size_t const before = buffer_.size();
    buffer_.resize(before + chunk_k);
    std::size_t const count = read_some(descriptor_, buffer_.data() + before, chunk_k, path_);
    buffer_.resize(before + count);
    ended_ = count == 0;
    return !ended_;
}

bool line_reader_t::refill_decompressed() {
    if (decompressor_->hungry()) {
        std::string chunk(chunk_k, '\0');
        chunk.resize(read_some(descriptor_, chunk.data(), chunk_k, path_));
        ended_ = chunk.empty();
        decompressor_->feed(std::move(chunk));
    }
    if (ended_)
        decompressor_->finish();
    else
        decompressor_->produce(buffer_);
    return !ended_;
}

bool line_reader_t::next(std::string &line) {
    std::size_t searched = begin_;
    std::size_t end = buffer_.find('\n', searched);
    while (end == buffer_.npos) {
        searched = buffer_.size() - begin_; // a line of many chunks is searched once
        if (!refill()) break;
        end = buffer_.find('\n', searched);
    }
    if (end == buffer_.npos && begin_ == buffer_.size()) return false;
    bool const closed = end != buffer_.npos;
    if (!closed) end = buffer_.size();
    line.assign(buffer_, begin_, end - begin_);
    offset_ = next_offset_, next_offset_ += end - begin_ + closed;
    begin_ = closed ? end + 1 : end;
    ++line_number_;
    return true;
}

} // namespace uform::tools
