/**
 *  @file tower.hpp
 *  @brief The tower: arrows 3 to 5, ids → x → blocks → states, and the same path walked backward.
 *
 *  `residuals_t` is the only difference between serving and training: serving keeps one residual buffer that every
 *  block rewrites, training keeps the input of each block, one after the other, and of as many blocks as it was given
 *  memory for whatever else they computed.
 */
#pragma once
#include <uform/encoder/batch.hpp>
#include <uform/encoder/block.hpp>
#include <uform/encoder/entry.hpp>
#include <uform/encoder/entry_backward.hpp>
#include <uform/encoder/heads.hpp>
#include <uform/encoder/strips.hpp>
#include <uform/encoder/tensors.hpp>

namespace uform {

/** Weights of one tower, packed for one kit. */
template <typename wide_>
struct tower_weights_t {
    geometry_t geometry;
    narrow_t<wide_> const *embedding = nullptr; // [258, hidden]
    media_weights_t<wide_> media[media_k];      // empty where there is no such entry
    buffer_t<block_weights_t<wide_>> blocks;    // [depth]
    wide_ const *norm = nullptr;                // [hidden]
    pool_weights_t<wide_> pool {};
    packed_t tokens_projection, tokens_projection_transposed; // empty where there is no token head
    packed_t decoder, decoder_transposed;          // empty where there is no decoder
    narrow_t<wide_> const *decoder_bias = nullptr; // [256]
};

/**
 *  What outlives a block. The input of block i lies at `data + i * stride` [tokens, hidden]; a stride of zero rewrites
 *  one buffer. The first blocks fill a stash each; the others share one, which a backward refills.
 */
template <typename wide_>
struct residuals_t {
    wide_ *data = nullptr;
    std::size_t stride = 0;
    std::span<block_stash_t<wide_> const> stashes {};

    wide_ *input(std::size_t block) const noexcept { return data + block * stride; }
    bool keeps(std::size_t block) const noexcept { return block < stashes.size(); }
};

/** What the final norm leaves behind. */
template <typename wide_>
struct states_t {
    narrow_t<wide_> *states = nullptr; // [tokens, hidden]
    wide_ *inverse_rms = nullptr;      // [tokens]

