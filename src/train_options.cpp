/**
 *  @file train_options.cpp
 *  @brief A run's options: each checked, defaults filled in.
 */
#include <algorithm>

#include <uform/train/pair_loss.hpp>
#include <uform/utilities/arguments.hpp>

#include "trainer_handle.hpp"

namespace uform {
namespace {

float or_default(float value, float otherwise) noexcept { return value == 0 ? otherwise : value; }

failure_t resolve_widths(uform_contrastive_t const &asked, std::size_t hidden, trainer_options_t &options) noexcept {
    std::size_t const count = asked.matryoshka_dimensions ? asked.matryoshka_dimensions_count : 0;
    if (count > matryoshka_limit_k) return refuse("contrastive.matryoshka_dimensions has more than 8 widths");
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const width = asked.matryoshka_dimensions[i];
        if (width == 0 || width % 8 || width > hidden || (i && width <= options.widths[i - 1]))
            return refuse("contrastive.matryoshka_dimensions must ascend in multiples of 8 up to hidden");
        options.widths[i] = width;
    }
    options.contrastive.matryoshka_dimensions = nullptr, options.contrastive.matryoshka_dimensions_count = count;
    return {};
}

failure_t resolve_contrastive(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    uform_contrastive_t &resolved = options.contrastive = call.contrastive;
    if (uform_pair_loss_form_name(resolved.pair_loss) == uform_pair_loss_form_name(-1))
        return refuse("contrastive.pair_loss is not a form");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_sigmoid_k;
    if (resolved.negatives != uform_negatives_ambient_k && resolved.negatives != uform_negatives_named_k)
        return refuse("contrastive.negatives is neither ambient nor named");
    bool const sigmoid = resolved.pair_loss == uform_pair_loss_form_sigmoid_k;
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        return refuse("contrastive.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) return refuse("contrastive.bias must be finite");
    if (!is_weight(resolved.ambient_repulsion_weight))
        return refuse("contrastive.ambient_repulsion_weight must be finite and not negative");
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, sigmoid ? 10.0f : 1.0f);
    resolved.bias = or_default(resolved.bias, sigmoid ? -10.0f : 0.0f);
    resolved.ambient_repulsion_weight = or_default(resolved.ambient_repulsion_weight, 1.0f);
    resolved.temperature_groups = std::max<std::size_t>(resolved.temperature_groups, 1);
    options.model.contrastive_groups = resolved.temperature_groups;
    options.regularizers = call.regularizers;
    if (options.regularizers.lipschitz_iterations == 0) options.regularizers.lipschitz_iterations = 4;
    if (options.regularizers.lipschitz_iterations > 64) return refuse("regularizers.lipschitz_iterations must not exceed 64");
    if (!is_weight(options.regularizers.coding_rate_weight))
        return refuse("regularizers.coding_rate_weight must be finite and not negative");
    if (!is_weight(options.regularizers.lipschitz_weight))
        return refuse("regularizers.lipschitz_weight must be finite and not negative");
    if (!is_weight(options.regularizers.coding_rate_epsilon_squared))
        return refuse("regularizers.coding_rate_epsilon_squared must be finite and not negative");
    return resolve_widths(call.contrastive, call.hidden, options);
}

failure_t resolve_late_interaction(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (!is_weight(call.late_interaction.weight))
        return refuse("late_interaction.weight must be finite and not negative");
    if (call.late_interaction.weight == 0) return {};
    if (!options.contrasts()) return refuse("late_interaction.weight must be zero where the objective is masked alone");
    uform_late_interaction_t &resolved = options.late_interaction = call.late_interaction;
    if (resolved.width % 8) return refuse("late_interaction.width must be a multiple of 8");
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        return refuse("late_interaction.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) return refuse("late_interaction.bias must be finite");
    if (uform_pair_loss_form_name(resolved.pair_loss) == uform_pair_loss_form_name(-1))
        return refuse("late_interaction.pair_loss is not a form");
    if (resolved.prefix_tokens >= call.batch.max_columns_per_row)
        return refuse("late_interaction.prefix_tokens must be below batch.max_columns_per_row");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_ranked_k;
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, 1.0f);
    if (!resolved.width) resolved.width = 128;
    if (!resolved.max_query_span) resolved.max_query_span = 64;
    options.model.token_width = resolved.width;
    options.model.late_interaction_groups = options.contrastive.temperature_groups;
    return {};
}

masking_t masking_of(uform_masking_t const &asked) noexcept {
    return derive_masking({asked.token_mask_probability, asked.token_mean_span, asked.replace_fraction,
                           asked.random_fraction, asked.image_mask_ratio, asked.video_mask_ratio,
                           asked.audio_mask_ratio, asked.text_weight, asked.image_weight, asked.video_weight,
                           asked.audio_weight});
}

/** Which media take part, and how they become tokens; sizes are for `check_options` to refuse. */
failure_t resolve_media(uform_batch_shape_t const &batch, trainer_options_t &options) noexcept {
    model_options_t &model = options.model;
    auto const or_size = [](std::size_t size, std::size_t otherwise) { return size ? size : otherwise; };
    if (batch.image.patch_side) model.image = {batch.image.patch_side, or_size(batch.image.channels, 4)};
    if (batch.video.patch_side) {
        if (or_size(batch.video.channels, model.video.channels) != model.video.channels)
            return refuse("batch.video.channels must be 3");
        model.video = {batch.video.patch_side, or_size(batch.video.tube_frames, 2),
                       or_size(batch.video.frame_stride, 1)};
    }
    if (batch.audio.chunk_samples) model.audio = {batch.audio.chunk_samples, or_size(batch.audio.sample_rate, 16000)};
    for (std::size_t medium = 0; medium < media_k; ++medium)
        model.reconstructs[medium] = options.masks() && model.enters(medium_t(medium));
    return {};
}

failure_t resolve_choices(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (!is_weight(call.choices.weight)) return refuse("choices.weight must be finite and not negative");
    if (call.choices.weight == 0) return {};
    options.choices = call.choices;
    if (!is_weight(call.choices.brier_weight)) return refuse("choices.brier_weight must be finite and not negative");
    if (!call.batch.max_choices_per_item)
        return refuse("batch.max_choices_per_item must not be zero where choices are trained");
    options.choices.temperature_groups = std::max<std::size_t>(call.choices.temperature_groups, 1);
    options.model.choice_groups = options.choices.temperature_groups;
    return {};
}

template <literal_t field_>
failure_t check_prefix(uform_bytes_view_t prefix, std::size_t context) noexcept {
    if (failure_t const failure = check_bytes<field_>(prefix)) return failure;
    if (prefix.length < context) return {};
    return uform::refuse<field_, " must be shorter than batch.max_columns_per_row">();
}

} // namespace

