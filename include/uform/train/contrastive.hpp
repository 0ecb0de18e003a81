/**
 *  @file contrastive.hpp
 *  @brief The pair losses over pooled embeddings, at every Matryoshka width, with their gradients in the same call.
 *
 *  Logits are z = exp(theta_g) s + b_g, s the cosine of two raw pooled rows cut to a width (Kusupati et al. 2022), g
 *  the anchor's group. The loss is the mean over anchors of `pair_loss_row`, then over widths. Anchors go in blocks I of
 *  rows, each against all items, so that memory grows with items and not with pairs. Per block and width w:
 *      D += E[I, new] E[:, new]^T              raw products; a wider prefix adds its own columns alone
 *      G[i, j] = d loss_i / d s_ij              one row per anchor, rows in parallel
 *      A_w = G scaled by both inverse norms; within I x I, G + G^T
 *      p_w[i] += sum_j A_w[i, j] D[i, j], and p_w[j] += sum_i A_w[i, j] D[i, j] of items outside of I
 *  and once a block is scored at all widths, for the columns that the first width above them, w, adds to the one below:
 *      d_E[i, k] += sum_j S[i, j] E[j, k],  d_E[j, k] += sum_i S[i, j] E[i, k] outside of I,  S the sum of A from w on
 *  At last d_E[i, k] -= q[i] E[i, k], q the sum of p_w / |E[i, :w]|^2 from w on. So widths cost no product that the
 *  widest alone would not. One block of all items takes N^2 H operations for D, a triangle, and 2 N^2 H for d_E; many
 *  take twice that. Every sum runs in the order of its index, and blocks follow from the sizes alone, so threads change
 *  no bit.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/train/contrastive_block.hpp>
#include <uform/train/pair_loss.hpp>
#include <uform/train/products.hpp>
#include <uform/train/relations.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

template <typename scalar_>
struct contrastive_t {
    relations_t relations; // validated
    pair_loss_t form = pair_loss_t::sigmoid_k;
    std::size_t hidden = 0;
    std::span<std::size_t const> widths;   // ascending prefixes, or empty: the full width alone
    std::span<std::uint32_t const> groups; // [items], or empty: every item in group zero
    scalar_ const *embeddings = nullptr;   // [items, hidden], as the pooling head answers them, not normalized
    scalar_ const *theta = nullptr;        // [groups], logarithms of the inverse temperatures
    scalar_ const *bias = nullptr;         // [groups]
    std::size_t block_bytes = std::size_t(32) << 20; // memory for a block of anchors, of sixteen at least
};

template <typename scalar_>
struct contrastive_gradient_t {
    scalar_ *d_embeddings_sum; // [items, hidden]
    scalar_ *d_theta_sum;      // [groups]
    scalar_ *d_bias_sum;       // [groups], untouched by the forms in which the bias cancels
};

/** One call's state; `contrastive` below is the way in. */
template <typename scalar_>
class contrastive_pass_t {
  public:
    contrastive_pass_t(lane_t &lane, contrastive_t<scalar_> const &in,
                       contrastive_gradient_t<scalar_> const &out) noexcept
        : lane_(lane), in_(in), out_(out), items_(in.relations.items), full_ {in.hidden},
          rows_ {items_, in.hidden, in.embeddings, in.widths.empty() ? std::span<std::size_t const>(full_) : in.widths},
          block_(lane, rows_) {}
    contrastive_pass_t(contrastive_pass_t const &) = delete; // its widths may be its own

    scalar_ run() noexcept {
        std::size_t const anchors = count_anchors(in_.relations), widths = rows_.widths.size();
        if (anchors == 0) return 0;
        scratch_scope_t scope(lane_);
        if (!claim()) return 0;
        scale_ = 1 / (real_t<scalar_>(anchors) * real_t<scalar_>(widths));
        find_norms();
        for (std::size_t row = 0; row < items_; row = block_.last()) {
            block_.start(row);
            for (std::size_t index = 0; index < widths; ++index) {
                block_.extend_products(index);
                score_rows(index);
                if (lane_.failed()) return 0;
                block_.scale_forces(index, inverse_norms_ + index * items_);
                block_.sum_pulls(index, pulls_ + index * items_);
                block_.hand_down(index);
            }
            block_.spread(scalar_(scale_), out_.d_embeddings_sum);
        }
        pull_back();
        return sum_rows();
    }

  private:
    static constexpr std::size_t rows_grain_k = 16;

    bool claim() noexcept {
        std::size_t const each = rows_.widths.size() * items_;
        row_weights_ = lane_.claim<row_weights_t>(items_);
        inverse_norms_ = lane_.claim<scalar_>(each), pulls_ = lane_.claim<scalar_>(each);
        row_losses_ = lane_.claim<scalar_>(each), row_d_theta_ = lane_.claim<scalar_>(each);
        row_d_bias_ = lane_.claim<scalar_>(each);
        return !lane_.failed() && block_.claim(in_.block_bytes);
    }
    std::uint32_t group(std::size_t item) const noexcept { return in_.groups.empty() ? 0 : in_.groups[item]; }

