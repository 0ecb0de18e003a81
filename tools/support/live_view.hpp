/**
 *  @file live_view.hpp
 *  @brief What the bar of a run says of its last step.
 */
#pragma once
#include <string>

#include "support/plan.hpp"

namespace uform::tools {

/** How fast a run goes. */
struct pace_t {
    double tokens_per_second;
    double operations_per_second; // useful ones
    double share_of_peak;         // zero where the peak is not told
    std::size_t skipped = 0;      // files
};

/** The loss, the weighted terms it is the sum of, effective rank, and the pace. */
std::string live_view(plan_t const &plan, uform_trainer_step_stats_t const &stats, pace_t const &pace);

} // namespace uform::tools
