/**
 *  @file train_options.cpp
 *  @brief The refusals of a run's arguments, in the engine's order.
 */
#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "arguments.hpp"

namespace uform_stub {
namespace {

bool is_weight(float x) noexcept { return x >= 0 && x <= std::numeric_limits<float>::max(); }
bool is_share(float x) noexcept { return x >= 0 && x <= 1; }
float or_default(float x, float otherwise) noexcept { return x == 0 ? otherwise : x; }

void resolve_widths(uform_contrastive_t const &asked, std::size_t hidden, std::vector<std::size_t> &widths) {
    std::size_t const count = asked.matryoshka_dimensions ? asked.matryoshka_dimensions_count : 0;
    if (count > 8) refuse("contrastive.matryoshka_dimensions has more than 8 widths");
    for (std::size_t i = 0, last = 0; i < count; last = asked.matryoshka_dimensions[i++]) {
        std::size_t const width = asked.matryoshka_dimensions[i];
        if (width == 0 || width % 8 || width > hidden || width <= last)
            refuse("contrastive.matryoshka_dimensions must ascend in multiples of 8 up to hidden");
        widths.push_back(width);
    }
    if (!count) widths.push_back(hidden);
}

void resolve_regularizers(uform_regularizers_t const &asked, uform_regularizers_t &resolved) {
    if (asked.lipschitz_iterations > 64) refuse("regularizers.lipschitz_iterations must not exceed 64");
    if (!is_weight(asked.coding_rate_weight)) refuse("regularizers.coding_rate_weight must be finite and not negative");
    if (!is_weight(asked.lipschitz_weight)) refuse("regularizers.lipschitz_weight must be finite and not negative");
    if (!is_weight(asked.coding_rate_epsilon_squared))
        refuse("regularizers.coding_rate_epsilon_squared must be finite and not negative");
    resolved = asked;
    resolved.coding_rate_epsilon_squared = or_default(asked.coding_rate_epsilon_squared, 0.5f);
    if (!resolved.lipschitz_iterations) resolved.lipschitz_iterations = 4;
}

void resolve_contrastive(uform_trainer_init_ram_t const &call, options_t &options) {
    uform_contrastive_t &resolved = options.contrastive = call.contrastive;
    if (resolved.pair_loss < uform_pair_loss_form_derived_k || resolved.pair_loss > uform_pair_loss_form_softmax_k)
        refuse("contrastive.pair_loss is not a form");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_sigmoid_k;
    if (resolved.negatives != uform_negatives_ambient_k && resolved.negatives != uform_negatives_named_k)
        refuse("contrastive.negatives is neither ambient nor named");
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        refuse("contrastive.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) refuse("contrastive.bias must be finite");
    if (!is_weight(resolved.ambient_repulsion_weight))
        refuse("contrastive.ambient_repulsion_weight must be finite and not negative");
    bool const sigmoid = resolved.pair_loss == uform_pair_loss_form_sigmoid_k;
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, sigmoid ? 10.0f : 1.0f);
    resolved.bias = or_default(resolved.bias, sigmoid ? -10.0f : 0.0f);
    options.sizes.contrastive_groups = resolved.temperature_groups =
        std::max<std::size_t>(resolved.temperature_groups, 1);
    resolved.ambient_repulsion_weight = or_default(resolved.ambient_repulsion_weight, 1.0f);
    resolve_regularizers(call.regularizers, options.regularizers);
    resolve_widths(call.contrastive, call.hidden, options.widths);
}

void resolve_late_interaction(uform_trainer_init_ram_t const &call, options_t &options) {
    if (!is_weight(call.late_interaction.weight)) refuse("late_interaction.weight must be finite and not negative");
    if (call.late_interaction.weight == 0) return;
    if (!options.contrasts()) refuse("late_interaction.weight must be zero where the objective is masked alone");
    uform_late_interaction_t &resolved = options.late_interaction = call.late_interaction;
    if (resolved.width % 8) refuse("late_interaction.width must be a multiple of 8");
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        refuse("late_interaction.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) refuse("late_interaction.bias must be finite");
    if (resolved.pair_loss < uform_pair_loss_form_derived_k || resolved.pair_loss > uform_pair_loss_form_softmax_k)
        refuse("late_interaction.pair_loss is not a form");
    if (resolved.prefix_tokens >= call.batch.max_columns_per_row)
        refuse("late_interaction.prefix_tokens must be below batch.max_columns_per_row");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_ranked_k;
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, 1.0f);
    if (!resolved.max_query_span) resolved.max_query_span = 64;
    options.sizes.token_width = resolved.width ? resolved.width : 128;
    options.sizes.late_interaction_groups = options.contrastive.temperature_groups;
}

/** Which media take part; their sizes are for `check_sizes` to refuse. */
void resolve_media(uform_trainer_init_ram_t const &call, options_t &options) {
    sizes_t &sizes = options.sizes;
    auto const or_size = [](std::size_t &size, std::size_t otherwise) { size = size ? size : otherwise; };
    if (call.batch.image.patch_side) sizes.image = call.batch.image, or_size(sizes.image.channels, 4);
    if (call.batch.video.patch_side) {
        sizes.video = call.batch.video;
        or_size(sizes.video.tube_frames, 2), or_size(sizes.video.frame_stride, 1), or_size(sizes.video.channels, 3);
        if (sizes.video.channels != 3) refuse("batch.video.channels must be 3");
    }
    if (call.batch.audio.chunk_samples) sizes.audio = call.batch.audio, or_size(sizes.audio.sample_rate, 16000);
    count_token_values(sizes);
    for (std::size_t medium = 0; medium < 3; ++medium)
        sizes.reconstructs[medium] = options.masks() && sizes.enters(medium);
}

void resolve_masking(uform_masking_t const &asked, uform_masking_t &resolved) {
    float const replace = or_default(asked.replace_fraction, 0.8f), random = or_default(asked.random_fraction, 0.1f);
    float const span = or_default(asked.token_mean_span, 16);
    if (!is_share(asked.token_mask_probability)) refuse("masking.token_mask_probability must lie between 0 and 1");
    if (!(span >= 1 && is_weight(span))) refuse("masking.token_mean_span must be at least one byte");
    if (!is_share(replace) || !is_share(random) || !(replace + random <= 1.0f + 0x1p-20f))
        refuse("masking.replace_fraction and random_fraction must lie between 0 and 1, and so must their sum");
    if (!is_share(asked.image_mask_ratio)) refuse("masking.image_mask_ratio must lie between 0 and 1");
    if (!is_share(asked.video_mask_ratio)) refuse("masking.video_mask_ratio must lie between 0 and 1");
    if (!is_share(asked.audio_mask_ratio)) refuse("masking.audio_mask_ratio must lie between 0 and 1");
    if (!is_weight(asked.text_weight)) refuse("masking.text_weight must be finite and not negative");
    if (!is_weight(asked.image_weight)) refuse("masking.image_weight must be finite and not negative");
    if (!is_weight(asked.video_weight)) refuse("masking.video_weight must be finite and not negative");
    if (!is_weight(asked.audio_weight)) refuse("masking.audio_weight must be finite and not negative");
    resolved = asked;
    resolved.token_mask_probability = or_default(asked.token_mask_probability, 0.15f);
    resolved.token_mean_span = span, resolved.replace_fraction = replace, resolved.random_fraction = random;
    for (float uform_masking_t::*weight : {&uform_masking_t::text_weight, &uform_masking_t::image_weight,
                                           &uform_masking_t::video_weight, &uform_masking_t::audio_weight})
        resolved.*weight = or_default(asked.*weight, 1.0f);
    for (float uform_masking_t::*ratio :
         {&uform_masking_t::image_mask_ratio, &uform_masking_t::video_mask_ratio, &uform_masking_t::audio_mask_ratio})
        resolved.*ratio = or_default(asked.*ratio, 0.75f);
}

void resolve_choices(uform_trainer_init_ram_t const &call, options_t &options) {
    if (!is_weight(call.choices.weight)) refuse("choices.weight must be finite and not negative");
    if (call.choices.weight == 0) return;
    if (!is_weight(call.choices.brier_weight)) refuse("choices.brier_weight must be finite and not negative");
    if (!call.batch.max_choices_per_item)
        refuse("batch.max_choices_per_item must not be zero where choices are trained");
    options.choices = call.choices;
    options.sizes.choice_groups = options.choices.temperature_groups =
        std::max<std::size_t>(call.choices.temperature_groups, 1);
}

uform_schedule_t resolve_schedule(uform_schedule_t schedule) {
    schedule.learning_rate = or_default(schedule.learning_rate, 5e-4f);
    schedule.min_learning_rate = or_default(schedule.min_learning_rate, std::min(1e-5f, schedule.learning_rate));
    if (!schedule.warmup_steps) schedule.warmup_steps = std::min<std::size_t>(schedule.steps / 10, 400);
    if (!schedule.steps) refuse("schedule.steps must not be zero");
    if (!is_weight(schedule.learning_rate)) refuse("schedule.learning_rate must be finite and not negative");
    if (!(schedule.min_learning_rate >= 0 && schedule.min_learning_rate <= schedule.learning_rate))
        refuse("schedule.min_learning_rate must lie between 0 and learning_rate");
    if (schedule.warmup_steps > schedule.steps) refuse("schedule.warmup_steps must not exceed schedule.steps");
    return schedule;
}

} // namespace

options_t resolve(uform_trainer_init_ram_t const &call) {
    options_t options;
    check_path(UFORM_STUB_FIELD("resume"), call.resume, false);
    check_path(UFORM_STUB_FIELD("initial"), call.initial, false);
    if (call.resume.length && call.initial.length) refuse("resume and initial exclude each other");
    if (call.objective < uform_objective_masked_k || call.objective > uform_objective_joint_k)
        refuse("objective is not masked, contrastive or joint");
    if (!call.batch.max_rows_per_device) refuse("batch.max_rows_per_device must not be zero");
    if (!call.batch.max_segments_per_device) refuse("batch.max_segments_per_device must not be zero");
    if (!call.batch.max_columns_per_row) refuse("batch.max_columns_per_row must not be zero");
    options.batch = call.batch, options.objective = call.objective, options.seed = call.seed;
    options.sizes.hidden = call.hidden, options.sizes.depth = call.depth;
    options.sizes.context = call.batch.max_columns_per_row;
    resolve_media(call, options);
    if (options.contrasts()) resolve_contrastive(call, options);
    resolve_choices(call, options);
    options.sizes.decoder = options.masks() || options.chooses();
    resolve_late_interaction(call, options);
    check_bytes(UFORM_STUB_FIELD("query_prefix"), call.query_prefix);
    if (call.query_prefix.length >= options.sizes.context)
        refuse("query_prefix must be shorter than batch.max_columns_per_row");
    check_bytes(UFORM_STUB_FIELD("document_prefix"), call.document_prefix);
    if (call.document_prefix.length >= options.sizes.context)
        refuse("document_prefix must be shorter than batch.max_columns_per_row");
    if (options.masks()) resolve_masking(call.masking, options.masking);
    options.schedule = resolve_schedule(call.schedule);
    check_sizes(options.sizes, uform_status_invalid_argument_k);
    return options;
}

} // namespace uform_stub
