/**
 *  @file error.cpp
 *  @brief The one place where a tool's exceptions end.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "support/error.hpp"

namespace uform::tools {

namespace {
constexpr char const *out_of_memory_k = "out of memory; use a smaller batch, corpus or model";
} // namespace

std::size_t choice(char const *flag, std::string_view value, std::initializer_list<char const *> words) {
    auto const found = std::find(words.begin(), words.end(), value);
    if (found != words.end()) return std::size_t(found - words.begin());
    std::string known;
    for (char const *word : words) known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
    fail_usage("{}: \"{}\" is not known; choose from {}", flag, value, known);
}

std::string system_reason() {
    std::string reason = std::strerror(errno);
    if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] = char(reason[0] - 'A' + 'a');
    return reason;
}

std::string on_one_line(std::string_view text) {
    std::string line;
    for (char const c : text) {
        unsigned char const byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) line += fmt::format("\\x{:02x}", byte);
        else line += c;
    }
    return line;
}

std::string without_name(std::string_view text, std::string_view name) {
    if (text.starts_with(name)) text.remove_prefix(name.size());
    if (text.starts_with(": ")) text.remove_prefix(2);
    return std::string(text);
}

void report(std::string_view tool, std::string_view text) {
    std::string const line = fmt::format("{}: {}\n", tool, on_one_line(text));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

int guarded(std::string_view tool, std::function<int()> const &body) {
    try {
        return body();
    } catch (quiet_exit_t const &quiet) {
        return quiet.code;
    } catch (tool_error_t const &error) {
        report(tool, error.what());
        return error.code();
    } catch (std::bad_alloc const &) {
        report(tool, out_of_memory_k);
        return exit_failure_k;
    } catch (std::length_error const &) { // a container asked for more than any memory
        report(tool, out_of_memory_k);
        return exit_failure_k;
    } catch (std::exception const &unforeseen) {
        report(tool, fmt::format("failed in a way it should not; please report this: {}", unforeseen.what()));
        return exit_failure_k;
    }
}

} // namespace uform::tools
