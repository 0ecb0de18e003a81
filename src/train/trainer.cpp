/**
 *  @file trainer.cpp
 *  @brief Starting a run, from a seed or from another model's weights, and taking its steps.
 */
#include <uform/train/trainer.hpp>

#include "train/step.hpp"

namespace uform {

failure_t trainer_t::start(trainer_options_t const &options, uform_cpu_class_t cpu_class,
                           executor_t &executor) noexcept {
    options_ = options, kit_ = kit_of(cpu_class);
    options_.query_prefix = options_.document_prefix = {};
    if (failure_t const failure = keep_prefixes(options)) return failure;
    if (failure_t const failure = alone_.join({})) return failure;
    if (failure_t const failure = parameters_.allocate(options.model)) return failure;
    initialization_t initialization;
    initialization.seed = options.seed;
    initialization.contrastive_inverse_temperature = options.contrastive.inverse_temperature;
    initialization.contrastive_bias = options.contrastive.bias;
    initialization.late_interaction_inverse_temperature = options.late_interaction.inverse_temperature;
    initialization.late_interaction_bias = options.late_interaction.bias;
    return parameters_.draw(initialization, executor);
}

/** What steps need and saving does not: gradients, moments, packed weights, rotations. Once. */
failure_t trainer_t::prepare() noexcept {
    if (tower_.is_laid_out()) return {};
    if (failure_t const failure = parameters_.allocate_gradients()) return failure;
    geometry_t const &geometry = options_.model.geometry;
    if (!rotary_.build(geometry.context))
        return fail(uform_status_out_of_memory_k, "memory for the trainer is out");
    model_options_t const &model = options_.model;
    tower_layout_t const layout {.token_width = model.token_width,
                                 .token_values = {model.token_values(medium_t::image_k),
                                                  model.token_values(medium_t::video_k),
                                                  model.token_values(medium_t::audio_k)},
                                 .with_transposes = true};
    return tower_.lay_out(*kit_, geometry, parameters_.masters(), layout);
}

failure_t trainer_t::step(step_items_t const &items, executor_t &executor, uform_trainer_step_stats_t *stats,
                          failure_t const &refusal) noexcept {
    turn_t const turn(world_->lock());
    step_t step(*this, items, executor);
    if (failure_t const failure = step.open(refusal ? refusal : prepare())) return failure;
    return step.run(stats);
}

failure_t trainer_t::warm_start(std::string_view path, uform_progress_t const &progress) noexcept {
    checkpoint_t checkpoint;
    if (failure_t const failure = checkpoint.open(path)) return failure;
    std::size_t matched = 0, seen = 0;
    for (tensor_spec_t const &spec : parameters_.specs()) {
        tensor_t const *tensor = checkpoint.find(spec.name());
        if (tensor)
            if (failure_t const failure = refuse_non_finite(*tensor)) return failure;
        matched += tensor && parameters_.copy_master(spec, *tensor);
        if (progress.callback && !progress.callback(++seen, parameters_.specs().size(), progress.context))
            return fail(uform_status_cancelled_k, "the progress handler stopped the load");
    }
    if (matched) return {};
    return fail(uform_status_config_mismatch_k, "initial has no tensor of this run's names and shapes");
}

} // namespace uform
