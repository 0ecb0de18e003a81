/**
 *  @file pair_loss.hpp
 *  @brief How one anchor's row of logits becomes a loss and its derivative: sigmoid, balanced, ranked, softmax.
 *
 *  Shared by pooled cosines and late-interaction scores. A row arrives as logits z and two dense weight rows, w, of
 *  which at most one is not zero per column; a half that is empty counts 0.
 *  - sigmoid (Zhai et al. 2023, SigLIP): sum_A w softplus(-z) + sum_R w softplus(z);
 *  - balanced: the same halves, each divided by its total weight;
 *  - ranked: the weighted mean over (positive p, negative n) of softplus(z_n - z_p);
 *  - softmax (van den Oord et al. 2018, InfoNCE): the weighted mean over p of log(1 + sum_n w_n exp(z_n - z_p)).
 *  Ranked and softmax see differences of logits alone: the derivatives of a row sum to zero, so a bias cancels.
 */
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <uform/train/exponential.hpp>
#include <uform/train/normalize.hpp>
#include <uform/train/products.hpp>
#include <uform/train/relations.hpp>
#include <uform/utilities/elementary.hpp>

namespace uform {

/** The values are the ABI's; its zero, `derived`, is resolved before a loss is called. */
enum class pair_loss_t : std::int32_t { balanced_k = 1, ranked_k = 2, sigmoid_k = 3, softmax_k = 4 };

inline constexpr bool bias_cancels(pair_loss_t form) noexcept {
    return form == pair_loss_t::ranked_k || form == pair_loss_t::softmax_k;
}

template <typename scalar_>
struct pair_row_t {
    std::size_t count;
    scalar_ const *logits; // [count]
    float const *attract;  // [count]
    float const *repel;    // [count]
    row_weights_t total;
    scalar_ *d_logits; // [count], set
    scalar_ *terms;    // [2 count], scratch
};

namespace pairs {

template <typename scalar_>
scalar_ sigmoid_row(pair_row_t<scalar_> const &row, real_t<scalar_> attract_scale,
                    real_t<scalar_> repel_scale) noexcept {
    for (std::size_t j = 0; j < row.count; ++j) {
        float const attract = row.attract[j], repel = row.repel[j];
        real_t<scalar_> const sign = attract > 0 ? -1 : 1;
        real_t<scalar_> const weight = attract * attract_scale + repel * repel_scale;
        soft_t<scalar_> const force = soft(scalar_(sign) * row.logits[j]);
        row.terms[j] = scalar_(weight) * force.value;
        row.d_logits[j] = scalar_(sign * weight) * force.slope;
    }
    return sum_of(row.count, row.terms);
}

/** Calls `body(p)` for the columns that attract, in order. They are few, so sixteen without any are passed at once. */
template <typename body_>
[[gnu::always_inline]] inline void each_attracted(std::size_t count, float const *attract, body_ const &body) noexcept {
    constexpr std::size_t together_k = 16;
    for (std::size_t start = 0; start < count; start += together_k) {
        std::uint32_t bits = 0;
        std::size_t const end = start + together_k < count ? start + together_k : count;
        for (std::size_t p = start; p < end; ++p) bits |= std::bit_cast<std::uint32_t>(attract[p]);
        for (std::size_t p = start; bits && p < end; ++p)
            if (attract[p] > 0) body(p);
    }
}

template <typename scalar_>
scalar_ ranked_row(pair_row_t<scalar_> const &row) noexcept {
    for (std::size_t j = 0; j < row.count; ++j) row.d_logits[j] = 0;
    if (!(row.total.attract > 0 && row.total.repel > 0)) return 0;
    scalar_ loss = 0;
    double const scale = 1 / (row.total.attract * row.total.repel);
    each_attracted(row.count, row.attract, [&](std::size_t p) noexcept {
        auto const share = real_t<scalar_>(row.attract[p] * scale);
        scalar_ const positive = row.logits[p];
        scalar_ *const values = row.terms, *const slopes = row.terms + row.count;
        for (std::size_t n = 0; n < row.count; ++n) {
            // A pair without weight stays out by selection, not by a zero factor: its difference may overflow.
            float const repel = row.repel[n];
            scalar_ const zero = 0, difference = row.logits[n] - positive;
            scalar_ const weight = scalar_(share * real_t<scalar_>(repel));
            soft_t<scalar_> const force = soft(select(repel > 0, difference, zero));
            values[n] = weight * force.value, slopes[n] = weight * force.slope;
            row.d_logits[n] += slopes[n];
        }
        row.d_logits[p] -= sum_of(row.count, slopes);
        loss += sum_of(row.count, values);
    });
    return loss;
}

template <typename scalar_>
scalar_ softmax_row(pair_row_t<scalar_> const &row) noexcept {
    if (!(row.total.attract > 0 && row.total.repel > 0)) {
        for (std::size_t j = 0; j < row.count; ++j) row.d_logits[j] = 0;
        return 0;
    }
    // Only those that repel: an attracted logit may be so much higher that the others' exponentials vanish.
    scalar_ const lowest = -std::numeric_limits<real_t<scalar_>>::infinity();
    for (std::size_t n = 0; n < row.count; ++n) row.terms[n] = select(row.repel[n] > 0, row.logits[n], lowest);
    real_t<scalar_> const highest = highest_of(row.count, row.terms);
    for (std::size_t n = 0; n < row.count; ++n)
        row.terms[n] = scalar_(row.repel[n]) * exponential(row.terms[n] - highest);
    scalar_ const sum = sum_of(row.count, row.terms);
    scalar_ const negatives = highest + log_of(sum); // log of sum_n w_n exp(z_n)
    scalar_ loss = 0, pushed = 0;
    std::size_t first = row.count, last = 0; // that attract
    each_attracted(row.count, row.attract, [&](std::size_t p) noexcept {
        scalar_ const share = scalar_(real_t<scalar_>(row.attract[p] / row.total.attract));
        soft_t<scalar_> const force = soft(negatives - row.logits[p]);
        loss += share * force.value, pushed += share * force.slope;
        row.terms[row.count + p] = share * force.slope;
        first = first < p ? first : p, last = p + 1;
    });
    scalar_ const spread = pushed / sum;
    for (std::size_t n = 0; n < row.count; ++n) row.d_logits[n] = spread * row.terms[n];
    for (std::size_t p = first; p < last; ++p)
        if (row.attract[p] > 0) row.d_logits[p] -= row.terms[row.count + p];
    return loss;
}

} // namespace pairs

/** The loss of one anchor's row; `d_logits` is set to its derivative. */
template <typename scalar_>
scalar_ pair_loss_row(pair_loss_t form, pair_row_t<scalar_> const &row) noexcept {
    switch (form) {
    case pair_loss_t::ranked_k: return pairs::ranked_row(row);
    case pair_loss_t::softmax_k: return pairs::softmax_row(row);
    case pair_loss_t::balanced_k:
        return pairs::sigmoid_row<scalar_>(row, row.total.attract > 0 ? real_t<scalar_>(1 / row.total.attract) : 0,
                                  row.total.repel > 0 ? real_t<scalar_>(1 / row.total.repel) : 0);
    case pair_loss_t::sigmoid_k: break;
    }
    return pairs::sigmoid_row<scalar_>(row, 1, 1);
}

} // namespace uform
