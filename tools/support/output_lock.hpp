/**
 *  @file output_lock.hpp
 *  @brief One run at a time per output: two would remove each other's moments and save over each other's steps.
 */
#pragma once
#include <string>

namespace uform::tools {

/** Holds `<output>.lock` until it is destroyed or the process ends, however that comes about. Where the file system knows
 *  no locks nothing is held, and what is called like it stays, as does a file with content: none of a run has any. */
class output_lock_t {
  public:
    /** Fails where another process holds it. */
    explicit output_lock_t(std::string const &output);
    output_lock_t(output_lock_t const &) = delete;
    ~output_lock_t();

  private:
    std::string path_;
    int descriptor_ = -1;
};

} // namespace uform::tools
