/**
 *  @file token_head.hpp
 *  @brief Token vectors on their way back: from the unit rows a loss moved to the projection and the states.
 *
 *  The forward is `token_vectors_forward` of encoder/heads.hpp, then a rounding to the scalar that products read, which
 *  the gradient passes as it is.
 */
#pragma once
#include <uform/encoder/kit.hpp>
#include <uform/train/normalize.hpp>

namespace uform {

template <typename wide_>
struct token_head_backward_t {
    std::size_t tokens = 0, hidden = 0;
    packed_t projection_transposed;          // of [width, hidden]
    narrow_t<wide_> const *states = nullptr; // [tokens, hidden]
    wide_ const *vectors = nullptr;          // [tokens, width], unit rows
    wide_ const *inverse_norms = nullptr;    // [tokens], of the rows before they had unit length
    wide_ const *d_vectors = nullptr;        // [tokens, width]
    wide_ *projection_sum = nullptr;         // [width, hidden]
    wide_ *d_states_sum = nullptr;           // [tokens, hidden]
};

template <typename kit_, typename wide_ = typename kit_::wide_t>
void token_vectors_backward(kit_ const &kit, lane_t &lane, token_head_backward_t<wide_> const &io) noexcept {
    std::size_t const width = io.projection_transposed.inputs, cells = io.tokens * width;
    scratch_scope_t scope(lane);
    wide_ *d_raw = lane.claim<wide_>(cells);
    narrow_t<wide_> *d_narrow = lane.claim<narrow_t<wide_>>(cells);
    if (lane.failed()) return;
    std::fill(d_raw, d_raw + cells, wide_(0));
    for (std::size_t token = 0; token < io.tokens; ++token)
        normalize_row_backward(width, io.vectors + token * width, io.inverse_norms[token], io.d_vectors + token * width,
                               d_raw + token * width);
    kit.cast_rows(lane, cells, d_raw, d_narrow);
    kit.gemm_backward_weight(lane, io.tokens, width, io.hidden, d_narrow, io.states, io.projection_sum);
    kit.gemm_wide(lane, io.tokens, d_narrow, io.projection_transposed, io.d_states_sum, io.d_states_sum);
}

} // namespace uform
