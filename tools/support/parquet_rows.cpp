/**
 *  @file parquet_rows.cpp
 *  @brief Starts `uform_parquet` and reads what it writes.
 */
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/parquet_rows.hpp"

namespace uform::tools {

namespace {

#ifdef UFORM_TOOLS_ARROW
constexpr bool has_reader_k = true;
#else
constexpr bool has_reader_k = false;
#endif

/** The program beside this one. */
std::string reader_path(std::string const &source) {
    std::error_code failed;
    std::filesystem::path const own = std::filesystem::read_symlink("/proc/self/exe", failed);
    std::string const path = (own.parent_path() / "uform_parquet").string();
    if (failed || !std::filesystem::exists(path, failed))
        fail_at(source, 0, "there is no {} to read it with; install the tools together", path);
    return path;
}

/** Its signals as a shell would start it, whatever this process does with its own. */
int spawn(std::vector<std::string> words, int output, int errors, pid_t &process) {
    std::vector<char *> arguments;
    for (std::string &word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    ::sigfillset(&all), ::sigemptyset(&none);
    ::posix_spawn_file_actions_init(&actions), ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    ::posix_spawnattr_setsigdefault(&attributes, &all), ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int const failed = ::posix_spawn(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions), ::posix_spawnattr_destroy(&attributes);
    return failed;
}

} // namespace

parquet_rows_t::parquet_rows_t(std::string const &path, std::span<std::string const> columns) : path_(path) {
    if (!has_reader_k)
        fail_at(path_, 0,
                "this build reads no Parquet; build with -DUFORM_WITH_ARROW=ON where Arrow C++ is installed, or "
                "convert the file to JSONL");
    std::vector<std::string> words = {reader_path(path_), path_};
    words.insert(words.end(), columns.begin(), columns.end());
    int ends[2] = {-1, -1};
    errors_ = ::memfd_create("uform_parquet", MFD_CLOEXEC);
    if (errors_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0) fail_at(path_, 0, "cannot be read now, {}", system_reason());
    lines_.emplace(ends[0], path_);
    int const failed = spawn(std::move(words), ends[1], errors_, process_);
    ::close(ends[1]);
    errno = failed;
    if (failed) process_ = 0, fail_at(path_, 0, "its reader cannot be started, {}", system_reason());
}

parquet_rows_t::~parquet_rows_t() {
    lines_.reset(); // which ends the reader, if it still writes
    if (process_ > 0) ::kill(process_, SIGTERM), ::waitpid(process_, nullptr, 0);
    if (errors_ >= 0) ::close(errors_);
}

bool parquet_rows_t::next(std::string &json) {
    if (lines_->next(json)) return true;
    check_end();
    return false;
}

void parquet_rows_t::check_end() {
    if (process_ <= 0) return;
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) leave_if_interrupted();
    process_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == exit_success_k) return;
    leave_if_interrupted(); // ctrl-C is for both
    if (WIFSIGNALED(status)) fail_at(path_, 0, "its reader died of signal {}; copy the file again", WTERMSIG(status));
    std::string said(4096, '\0');
    ssize_t const count = ::pread(errors_, said.data(), said.size(), 0);
    said.resize(count > 0 ? std::size_t(count) : 0);
    said.resize(std::min(said.size(), said.find('\n')));
    constexpr std::string_view name_k = "uform_parquet: ";
    fail("{}", said.starts_with(name_k) ? said.substr(name_k.size()) : path_ + ": its reader failed, " + said);
}

} // namespace uform::tools
