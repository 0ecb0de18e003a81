/**
 *  @file entry.hpp
 *  @brief Arrow 3 of pictures: patches → rows of x, and where each patch sits.
 *
 *  A picture of `height` by `width` pixels becomes a grid of square patches, half of a 1024-token row at most, whose
 *  shape follows the picture's. Patch (r, c) has coordinates (0, r, c), so its pairs turn by its row and its column
 *  and rest on the axis of time. A patch's values are channel, row, column. It must not know how pixels came to be.
 */
#pragma once
#include <uform/encoder/batch.hpp>
#include <uform/encoder/kit.hpp>

namespace uform {

inline constexpr std::size_t image_patches_k = 512; // of one picture, at most

/** Patches of one picture, in rows from the top. */
struct patch_grid_t {
    std::size_t rows = 0, columns = 0;

    std::size_t patches() const noexcept { return rows * columns; }
};

/** rows = ⌊√(512 h / w)⌋, columns = ⌊512 / rows⌋, neither below one nor beyond what the picture's pixels fill. */
patch_grid_t patch_grid_of(std::size_t height, std::size_t width, std::size_t patch_side) noexcept;

/** Weights of the entry, as its kit reads them. */
template <typename wide_>
struct patch_entry_t {
    packed_t projection;                   // [hidden, patch values]
    narrow_t<wide_> const *bias = nullptr; // [hidden]
};

/** A packed slice of pictures, as the entry and the blocks read it. */
template <typename wide_>
struct patch_batch_t {
    items_t items;            // offsets [count + 1]
    narrow_t<wide_> *patches; // [tokens, patch values]
    wide_ const *rotary;      // [tokens, 64]
};

/** x [tokens, hidden] = patches · projection + bias, the bias added last, as the kit adds what it is given. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void project_patches(kit_ const &kit, lane_t &lane, patch_entry_t<wide_> const &entry,
                     patch_batch_t<wide_> const &batch, wide_ *x) noexcept {
    std::size_t const hidden = entry.projection.outputs, tokens = batch.items.tokens();
    for (std::size_t token = 0; token < tokens; ++token)
        for (std::size_t i = 0; i < hidden; ++i) x[token * hidden + i] = widen(entry.bias[i]);
    kit.gemm_wide(lane, tokens, batch.patches, entry.projection, x, x);
}

/** Rotary rows [tokens, 64] of a grid's first `tokens` patches: pair j reads t, y, t, x for j mod 4 = 0, 1, 2, 3. */
template <typename wide_>
void turn_patches(rotary_table_t<wide_> const &table, patch_grid_t grid, std::size_t tokens, wide_ *rotary) noexcept {
    for (std::size_t token = 0; token < tokens; ++token) {
        wide_ const *const axes[4] = {table.row(0), table.row(token / grid.columns), table.row(0),
                                      table.row(token % grid.columns)};
        wide_ *const row = rotary + token * head_width_k;
        for (std::size_t i = 0; i < head_width_k; ++i) row[i] = axes[i % 4][i]; // 32 cosines, then 32 sines
    }
}

} // namespace uform
