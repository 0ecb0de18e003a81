/**
 *  @file progress_bar.cpp
 *  @brief Draws the bar.
 */
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/progress_bar.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t bar_width_k = 24;

std::string time_left(double seconds) {
    long const whole = long(seconds + 0.5);
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02} left", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02} left", whole / 60, whole % 60);
}

/** A line longer than the terminal would wrap, and only its last row be drawn over; what does not tell goes unbounded. */
std::size_t terminal_columns() noexcept {
    winsize size = {};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : SIZE_MAX;
}

} // namespace

progress_bar_t::progress_bar_t() noexcept : terminal_(::isatty(STDERR_FILENO) == 1) {}

void progress_bar_t::show(std::size_t done, std::size_t total, std::string_view detail) {
    if (!terminal_) return;
    auto const now = steady_t::now();
    if (!started_) begin_ = now, begin_done_ = done, started_ = true;
    if (now - drawn_at_ < std::chrono::milliseconds(100)) return;
    drawn_at_ = now;
    std::string line;
    if (total) {
        std::size_t const filled = done * bar_width_k / total;
        line = fmt::format("{:>{}}/{} [{:=<{}}{:<{}}] ", done, std::to_string(total).size(), total, "", filled, "",
                           bar_width_k - filled);
    } else line = fmt::format("{} ", done);
    std::string left;
    double const seconds = std::chrono::duration<double>(now - begin_).count();
    if (total && done > begin_done_)
        left = fmt::format(" | {}", time_left(seconds / double(done - begin_done_) * double(total - done)));
    std::size_t const columns = terminal_columns(), taken = line.size() + left.size() + 1;
    line += detail.substr(0, columns > taken ? columns - taken : 0);
    line += left;
    std::fprintf(stderr, "\r%s\x1b[K", line.substr(0, columns - 1).c_str());
    std::fflush(stderr);
    drawn_ = true;
}

void progress_bar_t::clear() noexcept {
    if (drawn_) std::fputs("\r\x1b[K", stderr), drawn_ = false;
}

} // namespace uform::tools
