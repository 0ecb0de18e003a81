/**
 *  @file decoder_head.hpp
 *  @brief A linear head at some tokens of a chunk, from states to a loss and back: the byte decoder, or the values of a
 *  medium's token.
 *
 *  logits = decoder s_t + bias (docs/DESIGN.md, "Heads"). Both directions run in one call, since nothing but the loss
 *  reads the logits. Which loss is the caller's: masked text, choices and reconstruction are. Written over a kit, so
 *  that the oracles differentiate exactly what trains.
 */
#pragma once
#include <uform/encoder/heads.hpp>

namespace uform {

template <typename wide_>
struct decoder_weights_t {
    packed_t weight, weight_transposed; // [outputs, hidden]: 256 bytes, or the values of one token
    narrow_t<wide_> const *bias;        // [outputs]
};
template <typename wide_>
struct decoder_gradients_t {
    wide_ *weight_sum; // [outputs, hidden]
    wide_ *bias_sum;   // [outputs]
};

/** The tokens that are decoded; none comes twice. */
template <typename wide_>
struct decoded_t {
    std::size_t count = 0;
    std::uint32_t const *tokens = nullptr;   // [count]
    narrow_t<wide_> const *states = nullptr; // [tokens of the chunk, hidden]
    std::size_t hidden = 0;
};

/**
 *  `loss(logits)` answers a loss of logits [count, outputs] and sets them to its gradient. Adds to the decoder's
 *  gradients and to d_states_sum [tokens of the chunk, hidden]; answers what the loss did.
 */
template <typename kit_, typename loss_, typename wide_ = typename kit_::wide_t>
wide_ decoder_head(kit_ const &kit, lane_t &lane, decoder_weights_t<wide_> const &weights,
                   decoder_gradients_t<wide_> const &gradients, decoded_t<wide_> const &decoded, loss_ const &loss,
                   wide_ *d_states_sum) noexcept {
    std::size_t const count = decoded.count, hidden = decoded.hidden, outputs = weights.weight.outputs;
    std::size_t const cells = count * outputs;
    if (count == 0) return wide_(0);
    scratch_scope_t scope(lane);
    auto *states = lane.claim<narrow_t<wide_>>(count * hidden), *d_narrow = lane.claim<narrow_t<wide_>>(cells);
    wide_ *logits = lane.claim<wide_>(cells), *d_states = lane.claim<wide_>(count * hidden);
    if (lane.failed()) return wide_(0);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(decoded.states + decoded.tokens[i] * hidden, hidden, states + i * hidden);
    logits_forward(kit, lane, weights.weight, weights.bias, count, states, logits);
    wide_ const answer = loss(logits);
    if (lane.failed()) return wide_(0);
    kit.cast_rows(lane, cells, logits, d_narrow);
    kit.gemm_backward_weight(lane, count, outputs, hidden, d_narrow, states, gradients.weight_sum);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < outputs; ++j) gradients.bias_sum[j] += logits[i * outputs + j];
    kit.gemm_wide(lane, count, d_narrow, weights.weight_transposed, nullptr, d_states);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < hidden; ++j)
            d_states_sum[decoded.tokens[i] * hidden + j] += d_states[i * hidden + j];
    return answer;
}

} // namespace uform
