/**
 *  @file contrastive_block.hpp
 *  @brief A block of anchors against all items: products of their rows, and what derivatives by cosines do to the rows.
 *
 *  The algebra of contrastive.hpp, which tells what D, G, A, S and p are, without any loss. Rows of the block that a
 *  column is an item of are a square, computed from its diagonal on; all else is one way alone.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include <uform/train/products.hpp>
#include <uform/train/triangle.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** Embeddings that pairs are made of, and the prefixes of them that are scored. */
template <typename scalar_>
struct scored_rows_t {
    std::size_t items, hidden;
    scalar_ const *embeddings;           // [items, hidden]
    std::span<std::size_t const> widths; // ascending

    std::size_t band_start(std::size_t index) const noexcept { return index ? widths[index - 1] : 0; }
    std::size_t band_columns(std::size_t index) const noexcept { return widths[index] - band_start(index); }
    scalar_ const *row(std::size_t item) const noexcept { return embeddings + item * hidden; }
};

template <typename scalar_>
class contrastive_block_t {
    static constexpr std::size_t tile_k = strip_rows_k; // squares that are turned

    lane_t &lane_;
    scored_rows_t<scalar_> const rows_;
    std::size_t const items_;
    std::size_t block_rows_ = 0, first_ = 0, last_ = 0; // room for; the current one's
    scalar_ *raw_ = nullptr;                            // [block rows, items], D
    scalar_ *forces_ = nullptr;                         // [widths, block rows, items], G, then A, then S
    scalar_ *transposed_ = nullptr;                     // [hidden, items]

  public:
    contrastive_block_t(lane_t &lane, scored_rows_t<scalar_> const &rows) noexcept
        : lane_(lane), rows_(rows), items_(rows.items) {}

    std::size_t first() const noexcept { return first_; }
    std::size_t last() const noexcept { return last_; }
    scalar_ const *raw(std::size_t row) const noexcept { return raw_ + (row - first_) * items_; }
    scalar_ *forces(std::size_t index, std::size_t row) const noexcept {
        return forces_ + (index * block_rows_ + row - first_) * items_;
    }

