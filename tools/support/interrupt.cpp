/**
 *  @file interrupt.cpp
 *  @brief Signal handlers that only set a flag.
 */
#include <atomic>
#include <csignal>
#include <unistd.h>

#include "support/error.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

std::atomic<int> requested = 0; // which the threads of a verb's executor read too
static_assert(std::atomic<int>::is_always_lock_free);

/** A terminal that closes hangs up on a program twice, once through its shell: nobody is impatient then. */
void on_signal(int signal) {
    if (requested && signal != SIGHUP) _exit(128 + signal);
    if (!requested) requested = signal;
}

void install(int signal) noexcept {
    struct sigaction before = {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
    struct sigaction action = {};
    action.sa_handler = on_signal; // no SA_RESTART: a blocked read must notice
    ::sigaction(signal, &action, nullptr);
}

} // namespace

void install_interrupt_handlers() noexcept {
    install(SIGINT), install(SIGTERM), install(SIGHUP);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL); // ignored, as some parents leave it, it hides how a child ended
    std::signal(SIGXFSZ, SIG_IGN); // a file above the system's limit then fails like one on a full disk
}

int interrupt_requested() noexcept { return requested; }

void leave_if_interrupted() {
    if (requested) throw quiet_exit_t {128 + requested};
}

uform_progress_t interruptible() noexcept {
    return {[](std::size_t, std::size_t, void *) { return requested == 0; }, nullptr};
}

} // namespace uform::tools
