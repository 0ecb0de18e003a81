/**
 *  @file late_interaction.hpp
 *  @brief The pair losses over MaxSim scores of token vectors, with their gradients in the same call.
 *
 *  S(q, d) is the mean over a query's tokens of the largest inner product with any of a document's (Khattab and Zaharia,
 *  arXiv:2004.12832); logits are z = exp(theta_g) S + b_g, g the query's group; the loss is the mean over anchors of
 *  `pair_loss_row`, whose rows are queries and whose columns are documents. The maximum is hard: a gradient goes to the
 *  token that won, of equals to the first.
 *
 *      per block of queries, in parallel    document tokens x the block's, a product of the kit that keeps its columns'
 *                                           maxima and winners ─▶ rows of S ─▶ loss, d loss / d S
 *      per item, in parallel                d_v of its tokens as a query, then as a document: `winner_sums_t`
 *
 *  A block is as many queries as fill a panel of the product with tokens. Winners alone outlive a product: two bytes for
 *  each (query token, document), so memory does not know how long documents are. A block's pairs without a force are not
 *  scored. Every sum runs in the order of its index, whatever the threads.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <uform/encoder/kit.hpp>
#include <uform/train/pair_loss.hpp>
#include <uform/train/products.hpp>
#include <uform/train/query_blocks.hpp>
#include <uform/train/relations.hpp>
#include <uform/train/winner_sums.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

template <typename wide_>
struct late_interaction_t {
    relations_t relations; // validated
    pair_loss_t form = pair_loss_t::ranked_k;
    real_t<wide_> weight = 1; // of the loss and all its gradients
    std::size_t width = 0;
    std::span<scored_item_t const> queries, documents; // each ascends by item; an item may be on both sides
    std::span<std::uint32_t const> groups;             // [items], or empty: every item in group zero
    narrow_t<wide_> const *vectors = nullptr;          // [tokens, width], unit rows
    wide_ const *theta = nullptr;                      // [groups], logarithms of the inverse temperatures
    wide_ const *bias = nullptr;                       // [groups]
};

template <typename wide_>
struct late_interaction_gradient_t {
    wide_ *d_vectors_sum; // [tokens, width], from `first_token`
    wide_ *d_theta_sum;   // [groups]
    wide_ *d_bias_sum;    // [groups], untouched by the forms in which the bias cancels
    std::size_t first_item = 0, last_item = SIZE_MAX; // whose vectors get gradients: all, or one process's share
    std::size_t first_token = 0;                      // where the tokens of that share start
};

/** One call's state; `late_interaction` below is the way in. */
template <typename kit_>
class late_interaction_pass_t {
  public:
    using wide_t = typename kit_::wide_t;
    using stored_t = narrow_t<wide_t>;

    late_interaction_pass_t(kit_ const &kit, lane_t &lane, late_interaction_t<wide_t> const &in,
                            late_interaction_gradient_t<wide_t> const &out) noexcept
        : kernels_(kit), lane_(lane), in_(in), out_(out), columns_(in.documents.size()) {}

    wide_t run() noexcept {
        if (in_.queries.empty() || in_.documents.empty()) return 0;
        scratch_scope_t scope(lane_);
        if (!claim()) return 0;
        poison();
        lane_.rows(blocks_.used, 1, [this](std::size_t first, std::size_t last, lane_t &worker) noexcept {
            scratch_scope_t scope(worker);
            block_scratch_t scratch;
            if (!scratch.claim(kernels_, worker, {in_.relations.items, columns_, in_.width}, blocks_)) return;
            for (std::size_t i = first; i < last && !worker.failed(); ++i) score_block(worker, blocks_.blocks[i], scratch);
        });
        if (lane_.failed()) return 0;
        wide_t const loss = sum_rows();
        spread();
        return loss;
    }

  private:
    using block_t = query_blocks_t::block_t;
    using block_scratch_t = uform::block_scratch_t<kit_>;

    bool claim() noexcept {
        std::size_t const rows = in_.queries.size();
        row_winners_ = lane_.claim<std::size_t>(rows + 1);
        forces_ = lane_.claim<wide_t>(rows * columns_);
        row_losses_ = lane_.claim<wide_t>(rows), row_d_theta_ = lane_.claim<wide_t>(rows);
        row_d_bias_ = lane_.claim<wide_t>(rows), row_anchors_ = lane_.claim<std::uint8_t>(rows);
        query_poisons_ = lane_.claim<wide_t>(rows), document_poisons_ = lane_.claim<wide_t>(columns_);
        if (lane_.failed()) return false;
        row_winners_[0] = 0;
        for (std::size_t row = 0; row < rows; ++row)
            row_winners_[row + 1] = row_winners_[row] + in_.queries[row].count * columns_;
        winners_ = lane_.claim<std::uint16_t>(row_winners_[rows]), blocks_.blocks = lane_.claim<block_t>(rows);
        if (lane_.failed()) return false;
        blocks_.cut(in_.queries);
        return true;
    }