    void find_norms() noexcept {
        block_.deal(0, items_, rows_grain_k, [this](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t item = first; item < last; ++item) {
                scalar_ square = 0;
                for (std::size_t index = 0; index < rows_.widths.size(); ++index) {
                    scalar_ const *const band = rows_.row(item) + rows_.band_start(index);
                    square += dot(rows_.band_columns(index), band, band);
                    inverse_norms_[index * items_ + item] =
                        inverse_norm_of(rows_.widths[index], rows_.row(item), square);
                    pulls_[index * items_ + item] = 0;
                }
            }
        });
    }

    void score_rows(std::size_t index) noexcept {
        block_.deal(
            block_.first(), block_.last(), 1, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
                scratch_scope_t scope(worker);
                float *const attract = worker.claim<float>(items_), *const repel = worker.claim<float>(items_);
                scalar_ *const logits = worker.claim<scalar_>(items_), *const terms = worker.claim<scalar_>(2 * items_);
                if (worker.failed()) return;
                for (std::size_t row = first; row < last; ++row) score_row(index, row, attract, repel, logits, terms);
            });
    }

    void score_row(std::size_t index, std::size_t row, float *attract, float *repel, scalar_ *logits,
                   scalar_ *terms) noexcept {
        scalar_ *const forces = block_.forces(index, row);
        scalar_ const *const inverse_norms = inverse_norms_ + index * items_, *const raw = block_.raw(row);
        std::size_t const at = index * items_ + row;
        row_losses_[at] = row_d_theta_[at] = row_d_bias_[at] = 0;
        if (!is_anchor(in_.relations, row)) {
            for (std::size_t j = 0; j < items_; ++j) forces[j] = 0;
            return;
        }
        relation_row(in_.relations, row, attract, repel);
        row_weights_t &total = row_weights_[row];
        if (index == 0) total = {weight_of(items_, attract), weight_of(items_, repel)};
        scalar_ const temperature = exp_of(in_.theta[group(row)]), bias = in_.bias[group(row)];
        scalar_ const scale = temperature * inverse_norms[row];
        for (std::size_t j = 0; j < items_; ++j) logits[j] = scale * raw[j] * inverse_norms[j] + bias;
        row_losses_[at] =
            pair_loss_row(in_.form, pair_row_t<scalar_> {items_, logits, attract, repel, total, forces, terms});
        if (!bias_cancels(in_.form)) row_d_bias_[at] = sum_of(items_, forces);
        for (std::size_t j = 0; j < items_; ++j)
            terms[j] = forces[j] * (logits[j] - bias), forces[j] = forces[j] * temperature;
        row_d_theta_[at] = sum_of(items_, terms);
    }

    /** What lies along an item's own row changes no cosine. */
    void pull_back() noexcept {
        block_.deal(0, items_, rows_grain_k, [this](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row) {
                scalar_ *const d_row = out_.d_embeddings_sum + row * in_.hidden;
                scalar_ pull = 0;
                for (std::size_t index = rows_.widths.size(); index-- > 0;) {
                    scalar_ const inverse = inverse_norms_[index * items_ + row];
                    pull += scale_ * pulls_[index * items_ + row] * inverse * inverse;
                    for (std::size_t k = rows_.band_start(index); k < rows_.widths[index]; ++k)
                        d_row[k] -= pull * rows_.row(row)[k];
                }
            }
        });
    }

    scalar_ sum_rows() noexcept {
        scalar_ loss = 0;
        for (std::size_t index = 0; index < rows_.widths.size(); ++index) {
            std::size_t const from = index * items_;
            loss += sum_of(items_, row_losses_ + from);
            for (std::size_t row = 0; row < items_; ++row) {
                out_.d_theta_sum[group(row)] += scale_ * row_d_theta_[from + row];
                if (!bias_cancels(in_.form)) out_.d_bias_sum[group(row)] += scale_ * row_d_bias_[from + row];
            }
        }
        return loss * scale_;
    }

    lane_t &lane_;
    contrastive_t<scalar_> const &in_;
    contrastive_gradient_t<scalar_> const &out_;
    std::size_t items_;
    std::size_t full_[1];
    scored_rows_t<scalar_> rows_;
    contrastive_block_t<scalar_> block_;
    real_t<scalar_> scale_ = 0;
    scalar_ *pulls_ = nullptr;             // [widths, items], p
    scalar_ *inverse_norms_ = nullptr;     // [widths, items]
    row_weights_t *row_weights_ = nullptr; // [items], of anchors, the same at every width
    scalar_ *row_losses_ = nullptr;        // [widths, items]
    scalar_ *row_d_theta_ = nullptr;       // [widths, items]
    scalar_ *row_d_bias_ = nullptr;        // [widths, items]
};

extern template class contrastive_pass_t<float>; // contrastive.cpp

/** The mean loss over the step's anchors; gradients of that mean are added. Zero where the lane failed. */
template <typename scalar_>
scalar_ contrastive(lane_t &lane, contrastive_t<scalar_> const &in,
                    contrastive_gradient_t<scalar_> const &out) noexcept {
    return contrastive_pass_t<scalar_>(lane, in, out).run();
}

} // namespace uform
