/**
 *  @file masked.hpp
 *  @brief Masked text: cross-entropy of the covered positions' byte logits, with its gradient.
 *
 *  -log softmax(z)[target] over 256 byte values (Devlin et al. 2019, on bytes), shifted by the row's maximum. Rows are
 *  independent and run in parallel; their losses are added in order. No covered position is a loss of zero.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/encoder/geometry.hpp>
#include <uform/train/exponential.hpp>
#include <uform/train/normalize.hpp>
#include <uform/train/products.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

template <typename scalar_>
struct masked_text_t {
    std::size_t positions = 0;
    scalar_ const *logits = nullptr;       // [positions, 256]
    std::uint8_t const *targets = nullptr; // [positions]
    real_t<scalar_> scale = 1;             // of the gradient: the head's weight over the world's covered positions
};

template <typename scalar_>
scalar_ masked_text_row(scalar_ const *logits, std::uint8_t target, real_t<scalar_> scale, scalar_ *d_logits) noexcept {
    auto const highest = highest_of(byte_values_k, logits);
    scalar_ const shifted = logits[target] - highest; // read before `d_logits`, which may be `logits`
    for (std::size_t j = 0; j < byte_values_k; ++j) d_logits[j] = exponential(logits[j] - highest);
    scalar_ const sum = sum_of(byte_values_k, d_logits);
    scalar_ const share = scale / sum;
    for (std::size_t j = 0; j < byte_values_k; ++j) d_logits[j] *= share;
    d_logits[target] -= scale;
    return log_of(sum) - shifted;
}

/**
 *  The sum of the losses, not scaled; d_logits [positions, 256] is set to `scale` times its gradient, in place if
 *  wished.
 */
template <typename scalar_>
scalar_ masked_text(lane_t &lane, masked_text_t<scalar_> const &in, scalar_ *d_logits) noexcept {
    if (in.positions == 0) return 0;
    scratch_scope_t scope(lane);
    scalar_ *const losses = lane.claim<scalar_>(in.positions);
    if (lane.failed()) return 0;
    lane.rows(in.positions, 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
        for (std::size_t row = first; row < last; ++row)
            losses[row] = masked_text_row(in.logits + row * byte_values_k, in.targets[row], in.scale,
                                          d_logits + row * byte_values_k);
    });
    return sum_of(in.positions, losses);
}

} // namespace uform
