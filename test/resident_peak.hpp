/**
 *  @file resident_peak.hpp
 *  @brief How much memory something takes at its most, found out in a child process that does nothing else.
 */
#pragma once
#include <cstddef>

#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace uform::test {

/** The most memory that a child had resident, in bytes, once `body` was done; zero where it answered false, or died. In
 *  pages of the smallest size: what is told apart here is less than a large page. */
template <typename body_>
std::size_t resident_peak_of(body_ const &body) {
    int pipes[2];
    if (::pipe(pipes) != 0) return 0;
    pid_t const child = ::fork();
    if (child == 0) {
#if defined(PR_SET_THP_DISABLE)
        ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
        bool const right = body();
        struct rusage usage {};
        ::getrusage(RUSAGE_SELF, &usage);
        std::size_t const peak = right ? std::size_t(usage.ru_maxrss) * 1024 : 0;
        ::_exit(::write(pipes[1], &peak, sizeof(peak)) == ssize_t(sizeof(peak)) ? 0 : 1);
    }
    std::size_t peak = 0;
    int status = 0;
    ::close(pipes[1]);
    bool const read = ::read(pipes[0], &peak, sizeof(peak)) == ssize_t(sizeof(peak));
    ::close(pipes[0]);
    return child > 0 && ::waitpid(child, &status, 0) == child && read && status == 0 ? peak : 0;
}

} // namespace uform::test
