/**
 *  @file trainer.cpp
 *  @brief Fills the argument structs of training.
 */
#include <cstdint>

#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/trainer.hpp"

namespace uform::tools {

trainer_t make_trainer(plan_t const &plan, executor_t const &executor, mesh_t const &mesh, std::size_t steps) {
    trainer_t trainer;
    uform_outcome_t outcome = {};
    uform_trainer_init_ram_t call = {};
    call.trainer = trainer.out(), call.executor = executor.get(), call.outcome = &outcome;
    call.resume = view(plan.resume), call.initial = view(plan.initial);
    call.depth = plan.depth, call.hidden = plan.hidden, call.seed = plan.seed;
    call.batch = plan.batch_shape(), call.objective = plan.objective;
    call.masking = plan.mixture.masking, call.contrastive = plan.contrastive(), call.schedule = plan.schedule(steps);
    call.late_interaction = plan.late_interaction(), call.choices = plan.choices();
    call.regularizers.coding_rate_weight = plan.mixture.coding_rate_weight;
    call.regularizers.lipschitz_weight = plan.mixture.lipschitz_weight;
    call.query_prefix = view(plan.mixture.query_prefix), call.document_prefix = view(plan.mixture.document_prefix);
    call.mesh = mesh.get(), call.progress = interruptible();
    uform_trainer_init_ram(&call);
    std::string const &file = plan.resume.empty() ? plan.initial : plan.resume;
    if (uform_outcome_status(&outcome) == uform_status_invalid_argument_k) // asked for here, not in a checkpoint
        check(outcome, plan.mixture.path.empty() ? "the flags" : fmt::format("{} or the flags", plan.mixture.path));
    check(outcome, file.empty() ? "cannot make the trainer" : std::string_view(file));
    return trainer;
}

trainer_t make_throwaway_trainer(plan_t plan, executor_t const &executor, std::size_t steps, std::string initial) {
    plan.resume.clear(), plan.initial = std::move(initial);
    return make_trainer(plan, executor, {}, steps);
}

uform_trainer_step_stats_t step_trainer(trainer_t const &trainer, executor_t const &executor, plan_t const &plan,
                                        batch_t const &batch, uform_outcome_t &outcome) {
    uform_trainer_step_stats_t stats = {};
    uform_trainer_step_t call = {};
    call.trainer = trainer.get(), call.executor = executor.get(), call.outcome = &outcome, call.stats = &stats;
    batch.fill(call, plan.with_pairs());
    uform_trainer_step(&call);
    return stats;
}

bool is_non_finite(uform_outcome_t const &outcome) noexcept {
    return uform_outcome_status(&outcome) == uform_status_malformed_k && outcome.item == SIZE_MAX;
}

batch_file_t const *refused_file(uform_outcome_t const &outcome, batch_t const &batch) noexcept {
    uform_status_t const status = uform_outcome_status(&outcome);
    if (status == uform_status_success_k || status == uform_status_out_of_memory_k) return nullptr;
    auto const found = batch.files.find(outcome.item);
    return found == batch.files.end() ? nullptr : &found->second;
}

void save_trainer(trainer_t const &trainer, executor_t const &executor, std::string const &path, bool optimizer) {
    uform_outcome_t outcome = {};
    uform_trainer_save_t call = {};
    call.trainer = trainer.get(), call.executor = executor.get(), call.outcome = &outcome;
    call.path = view(path), call.optimizer = optimizer;
    uform_trainer_save(&call);
    check(outcome, path);
}

} // namespace uform::tools
