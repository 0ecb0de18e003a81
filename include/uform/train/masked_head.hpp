/**
 *  @file masked_head.hpp
 *  @brief Masked text from states to loss and back: the byte decoder at the covered tokens alone.
 *
 *  logits = decoder s_t + bias at every covered t (model definition, "Heads"); their cross-entropy is `masked_text`. Both
 *  directions run in one call, since nothing but the decoder reads its logits. Written over a kit, so that the oracles
 *  differentiate exactly what trains.
 */
#pragma once
#include <uform/encoder/kit.hpp>
#include <uform/train/masked.hpp>

namespace uform {

template <typename wide_>
struct decoder_weights_t {
    packed_t weight, weight_transposed; // [256, hidden]
    narrow_t<wide_> const *bias;        // [256]
};
template <typename wide_>
struct decoder_gradients_t {
    wide_ *weight_sum; // [256, hidden]
    wide_ *bias_sum;   // [256]
};

/** The tokens of one chunk that are to be reconstructed. */
template <typename wide_>
struct covered_t {
    std::size_t count = 0;
    std::uint32_t const *tokens = nullptr;   // [count]
    std::uint8_t const *targets = nullptr;   // [count]
    narrow_t<wide_> const *states = nullptr; // [tokens of the chunk, hidden]
    std::size_t hidden = 0;
    real_t<wide_> scale = 1; // of the gradient: the head's weight over the step's covered tokens
};

/** Adds to the decoder's gradients and to d_states_sum [tokens of the chunk, hidden]; answers the loss's sum, unscaled. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
wide_ masked_head(kit_ const &kit, lane_t &lane, decoder_weights_t<wide_> const &weights,
                  decoder_gradients_t<wide_> const &gradients, covered_t<wide_> const &covered,
                  wide_ *d_states_sum) noexcept {
    std::size_t const count = covered.count, hidden = covered.hidden, cells = count * byte_values_k;
    if (count == 0) return wide_(0);
    scratch_scope_t scope(lane);
    auto *states = lane.claim<narrow_t<wide_>>(count * hidden), *d_narrow = lane.claim<narrow_t<wide_>>(cells);
    wide_ *logits = lane.claim<wide_>(cells), *d_states = lane.claim<wide_>(count * hidden);
    if (lane.failed()) return wide_(0);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(covered.states + covered.tokens[i] * hidden, hidden, states + i * hidden);
    kit.gemm_wide(lane, count, states, weights.weight, nullptr, logits);
    for (std::size_t i = 0; i < cells; ++i) logits[i] += widen(weights.bias[i % byte_values_k]);
    wide_ const loss = masked_text(lane, masked_text_t<wide_> {count, logits, covered.targets, covered.scale}, logits);
    kit.cast_rows(lane, cells, logits, d_narrow);
    kit.gemm_backward_weight(lane, count, byte_values_k, hidden, d_narrow, states, gradients.weight_sum);
    for (std::size_t i = 0; i < cells; ++i) gradients.bias_sum[i % byte_values_k] += logits[i];
    kit.gemm_wide(lane, count, d_narrow, weights.weight_transposed, nullptr, d_states);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < hidden; ++j)
            d_states_sum[covered.tokens[i] * hidden + j] += d_states[i * hidden + j];
    return loss;
}

} // namespace uform