    std::uint32_t group(std::size_t item) const noexcept { return in_.groups.empty() ? 0 : in_.groups[item]; }
    stored_t const *vector(std::size_t token) const noexcept { return in_.vectors + token * in_.width; }

    /** A maximum forgets NaN, so a sum of values times zero goes with every item: zero, or NaN where one is not finite. */
    void poison() noexcept {
        auto const sum = [this](scored_item_t const &scored) noexcept {
            wide_t total = 0;
            for (std::size_t i = 0; i < scored.count * in_.width; ++i)
                total += wide_t(0) * widen(vector(scored.first)[i]);
            return total;
        };
        lane_.rows(in_.queries.size(), 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row) query_poisons_[row] = sum(in_.queries[row]);
        });
        lane_.rows(columns_, 1, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t column = first; column < last; ++column)
                document_poisons_[column] = sum(in_.documents[column]);
        });
    }

    void score_block(lane_t &worker, block_t const &block, block_scratch_t &scratch) noexcept {
        row_weights_t totals[query_blocks_t::tokens_k];
        stored_t *gathered = scratch.gathered;
        for (std::size_t row = block.first; row < block.last; ++row) {
            scored_item_t const &query = in_.queries[row];
            totals[row - block.first] = weigh_row(row, row - block.first, scratch);
            gathered = std::copy_n(vector(query.first), query.count * in_.width, gathered);
        }
        scratch.packed.outputs = block.tokens, scratch.packed.inputs = in_.width;
        kernels_.pack(scratch.gathered, 0, block.tokens, scratch.packed);
        for (std::size_t column = 0; column < columns_; ++column) {
            scored_item_t const &document = in_.documents[column];
            if (has_force(block, column, scratch))
                kernels_.winning_products(worker, document.count, vector(document.first), scratch.packed, scratch.best,
                                          scratch.winners);
            keep_scores(block, column, scratch);
        }
        for (std::size_t row = block.first; row < block.last; ++row)
            close_row(row, row - block.first, totals[row - block.first], scratch);
    }

    /** The forces of a query's pairs, over documents alone; none at all where none attracts. */
    row_weights_t weigh_row(std::size_t row, std::size_t place, block_scratch_t const &scratch) noexcept {
        relation_row(in_.relations, in_.queries[row].item, scratch.attract_row, scratch.repel_row);
        float *const attract = scratch.attract + place * columns_, *const repel = scratch.repel + place * columns_;
        row_weights_t total;
        for (std::size_t column = 0; column < columns_; ++column) {
            std::uint32_t const item = in_.documents[column].item;
            attract[column] = scratch.attract_row[item], repel[column] = scratch.repel_row[item];
            total.attract += attract[column], total.repel += repel[column];
        }
        row_anchors_[row] = total.attract > 0;
        if (!row_anchors_[row]) std::fill(repel, repel + columns_, 0.0f);
        return total;
    }

    bool has_force(std::size_t place, std::size_t column, block_scratch_t const &scratch) const noexcept {
        std::size_t const cell = place * columns_ + column;
        return scratch.attract[cell] > 0 || scratch.repel[cell] > 0;
    }
    bool has_force(block_t const &block, std::size_t column, block_scratch_t const &scratch) const noexcept {
        for (std::size_t place = 0; place < block.last - block.first; ++place)
            if (has_force(place, column, scratch)) return true;
        return false;
    }

    /** Logits of one column, and the winners behind them, counted from the document's first token. */
    void keep_scores(block_t const &block, std::size_t column, block_scratch_t const &scratch) noexcept {
        std::size_t token = 0;
        for (std::size_t row = block.first; row < block.last; token += in_.queries[row++].count) {
            std::size_t const place = row - block.first, count = in_.queries[row].count;
            std::uint32_t const group = this->group(in_.queries[row].item);
            wide_t &logit = scratch.logits[place * columns_ + column];
            logit = in_.bias[group];
            if (!has_force(place, column, scratch)) continue;
            wide_t const mean = sum_of(count, scratch.best + token) / wide_t(real_t<wide_t>(count));
            logit += exp_of(in_.theta[group]) * (mean + query_poisons_[row] + document_poisons_[column]);
            std::copy_n(scratch.winners + token, count, winners_of(row, column));
        }
    }

    void close_row(std::size_t row, std::size_t place, row_weights_t total, block_scratch_t const &scratch) noexcept {
        wide_t *const forces = forces_ + row * columns_, *const logits = scratch.logits + place * columns_;
        row_losses_[row] = row_d_theta_[row] = row_d_bias_[row] = 0;
        if (!row_anchors_[row]) return std::fill(forces, forces + columns_, wide_t(0));
        std::uint32_t const group = this->group(in_.queries[row].item);
        wide_t const temperature = exp_of(in_.theta[group]), bias = in_.bias[group];
        row_losses_[row] = pair_loss_row(
            in_.form, pair_row_t<wide_t> {columns_, logits, scratch.attract + place * columns_,
                                          scratch.repel + place * columns_, total, forces, scratch.terms});
        for (std::size_t j = 0; j < columns_; ++j) scratch.terms[j] = forces[j] * (logits[j] - bias);
        row_d_theta_[row] = sum_of(columns_, scratch.terms);
        if (!bias_cancels(in_.form)) row_d_bias_[row] = sum_of(columns_, forces);
        // Without a force a pair has no winners either, and NaN, which times nothing is still NaN, must not call for them.
        for (std::size_t j = 0; j < columns_; ++j)
            forces[j] = has_force(place, j, scratch) ? forces[j] * temperature : wide_t(0);
    }

    std::uint16_t *winners_of(std::size_t row, std::size_t column) const noexcept {
        return winners_ + row_winners_[row] + in_.queries[row].count * column;
    }

    /** Everything that is one sum over anchors, in the order of the queries. */
    wide_t sum_rows() noexcept {
        std::size_t const rows = in_.queries.size(), anchors = sum_anchors();
        if (anchors == 0) return 0;
        scale_ = in_.weight / real_t<wide_t>(anchors);
        for (std::size_t row = 0; row < rows; ++row) {
            std::uint32_t const group = this->group(in_.queries[row].item);
            out_.d_theta_sum[group] += scale_ * row_d_theta_[row];
            if (!bias_cancels(in_.form)) out_.d_bias_sum[group] += scale_ * row_d_bias_[row];
        }
        return scale_ * sum_of(rows, row_losses_);
    }
    std::size_t sum_anchors() const noexcept {
        std::size_t anchors = 0;
        for (std::size_t row = 0; row < in_.queries.size(); ++row) anchors += row_anchors_[row];
        return anchors;
    }

    /** Items of the share as queries, then as documents: that is the order of an item's own sums. */
    void spread() noexcept {
        winner_sums_t<kit_> const sums(kernels_, {in_.queries, in_.documents, row_winners_, winners_, forces_, scale_},
                                       in_.width, in_.vectors, out_.d_vectors_sum, out_.first_token);
        auto const shared = [this](std::span<scored_item_t const> items) noexcept {
            auto const start_of = [items](std::size_t item) noexcept {
                auto const before = [item](scored_item_t const &scored) noexcept { return scored.item < item; };
                return std::size_t(std::partition_point(items.begin(), items.end(), before) - items.begin());
            };
            return std::pair(start_of(out_.first_item), start_of(out_.last_item));
        };
        auto const [query, queries_end] = shared(in_.queries);
        lane_.rows(queries_end - query, 1,
                   [&, start = query](std::size_t first, std::size_t last, lane_t &worker) noexcept {
                       sums.to_queries(worker, start + first, start + last);
                   });
        auto const [document, documents_end] = shared(in_.documents);
        lane_.rows(documents_end - document, 1,
                   [&, start = document](std::size_t first, std::size_t last, lane_t &worker) noexcept {
                       sums.to_documents(worker, start + first, start + last);
                   });
    }

    kit_ const &kernels_;
    lane_t &lane_;
    late_interaction_t<wide_t> const &in_;
    late_interaction_gradient_t<wide_t> const &out_;
    std::size_t columns_; // documents
    query_blocks_t blocks_;
    real_t<wide_t> scale_ = 0;
    std::size_t *row_winners_ = nullptr;   // [queries + 1], where each query's winners start
    std::uint16_t *winners_ = nullptr;     // per query: [documents, tokens of the query]
    wide_t *forces_ = nullptr;             // [queries, documents], d loss / d S, unscaled
    wide_t *row_losses_ = nullptr;         // [queries]
    wide_t *row_d_theta_ = nullptr;        // [queries]
    wide_t *row_d_bias_ = nullptr;         // [queries]
    std::uint8_t *row_anchors_ = nullptr;  // [queries], one where a document attracts
    wide_t *query_poisons_ = nullptr;      // [queries]
    wide_t *document_poisons_ = nullptr;   // [documents]
};

extern template class late_interaction_pass_t<kit_table_t>; // late_interaction.cpp

/** The weighted mean loss over the step's anchors; gradients of that mean are added. Zero where the lane failed. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
wide_ late_interaction(kit_ const &kit, lane_t &lane, late_interaction_t<wide_> const &in,
                       late_interaction_gradient_t<wide_> const &out) noexcept {
    return late_interaction_pass_t<kit_>(kit, lane, in, out).run();
}

} // namespace uform
