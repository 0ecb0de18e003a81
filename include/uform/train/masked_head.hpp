/**
 *  @file masked_head.hpp
 *  @brief Masked text from states to loss and back: the byte decoder at the covered tokens alone.
 */
#pragma once
#include <uform/train/decoder_head.hpp>
#include <uform/train/masked.hpp>

namespace uform {

/** The tokens of one chunk that are to be reconstructed. */
template <typename wide_>
struct covered_t {
    decoded_t<wide_> decoded;
    std::uint8_t const *targets = nullptr; // [count]
    real_t<wide_> scale = 1;               // of the gradient: the head's weight over the step's covered tokens
};

/** Adds to the decoder's gradients and to d_states_sum [tokens of the chunk, hidden]; answers the loss's sum, unscaled. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
wide_ masked_head(kit_ const &kit, lane_t &lane, decoder_weights_t<wide_> const &weights,
                  decoder_gradients_t<wide_> const &gradients, covered_t<wide_> const &covered,
                  wide_ *d_states_sum) noexcept {
    auto const loss = [&](wide_ *logits) noexcept {
        return masked_text(lane, masked_text_t<wide_> {covered.decoded.count, logits, covered.targets, covered.scale},
                           logits);
    };
    return decoder_head(kit, lane, weights, gradients, covered.decoded, loss, d_states_sum);
}

} // namespace uform
