/**
 *  @file run_events.hpp
 *  @brief What the log of a run says at its start and after each step, tools/README.md tells of it.
 */
#pragma once
#include <nlohmann/json.hpp>

#include <uform/train.h>

#include "support/material.hpp"
#include "support/plan.hpp"

namespace uform::tools {

/** `peak` in operations per second, of all processors of the run; zero where it is not known. */
nlohmann::ordered_json start_event(training_options_t const &options, plan_t const &plan, material_t const &material,
                                   double peak);

struct spent_t {
    double operations; // useful ones
    double seconds;
    double peak; // as above
};
nlohmann::ordered_json step_event(uform_trainer_step_stats_t const &stats, spent_t const &spent);

} // namespace uform::tools
