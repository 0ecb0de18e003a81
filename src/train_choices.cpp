/**
 *  @file train_choices.cpp
 *  @brief A step's choices: what is refused of them.
 */
#include <uform/utilities/arguments.hpp>

#include "trainer_handle.hpp"

namespace uform {
namespace {

/** How far from one the targets of an item may sum: twice what 256 BFloat16 probabilities are off by. */
constexpr double targets_tolerance_k = 0x1p-8;

failure_t check_targets(std::span<float const> targets) noexcept {
    double sum = 0;
    for (float const target : targets) {
        if (!is_weight(target)) return refuse("choice_targets must be finite and not negative");
        sum += target;
    }
    if (sum - 1 <= targets_tolerance_k && 1 - sum <= targets_tolerance_k) return {};
    return fail(uform_status_invalid_argument_k, "choice_targets of one item must sum to one", "they sum to %g", sum);
}

failure_t check_question(uform_trainer_step_t const &call, trainer_options_t const &options, std::size_t item,
                         std::span<unsigned char const> choices) noexcept {
    if (call.modalities && call.modalities[item] != uform_modality_text_k)
        return refuse("choices are for items of text alone");
    if (choices.size() > options.batch.max_choices_per_item)
        return fail(uform_status_shape_mismatch_k, "an item has more choices than batch.max_choices_per_item",
                    "%zu of %zu", choices.size(), options.batch.max_choices_per_item);
    if (failure_t const failure = refuse_twins(choices)) return failure;
    if (call.temperature_groups && call.temperature_groups[item] >= options.choices.temperature_groups)
        return refuse("temperature_groups of items that choose must be below choices.temperature_groups");
    return {};
}

} // namespace

failure_t check_step_choices(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    if (!call.choices.offsets && !call.choice_targets.offsets) return {};
    if (!options.chooses()) return unsupported("choices are given to a run whose choices.weight is zero");
    if (failure_t const failure = check_tape<"choices">(call.choices, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_tape<"choice_targets">(call.choice_targets, call.count, uform_scalar_f32_k))
        return failure;
    std::size_t const apart = first_length_difference(call.choices, call.choice_targets, call.count);
    if (apart < call.count)
        return of_item(refuse("choice_targets must hold one probability for each of choices"), apart);
    tape_t<unsigned char> const choices(call.choices, call.count);
    tape_t<float> const targets(call.choice_targets, call.count);
    for (std::size_t i = 0; i < call.count; ++i) {
        if (choices[i].empty()) continue;
        if (failure_t const failure = check_question(call, options, i, choices[i])) return of_item(failure, i);
        if (failure_t const failure = check_targets(targets[i])) return of_item(failure, i);
    }
    return {};
}

} // namespace uform
