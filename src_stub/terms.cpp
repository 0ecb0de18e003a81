/**
 *  @file terms.cpp
 *  @brief The table of what a resumed run shares with the one that was saved.
 */
#include "terms.hpp"

#include <charconv>

#include "failure.hpp"

namespace uform_stub {
namespace {

/** Nine digits, which name one float each. */
std::string digits_of(float value) {
    char text[32];
    auto const written = std::to_chars(text, text + sizeof(text), double(value), std::chars_format::general, 9);
    return {text, written.ptr};
}

struct terms_t {
    metadata_t list;

    void add(char const *key, float value) { list.emplace_back(key, digits_of(value)); }
    void add(char const *key, std::size_t value) { list.emplace_back(key, std::to_string(value)); }
    void add(char const *key, char const *name) { list.emplace_back(key, name); }

    void add_masking(options_t const &options) {
        uform_masking_t const &masking = options.masking;
        add("masking.token_mask_probability", masking.token_mask_probability);
        add("masking.token_mean_span", masking.token_mean_span);
        add("masking.replace_fraction", masking.replace_fraction);
        add("masking.random_fraction", masking.random_fraction);
        add("masking.text_weight", masking.text_weight);
        if (options.sizes.token_values[0])
            add("masking.image_mask_ratio", masking.image_mask_ratio),
                add("masking.image_weight", masking.image_weight);
        if (options.sizes.token_values[1])
            add("masking.video_mask_ratio", masking.video_mask_ratio),
                add("masking.video_weight", masking.video_weight);
        if (options.sizes.token_values[2])
            add("masking.audio_mask_ratio", masking.audio_mask_ratio),
                add("masking.audio_weight", masking.audio_weight);
    }

    void add_contrastive(options_t const &options) {
        std::string widths;
        for (std::size_t const width : options.widths) {
            if (!widths.empty()) widths += ',';
            widths += std::to_string(width);
        }
        list.emplace_back("contrastive.matryoshka_dimensions", widths);
        add("contrastive.pair_loss", uform_pair_loss_form_name(options.contrastive.pair_loss));
        add("contrastive.negatives", uform_negatives_name(options.contrastive.negatives));
        if (options.contrastive.negatives == uform_negatives_ambient_k)
            add("contrastive.ambient_repulsion_weight", options.contrastive.ambient_repulsion_weight);
    }

    void add_regularizers(uform_regularizers_t const &regularizers) {
        add("regularizers.coding_rate_weight", regularizers.coding_rate_weight);
        if (regularizers.coding_rate_weight > 0)
            add("regularizers.coding_rate_epsilon_squared", regularizers.coding_rate_epsilon_squared);
        add("regularizers.lipschitz_weight", regularizers.lipschitz_weight);
        if (regularizers.lipschitz_weight > 0)
            add("regularizers.lipschitz_iterations", regularizers.lipschitz_iterations);
    }

    void add_late_interaction(options_t const &options) {
        add("late_interaction.weight", options.late_interaction.weight);
        if (!options.interacts()) return;
        add("late_interaction.pair_loss", uform_pair_loss_form_name(options.late_interaction.pair_loss));
        add("late_interaction.max_query_span", options.late_interaction.max_query_span);
        add("late_interaction.prefix_tokens", options.late_interaction.prefix_tokens);
    }
};

} // namespace

metadata_t terms_of(options_t const &options) {
    terms_t terms;
    terms.add("schedule.steps", options.schedule.steps);
    terms.add("schedule.warmup_steps", options.schedule.warmup_steps);
    terms.add("schedule.learning_rate", options.schedule.learning_rate);
    terms.add("schedule.min_learning_rate", options.schedule.min_learning_rate);
    if (options.masks()) terms.add_masking(options);
    if (options.contrasts()) terms.add_contrastive(options), terms.add_regularizers(options.regularizers);
    terms.add_late_interaction(options);
    terms.add("choices.weight", options.choices.weight);
    if (options.chooses()) terms.add("choices.brier_weight", options.choices.brier_weight);
    return terms.list;
}

void check_same(std::string const &field, std::string const &saved, std::string const &asked) {
    if (saved != asked)
        fail(uform_status_config_mismatch_k, "resume does not continue this run",
             field + ": saved " + saved + ", asked " + asked);
}

void check_terms(checkpoint_t const &checkpoint, options_t const &options) {
    for (auto const &[key, asked] : terms_of(options))
        if (std::string const *saved = checkpoint.metadata(key)) check_same(key, *saved, asked);
}

} // namespace uform_stub
