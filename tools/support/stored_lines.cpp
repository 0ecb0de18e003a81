/**
 *  @file stored_lines.cpp
 *  @brief `pread`, on the source or on an unlinked copy of it.
 */
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/media_files.hpp"
#include "support/stored_lines.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t chunk_k = std::size_t {1} << 20;

bool lies_plain(std::string const &path) {
    struct stat about = {};
    return !is_named(path, ".zst") && !is_named(path, ".parquet") && !names_shards(path) &&
           ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

} // namespace

stored_lines_t::stored_lines_t(std::string path, std::string const &copy_path) : path_(std::move(path)) {
    check_path(path_, path_);
    if (lies_plain(path_)) {
        descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor_ < 0)
            fail_at(path_, 0, "cannot read it, {}; check the path and its permissions", system_reason());
        // Lines come in no order: what a disk reads ahead of one is not the next.
        ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);
        return;
    }
    copy_path_ = copy_path;
    descriptor_ = ::open(copy_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail_at(copy_path_, 0, "cannot write it, {}; choose another place", system_reason());
    ::unlink(copy_path_.c_str());
}

stored_lines_t::stored_lines_t(stored_lines_t &&other) noexcept
    : path_(std::move(other.path_)), copy_path_(std::move(other.copy_path_)), pending_(std::move(other.pending_)),
      size_(other.size_), descriptor_(std::exchange(other.descriptor_, -1)) {}

stored_lines_t::~stored_lines_t() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

place_t stored_lines_t::keep(std::string_view line, std::uint64_t offset) {
    if (copy_path_.empty()) return {offset, std::uint32_t(line.size())};
    place_t const place = {size_, std::uint32_t(line.size())};
    pending_ += line, size_ += line.size();
    if (pending_.size() >= chunk_k) flush();
    return place;
}

void stored_lines_t::flush() {
    for (std::string_view left = pending_; !left.empty();) {
        ssize_t const count = ::write(descriptor_, left.data(), left.size());
        if (count < 0 && errno == EINTR) {
            leave_if_interrupted();
            continue;
        }
        if (count < 0)
            fail_at(path_, 0, "cannot be unpacked to {}, {}; free some space and try again",
                    copy_path_, system_reason());
        left.remove_prefix(std::size_t(count));
    }
    pending_.clear();
}

void stored_lines_t::announce(place_t place) const noexcept {
    ::posix_fadvise(descriptor_, off_t(place.offset), off_t(place.bytes), POSIX_FADV_WILLNEED);
}

void stored_lines_t::read(place_t place, std::string &line) const {
    line.resize(place.bytes);
    for (std::size_t done = 0; done < line.size();) {
        ssize_t const count = ::pread(descriptor_, line.data() + done, line.size() - done, off_t(place.offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_at(path_, 0, "cannot read it, {}; check the disk", system_reason());
        if (count == 0) fail_at(path_, 0, "has become shorter while the run reads it; start again from the last save");
        done += std::size_t(count);
    }
}

} // namespace uform::tools