failure_t resolve(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (failure_t const failure = check_path<"resume">(call.resume, presence_t::optional_k)) return failure;
    if (failure_t const failure = check_path<"initial">(call.initial, presence_t::optional_k)) return failure;
    if (call.resume.length && call.initial.length) return refuse("resume and initial exclude each other");
    if (call.objective < uform_objective_masked_k || call.objective > uform_objective_joint_k)
        return refuse("objective is not masked, contrastive or joint");
    if (!call.batch.max_rows_per_device) return refuse("batch.max_rows_per_device must not be zero");
    if (!call.batch.max_segments_per_device) return refuse("batch.max_segments_per_device must not be zero");
    if (!call.batch.max_columns_per_row) return refuse("batch.max_columns_per_row must not be zero");
    options.batch = call.batch, options.objective = call.objective, options.seed = call.seed;
    options.model.geometry = {call.hidden, call.depth, call.batch.max_columns_per_row};
    if (failure_t const failure = resolve_media(call.batch, options)) return failure;
    if (options.contrasts())
        if (failure_t const failure = resolve_contrastive(call, options)) return failure;
    if (failure_t const failure = resolve_choices(call, options)) return failure;
    options.model.decoder = options.masks() || options.chooses();
    if (failure_t const failure = resolve_late_interaction(call, options)) return failure;
    std::size_t const context = call.batch.max_columns_per_row;
    if (failure_t const failure = check_prefix<"query_prefix">(call.query_prefix, context)) return failure;
    if (failure_t const failure = check_prefix<"document_prefix">(call.document_prefix, context)) return failure;
    options.query_prefix = text_of(call.query_prefix), options.document_prefix = text_of(call.document_prefix);
    options.masking = masking_of(call.masking);
    if (options.masks())
        if (failure_t const failure = validate_masking(options.masking)) return failure;
    options.schedule = derive_schedule({call.schedule.learning_rate, call.schedule.min_learning_rate,
                                        call.schedule.warmup_steps, call.schedule.steps});
    if (failure_t const failure = validate_schedule(options.schedule)) return failure;
    failure_t failure = check_options(options.model);
    if (failure) failure.status = uform_status_invalid_argument_k; // the same check calls a file malformed
    return failure;
}

} // namespace uform
