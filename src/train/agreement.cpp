/**
 *  @file agreement.cpp
 *  @brief The tables of what a resumed run shares with the one that was saved, and their comparison.
 */
#include "train/agreement.hpp"

#include <cassert>
#include <charconv>
#include <cstdio>

#include <uform/utilities/json.hpp>

namespace uform {
namespace {

struct size_row_t {
    std::string_view field;
    std::uint64_t saved, asked;
};

failure_t same_sizes(std::span<size_row_t const> rows) noexcept {
    for (size_row_t const &row : rows)
        if (failure_t const failure = same_number(row.field, row.saved, row.asked)) return failure;
    return {};
}

/** The share of each medium that is hidden, and the weight of its loss. */
struct medium_masking_t {
    medium_t medium;
    char const *ratio_name, *weight_name;
    float ratio, weight;
};
struct media_masking_t {
    medium_masking_t rows[media_k];

    explicit media_masking_t(masking_t const &masking) noexcept
        : rows {{medium_t::image_k, "masking.image_mask_ratio", "masking.image_weight", masking.image_mask_ratio,
                 masking.image_weight},
                {medium_t::video_k, "masking.video_mask_ratio", "masking.video_weight", masking.video_mask_ratio,
                 masking.video_weight},
                {medium_t::audio_k, "masking.audio_mask_ratio", "masking.audio_weight", masking.audio_mask_ratio,
                 masking.audio_weight}} {}
};

/** Of media, those that the run trains on. */
void add_masking(notes_t &notes, trainer_options_t const &options) noexcept {
    masking_t const &masking = options.masking;
    notes.add("masking.token_mask_probability", masking.token_mask_probability);
    notes.add("masking.token_mean_span", masking.token_mean_span);
    notes.add("masking.replace_fraction", masking.replace_fraction);
    notes.add("masking.random_fraction", masking.random_fraction);
    notes.add("masking.text_weight", masking.text_weight);
    for (medium_masking_t const &row : media_masking_t(masking).rows)
        if (options.model.enters(row.medium))
            notes.add(row.ratio_name, row.ratio), notes.add(row.weight_name, row.weight);
}

void add_contrastive(notes_t &notes, trainer_options_t const &options) noexcept {
    uform_contrastive_t const &contrastive = options.contrastive;
    std::span<std::size_t const> widths {options.widths, contrastive.matryoshka_dimensions_count};
    if (widths.empty()) widths = {&options.model.geometry.hidden, 1}; // the full width alone, however it was asked for
    notes.add("contrastive.matryoshka_dimensions", widths);
    notes.add("contrastive.pair_loss", uform_pair_loss_form_name(contrastive.pair_loss));
    notes.add("contrastive.negatives", uform_negatives_name(contrastive.negatives));
    if (contrastive.negatives == uform_negatives_ambient_k)
        notes.add("contrastive.ambient_repulsion_weight", contrastive.ambient_repulsion_weight);
}

void add_regularizers(notes_t &notes, uform_regularizers_t const &regularizers) noexcept {
    notes.add("regularizers.coding_rate_weight", regularizers.coding_rate_weight);
    float const epsilon_squared = regularizers.coding_rate_epsilon_squared;
    if (regularizers.coding_rate_weight > 0)
        notes.add("regularizers.coding_rate_epsilon_squared", epsilon_squared > 0 ? epsilon_squared : 0.5f);
    notes.add("regularizers.lipschitz_weight", regularizers.lipschitz_weight);
    if (regularizers.lipschitz_weight > 0)
        notes.add("regularizers.lipschitz_iterations", std::uint64_t(regularizers.lipschitz_iterations));
}

void add_late_interaction(notes_t &notes, uform_late_interaction_t const &late_interaction) noexcept {
    notes.add("late_interaction.weight", late_interaction.weight);
    if (late_interaction.weight == 0) return;
    notes.add("late_interaction.pair_loss", uform_pair_loss_form_name(late_interaction.pair_loss));
    notes.add("late_interaction.max_query_span", std::uint64_t(late_interaction.max_query_span));
    notes.add("late_interaction.prefix_tokens", std::uint64_t(late_interaction.prefix_tokens));
}

void add_choices(notes_t &notes, uform_choices_t const &choices) noexcept {
    notes.add("choices.weight", choices.weight);
    if (choices.weight > 0) notes.add("choices.brier_weight", choices.brier_weight);
}

} // namespace

void notes_t::add(std::string_view key, std::uint64_t value) noexcept {
    std::size_t const number = std::size_t(value);
    add(key, std::span<std::size_t const>(&number, 1));
}

void notes_t::add(std::string_view key, float value) noexcept {
    assert(count_ < entries_limit_k);
    char *const first = values_[count_], *const last = first + value_limit_k;
    auto const written = std::to_chars(first, last, double(value), std::chars_format::general, 9);
    entries_[count_++] = {key, {first, std::size_t(written.ptr - first)}};
}

void notes_t::add(std::string_view key, char const *name) noexcept {
    assert(count_ < entries_limit_k);
    entries_[count_++] = {key, name};
}

void notes_t::add(std::string_view key, std::span<std::size_t const> widths) noexcept {
    assert(count_ < entries_limit_k);
    char *const first = values_[count_], *const last = first + value_limit_k, *end = first;
    for (std::size_t const &width : widths) {
        if (&width != widths.data()) *end++ = ',';
        end = std::to_chars(end, last, width).ptr;
    }
    entries_[count_++] = {key, {first, std::size_t(end - first)}};
}

void add_media(fields_t &fields, trainer_options_t const &options) noexcept {
    model_options_t const &model = options.model;
    auto const size = [&](char const *name, std::size_t value) { fields.add(name, std::uint64_t(value)); };
    size("batch.image.patch_side", model.image.patch_side), size("batch.image.channels", model.image.channels);
    size("batch.video.patch_side", model.video.patch_side), size("batch.video.tube_frames", model.video.tube_frames);
    size("batch.video.frame_stride", model.video.frame_stride);
    size("batch.audio.chunk_samples", model.audio.chunk_samples);
    size("batch.audio.sample_rate", model.audio.sample_rate);
    if (!options.masks()) return;
    for (medium_masking_t const &row : media_masking_t(options.masking).rows)
        if (model.enters(row.medium)) fields.add(row.ratio_name, row.ratio), fields.add(row.weight_name, row.weight);
}

void add_schedule(notes_t &notes, trainer_options_t const &options) noexcept {
    notes.add("schedule.steps", std::uint64_t(options.schedule.steps));
    notes.add("schedule.warmup_steps", std::uint64_t(options.schedule.warmup_steps));
    notes.add("schedule.learning_rate", options.schedule.learning_rate);
    notes.add("schedule.min_learning_rate", options.schedule.min_learning_rate);
}

void add_terms(notes_t &notes, trainer_options_t const &options) noexcept {
    add_schedule(notes, options);
    if (options.masks()) add_masking(notes, options);
    if (options.contrasts()) add_contrastive(notes, options), add_regularizers(notes, options.regularizers);
    add_late_interaction(notes, options.late_interaction);
    add_choices(notes, options.choices);
}

failure_t refuse_resume(std::string_view field, std::string_view saved, std::string_view asked) noexcept {
    return fail(uform_status_config_mismatch_k, "resume does not continue this run", "%.*s: saved %s, asked %s",
                int(field.size()), field.data(), shown_text_t(saved).text, shown_text_t(asked).text);
}

failure_t same_number(std::string_view field, std::uint64_t saved, std::uint64_t asked) noexcept {
    char saved_text[24], asked_text[24];
    if (saved == asked) return {};
    std::snprintf(saved_text, sizeof(saved_text), "%llu", (unsigned long long)saved);
    std::snprintf(asked_text, sizeof(asked_text), "%llu", (unsigned long long)asked);
    return refuse_resume(field, saved_text, asked_text);
}

failure_t same_terms(checkpoint_t const &checkpoint, trainer_options_t const &asked) noexcept {
    notes_t notes;
    add_terms(notes, asked);
    for (metadata_entry_t const &entry : notes.entries()) {
        std::string_view const saved = checkpoint.metadata(entry.key).value_or(entry.value);
        if (saved != entry.value) return refuse_resume(entry.key, saved, entry.value);
    }
    return {};
}

failure_t same_run(checkpoint_t const &checkpoint, model_options_t const &saved, model_notes_t const &notes,
                   trainer_options_t const &asked) noexcept {
    model_options_t const &model = asked.model;
    size_row_t const first[] = {{"hidden", saved.geometry.hidden, model.geometry.hidden},
                                {"depth", saved.geometry.depth, model.geometry.depth},
                                {"context", saved.geometry.context, model.geometry.context},
                                {"seed", notes.seed, asked.seed}};
    if (failure_t const failure = same_sizes(first)) return failure;
    std::string_view const objective = uform_objective_name(asked.objective);
    if (notes.objective != objective) return refuse_resume("objective", notes.objective, objective);
    if (failure_t const failure = same_terms(checkpoint, asked)) return failure;
    // Heads come last: where their weight differs too, that is the better answer.
    size_row_t const heads[] = {{"image.patch_side", saved.image.patch_side, model.image.patch_side},
                                {"image.channels", saved.image.channels, model.image.channels},
                                {"video.patch_side", saved.video.patch_side, model.video.patch_side},
                                {"video.tube_frames", saved.video.tube_frames, model.video.tube_frames},
                                {"video.frame_stride", saved.video.frame_stride, model.video.frame_stride},
                                {"audio.chunk_samples", saved.audio.chunk_samples, model.audio.chunk_samples},
                                {"audio.sample_rate", saved.audio.sample_rate, model.audio.sample_rate},
                                {"late_interaction.width", saved.token_width, model.token_width},
                                {"choices.temperature_groups", saved.choice_groups, model.choice_groups},
                                {"contrastive.temperature_groups", saved.contrastive_groups, model.contrastive_groups}};
    return same_sizes(heads);
}

} // namespace uform
