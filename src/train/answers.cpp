/**
 *  @file answers.cpp
 *  @brief What a step leaves its caller: rows as the losses read them, and stats.
 */
#include "train/step.hpp"

#include <cmath>
#include <utility>

namespace uform {

void step_t::land_embeddings() const noexcept {
    std::size_t const hidden = geometry().hidden;
    std::fill(items_.embeddings, items_.embeddings + items_.count() * hidden, 0.0f); // rows of dropped items stay zero
    for (std::size_t i = 0; i < kept_.size(); ++i) {
        float const *row = embeddings_ + i * hidden;
        double squares = 0;
        for (std::size_t column = 0; column < hidden; ++column) squares += double(row[column]) * double(row[column]);
        double const inverse = squares > 0 ? 1 / std::sqrt(squares) : 0.0;
        bool const fits = squares_scale(float(squares)) == 1; // else float holds no inverse
        for (std::size_t column = 0; column < hidden; ++column)
            items_.embeddings[kept_[i] * hidden + column] =
                fits ? row[column] * float(inverse) : float(row[column] * inverse);
    }
}

/** Kept items lie in the order they were given, so their rows are a copy; a dropped item has none. */
void step_t::land_token_vectors() const noexcept {
    std::copy_n(vectors_, read_tokens_ * trainer_.options_.model.token_width, items_.token_vectors);
    std::size_t kept = 0;
    items_.token_offsets[0] = 0;
    for (std::size_t item = 0; item < items_.count(); ++item) {
        bool const is_kept = kept < kept_.size() && kept_[kept] == item;
        items_.token_offsets[item + 1] = items_.token_offsets[item] + (is_kept ? read_tokens_of(kept++) : 0);
    }
}

void step_t::report(uform_trainer_step_stats_t &stats) const noexcept {
    stats = {};
    stats.step = trainer_.steps_done_, stats.learning_rate = learning_rate_;
    stats.loss = float(loss_), stats.contrastive_loss = float(contrastive_loss_);
    stats.masked_text_loss = float(masked_loss_);
    stats.masked_image_loss = float(media_losses_[std::size_t(medium_t::image_k)]);
    stats.masked_video_loss = float(media_losses_[std::size_t(medium_t::video_k)]);
    stats.masked_audio_loss = float(media_losses_[std::size_t(medium_t::audio_k)]);
    stats.choices_loss = float(choices_loss_);
    stats.late_interaction_loss = float(late_interaction_loss_);
    stats.truncated = truncated_, stats.dropped = std::exchange(trainer_.dropped_, 0);
    stats.gradient_norm = float(gradient_norm_);
    uform_regularizers_t const &regularizers = trainer_.options_.regularizers;
    if (regularizers.coding_rate_weight > 0)
        stats.coding_rate = float(-coding_rate_loss_ / regularizers.coding_rate_weight);
    if (regularizers.lipschitz_weight > 0) stats.lipschitz = float(lipschitz_loss_ / regularizers.lipschitz_weight);
    stats.effective_rank = float(effective_rank_), stats.tokens = tokens_;
}

} // namespace uform
