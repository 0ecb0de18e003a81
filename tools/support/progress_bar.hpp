/**
 *  @file progress_bar.hpp
 *  @brief One line on a terminal that is drawn over and over; nothing at all where stderr is no terminal.
 */
#pragma once
#include <chrono>
#include <cstddef>
#include <string_view>

namespace uform::tools {

class progress_bar_t {
  public:
    progress_bar_t() noexcept;
    progress_bar_t(progress_bar_t const &) = delete;
    ~progress_bar_t() noexcept { clear(); }

    /** Draws at most ten times a second. A `total` of zero is unknown: no bar, no time left. */
    void show(std::size_t done, std::size_t total, std::string_view detail);
    /** Takes the line away, so that other text can be printed. */
    void clear() noexcept;

  private:
    using steady_t = std::chrono::steady_clock;
    bool terminal_;
    bool drawn_ = false;
    steady_t::time_point begin_ = steady_t::now();
    steady_t::time_point drawn_at_ = {};
    std::size_t begin_done_ = 0; // where this process began to count, for the time left of a resumed run
    bool started_ = false;
};

} // namespace uform::tools
