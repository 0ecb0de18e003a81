/**
 *  @file trainer.hpp
 *  @brief The verbs of training as a run calls them: made from a plan, stepped by a batch, saved.
 */
#pragma once
#include <cstddef>
#include <string>

#include "support/batch.hpp"
#include "support/engine.hpp"
#include "support/plan.hpp"

namespace uform::tools {

trainer_t make_trainer(plan_t const &plan, executor_t const &executor, mesh_t const &mesh, std::size_t steps);

/** A trainer like it that goes on from no checkpoint but starts at `initial`, which may be empty. */
trainer_t make_throwaway_trainer(plan_t plan, executor_t const &executor, std::size_t steps, std::string initial);

/** Steps once; what became of it is in `outcome`. */
uform_trainer_step_stats_t step_trainer(trainer_t const &trainer, executor_t const &executor, plan_t const &plan,
                                        batch_t const &batch, uform_outcome_t &outcome);

/** Whether a step ended because a loss or a gradient was not finite: else what is malformed is an item. */
bool is_non_finite(uform_outcome_t const &outcome) noexcept;

/** The file that a step was refused for; NULL where it was not, or for none. */
batch_file_t const *refused_file(uform_outcome_t const &outcome, batch_t const &batch) noexcept;

/** Not interruptible: ctrl-C is what leads here. */
void save_trainer(trainer_t const &trainer, executor_t const &executor, std::string const &path, bool optimizer);

} // namespace uform::tools
