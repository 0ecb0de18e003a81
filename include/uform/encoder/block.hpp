/**
 *  @file block.hpp
 *  @brief One transformer block, written once over a kit: arrow 4 of the data path, x → x.
 *
 *  Pre-norm attention, then a pre-norm SwiGLU MLP, no biases, a wide residual stream. It knows neither the device nor
 *  the scalar nor whether anybody trains: `block_replay` computes all that `block_backward` reads, and `block_forward` is
 *  that plus the last product. There is no second forward.
 */
#pragma once
#include <uform/encoder/kit.hpp>
#include <uform/encoder/stash.hpp>

namespace uform {

template <typename wide_>
struct block_weights_t {
    wide_ const *attention_norm; // [hidden]
    packed_t qkv, output;
    wide_ const *mlp_norm; // [hidden]
    packed_t gate_up, down;
    packed_t qkv_transposed, output_transposed, gate_up_transposed, down_transposed; // for backwards, else empty
};

template <typename wide_>
struct block_gradients_t {
    wide_ *attention_norm_sum; // [hidden]
    wide_ *qkv_sum;            // [3 hidden, hidden]
    wide_ *output_sum;         // [hidden, hidden]
    wide_ *mlp_norm_sum;       // [hidden]
    wide_ *gate_up_sum;        // [2 inner, hidden]
    wide_ *down_sum;           // [hidden, inner]
};

/** The packed items a block works on. */
template <typename wide_>
struct block_items_t {
    items_t items;
    wide_ const *rotary; // [tokens, 64]: 32 cosines, then 32 sines
};

/** From `x` [tokens, hidden] to the stash: all of the block but its last product. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void block_replay(kit_ const &kit, lane_t &lane, geometry_t const &geometry, block_weights_t<wide_> const &weights,
                  block_items_t<wide_> const &batch, wide_ const *x, block_stash_t<wide_> const &stash) noexcept {
    std::size_t const tokens = batch.items.tokens(), hidden = geometry.hidden, heads = geometry.heads();
    kit.rmsnorm(lane, tokens, hidden, x, weights.attention_norm, stash.normed, stash.attention_inverse_rms);
    kit.gemm(lane, tokens, stash.normed, weights.qkv, stash.qkv);
    kit.rope(lane, tokens, heads, batch.rotary, rotation_t::forward_k, stash.qkv);
    kit.attention(lane, batch.items, heads, stash.qkv, stash.attended, stash.lse);
    kit.gemm_wide(lane, tokens, stash.attended, weights.output, x, stash.middle);
    kit.rmsnorm(lane, tokens, hidden, stash.middle, weights.mlp_norm, stash.mlp_normed, stash.mlp_inverse_rms);
    kit.gemm(lane, tokens, stash.mlp_normed, weights.gate_up, stash.gate_up);
    kit.swiglu(lane, tokens, geometry.inner(), stash.gate_up, stash.activated);
}

/** From `x` [tokens, hidden] to `y` [tokens, hidden]; `y` and `stash.middle` may be `x` where nobody goes back. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void block_forward(kit_ const &kit, lane_t &lane, geometry_t const &geometry, block_weights_t<wide_> const &weights,
                   block_items_t<wide_> const &batch, wide_ const *x, wide_ *y,
                   block_stash_t<wide_> const &stash) noexcept {
    block_replay(kit, lane, geometry, weights, batch, x, stash);
    kit.gemm_wide(lane, batch.items.tokens(), stash.activated, weights.down, stash.middle, y);
}

/** From what `block_replay` left in the stash; `d_x_sum` [tokens, hidden] comes in as the gradient of the block's output
 *  and leaves as that of its input. Gradients of matrices are set unless they continue sums. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void block_backward(kit_ const &kit, lane_t &lane, geometry_t const &geometry, block_weights_t<wide_> const &weights,
                    block_gradients_t<wide_> const &gradients, block_items_t<wide_> const &batch, wide_ const *x,
                    wide_ *d_x_sum, block_stash_t<wide_> const &stash, block_d_stash_t<wide_> const &d,
                    bool continues) noexcept {
    std::size_t const tokens = batch.items.tokens(), hidden = geometry.hidden, inner = geometry.inner();
    std::size_t const heads = geometry.heads();

    kit.cast_rows(lane, tokens * hidden, d_x_sum, d.d_narrow);
    kit.gemm_backward_weight(lane, tokens, hidden, inner, d.d_narrow, stash.activated, {gradients.down_sum, continues});
    kit.gemm(lane, tokens, d.d_narrow, weights.down_transposed, d.d_activated);
    kit.swiglu_backward(lane, tokens, inner, stash.gate_up, d.d_activated, d.d_gate_up);
    kit.gemm_backward_weight(lane, tokens, 2 * inner, hidden, d.d_gate_up, stash.mlp_normed,
                             {gradients.gate_up_sum, continues});
    kit.gemm(lane, tokens, d.d_gate_up, weights.gate_up_transposed, d.d_normed);
    kit.rmsnorm_backward(
        lane, tokens, hidden,
        {stash.middle, weights.mlp_norm, stash.mlp_inverse_rms, d.d_normed, d_x_sum, gradients.mlp_norm_sum});

    kit.cast_rows(lane, tokens * hidden, d_x_sum, d.d_narrow);
    kit.gemm_backward_weight(lane, tokens, hidden, hidden, d.d_narrow, stash.attended,
                             {gradients.output_sum, continues});
    kit.gemm(lane, tokens, d.d_narrow, weights.output_transposed, d.d_attended);
    kit.attention_backward(lane, batch.items, heads, {stash.qkv, stash.attended, stash.lse, d.d_attended, d.d_qkv});
    kit.rope(lane, tokens, heads, batch.rotary, rotation_t::backward_k, d.d_qkv);
    kit.gemm_backward_weight(lane, tokens, 3 * hidden, hidden, d.d_qkv, stash.normed, {gradients.qkv_sum, continues});
    kit.gemm(lane, tokens, d.d_qkv, weights.qkv_transposed, d.d_normed);
    kit.rmsnorm_backward(
        lane, tokens, hidden,
        {x, weights.attention_norm, stash.attention_inverse_rms, d.d_normed, d_x_sum, gradients.attention_norm_sum});
}

} // namespace uform
