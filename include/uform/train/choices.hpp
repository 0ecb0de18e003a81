/**
 *  @file choices.hpp
 *  @brief Calibrated choices: soft cross-entropy over each item's legal bytes plus a Brier score, with their gradient.
 *
 *  With z the legal logits times the item's inverse temperature, p = softmax(z) and t the target probabilities, an item
 *  costs
 *
 *      -sum t log p + brier_weight sum (p - t)^2
 *
 *  (Brier 1950). p is what `choices_softmax` answers, so that what trains is what is served; log p comes of it through
 *  the largest, which is at least 1/256: log p_j = log p_top - (z_top - z_j), finite where p_j itself is zero. The
 *  inverse temperature is held constant: it is fitted on held-out items (Guo et al. 2017). Items are independent and
 *  run in parallel; their losses are added in order. No items are a loss of zero.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <uform/encoder/kit.hpp>
#include <uform/train/normalize.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** What items choose from, item i owning `[offsets[i], offsets[i + 1])`, none of them empty; and what is right. */
template <typename scalar_>
struct choices_t {
    items_t items;                         // offsets [count + 1]
    std::uint8_t const *choices = nullptr; // the byte each choice stands for, all of one item different
    float const *targets = nullptr;        // a probability for each choice, one in sum for each item
    scalar_ const *scales = nullptr;       // [items]: inverse temperatures
    real_t<scalar_> brier_weight = 0;
    real_t<scalar_> scale = 1; // of the gradient: the term's weight over the world's items that choose
};

/** One item's loss; `logits` [256] is set to `scale` times its gradient, zeros at bytes that are not legal. */
template <typename scalar_>
scalar_ choices_row(choices_t<scalar_> const &in, std::size_t item, scalar_ const *probabilities,
                    scalar_ *logits) noexcept {
    std::size_t const first = in.items.offsets[item], last = in.items.offsets[item + 1];
    scalar_ const temperature = in.scales[item];
    std::size_t top = first;
    for (std::size_t i = first; i < last; ++i)
        if (real_of(probabilities[i]) > real_of(probabilities[top])) top = i;
    scalar_ const highest = logits[in.choices[top]], log_highest = log_of(probabilities[top]);
    scalar_ loss = 0, brier = 0, slope = 0;
    real_t<scalar_> mass = 0;
    for (std::size_t i = first; i < last; ++i) {
        real_t<scalar_> const target = in.targets[i];
        scalar_ const error = probabilities[i] - target;
        loss += target * (temperature * (highest - logits[in.choices[i]]) - log_highest);
        brier += error * error, slope += probabilities[i] * error, mass += target;
    }
    std::fill_n(logits, byte_values_k, scalar_(0));
    for (std::size_t i = first; i < last; ++i) {
        real_t<scalar_> const target = in.targets[i];
        scalar_ const p = probabilities[i], d_entropy = mass * p - target, d_brier = p * (p - target - slope);
        logits[in.choices[i]] = in.scale * temperature * (d_entropy + 2 * in.brier_weight * d_brier);
    }
    return loss + in.brier_weight * brier;
}

/** The sum of the losses, not scaled; logits [items, 256] are set to `scale` times its gradient. */
template <typename kit_, typename scalar_ = typename kit_::wide_t>
scalar_ choices_loss(kit_ const &kit, lane_t &lane, choices_t<scalar_> const &in, scalar_ *logits) noexcept {
    std::size_t const items = in.items.count();
    if (items == 0) return 0;
    scratch_scope_t scope(lane);
    scalar_ *const losses = lane.claim<scalar_>(items);
    scalar_ *const probabilities = lane.claim<scalar_>(in.items.tokens());
    if (lane.failed()) return 0;
    kit.choices_softmax(lane, {in.items, in.choices, logits, in.scales, probabilities});
    lane.rows(items, 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
        for (std::size_t item = first; item < last; ++item)
            losses[item] = choices_row(in, item, probabilities, logits + item * byte_values_k);
    });
    return sum_of(items, losses);
}

} // namespace uform
