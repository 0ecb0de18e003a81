/**
 *  @file command_line.hpp
 *  @brief What the mains share around CLI11: parsing, help, usage errors. Included by mains alone, as CLI11 compiles
 *  slowly.
 */
#pragma once
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <uform/types.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

/** The checks of flags answer a complaint, or nothing where the text will do. */
inline std::string whole_number(std::string const &text) {
    std::uint64_t value = 0;
    char const *const end = text.data() + text.size();
    auto const [read, failed] = std::from_chars(text.data(), end, value);
    if (failed == std::errc() && read == end) return {};
    return fmt::format("\"{}\" is not a whole number from 0 to 18446744073709551615", text);
}

inline std::string at_least_one(std::string const &text) {
    return text.find_first_not_of('0') == text.npos ? "must be at least 1" : whole_number(text);
}

/** A year is enough, and the steps of one can be counted. NaN is refused as well. */
inline std::string some_minutes(std::string const &text) {
    double const minutes = std::strtod(text.c_str(), nullptr);
    return minutes > 0 && minutes <= 527040 ? "" : "must be above zero and at most 527040";
}

/** NaN and infinity are refused as well. */
inline std::string some_rate(std::string const &text) {
    double const rate = std::strtod(text.c_str(), nullptr);
    return rate > 0 && rate <= 1e9 ? "" : "must be above zero and at most a thousand million";
}

/** Every count is checked as text: CLI11 reads -1, and what overflows, as the largest one. */
inline void check_counts(CLI::App &app) {
    for (CLI::Option *const option : app.get_options())
        if (option->get_type_name() == CLI::detail::type_name<std::size_t>()) option->check(whole_number);
}

/** Every tool's: what its products run on. */
template <typename options_>
void add_processor_flags(CLI::App &app, options_ &options) {
    app.add_option("--threads", options.threads, "7/8 of the cores");
    app.add_option("--cpu-class", options.cpu_class, "kernels to use, such as intel-haswell; the best");
}

inline void add_dimensions_flag(CLI::App &app, std::size_t &dimensions) {
    app.add_option("--dimensions", dimensions, "first so many of each embedding; all");
}

/** Parses the flags and runs the body; answers the exit code. Help and version go to stdout and succeed. */
inline int run_tool(CLI::App &app, int argc, char **argv, std::function<int()> const &body) {
    std::string const name = app.get_name();
    app.set_version_flag("--version", std::string("UForm ") + uform_version());
    app.get_formatter()->column_width(34);
    occupy_standard_streams();
    check_counts(app);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const &error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        report(name, fmt::format("{}; run {} --help", error.what(), name));
        return exit_usage_k;
    }
    install_interrupt_handlers();
    return guarded(name, body);
}

} // namespace uform::tools
