/**
 *  @file run_log.cpp
 *  @brief Flushes each line, so that a run can be watched and a crash loses none.
 */
#include <cerrno>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/output_file.hpp"
#include "support/run_log.hpp"

namespace uform::tools {

run_log_t::run_log_t(std::string const &path, bool append) : path_(path) {
    if (path.empty()) return;
    check_path(path, "--log"), spare_media(path);
    file_ = path == "-" ? stdout : std::fopen(path.c_str(), append ? "ae" : "we");
    if (!file_) fail_at(path, 0, "cannot write it, {}; choose another place", system_reason());
}

run_log_t::~run_log_t() {
    if (file_ && file_ != stdout) std::fclose(file_);
}

void run_log_t::write(nlohmann::ordered_json const &line) {
    if (!file_) return;
    std::string const text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) return;
    if (errno == EPIPE) throw quiet_exit_t {exit_broken_pipe_k};
    fail_at(path_, 0, "cannot write it, {}; free some space and try again", system_reason());
}

} // namespace uform::tools
