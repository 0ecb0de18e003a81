/**
 *  @file contrastive.hpp
 *  @brief The pair losses over pooled embeddings, at every Matryoshka width, with their gradients in the same call.
 *
 *  Logits are z = exp(theta_g) s + b_g, s the cosine of two raw pooled rows cut to a width (Kusupati et al. 2022), g
 *  the anchor's group. The loss is the mean over anchors of `pair_loss_row`, then over widths. Per width:
 *      D += E[:, new] E[:, new]^T            raw products, so a wider prefix only adds its own columns
 *      G[i, j] = d loss_i / d s_ij           one row per anchor, rows in parallel
 *      A = (G + G^T) scaled by both inverse norms
 *      d_E[i, :w] += sum_j A[i, j] E[j, :w] - (sum_j A[i, j] D[i, j]) E[i, :w] / |E[i, :w]|^2
 *  D and G are [items, items] in scratch: 128 MiB at 4096 items, which is what a step of the CPU trainer is sized for;
 *  a tiled recomputation would lift that. Every sum runs in the order of its index, whatever the threads.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

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
        : lane_(lane), in_(in), out_(out), items_(in.relations.items) {}

    scalar_ run() noexcept {
        std::size_t const anchors = count_anchors(in_.relations);
        if (anchors == 0) return 0;
        scratch_scope_t scope(lane_);
        if (!claim()) return 0;
        std::size_t const full[1] = {in_.hidden};
        std::span<std::size_t const> const widths = in_.widths.empty() ? full : in_.widths;
        scale_ = 1 / (real_t<scalar_>(anchors) * real_t<scalar_>(widths.size()));
        scalar_ loss = 0;
        std::size_t previous = 0;
        for (std::size_t const width : widths) {
            extend_products(previous, width);
            score_rows();
            if (lane_.failed()) return 0;
            loss += sum_of(items_, row_losses_);
            sum_groups();
            mirror();
            spread(width);
            previous = width;
        }
        return loss * scale_;
    }

  private:
    static constexpr std::size_t mirror_tile_k = 16;
    static constexpr std::size_t rows_grain_k = 16;

    bool claim() noexcept {
        raw_ = lane_.claim<scalar_>(items_ * items_), forces_ = lane_.claim<scalar_>(items_ * items_);
        transposed_ = lane_.claim<scalar_>(in_.hidden * items_);
        inverse_norms_ = lane_.claim<scalar_>(items_), row_losses_ = lane_.claim<scalar_>(items_);
        row_d_theta_ = lane_.claim<scalar_>(items_), row_d_bias_ = lane_.claim<scalar_>(items_);
        if (lane_.failed()) return false;
        for (std::size_t i = 0; i < items_ * items_; ++i) raw_[i] = 0;
        for (std::size_t item = 0; item < items_; ++item)
            for (std::size_t k = 0; k < in_.hidden; ++k)
                transposed_[k * items_ + item] = in_.embeddings[item * in_.hidden + k];
        return true;
    }
    std::uint32_t group(std::size_t item) const noexcept { return in_.groups.empty() ? 0 : in_.groups[item]; }

    /** D gains the columns [previous, width) of the embeddings; the diagonal then holds the squares of the norms. */
    void extend_products(std::size_t previous, std::size_t width) noexcept {
        lane_.rows(items_, rows_grain_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            scalar_ const *a = in_.embeddings + first * in_.hidden + previous;
            product_sum(product_t<scalar_> {last - first, items_, width - previous, {a, in_.hidden, 1},
                                            transposed_ + previous * items_, items_, scalar_(1),
                                            raw_ + first * items_, items_});
        });
        for (std::size_t item = 0; item < items_; ++item) {
            scalar_ const square = raw_[item * items_ + item];
            inverse_norms_[item] = inverse_norm_of(width, in_.embeddings + item * in_.hidden, square);
        }
    }

    void score_rows() noexcept {
        lane_.rows(items_, 1, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
            scratch_scope_t scope(worker);
            float *const attract = worker.claim<float>(items_), *const repel = worker.claim<float>(items_);
            scalar_ *const logits = worker.claim<scalar_>(items_), *const terms = worker.claim<scalar_>(2 * items_);
            if (worker.failed()) return;
            for (std::size_t row = first; row < last; ++row) score_row(row, attract, repel, logits, terms);
        });
    }

    void score_row(std::size_t row, float *attract, float *repel, scalar_ *logits, scalar_ *terms) noexcept {
        scalar_ *const forces = forces_ + row * items_;
        row_losses_[row] = row_d_theta_[row] = row_d_bias_[row] = 0;
        if (!is_anchor(in_.relations, row)) {
            for (std::size_t j = 0; j < items_; ++j) forces[j] = 0;
            return;
        }
        row_weights_t const total = relation_row(in_.relations, row, attract, repel);
        scalar_ const temperature = exp_of(in_.theta[group(row)]), bias = in_.bias[group(row)];
        scalar_ const scale = temperature * inverse_norms_[row];
        for (std::size_t j = 0; j < items_; ++j)
            logits[j] = scale * raw_[row * items_ + j] * inverse_norms_[j] + bias;
        row_losses_[row] = pair_loss_row(
            in_.form, pair_row_t<scalar_> {items_, logits, attract, repel, total, forces, terms});
        for (std::size_t j = 0; j < items_; ++j) terms[j] = forces[j] * (logits[j] - bias);
        row_d_theta_[row] = sum_of(items_, terms);
        if (!bias_cancels(in_.form)) row_d_bias_[row] = sum_of(items_, forces);
        for (std::size_t j = 0; j < items_; ++j) forces[j] *= temperature;
    }

    void sum_groups() noexcept {
        for (std::size_t row = 0; row < items_; ++row) {
            out_.d_theta_sum[group(row)] += scale_ * row_d_theta_[row];
            if (!bias_cancels(in_.form)) out_.d_bias_sum[group(row)] += scale_ * row_d_bias_[row];
        }
    }

    /** A over G in place: a tile and its mirror belong to the worker of the lower row, so workers never meet. */
    void mirror() noexcept {
        std::size_t const tiles = (items_ + mirror_tile_k - 1) / mirror_tile_k;
        lane_.rows(tiles, 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t tile = first; tile < last; ++tile)
                for (std::size_t across = tile; across < tiles; ++across) mirror_tile(tile, across);
        });
    }
    void mirror_tile(std::size_t tile, std::size_t across) noexcept {
        std::size_t const row_end = std::min(items_, (tile + 1) * mirror_tile_k);
        std::size_t const column_end = std::min(items_, (across + 1) * mirror_tile_k);
        for (std::size_t i = tile * mirror_tile_k; i < row_end; ++i)
            for (std::size_t j = std::max(i, across * mirror_tile_k); j < column_end; ++j) {
                scalar_ &upper = forces_[i * items_ + j], &lower = forces_[j * items_ + i];
                upper = lower = (upper + lower) * inverse_norms_[i] * inverse_norms_[j];
            }
    }

    void spread(std::size_t width) noexcept {
        lane_.rows(items_, rows_grain_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            product_sum(product_t<scalar_> {last - first, width, items_, {forces_ + first * items_, items_, 1},
                                            in_.embeddings, in_.hidden, scalar_(scale_),
                                            out_.d_embeddings_sum + first * in_.hidden, in_.hidden});
            for (std::size_t row = first; row < last; ++row) {
                scalar_ const along = dot(items_, forces_ + row * items_, raw_ + row * items_);
                scalar_ const pull = scale_ * along * inverse_norms_[row] * inverse_norms_[row];
                for (std::size_t k = 0; k < width; ++k)
                    out_.d_embeddings_sum[row * in_.hidden + k] -= pull * in_.embeddings[row * in_.hidden + k];
            }
        });
    }

    lane_t &lane_;
    contrastive_t<scalar_> const &in_;
    contrastive_gradient_t<scalar_> const &out_;
    std::size_t items_;
    real_t<scalar_> scale_ = 0;
    scalar_ *raw_ = nullptr;           // [items, items], D
    scalar_ *forces_ = nullptr;        // [items, items], G, then A
    scalar_ *transposed_ = nullptr;    // [hidden, items]
    scalar_ *inverse_norms_ = nullptr; // [items], of the current width
    scalar_ *row_losses_ = nullptr;    // [items]
    scalar_ *row_d_theta_ = nullptr;   // [items]
    scalar_ *row_d_bias_ = nullptr;    // [items]
};

extern template class contrastive_pass_t<float>; // contrastive.cpp

/** The mean loss over the step's anchors; gradients of that mean are added. Zero where the lane failed. */
template <typename scalar_>
scalar_ contrastive(lane_t &lane, contrastive_t<scalar_> const &in,
                    contrastive_gradient_t<scalar_> const &out) noexcept {
    return contrastive_pass_t<scalar_>(lane, in, out).run();
}

} // namespace uform
