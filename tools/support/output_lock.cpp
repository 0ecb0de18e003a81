/**
 *  @file output_lock.cpp
 *  @brief `flock`, which the kernel lets go with the process, so that nothing has to be judged stale.
 */
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "support/error.hpp"
#include "support/output_lock.hpp"

namespace uform::tools {

namespace {

bool is_same(struct stat const &a, struct stat const &b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/** Whether the file that was locked still has its name: who held it before may have removed it. */
bool has_name(int descriptor, std::string const &path) noexcept {
    struct stat held = {}, named = {};
    return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 && is_same(held, named);
}

/** Whether a lock that is held may go: a file of its own, empty as runs leave it. A user's may be called like it, may be
 *  what a link of that name ends at, or may have come in its place. */
bool may_go(int descriptor, std::string const &path) noexcept {
    struct stat held = {}, named = {};
    return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && is_same(held, named) &&
           held.st_size == 0;
}

} // namespace

output_lock_t::output_lock_t(std::string const &output) : path_(output + ".lock") {
    while (true) {
        descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor_ < 0) return; // what cannot be written is told with the checkpoint's own name
        bool const held = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        bool const is_taken = !held && errno == EWOULDBLOCK;
        if (held && has_name(descriptor_, path_)) return;
        ::close(std::exchange(descriptor_, -1));
        if (is_taken)
            fail_at(output, 0, "is written by another run, which holds {}; stop that one, or name another --output",
                    path_);
        if (!held) return; // the file system knows no locks
    }
}

output_lock_t::~output_lock_t() {
    if (descriptor_ < 0) return;
    if (may_go(descriptor_, path_)) ::unlink(path_.c_str()); // while it is held, so that nobody else's goes
    ::close(descriptor_);
}

} // namespace uform::tools
