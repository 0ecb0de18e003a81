/**
 *  @file training.hpp
 *  @brief The training run of `uform_base`: timing, steps, validation, checkpoints, the log.
 */
#pragma once
#include "support/plan.hpp"

namespace uform::tools {

/** Runs it; answers the exit code: success, or 128 plus the signal that stopped it after a save. */
int train(training_options_t const &options);

} // namespace uform::tools
