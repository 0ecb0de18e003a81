/**
 *  @file choices_head.hpp
 *  @brief Choices from states to loss and back: the byte decoder at the MASK behind each text that asks.
 */
#pragma once
#include <uform/train/choices.hpp>
#include <uform/train/decoder_head.hpp>

namespace uform {

/** The items of one chunk that choose. */
template <typename wide_>
struct choosing_t {
    decoded_t<wide_> decoded; // the MASK tokens, one an item
    choices_t<wide_> choices;
};

/** Adds to the decoder's gradients and to d_states_sum [tokens of the chunk, hidden]; answers the loss's sum, unscaled. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
wide_ choices_head(kit_ const &kit, lane_t &lane, decoder_weights_t<wide_> const &weights,
                   decoder_gradients_t<wide_> const &gradients, choosing_t<wide_> const &choosing,
                   wide_ *d_states_sum) noexcept {
    auto const loss = [&](wide_ *logits) noexcept { return choices_loss(kit, lane, choosing.choices, logits); };
    return decoder_head(kit, lane, weights, gradients, choosing.decoded, loss, d_states_sum);
}

} // namespace uform
