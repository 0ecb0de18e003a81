/**
 *  @file interrupt.hpp
 *  @brief Ctrl-C, SIGTERM or a terminal that closed: the first asks the tool to finish cleanly, a second
 *  ctrl-C or SIGTERM ends it at once.
 *
 *  Also silences SIGPIPE, so that a closed pipe is a write error that unwinds and removes temporary files.
 */
#pragma once
#include <uform/types.h>

namespace uform::tools {

/** Installs the handlers; a signal the parent process chose to ignore stays ignored, as under `nohup`. */
void install_interrupt_handlers() noexcept;

/** The signal that asks the tool to stop; zero while none came. */
int interrupt_requested() noexcept;

/** Leaves through the stack, with the exit code of that signal, where one came. */
void leave_if_interrupted();

/** Cancels the verb it is handed to once a signal came. */
uform_progress_t interruptible() noexcept;

} // namespace uform::tools
