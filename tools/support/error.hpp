/**
 *  @file error.hpp
 *  @brief How the tools fail: one line on stderr that says where, what and what to do, and an exit code.
 *
 *  Tools throw; `guarded` is the one place that catches. Whatever escapes, a user reads a sentence written here, never
 *  a library's own text alone. Messages that concern a file start with `path:` or `path:line:`.
 */
#pragma once
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace uform::tools {

/** What a tool answers its shell with. */
enum exit_code_t : int {
    exit_success_k = 0,
    exit_failure_k = 1,
    exit_usage_k = 2,
    exit_interrupted_k = 130, // as a shell reports SIGINT
    exit_broken_pipe_k = 141, // as a shell reports SIGPIPE
};

/** A failure with the sentence a user reads. */
class tool_error_t : public std::exception {
  public:
    tool_error_t(int code, std::string text) : code_(code), text_(std::move(text)) {}
    int code() const noexcept { return code_; }
    char const *what() const noexcept override { return text_.c_str(); }

  private:
    int code_;
    std::string text_;
};

/** Asks to leave without a word: the user pressed ctrl-C, or nobody reads our output any more. */
struct quiet_exit_t {
    int code;
};

template <typename... arguments_>
[[noreturn]] void fail(fmt::format_string<arguments_...> format, arguments_ &&...arguments) {
    throw tool_error_t(exit_failure_k, fmt::format(format, std::forward<arguments_>(arguments)...));
}

template <typename... arguments_>
[[noreturn]] void fail_usage(fmt::format_string<arguments_...> format, arguments_ &&...arguments) {
    throw tool_error_t(exit_usage_k, fmt::format(format, std::forward<arguments_>(arguments)...));
}

/** Names a place in a file; lines count from one, and zero leaves the line out. */
template <typename... arguments_>
[[noreturn]] void fail_at(std::string_view path, std::size_t line, fmt::format_string<arguments_...> format,
                          arguments_ &&...arguments) {
    std::string text = line ? fmt::format("{}:{}: ", path, line) : fmt::format("{}: ", path);
    throw tool_error_t(exit_failure_k, text + fmt::format(format, std::forward<arguments_>(arguments)...));
}

/** The position of a flag's value among the words it may take. */
std::size_t choice(char const *flag, std::string_view value, std::initializer_list<char const *> words);

/** What the operating system says of the current `errno`, in lower case. */
std::string system_reason();

/** The text with control bytes spelled out, so that no file name can break a message into two lines. */
std::string on_one_line(std::string_view text);

/** What a failure says, without the file's name that it begins with. */
std::string without_name(std::string_view text, std::string_view name);

/** Prints one line on stderr: the tool's name, a colon, the text. */
void report(std::string_view tool, std::string_view text);

/** Runs a tool's body and turns everything it may throw into an exit code. */
int guarded(std::string_view tool, std::function<int()> const &body);

} // namespace uform::tools
