/**
 *  @file stash.hpp
 *  @brief What one block computes between its input and its output, and the gradients that mirror it.
 *
 *  One stash serves every block: inference overwrites it block after block, and a backward refills it by replaying the
 *  block from its kept input. Training with memory to spare gives blocks a stash each, and replays none of these.
 */
#pragma once
#include <uform/encoder/geometry.hpp>
#include <uform/utilities/lane.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

template <typename wide_>
struct block_stash_t {
    narrow_t<wide_> *normed = nullptr;      // [tokens, hidden]
    wide_ *attention_inverse_rms = nullptr; // [tokens]
    narrow_t<wide_> *qkv = nullptr;         // [tokens, 3 hidden], q and k rotated
    narrow_t<wide_> *attended = nullptr;    // [tokens, hidden]
    wide_ *lse = nullptr;                   // [tokens, heads]
    wide_ *middle = nullptr;                // [tokens, hidden], the residual stream between attention and MLP
    narrow_t<wide_> *mlp_normed = nullptr;  // [tokens, hidden]
    wide_ *mlp_inverse_rms = nullptr;       // [tokens]
    narrow_t<wide_> *gate_up = nullptr;     // [tokens, 2 inner]
    narrow_t<wide_> *activated = nullptr;   // [tokens, inner]

    /** What `tokens` tokens take, `middle` and all. */
    static std::size_t bytes(geometry_t const &geometry, std::size_t tokens) noexcept {
        std::size_t const hidden = geometry.hidden, inner = geometry.inner(), heads = geometry.heads();
        return tokens * ((6 * hidden + 3 * inner) * sizeof(narrow_t<wide_>) + (hidden + heads + 2) * sizeof(wide_));
    }
    /** The same of the tokens from `first` on. */
    block_stash_t from(geometry_t const &geometry, std::size_t first) const noexcept {
        std::size_t const hidden = first * geometry.hidden, inner = first * geometry.inner();
        return {normed + hidden,     attention_inverse_rms + first, qkv + 3 * hidden,
                attended + hidden,   lse + first * geometry.heads(), middle + hidden,
                mlp_normed + hidden, mlp_inverse_rms + first,       gate_up + 2 * inner,
                activated + inner};
    }
    /** Claims everything but `middle`, which inference lets alias the block's input; false when memory is out. */
    [[nodiscard]] bool claim(lane_t &lane, geometry_t const &geometry, std::size_t tokens) noexcept {
        std::size_t const hidden = geometry.hidden, inner = geometry.inner();
        normed = lane.claim<narrow_t<wide_>>(tokens * hidden);
        attention_inverse_rms = lane.claim<wide_>(tokens);
        qkv = lane.claim<narrow_t<wide_>>(tokens * 3 * hidden);
        attended = lane.claim<narrow_t<wide_>>(tokens * hidden);
        lse = lane.claim<wide_>(tokens * geometry.heads());
        mlp_normed = lane.claim<narrow_t<wide_>>(tokens * hidden);
        mlp_inverse_rms = lane.claim<wide_>(tokens);
        gate_up = lane.claim<narrow_t<wide_>>(tokens * 2 * inner);
        activated = lane.claim<narrow_t<wide_>>(tokens * inner);
        return !lane.failed();
    }
};

/** Gradients of the stash's activations; `d_narrow` is the residual's gradient as the products read it. */
template <typename wide_>
struct block_d_stash_t {
    narrow_t<wide_> *d_narrow = nullptr;    // [tokens, hidden]
    narrow_t<wide_> *d_normed = nullptr;    // [tokens, hidden]
    narrow_t<wide_> *d_attended = nullptr;  // [tokens, hidden]
    narrow_t<wide_> *d_qkv = nullptr;       // [tokens, 3 hidden]
    narrow_t<wide_> *d_gate_up = nullptr;   // [tokens, 2 inner]
    narrow_t<wide_> *d_activated = nullptr; // [tokens, inner]

    [[nodiscard]] bool claim(lane_t &lane, geometry_t const &geometry, std::size_t tokens) noexcept {
        std::size_t const hidden = geometry.hidden, inner = geometry.inner();
        d_narrow = lane.claim<narrow_t<wide_>>(tokens * hidden);
        d_normed = lane.claim<narrow_t<wide_>>(tokens * hidden);
        d_attended = lane.claim<narrow_t<wide_>>(tokens * hidden);
        d_qkv = lane.claim<narrow_t<wide_>>(tokens * 3 * hidden);
        d_gate_up = lane.claim<narrow_t<wide_>>(tokens * 2 * inner);
        d_activated = lane.claim<narrow_t<wide_>>(tokens * inner);
        return !lane.failed();
    }
};

} // namespace uform
