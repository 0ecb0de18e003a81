/**
 *  @file model.cpp
 *  @brief From a checked checkpoint to packed weights.
 */
#include <uform/encoder/model.hpp>

#include <uform/encoder/binding.hpp>

namespace uform {
namespace {

/** Refuses non-finite weights, one tensor at a time, over the executor's threads. */
failure_t refuse_non_finite_weights(checkpoint_t const &checkpoint, model_options_t const &options,
                                    executor_t &executor) noexcept {
    buffer_t<tensor_t const *> used;
    if (!used.resize(count_tensors(options)))
        return fail(uform_status_out_of_memory_k, "memory for the list of tensors is out");
    for_each_tensor(options, [&](tensor_spec_t const &spec) { used[spec.index] = checkpoint.find(spec.name()); });
    return executor.deal(used.size(), [&](std::size_t index, lane_t &lane) {
        if (failure_t const failure = refuse_non_finite(*used[index])) lane.fail(failure);
    });
}

} // namespace

failure_t model_t::load(checkpoint_t const &checkpoint, model_target_t const &target, executor_t &executor,
                        uform_progress_t const &progress) noexcept {
    if (failure_t const failure = read_options(checkpoint, options)) return failure;
    if (failure_t const failure = refuse_non_finite_weights(checkpoint, options, executor)) return failure;
    cpu_class = target.cpu_class, kit = kit_of(cpu_class), quantization = target.quantization;

    masters_t<float> masters;
    if (!masters.blocks.resize(options.geometry.depth) || !rotary.build(options.geometry.context))
        return fail(uform_status_out_of_memory_k, "memory for the model is out");
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        tensor_t const &tensor = *checkpoint.find(spec.name());
        if (spec.is_f32())
            bind_tensor<bf16_t const *, float const *>(masters, spec, nullptr, tensor.f32());
        else
            bind_tensor<bf16_t const *, float const *>(masters, spec, tensor.bf16(), nullptr);
    });
    if (options.choice_groups) {
        float const *const scales = checkpoint.find("choices.inverse_temperatures")->f32();
        for (std::size_t group = 0; group < options.choice_groups; ++group)
            if (!(scales[group] > 0)) // infinities and NaNs were refused with all others
                return fail(uform_status_malformed_k, "choices.inverse_temperatures must be positive",
                            "element %zu is %g", group, double(scales[group]));
        if (!choice_scales.resize(options.choice_groups))
            return fail(uform_status_out_of_memory_k, "memory for the model is out");
        std::copy_n(scales, options.choice_groups, choice_scales.data());
    }
    tower_layout_t const layout {.token_width = options.token_width,
                                 .token_values = {options.token_values(medium_t::image_k),
                                                  options.token_values(medium_t::video_k),
                                                  options.token_values(medium_t::audio_k)},
                                 .block_scalar = quantization,
                                 .domains = target.domains};
    if (failure_t const failure = tower.lay_out(*kit, options.geometry, masters, layout)) return failure;
    std::size_t const units = tower.units(), threads = executor.threads();
    for (std::size_t done = 0; done < units; done += threads) { // a round a report: a stop is heard within one
        std::size_t const round = std::min(threads, units - done);
        (void)executor.deal(round, [&](std::size_t unit, lane_t &) { tower.pack_unit(*kit, masters, done + unit); });
        if (progress.callback && !progress.callback(done + round, units, progress.context))
            return fail(uform_status_cancelled_k, "the progress handler stopped the load");
    }
    return {};
}

} // namespace uform
