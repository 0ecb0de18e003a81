/**
 *  @file reconstructing.cpp
 *  @brief The backward of masked media: a head for each medium, over the states of its hidden tokens.
 */
#include "train/step.hpp"

namespace uform {

float step_t::media_weight(std::size_t medium) const noexcept {
    masking_t const &masking = trainer_.options_.masking;
    float const weights[media_k] = {masking.image_weight, masking.video_weight, masking.audio_weight};
    return weights[medium];
}

/** Of each medium, the mean over the step's hidden tokens and their values. */
void step_t::backward_media(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                            lane_t &lane) noexcept {
    for (std::size_t medium = 0; medium < media_k && !lane.failed(); ++medium) {
        part_t &part = chunk.parts[medium];
        if (!part.covered_count) continue;
        media_weights_t<float> const &weights = trainer_.tower_.weights.media[medium];
        media_tensors_t<float *> const &sums = gradients.media_sum[medium];
        reconstruction_t<float> reconstruction;
        reconstruction.positions = part.covered_count, reconstruction.values = token_values(medium);
        reconstruction.rows = part.rows, reconstruction.targets = part.values;
        reconstruction.scale = media_weight(medium) / float(std::max<std::size_t>(covered_media_[medium], 1));
        part.loss = reconstruction_head(
            *trainer_.kit_, lane,
            {weights.reconstruction, weights.reconstruction_transposed, weights.reconstruction_bias},
            {sums.reconstruction, sums.reconstruction_bias},
            {part.covered_count, part.covered, chunk.states.states, geometry().hidden}, reconstruction, d_states_sum);
    }
}

} // namespace uform