    /** Calls `body(first, last, lane)` for slices of the items from `begin` to `end`, on all threads. */
    template <typename body_>
    void deal(std::size_t begin, std::size_t end, std::size_t grain, body_ const &body) const noexcept {
        lane_.rows(end - begin, grain, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
            body(begin + first, begin + last, worker);
        });
    }

    /** As many rows as `bytes` hold, sixteen at least; false when memory is out. */
    bool claim(std::size_t bytes) noexcept {
        std::size_t const widths = rows_.widths.size(), row_bytes = (1 + widths) * items_ * sizeof(scalar_);
        block_rows_ = std::min(items_, std::max(bytes / row_bytes / tile_k * tile_k, tile_k));
        raw_ = lane_.claim<scalar_>(block_rows_ * items_),
        forces_ = lane_.claim<scalar_>(widths * block_rows_ * items_);
        transposed_ = lane_.claim<scalar_>(rows_.hidden * items_);
        if (lane_.failed()) return false;
        deal(0, items_, tile_k, [this](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t item = first; item < last; item += tile_k)
                for (std::size_t k = 0; k < rows_.hidden; k += tile_k)
                    turn(std::min(tile_k, last - item), std::min(tile_k, rows_.hidden - k), rows_.row(item) + k,
                         rows_.hidden, transposed_ + k * items_ + item, items_);
        });
        return true;
    }

    /** Goes on to the anchors from `row`, as many as there is room for. */
    void start(std::size_t row) noexcept {
        first_ = row, last_ = std::min(items_, row + block_rows_);
        std::fill_n(raw_, (last_ - first_) * items_, scalar_(0));
    }

    /** D gains the columns by which a width exceeds the one before. */
    void extend_products(std::size_t index) noexcept {
        triangle_rows(lane_, last_ - first_, [&](std::size_t first, std::size_t last) noexcept {
            std::size_t const row = first_ + first, end = first_ + last;
            multiply(index, row, end, 0, first_), multiply(index, row, end, row, items_);
            for (std::size_t i = row + tile_k; i < last_; i += tile_k)
                turn(end - row, std::min(tile_k, last_ - i), row_of(row) + i, items_, row_of(i) + row, items_);
        });
    }

    /** A over G in place: a tile of the square and its mirror belong to the worker of the upper one, so none ever meet. */
    void scale_forces(std::size_t index, scalar_ const *inverse_norms) noexcept {
        triangle_rows(lane_, last_ - first_, [&](std::size_t first, std::size_t last) noexcept {
            std::size_t const row = first_ + first, end = first_ + last;
            for (std::size_t column = row; column < last_; column += tile_k)
                mirror_tile(index, row, end, column, std::min(last_, column + tile_k), inverse_norms);
            for (std::size_t i = row; i < end; ++i) {
                scalar_ *const own = forces(index, i);
                for (std::size_t j = 0; j < first_; ++j) own[j] *= inverse_norms[i] * inverse_norms[j];
                for (std::size_t j = last_; j < items_; ++j) own[j] *= inverse_norms[i] * inverse_norms[j];
            }
        });
    }

    /** Adds to p [items] of the block's rows, then of the columns outside of it. */
    void sum_pulls(std::size_t index, scalar_ *pulls) const noexcept {
        deal(first_, last_, tile_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row) pulls[row] += dot(items_, forces(index, row), raw(row));
        });
        auto const sum_down = [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first_; row < last_; ++row)
                for (std::size_t j = first; j < last; ++j) pulls[j] += forces(index, row)[j] * raw(row)[j];
        };
        deal(0, first_, tile_k, sum_down), deal(last_, items_, tile_k, sum_down);
    }

    /** The columns of narrower widths move by this width's A as well. */
    void hand_down(std::size_t index) noexcept {
        deal(first_, last_, tile_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row)
                for (std::size_t narrower = 0; narrower < index; ++narrower) {
                    scalar_ const *const own = forces(index, row);
                    scalar_ *const sum = forces(narrower, row);
                    for (std::size_t j = 0; j < items_; ++j) sum[j] += own[j];
                }
        });
    }

    /** Adds `factor` S E to the block's rows of `d_embeddings_sum`, and `factor` S^T E to those outside of it. */
    void spread(scalar_ factor, scalar_ *d_embeddings_sum) const noexcept {
        auto const across = [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t index = 0; index < rows_.widths.size(); ++index)
                spread_band(index, first, last, {forces(index, first), items_, 1}, 0, items_, factor, d_embeddings_sum);
        };
        auto const down = [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t index = 0; index < rows_.widths.size(); ++index)
                spread_band(index, first, last, {forces(index, first_) + first, 1, items_}, first_, last_, factor,
                            d_embeddings_sum);
        };
        deal(first_, last_, tile_k, across), deal(0, first_, tile_k, down), deal(last_, items_, tile_k, down);
    }

  private:
    scalar_ *row_of(std::size_t row) noexcept { return raw_ + (row - first_) * items_; }

    void multiply(std::size_t index, std::size_t row, std::size_t row_end, std::size_t column,
                  std::size_t column_end) noexcept {
        std::size_t const from = rows_.band_start(index);
        product_sum(product_t<scalar_> {row_end - row,
                                        column_end - column,
                                        rows_.band_columns(index),
                                        {rows_.row(row) + from, rows_.hidden, 1},
                                        transposed_ + from * items_ + column,
                                        items_,
                                        scalar_(1),
                                        row_of(row) + column,
                                        items_});
    }

    void mirror_tile(std::size_t index, std::size_t row, std::size_t row_end, std::size_t column,
                     std::size_t column_end, scalar_ const *inverse_norms) noexcept {
        scalar_ tile[tile_k * tile_k];
        turn(column_end - column, row_end - row, forces(index, column) + row, items_, tile, tile_k);
        for (std::size_t i = row; i < row_end; ++i)
            for (std::size_t j = column; j < column_end; ++j) {
                scalar_ &cell = tile[(i - row) * tile_k + j - column];
                cell = (forces(index, i)[j] + cell) * (inverse_norms[i] * inverse_norms[j]);
            }
        for (std::size_t i = row; i < row_end; ++i)
            std::copy_n(tile + (i - row) * tile_k, column_end - column, forces(index, i) + column);
        if (column > row) turn(row_end - row, column_end - column, tile, tile_k, forces(index, column) + row, items_);
    }

    /** Rows from `row` gain `a` [rows, others] times the embeddings of others, in the columns of this width alone. */
    void spread_band(std::size_t index, std::size_t row, std::size_t row_end, strided_t<scalar_> a, std::size_t other,
                     std::size_t other_end, scalar_ factor, scalar_ *d_embeddings_sum) const noexcept {
        std::size_t const column = rows_.band_start(index);
        product_sum(product_t<scalar_> {row_end - row, rows_.band_columns(index), other_end - other, a,
                                        rows_.row(other) + column, rows_.hidden, factor,
                                        d_embeddings_sum + row * rows_.hidden + column, rows_.hidden});
    }
};

} // namespace uform
