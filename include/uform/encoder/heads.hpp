/**
 *  @file heads.hpp
 *  @brief Arrows 6 and 7: states → one pooled row per item → the embedding; states → token vectors; states → byte logits.
 *
 *  e = p + output · silu(hidden · p), p the attention-pooled row of the item's states (docs/DESIGN.md, "Heads"). The
 *  unit length is the caller's last step, since a Matryoshka prefix is normalized again. Nothing here knows a modality.
 */
#pragma once
#include <uform/encoder/kit.hpp>

namespace uform {

template <typename wide_>
struct pool_weights_t {
    wide_ const *query; // [hidden]
    packed_t hidden, output;
    packed_t hidden_transposed, output_transposed; // for backwards, else empty
};

template <typename wide_>
struct pool_gradients_t {
    wide_ *query_sum;  // [hidden]
    wide_ *hidden_sum; // [hidden, hidden]
    wide_ *output_sum; // [hidden, hidden]
};

/** What the head's backward reads; all of it per item but the attention. */
template <typename wide_>
struct pool_stash_t {
    wide_ *attention = nullptr;               // [tokens, heads]
    wide_ *pooled = nullptr;                  // [items, hidden]
    narrow_t<wide_> *pooled_narrow = nullptr; // [items, hidden]
    narrow_t<wide_> *hidden = nullptr;        // [items, hidden], before the activation
    narrow_t<wide_> *activated = nullptr;     // [items, hidden]

    [[nodiscard]] bool claim(lane_t &lane, geometry_t const &geometry, items_t items) noexcept {
        std::size_t const cells = items.count() * geometry.hidden;
        attention = lane.claim<wide_>(items.tokens() * geometry.heads());
        pooled = lane.claim<wide_>(cells);
        pooled_narrow = lane.claim<narrow_t<wide_>>(cells);
        hidden = lane.claim<narrow_t<wide_>>(cells);
        activated = lane.claim<narrow_t<wide_>>(cells);
        return !lane.failed();
    }
};

/** From states [tokens, hidden] to raw embeddings [items, hidden], not yet of unit length. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void pool_forward(kit_ const &kit, lane_t &lane, geometry_t const &geometry, pool_weights_t<wide_> const &weights,
                  items_t items, narrow_t<wide_> const *states, pool_stash_t<wide_> const &stash,
                  wide_ *embeddings) noexcept {
    std::size_t const count = items.count(), cells = count * geometry.hidden;
    kit.pool(lane, items, geometry.heads(), states, weights.query, stash.attention, stash.pooled);
    kit.cast_rows(lane, cells, stash.pooled, stash.pooled_narrow);
    kit.gemm(lane, count, stash.pooled_narrow, weights.hidden, stash.hidden);
    kit.silu(lane, cells, stash.hidden, stash.activated);
    kit.gemm_wide(lane, count, stash.activated, weights.output, stash.pooled, embeddings);
}

/** Adds to d_states_sum [tokens, hidden]; d_embeddings [items, hidden] is read only. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void pool_backward(kit_ const &kit, lane_t &lane, geometry_t const &geometry, pool_weights_t<wide_> const &weights,
                   pool_gradients_t<wide_> const &gradients, items_t items, narrow_t<wide_> const *states,
                   pool_stash_t<wide_> const &stash, wide_ const *d_embeddings, wide_ *d_states_sum) noexcept {
    std::size_t const hidden = geometry.hidden, count = items.count(), cells = count * hidden;
    scratch_scope_t scope(lane);
    narrow_t<wide_> *d_narrow = lane.claim<narrow_t<wide_>>(cells);
    narrow_t<wide_> *d_hidden = lane.claim<narrow_t<wide_>>(cells);
    wide_ *d_pooled = lane.claim<wide_>(cells);
    if (lane.failed()) return;
    kit.cast_rows(lane, cells, d_embeddings, d_narrow);
    kit.gemm_backward_weight(lane, count, hidden, hidden, d_narrow, stash.activated, gradients.output_sum);
    kit.gemm(lane, count, d_narrow, weights.output_transposed, d_hidden);
    kit.silu_backward(lane, cells, stash.hidden, d_hidden, d_narrow);
    kit.gemm_backward_weight(lane, count, hidden, hidden, d_narrow, stash.pooled_narrow, gradients.hidden_sum);
    kit.gemm_wide(lane, count, d_narrow, weights.hidden_transposed, d_embeddings, d_pooled);
    kit.pool_backward(lane, items, geometry.heads(),
                      {states, weights.query, stash.attention, d_pooled, d_states_sum, gradients.query_sum});
}

/** From states [tokens, hidden] to unit token vectors [tokens, token_width]; inverse_norm [tokens] is kept. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void token_vectors_forward(kit_ const &kit, lane_t &lane, packed_t projection, std::size_t tokens,
                           narrow_t<wide_> const *states, wide_ *vectors, wide_ *inverse_norm) noexcept {
    kit.gemm_wide(lane, tokens, states, projection, nullptr, vectors);
    kit.normalize_rows(lane, tokens, projection.outputs, projection.outputs, vectors, vectors, inverse_norm);
}

/** From states [count, hidden] to a linear head's answers [count, outputs], the byte decoder's logits for one. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void logits_forward(kit_ const &kit, lane_t &lane, packed_t head, narrow_t<wide_> const *bias, std::size_t count,
                    narrow_t<wide_> const *states, wide_ *logits) noexcept {
    kit.gemm_wide(lane, count, states, head, nullptr, logits);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < head.outputs; ++j) logits[i * head.outputs + j] += widen(bias[j]);
}

} // namespace uform