    [[nodiscard]] bool claim(lane_t &lane, geometry_t const &geometry, std::size_t tokens) noexcept {
        states = lane.claim<narrow_t<wide_>>(tokens * geometry.hidden);
        inverse_rms = lane.claim<wide_>(tokens);
        return !lane.failed();
    }
};

/** Arrow 3 of texts: a row of the table per byte. */
template <typename kit_, typename wide_>
void enter(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights, text_batch_t<wide_> const &batch,
           wide_ *x) noexcept {
    kit.gather_bytes(lane, batch.items.tokens(), weights.geometry.hidden, batch.ids, weights.embedding, x);
}
/** Arrow 3 of mixed items: run by run, bytes as above and a projection of each other token. */
template <typename kit_, typename wide_>
void enter(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights, mixed_batch_t<wide_> const &batch,
           wide_ *x) noexcept {
    std::size_t const hidden = weights.geometry.hidden;
    for (run_t<wide_> const &run : batch.runs) {
        wide_ *const rows = x + run.first * hidden;
        if (run.ids)
            kit.gather_bytes(lane, run.tokens, hidden, run.ids, weights.embedding, rows);
        else
            project_tokens(kit, lane, weights.media[std::size_t(run.medium)], run, rows);
    }
}

/** Some of a batch's items, of tokens from `first` on, pass every block and the final norm. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void blocks_forward(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights,
                    block_items_t<wide_> const &items, std::size_t first, residuals_t<wide_> const &residuals,
                    states_t<wide_> const &out) noexcept {
    geometry_t const &geometry = weights.geometry;
    std::size_t const tokens = items.items.tokens(), cell = first * geometry.hidden;
    scratch_scope_t scope(lane);
    block_stash_t<wide_> shared;
    if (!shared.claim(lane, geometry, tokens)) return;
    for (std::size_t block = 0; block < geometry.depth; ++block) {
        wide_ *const y = residuals.input(block + 1) + cell;
        shared.middle = y; // the block's output is added onto it in place
        block_forward(kit, lane, geometry, weights.blocks[block], items, residuals.input(block) + cell, y,
                      residuals.keeps(block) ? residuals.stashes[block].from(geometry, first) : shared);
        if (lane.failed()) return;
    }
    kit.rmsnorm(lane, tokens, geometry.hidden, residuals.input(geometry.depth) + cell, weights.norm, out.states + cell,
                out.inverse_rms + first);
}

/** Items enter, pass every block and the final norm, as many together as have `strip_tokens`. */
template <typename kit_, typename batch_, typename wide_ = typename kit_::wide_t>
void tower_forward(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights, batch_ const &batch,
                   residuals_t<wide_> const &residuals, states_t<wide_> const &out,
                   std::size_t strip_tokens = SIZE_MAX) noexcept {
    enter(kit, lane, weights, batch, residuals.input(0));
    for_each_strip(lane, batch.items, strip_tokens, [&](items_t items, std::size_t first) {
        block_items_t<wide_> const strip {items, batch.rotary + first * head_width_k};
        if (!lane.failed()) blocks_forward(kit, lane, weights, strip, first, residuals, out);
    });
}

/** Gradients of one tower, as the backward adds to them. */
template <typename wide_>
struct tower_gradients_t {
    wide_ *embedding_sum = nullptr;            // [258, hidden]
    media_tensors_t<wide_ *> media_sum[media_k];
    buffer_t<block_gradients_t<wide_>> blocks; // [depth]
    wide_ *norm_sum = nullptr;                 // [hidden]
    pool_gradients_t<wide_> pool {};
    wide_ *tokens_projection_sum = nullptr; // [token_width, hidden]
    wide_ *decoder_weight_sum = nullptr;    // [256, hidden]
    wide_ *decoder_bias_sum = nullptr;      // [256]
};

/** Arrow 3 of texts walked back: each byte's gradient goes to its row of the table. */
template <typename kit_, typename wide_>
void enter_backward(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights,
                    tower_gradients_t<wide_> const &gradients, text_batch_t<wide_> const &batch,
                    wide_ const *d_x) noexcept {
    kit.scatter_bytes_sum(lane, batch.items.tokens(), weights.geometry.hidden, batch.ids, d_x, gradients.embedding_sum);
}
/** Of mixed items: bytes run by run, then each medium that has a token here. */
template <typename kit_, typename wide_>
void enter_backward(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights,
                    tower_gradients_t<wide_> const &gradients, mixed_batch_t<wide_> const &batch,
                    wide_ const *d_x) noexcept {
    std::size_t const hidden = weights.geometry.hidden;
    bool holds[media_k] = {};
    for (run_t<wide_> const &run : batch.runs)
        if (run.ids)
            kit.scatter_bytes_sum(lane, run.tokens, hidden, run.ids, d_x + run.first * hidden, gradients.embedding_sum);
        else
            holds[std::size_t(run.medium)] = true;
    for (std::size_t medium = 0; medium < media_k; ++medium)
        if (holds[medium])
            project_tokens_backward(kit, lane, medium_t(medium), weights.media[medium], gradients.media_sum[medium],
                                    batch.runs, d_x);
}

/** From d_states [tokens, hidden] back to the entries; `residuals` hold every block's input. Gradients are added, those
 *  of the blocks' matrices set unless they continue sums. Blocks are replayed in strips, as they went forward. */
template <typename kit_, typename batch_, typename wide_ = typename kit_::wide_t>
void tower_backward(kit_ const &kit, lane_t &lane, tower_weights_t<wide_> const &weights,
                    tower_gradients_t<wide_> const &gradients, batch_ const &batch, residuals_t<wide_> const &residuals,
                    states_t<wide_> const &forward, wide_ const *d_states, bool continues = true,
                    std::size_t strip_tokens = SIZE_MAX) noexcept {
    geometry_t const &geometry = weights.geometry;
    std::size_t const tokens = batch.items.tokens(), cells = tokens * geometry.hidden;
    scratch_scope_t scope(lane);
    block_stash_t<wide_> shared;
    block_d_stash_t<wide_> d_stash;
    shared.middle = lane.claim<wide_>(cells);
    wide_ *d_x = lane.claim<wide_>(cells);
    if (!shared.claim(lane, geometry, tokens) || !d_stash.claim(lane, geometry, tokens)) return;
    std::fill(d_x, d_x + cells, wide_(0));
    kit.cast_rows(lane, cells, d_states, d_stash.d_normed);
    kit.rmsnorm_backward(lane, tokens, geometry.hidden,
                         {residuals.input(geometry.depth), weights.norm, forward.inverse_rms, d_stash.d_normed, d_x,
                          gradients.norm_sum});
    block_items_t<wide_> const items {batch.items, batch.rotary};
    for (std::size_t block = geometry.depth; block-- > 0;) {
        block_stash_t<wide_> const &stash = residuals.keeps(block) ? residuals.stashes[block] : shared;
        if (!residuals.keeps(block))
            for_each_strip(lane, batch.items, strip_tokens, [&](items_t strip, std::size_t first) {
                block_items_t<wide_> const part {strip, batch.rotary + first * head_width_k};
                wide_ const *const x = residuals.input(block) + first * geometry.hidden;
                block_replay(kit, lane, geometry, weights.blocks[block], part, x, stash.from(geometry, first));
            });
        block_backward(kit, lane, geometry, weights.blocks[block], gradients.blocks[block], items,
                       residuals.input(block), d_x, stash, d_stash, continues);
        if (lane.failed()) return;
    }
    enter_backward(kit, lane, weights, gradients, batch, d_x);
}

} // namespace uform
