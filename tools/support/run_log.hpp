/**
 *  @file run_log.hpp
 *  @brief The machine-readable record of a run: one JSON object a line, written as it happens.
 */
#pragma once
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

namespace uform::tools {

/** Lines of `{"event": …, …}`. An empty path logs nothing; `-` logs to standard output. */
class run_log_t {
  public:
    run_log_t(std::string const &path, bool append);
    run_log_t(run_log_t const &) = delete;
    ~run_log_t();
    void write(nlohmann::ordered_json const &line);

  private:
    std::string path_;
    std::FILE *file_ = nullptr;
};

} // namespace uform::tools
