/**
 *  @file pair_loss.hpp
 *  @brief How one anchor's row of logits becomes a loss and its derivative: sigmoid, balanced, ranked, softmax.
 *
 *  Shared by pooled cosines and late-interaction scores. A row arrives as logits z and two dense weight rows, w, of which
 *  at most one is not zero per column; a half that is empty counts 0.
 *  - sigmoid (Zhai et al. 2023, SigLIP): sum_A w softplus(-z) + sum_R w softplus(z);
 *  - balanced: the same halves, each divided by its total weight;
 *  - ranked: the weighted mean over (positive p, negative n) of softplus(z_n - z_p);
 *  - softmax (van den Oord et al. 2018, InfoNCE): the weighted mean over p of log(1 + sum_n w_n exp(z_n - z_p)).
 *  Ranked and softmax see differences of logits alone: the derivatives of a row sum to zero, so a bias cancels.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

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
    scalar_ *terms;    // [count], scratch
};

namespace pairs {

/** softplus and its slope from one exponential; the logarithm's argument lies in [1, 2]. */
template <typename scalar_>
struct soft_t {
    scalar_ value, slope;
};
template <typename scalar_>
[[gnu::always_inline]] inline soft_t<scalar_> soft(scalar_ x) noexcept {
    bool const positive = real_of(x) > 0;
    scalar_ const e = exp_of(positive ? -x : x);
    return {(positive ? x : scalar_(0)) + log_of(scalar_(1) + e), (positive ? scalar_(1) : e) / (scalar_(1) + e)};
}

/** log(1 + e) for e in [0, 1] by the series of 2 atanh(s), s = e / (2 + e) <= 1/3: the first term left out is below
 *  2 s^19 / 19, a relative 1e-10, and unlike `log_of` it has no branch, so a row of them vectorizes. */
[[gnu::always_inline]] inline double log_of_one_and(double e) noexcept {
    double const s = e / (2.0 + e), z = s * s;
    double const series =
        1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15 + z / 17))))));
    return 2.0 * s * (1.0 + z * series);
}
template <>
[[gnu::always_inline]] inline soft_t<float> soft(float x) noexcept {
    double const e = exp_of(double(x > 0 ? -x : x));
    return {float((x > 0 ? double(x) : 0.0) + log_of_one_and(e)), float((x > 0 ? 1.0 : e) / (1.0 + e))};
}

template <typename scalar_>
scalar_ sigmoid_row(pair_row_t<scalar_> const &row, real_t<scalar_> attract_scale,
                    real_t<scalar_> repel_scale) noexcept {
    for (std::size_t j = 0; j < row.count; ++j) {
        real_t<scalar_> const sign = row.attract[j] > 0 ? -1 : 1;
        real_t<scalar_> const weight = row.attract[j] * attract_scale + row.repel[j] * repel_scale;
        soft_t<scalar_> const force = soft(scalar_(sign) * row.logits[j]);
        row.terms[j] = scalar_(weight) * force.value;
        row.d_logits[j] = scalar_(sign * weight) * force.slope;
    }
    return sum_of(row.count, row.terms);
}

template <typename scalar_>
scalar_ ranked_row(pair_row_t<scalar_> const &row) noexcept {
    for (std::size_t j = 0; j < row.count; ++j) row.d_logits[j] = 0;
    if (!(row.total.attract > 0 && row.total.repel > 0)) return 0;
    scalar_ loss = 0;
    double const scale = 1 / (row.total.attract * row.total.repel);
    for (std::size_t p = 0; p < row.count; ++p) {
        if (!(row.attract[p] > 0)) continue;
        auto const share = real_t<scalar_>(row.attract[p] * scale);
        for (std::size_t n = 0; n < row.count; ++n) {
            // A pair without weight stays out by selection, not by a zero factor: its difference may overflow.
            scalar_ const weight = scalar_(share * real_t<scalar_>(row.repel[n]));
            soft_t<scalar_> const force = soft(row.repel[n] > 0 ? row.logits[n] - row.logits[p] : scalar_(0));
            row.terms[n] = weight * force.slope;
            row.d_logits[n] += row.terms[n];
            loss += weight * force.value;
        }
        row.d_logits[p] -= sum_of(row.count, row.terms);
    }
    return loss;
}

template <typename scalar_>
scalar_ softmax_row(pair_row_t<scalar_> const &row) noexcept {
    for (std::size_t j = 0; j < row.count; ++j) row.d_logits[j] = 0;
    if (!(row.total.attract > 0 && row.total.repel > 0)) return 0;
    auto highest = -std::numeric_limits<real_t<scalar_>>::infinity();
    for (std::size_t n = 0; n < row.count; ++n)
        if (row.repel[n] > 0 && real_of(row.logits[n]) > highest) highest = real_of(row.logits[n]);
    for (std::size_t n = 0; n < row.count; ++n)
        row.terms[n] = scalar_(row.repel[n]) * exp_of(row.repel[n] > 0 ? row.logits[n] - highest : scalar_(0));
    scalar_ const sum = sum_of(row.count, row.terms);
    scalar_ const negatives = highest + log_of(sum); // log of sum_n w_n exp(z_n)
    scalar_ loss = 0, pushed = 0;
    for (std::size_t p = 0; p < row.count; ++p) {
        if (!(row.attract[p] > 0)) continue;
        scalar_ const share = scalar_(real_t<scalar_>(row.attract[p] / row.total.attract));
        soft_t<scalar_> const force = soft(negatives - row.logits[p]);
        loss += share * force.value, pushed += share * force.slope;
        row.d_logits[p] -= share * force.slope;
    }
    scalar_ const spread = pushed / sum;
    for (std::size_t n = 0; n < row.count; ++n) row.d_logits[n] += spread * row.terms[n];
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
