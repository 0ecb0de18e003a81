/**
 *  @file entry_backward.hpp
 *  @brief Arrow 3 of media walked back: from d_x to a medium's projection, its bias and its MASK row.
 *
 *  All of a batch's tokens of one medium make one product, however the medium's items lie among others: adding to the
 *  weights' gradient costs as much as a few hundred tokens. The order of the sum is the batch's.
 */
#pragma once
#include <uform/encoder/entry.hpp>
#include <uform/encoder/tensors.hpp>

namespace uform {

/** Tokens of a medium that show their values, gathered. */
template <typename wide_>
struct shown_tokens_t {
    std::size_t count = 0;
    narrow_t<wide_> *values = nullptr; // [count, token values]
    narrow_t<wide_> *d_x = nullptr;    // [count, hidden]
};

/** Copies what shows and adds up what needs no product: biases of shown tokens, the MASK row of the others. */
template <typename wide_>
void gather_run(run_t<wide_> const &run, std::size_t hidden, std::size_t values, wide_ const *d_x,
                media_tensors_t<wide_ *> const &gradients, shown_tokens_t<wide_> &shown) noexcept {
    auto const add = [&](std::size_t token, wide_ *sum) {
        for (std::size_t i = 0; i < hidden; ++i) sum[i] += d_x[(run.first + token) * hidden + i];
    };
    for_each_shown(run, [&](std::size_t token) {
        narrow_t<wide_> *const target = shown.d_x + shown.count * hidden;
        for (std::size_t i = 0; i < hidden; ++i) target[i] = narrow<wide_>(d_x[(run.first + token) * hidden + i]);
        std::copy_n(run.values + token * values, values, shown.values + shown.count++ * values);
        add(token, gradients.bias);
    });
    for (std::uint32_t const token : run.covered) add(token - run.first, gradients.mask);
}

/** Of one medium, from d_x [tokens, hidden]. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void project_tokens_backward(kit_ const &kit, lane_t &lane, medium_t medium, media_weights_t<wide_> const &entry,
                             media_tensors_t<wide_ *> const &gradients, std::span<run_t<wide_> const> runs,
                             wide_ const *d_x) noexcept {
    std::size_t const hidden = entry.projection.outputs, values = entry.projection.inputs;
    auto const is_ours = [&](run_t<wide_> const &run) { return !run.ids && run.medium == medium; };
    std::size_t tokens = 0;
    for (run_t<wide_> const &run : runs) tokens += is_ours(run) ? run.tokens - run.covered.size() : 0;
    scratch_scope_t scope(lane);
    shown_tokens_t<wide_> shown;
    shown.values = lane.claim<narrow_t<wide_>>(tokens * values);
    shown.d_x = lane.claim<narrow_t<wide_>>(tokens * hidden);
    if (lane.failed()) return;
    for (run_t<wide_> const &run : runs)
        if (is_ours(run)) gather_run(run, hidden, values, d_x, gradients, shown);
    if (shown.count)
        kit.gemm_backward_weight(lane, shown.count, hidden, values, shown.d_x, shown.values, gradients.projection);
}

} // namespace uform
