/**
 *  @file contrastive.hpp
 *  @brief The pair losses over pooled embeddings, at every Matryoshka width, with their gradients in the same call.
 *
 *  Logits are z = exp(theta_g) s + b_g, s the cosine of two raw pooled rows cut to a width (Kusupati et al. 2022), g
 *  the anchor's group. The loss is the mean over anchors of `pair_loss_row`, then over widths. Per width:
 *      D += E[:, new] E[:, new]^T             raw products of a triangle; a wider prefix adds its own columns alone
 *      G[i, j] = d loss_i / d s_ij             one row per anchor, rows in parallel
 *      A_w = (G + G^T) scaled by both inverse norms, symmetric
 *      p_w[i] = sum_j A_w[i, j] D[i, j] / |E[i, :w]|^2
 *  and when all widths are scored, for the columns that the first width above them, w, adds to the one below it:
 *      d_E[i, k] += sum_j S[i, j] E[j, k] - q[i] E[i, k],   S and q the sums of A and p over w and all wider widths
 *  So widths cost no product that the widest one alone would not, but tables of [items, items] in scratch, beside that of
 *  D one a width: 128 MiB at 4096 items, which is what a step of the CPU trainer is sized for. Three widths at most keep
 *  one; A of narrower ones, whose products are small, moves its columns at once. Scoring twice instead of storing would
 *  double the products. Every sum runs in the order of its index, whatever the threads.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/train/pair_loss.hpp>
#include <uform/train/products.hpp>
#include <uform/train/relations.hpp>
#include <uform/train/triangle.hpp>
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
        : lane_(lane), in_(in), out_(out), items_(in.relations.items), full_ {in.hidden},
          widths_(in.widths.empty() ? std::span<std::size_t const>(full_) : in.widths),
          apart_(widths_.size() > tables_k ? widths_.size() - tables_k : 0) {}
    contrastive_pass_t(contrastive_pass_t const &) = delete; // `widths_` may be its own

    scalar_ run() noexcept {
        std::size_t const anchors = count_anchors(in_.relations);
        if (anchors == 0) return 0;
        scratch_scope_t scope(lane_);
        if (!claim()) return 0;
        scale_ = 1 / (real_t<scalar_>(anchors) * real_t<scalar_>(widths_.size()));
        scalar_ loss = 0;
        for (std::size_t index = 0; index < widths_.size(); ++index) {
            extend_products(index ? widths_[index - 1] : 0, widths_[index]);
            score_rows(index);
            if (lane_.failed()) return 0;
            loss += sum_of(items_, row_losses_);
            sum_groups();
            mirror(forces(index));
            hand_down(index);
            if (index < apart_) spread(index, index + 1);
        }
        spread(apart_, widths_.size());
        return loss * scale_;
    }

  private:
    static constexpr std::size_t tile_k = strip_rows_k; // squares that are turned
    static constexpr std::size_t tables_k = 3;          // of forces, at most

    bool claim() noexcept {
        std::size_t const square = items_ * items_;
        raw_ = lane_.claim<scalar_>(square), forces_ = lane_.claim<scalar_>((widths_.size() - apart_) * square);
        transposed_ = lane_.claim<scalar_>(in_.hidden * items_), pulls_ = lane_.claim<scalar_>(widths_.size() * items_);
        inverse_norms_ = lane_.claim<scalar_>(items_), row_losses_ = lane_.claim<scalar_>(items_);
        row_d_theta_ = lane_.claim<scalar_>(items_), row_d_bias_ = lane_.claim<scalar_>(items_);
        row_weights_ = lane_.claim<row_weights_t>(items_);
        if (lane_.failed()) return false;
        lane_.rows(items_, tile_k, [this](std::size_t first, std::size_t last, lane_t &) noexcept {
            std::fill(raw_ + first * items_, raw_ + last * items_, scalar_(0));
            for (std::size_t item = first; item < last; item += tile_k)
                for (std::size_t k = 0; k < in_.hidden; k += tile_k)
                    turn(std::min(tile_k, last - item), std::min(tile_k, in_.hidden - k),
                         in_.embeddings + item * in_.hidden + k, in_.hidden, transposed_ + k * items_ + item, items_);
        });
        return true;
    }
    std::uint32_t group(std::size_t item) const noexcept { return in_.groups.empty() ? 0 : in_.groups[item]; }
    scalar_ *forces(std::size_t index) const noexcept {
        return forces_ + (index < apart_ ? 0 : index - apart_) * items_ * items_;
    }

    /** D gains the columns [previous, width) of the embeddings; the diagonal then holds the squares of the norms. */
    void extend_products(std::size_t previous, std::size_t width) noexcept {
        triangle_rows(lane_, items_, [&](std::size_t first, std::size_t last) noexcept {
            scalar_ const *a = in_.embeddings + first * in_.hidden + previous;
            scalar_ *const corner = raw_ + first * items_ + first;
            product_sum(product_t<scalar_> {last - first,
                                            items_ - first,
                                            width - previous,
                                            {a, in_.hidden, 1},
                                            transposed_ + previous * items_ + first,
                                            items_,
                                            scalar_(1),
                                            corner,
                                            items_});
            for (std::size_t i = tile_k; i < items_ - first; i += tile_k)
                turn(last - first, std::min(tile_k, items_ - first - i), corner + i, items_, corner + i * items_,
                     items_);
        });
        for (std::size_t item = 0; item < items_; ++item) {
            scalar_ const square = raw_[item * items_ + item];
            inverse_norms_[item] = inverse_norm_of(width, in_.embeddings + item * in_.hidden, square);
        }
    }

    void score_rows(std::size_t index) noexcept {
        lane_.rows(items_, 1, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
            scratch_scope_t scope(worker);
            float *const attract = worker.claim<float>(items_), *const repel = worker.claim<float>(items_);
            scalar_ *const logits = worker.claim<scalar_>(items_), *const terms = worker.claim<scalar_>(2 * items_);
            if (worker.failed()) return;
            for (std::size_t row = first; row < last; ++row) score_row(index, row, attract, repel, logits, terms);
        });
    }

    void score_row(std::size_t index, std::size_t row, float *attract, float *repel, scalar_ *logits,
                   scalar_ *terms) noexcept {
        scalar_ *const forces = this->forces(index) + row * items_;
        row_losses_[row] = row_d_theta_[row] = row_d_bias_[row] = 0;
        if (!is_anchor(in_.relations, row)) {
            for (std::size_t j = 0; j < items_; ++j) forces[j] = 0;
            return;
        }
        relation_row(in_.relations, row, attract, repel);
        row_weights_t &total = row_weights_[row];
        if (index == 0) total = {weight_of(items_, attract), weight_of(items_, repel)};
        scalar_ const temperature = exp_of(in_.theta[group(row)]), bias = in_.bias[group(row)];
        scalar_ const scale = temperature * inverse_norms_[row];
        for (std::size_t j = 0; j < items_; ++j) logits[j] = scale * raw_[row * items_ + j] * inverse_norms_[j] + bias;
        row_losses_[row] =
            pair_loss_row(in_.form, pair_row_t<scalar_> {items_, logits, attract, repel, total, forces, terms});
        if (!bias_cancels(in_.form)) row_d_bias_[row] = sum_of(items_, forces);
        for (std::size_t j = 0; j < items_; ++j)
            terms[j] = forces[j] * (logits[j] - bias), forces[j] = forces[j] * temperature;
        row_d_theta_[row] = sum_of(items_, terms);
    }

    void sum_groups() noexcept {
        for (std::size_t row = 0; row < items_; ++row) {
            out_.d_theta_sum[group(row)] += scale_ * row_d_theta_[row];
            if (!bias_cancels(in_.form)) out_.d_bias_sum[group(row)] += scale_ * row_d_bias_[row];
        }
    }

    /** A over G in place: a tile and its mirror belong to the worker of the upper one, so workers never meet. */
    void mirror(scalar_ *all) noexcept {
        triangle_rows(lane_, items_, [&](std::size_t first, std::size_t last) noexcept {
            for (std::size_t across = first; across < items_; across += tile_k)
                mirror_tile(all, first, last, across, std::min(items_, across + tile_k));
        });
    }
    void mirror_tile(scalar_ *all, std::size_t row, std::size_t row_end, std::size_t column,
                     std::size_t column_end) noexcept {
        scalar_ tile[tile_k * tile_k];
        turn(column_end - column, row_end - row, all + column * items_ + row, items_, tile, tile_k);
        for (std::size_t i = row; i < row_end; ++i)
            for (std::size_t j = column; j < column_end; ++j) {
                scalar_ &cell = tile[(i - row) * tile_k + j - column];
                cell = (all[i * items_ + j] + cell) * (inverse_norms_[i] * inverse_norms_[j]);
            }
        for (std::size_t i = row; i < row_end; ++i)
            std::copy_n(tile + (i - row) * tile_k, column_end - column, all + i * items_ + column);
        if (column > row) turn(row_end - row, column_end - column, tile, tile_k, all + column * items_ + row, items_);
    }

    /** The columns of narrower widths move by this width's A as well. */
    void hand_down(std::size_t index) noexcept {
        lane_.rows(items_, tile_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row) {
                scalar_ const *const own = forces(index) + row * items_;
                scalar_ const along = dot(items_, own, raw_ + row * items_);
                scalar_ const pull = along * inverse_norms_[row] * inverse_norms_[row];
                pulls_[index * items_ + row] = pull;
                for (std::size_t narrower = apart_; narrower < index; ++narrower) {
                    scalar_ *const sum = forces(narrower) + row * items_;
                    for (std::size_t j = 0; j < items_; ++j) sum[j] += own[j];
                    pulls_[narrower * items_ + row] += pull;
                }
            }
        });
    }

    /** Tables `[index, end)`, each onto the columns that narrower ones leave. */
    void spread(std::size_t index, std::size_t end) noexcept {
        lane_.rows(items_, tile_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t at = index, column = 0; at < end; column = widths_[at++])
                spread_band(forces(at), pulls_ + at * items_, first, last, column, widths_[at]);
        });
    }
    void spread_band(scalar_ const *all, scalar_ const *pulls, std::size_t first, std::size_t last, std::size_t column,
                     std::size_t column_end) noexcept {
        product_sum(product_t<scalar_> {last - first,
                                        column_end - column,
                                        items_,
                                        {all + first * items_, items_, 1},
                                        in_.embeddings + column,
                                        in_.hidden,
                                        scalar_(scale_),
                                        out_.d_embeddings_sum + first * in_.hidden + column,
                                        in_.hidden});
        for (std::size_t row = first; row < last; ++row) {
            scalar_ const pull = scale_ * pulls[row];
            scalar_ const *const from = in_.embeddings + row * in_.hidden;
            scalar_ *const to = out_.d_embeddings_sum + row * in_.hidden;
            for (std::size_t k = column; k < column_end; ++k) to[k] -= pull * from[k];
        }
    }

    lane_t &lane_;
    contrastive_t<scalar_> const &in_;
    contrastive_gradient_t<scalar_> const &out_;
    std::size_t items_;
    std::size_t full_[1];
    std::span<std::size_t const> widths_;
    std::size_t apart_; // narrowest widths, whose A is spread by itself and makes room for the next
    real_t<scalar_> scale_ = 0;
    scalar_ *raw_ = nullptr;               // [items, items], D
    scalar_ *forces_ = nullptr;            // [widths or tables_k, items, items], G, then A, then S
    scalar_ *pulls_ = nullptr;             // [widths, items], p, then q
    scalar_ *transposed_ = nullptr;        // [hidden, items]
    scalar_ *inverse_norms_ = nullptr;     // [items], of the current width
    row_weights_t *row_weights_ = nullptr; // [items], of anchors, the same at every width
    scalar_ *row_losses_ = nullptr;        // [items]
    scalar_ *row_d_theta_ = nullptr;       // [items]
    scalar_ *row_d_bias_ = nullptr;        // [items]
};

extern template class contrastive_pass_t<float>; // contrastive.cpp

/** The mean loss over the step's anchors; gradients of that mean are added. Zero where the lane failed. */
template <typename scalar_>
scalar_ contrastive(lane_t &lane, contrastive_t<scalar_> const &in,
                    contrastive_gradient_t<scalar_> const &out) noexcept {
    return contrastive_pass_t<scalar_>(lane, in, out).run();
}

} // namespace uform
