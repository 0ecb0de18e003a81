/**
 *  @file culprits.cpp
 *  @brief One throwaway trainer and one step for each source.
 */
#include "support/culprits.hpp"
#include "support/error.hpp"
#include "support/output_file.hpp"

namespace uform::tools {

namespace {

bool is_culprit(executor_t const &executor, plan_t plan, std::string const &initial, material_t const &material,
                drawn_t const &part) {
    batch_t batch = material.batch(part);
    if (part.records.empty()) // a contrastive step needs pairs, which choices do not have
        plan.objective = uform_objective_masked_k, plan.mixture.late_interaction.weight = 0;
    trainer_t const trainer = make_throwaway_trainer(plan, executor, 1, initial);
    uform_outcome_t outcome = {};
    step_trainer(trainer, executor, plan, batch, outcome);
    return is_non_finite(outcome);
}

/** Sources with a share in `drawn`. */
std::vector<std::size_t> sources_in(material_t const &material, drawn_t const &drawn) {
    std::vector<std::size_t> found;
    for (std::size_t source = 0; source < material.sources(); ++source) {
        drawn_t const part = material.part_of(drawn, source);
        if (!part.records.empty() || !part.choices.empty()) found.push_back(source);
    }
    return found;
}

std::string names_of(material_t const &material, std::vector<std::size_t> const &sources) {
    std::string names;
    for (std::size_t const source : sources)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", material.source(source).path);
    return names;
}

} // namespace

verdict_t find_culprits(trainer_t const &trainer, executor_t const &executor, plan_t const &plan,
                        material_t const &material, drawn_t const &drawn, std::string const &scratch) {
    std::vector<std::size_t> const present = sources_in(material, drawn);
    std::string const names = names_of(material, present);
    if (present.size() == 1) return {present, fmt::format("all its texts are of {}", names)};
    std::vector<std::size_t> found;
    try {
        temporary_path_t const weights(scratch);
        save_trainer(trainer, executor, weights.path(), false);
        for (std::size_t const source : present)
            if (is_culprit(executor, plan, weights.path(), material, material.part_of(drawn, source)))
                found.push_back(source);
    } catch (tool_error_t const &) { // a full disk, say: the step's own failure is what must be told
        return {present, fmt::format("its texts are of {}, none of which could be tried alone", names)};
    }
    if (found.empty()) return {present, fmt::format("its texts are of {}, which fail only together", names)};
    if (found.size() == present.size())
        return {found,
                fmt::format("every source of the step fails by itself, as when weights have diverged: {}", names)};
    return {found, fmt::format("the texts of {} alone are the cause", names_of(material, found))};
}

} // namespace uform::tools
