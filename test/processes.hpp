/**
 *  @file processes.hpp
 *  @brief Other processes of a test: this program again, started with a role, awaited under a limit, killed if late.
 *
 *  A role is a disabled test that reads its place from the environment and writes what came of it to a file. The
 *  program is started anew, never forked after threads.
 */
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char **environ;

namespace uform::testing {

/** A folder gone with the object. */
struct folder_t {
    std::filesystem::path path;
    folder_t() {
        std::string name = (std::filesystem::temp_directory_path() / "uform-mesh-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~folder_t() { std::filesystem::remove_all(path); }
};

inline std::string variable(char const *name) {
    char const *const value = std::getenv(name);
    return value ? value : "";
}
inline std::size_t number(char const *name) { return std::strtoull(variable(name).c_str(), nullptr, 10); }

inline std::string contents(std::filesystem::path const &path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/** The processes of one run, in one folder; those still running at the end are killed. */
class processes_t {
    std::filesystem::path folder_;
    std::size_t count_;
    std::vector<pid_t> processes_;

  public:
    using variables_t = std::vector<std::pair<std::string, std::string>>;

    processes_t(std::filesystem::path folder, std::size_t count)
        : folder_(std::move(folder)), count_(count), processes_(count, -1) {}
    ~processes_t() {
        for (pid_t const process : processes_)
            if (process > 0) ::kill(process, SIGKILL), ::waitpid(process, nullptr, 0);
    }
    std::filesystem::path const &folder() const { return folder_; }

    /** Starts one: `before` are words put in front of the command, such as `ip netns exec NAME`. */
    void start(std::size_t index, char const *role, variables_t const &more = {},
               std::vector<std::string> before = {}) {
        std::vector<std::string> words = std::move(before), variables;
        words.insert(words.end(), {std::filesystem::read_symlink("/proc/self/exe").string(),
                                   std::string("--gtest_filter=*.DISABLED_") + role, "--gtest_also_run_disabled_tests",
                                   "--gtest_brief=1"});
        for (char **entry = environ; *entry; ++entry) variables.push_back(*entry);
        variables.push_back("UFORM_MESH_FOLDER=" + folder_.string());
        variables.push_back("UFORM_MESH_INDEX=" + std::to_string(index));
        variables.push_back("UFORM_MESH_COUNT=" + std::to_string(count_));
        for (auto const &[name, value] : more) variables.push_back(name + "=" + value);
        std::vector<char *> argv, envp;
        for (std::string &word : words) argv.push_back(word.data());
        for (std::string &entry : variables) envp.push_back(entry.data());
        argv.push_back(nullptr), envp.push_back(nullptr);
        ASSERT_EQ(::posix_spawnp(&processes_[index], argv[0], nullptr, nullptr, argv.data(), envp.data()), 0);
    }
    void start_all(char const *role, variables_t const &more = {}) {
        for (std::size_t index = 0; index < count_; ++index) start(index, role, more);
    }
    /** Kills one, whose end is awaited too, or stops it. */
    void signal(std::size_t index, int number) {
        ::kill(processes_[index], number);
        if (number == SIGKILL) ::waitpid(std::exchange(processes_[index], -1), nullptr, 0);
    }
    /** Waits for one to end by itself; its exit status, or -1 where it had not ended. */
    int wait(std::size_t index, double seconds = 60) {
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        for (int status = 0; std::chrono::steady_clock::now() < end;) {
            if (::waitpid(processes_[index], &status, WNOHANG) == processes_[index]) {
                processes_[index] = -1;
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return -1;
    }
    void expect_all_pass(double seconds = 120) {
        for (std::size_t index = 0; index < count_; ++index)
            if (processes_[index] > 0) {
                EXPECT_EQ(wait(index, seconds), 0) << "of process " << index;
            }
    }
    /** What a role said. */
    std::string said(std::size_t index) const { return contents(folder_ / ("said-" + std::to_string(index))); }
    /** Waits for a file that a role makes. */
    bool await(std::string const &name, double seconds = 60) const {
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!std::filesystem::exists(folder_ / name)) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return true;
    }
};

/** Inside a role. */
struct role_t {
    std::string folder = variable("UFORM_MESH_FOLDER");
    std::size_t index = number("UFORM_MESH_INDEX"), count = number("UFORM_MESH_COUNT");

    void say(std::string const &text) const {
        std::ofstream(std::filesystem::path(folder) / ("said-" + std::to_string(index)), std::ios::app) << text << "\n";
    }
    void make(std::string const &name) const { std::ofstream(std::filesystem::path(folder) / name) << "\n"; }
};

} // namespace uform::testing
