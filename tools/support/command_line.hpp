/**
 *  @file command_line.hpp
 *  @brief What the mains share around CLI11: parsing, help, usage errors. Included by mains alone, as CLI11 compiles
 *  slowly.
 */
#pragma once
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include <uform/types.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

/** Parses the flags and runs the body; answers the exit code. Help and version go to stdout and succeed. */
inline int run_tool(CLI::App &app, int argc, char **argv, std::function<int()> const &body) {
    std::string const name = app.get_name();
    app.set_version_flag("--version", std::string("UForm ") + uform_version());
    app.get_formatter()->column_width(34);
    occupy_standard_streams();
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
