/**
 *  @file cells.hpp
 *  @brief Where the cells of a resampled picture lie among the values of its tokens, turned upright on the way.
 */
#pragma once
#include <algorithm>

#include <uform/encoder/entry.hpp>
#include <uform/media/image.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

/**
 *  Where a cell's first value lies among the patches: the sum of an offset for its row in the file and one for its
 *  column. Of an upright picture the row decides how far down it lies; of one that was turned, how far across.
 */
class cells_t {
    std::size_t patch_side_, token_values_;
    token_grid_t grid_;
    orientation_t orientation_;

  public:
    /** Of an entry of pictures, or of a layer of clips. */
    template <typename entry_>
    cells_t(entry_ const &entry, token_grid_t const &grid, orientation_t orientation) noexcept
        : patch_side_(entry.patch_side), token_values_(entry.token_values()), grid_(grid), orientation_(orientation) {}

    std::size_t stored_rows() const noexcept { return orientation_.transposes() ? across() : down(); }
    std::size_t stored_columns() const noexcept { return orientation_.transposes() ? down() : across(); }
    std::size_t of_row(std::size_t row) const noexcept {
        bool const backwards = orientation_.number == 3 || orientation_.number == 4 || orientation_.number == 6 ||
                               orientation_.number == 7;
        std::size_t const at = backwards ? stored_rows() - 1 - row : row;
        return orientation_.transposes() ? of_x(at) : of_y(at);
    }
    std::size_t of_column(std::size_t column) const noexcept {
        bool const backwards = orientation_.number == 2 || orientation_.number == 3 || orientation_.number == 7 ||
                               orientation_.number == 8;
        std::size_t const at = backwards ? stored_columns() - 1 - column : column;
        return orientation_.transposes() ? of_y(at) : of_x(at);
    }
    /** So many columns lie side by side among the patches as well. */
    std::size_t run() const noexcept { return orientation_.number == 1 || orientation_.number == 4 ? patch_side_ : 1; }

  private:
    std::size_t down() const noexcept { return grid_.rows * patch_side_; }
    std::size_t across() const noexcept { return grid_.columns * patch_side_; }
    std::size_t of_y(std::size_t y) const noexcept {
        return y / patch_side_ * grid_.columns * token_values_ + y % patch_side_ * patch_side_;
    }
    std::size_t of_x(std::size_t x) const noexcept { return x / patch_side_ * token_values_ + x % patch_side_; }
};

/** Puts rows of cells where they lie among the patches, as values from -1 to 1. */
class placer_t {
    buffer_t<std::size_t> columns_; // [stored columns]: offsets
    buffer_t<bf16_t> values_;       // [stored columns]: of one channel
    std::size_t run_ = 1;

  public:
    /** False where memory is out. */
    [[nodiscard]] bool start(cells_t const &cells) noexcept {
        run_ = cells.run();
        if (!columns_.resize(cells.stored_columns()) || !values_.resize(cells.stored_columns())) return false;
        for (std::size_t column = 0; column < columns_.size(); ++column) columns_[column] = cells.of_column(column);
        return true;
    }
    /** One channel's `levels` [stored columns], from 0 to 255. The context cuts what would lie at `limit` or beyond. */
    void place(double const *levels, std::size_t from, std::size_t limit, bf16_t *patches) noexcept {
        for (std::size_t column = 0; column < columns_.size(); ++column)
            values_[column] = round_to_bf16(float((levels[column] - 127.5) * (1 / 127.5)));
        for (std::size_t column = 0; column < columns_.size(); column += run_) {
            std::size_t const at = from + columns_[column];
            if (at >= limit) continue;
            if (run_ == 1)
                patches[at] = values_[column];
            else
                std::copy_n(values_.data() + column, run_, patches + at);
        }
    }
};

} // namespace uform
