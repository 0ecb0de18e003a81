/**
 *  @file entry.hpp
 *  @brief Arrow 3 of media: patches, tubes and chunks of samples → rows of x, and where each of them sits.
 *
 *  Every medium is a grid of tokens: layers in time, each of rows and columns. A picture is one layer, a recording as
 *  many layers of one token. A picture's or a clip's grid follows the shape of its pixels. Token (f, r, c) has
 *  coordinates (time of f, r, c), that of a recording (k, k, k) as a text's byte has. Values of a token are channel,
 *  frame, row, column. It must not know how pixels or samples came to be.
 */
#pragma once
#include <uform/encoder/batch.hpp>
#include <uform/encoder/kit.hpp>
#include <uform/encoder/weights.hpp>

namespace uform {

inline constexpr std::size_t image_patches_k = 512; // of one picture, at most
inline constexpr std::size_t frame_patches_k = 128; // of one frame of a clip, at most
inline constexpr std::size_t clip_tubes_k = 1024;   // of one clip, at most
inline constexpr std::size_t audio_chunks_k = 512;  // of one recording, at most
inline constexpr double positions_a_second_k = 16;  // of a clip, on the axis of time

/** Tokens of one item: layer by layer, in rows from the top. */
struct token_grid_t {
    std::size_t rows = 0, columns = 0;
    std::size_t layers = 1;
    double const *times = nullptr; // [layers], coordinates; null: all zero
    bool is_cut = false;           // the item held more than its grid does

    std::size_t tokens() const noexcept { return layers * rows * columns; }
};

/** Of `most` patches: rows = ⌊√(most h / w)⌋, columns = ⌊most / rows⌋, neither below one nor beyond what pixels fill. */
token_grid_t patch_grid_of(std::size_t height, std::size_t width, std::size_t patch_side,
                           std::size_t most = image_patches_k) noexcept;

/** Weights of one medium's entry, and of the head that reconstructs its masked tokens, as their kit reads them. */
template <typename wide_>
struct media_weights_t {
    packed_t projection;                                // [hidden, token values]
    narrow_t<wide_> const *bias = nullptr;              // [hidden]
    narrow_t<wide_> const *mask = nullptr;              // [hidden], what a masked token enters as
    packed_t reconstruction, reconstruction_transposed; // [token values, hidden], where a model is trained
    narrow_t<wide_> const *reconstruction_bias = nullptr; // [token values]
};

/** Consecutive tokens of a batch that enter the same way: as ids, or as values of one medium. */
template <typename wide_>
struct run_t {
    std::size_t first = 0, tokens = 0;          // of the batch
    std::uint16_t const *ids = nullptr;         // [tokens]; null: values
    narrow_t<wide_> const *values = nullptr;    // [tokens, token values]
    medium_t medium = medium_t::image_k;
    std::span<std::uint32_t const> covered {}; // tokens of the batch, ascending, that show MASK instead of values
};

/** Calls `body(token)` for the tokens of a run that show their values, in order, counted from the run's first. */
template <typename wide_, typename body_>
void for_each_shown(run_t<wide_> const &run, body_ const &body) noexcept {
    std::size_t next = 0;
    for (std::size_t token = 0; token < run.tokens; ++token) {
        if (next < run.covered.size() && run.covered[next] == run.first + token)
            ++next;
        else
            body(token);
    }
}

/** A packed slice of items of any kind, as the entry and the blocks read it. */
template <typename wide_>
struct mixed_batch_t {
    items_t items;                       // offsets [count + 1]
    wide_ const *rotary = nullptr;       // [tokens, 64]
    std::span<run_t<wide_> const> runs;  // in order, over all tokens
};

/** y [tokens, hidden] = values · projection + bias, the bias added last, as the kit adds what it is given. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void project_values(kit_ const &kit, lane_t &lane, media_weights_t<wide_> const &entry, std::size_t tokens,
                    narrow_t<wide_> const *values, wide_ *y) noexcept {
    std::size_t const hidden = entry.projection.outputs;
    for (std::size_t token = 0; token < tokens; ++token)
        for (std::size_t i = 0; i < hidden; ++i) y[token * hidden + i] = widen(entry.bias[i]);
    kit.gemm_wide(lane, tokens, values, entry.projection, y, y);
}

/** x [tokens, hidden]: each token's values projected, or the MASK row, which has no other part. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
void project_tokens(kit_ const &kit, lane_t &lane, media_weights_t<wide_> const &entry, run_t<wide_> const &run,
                    wide_ *x) noexcept {
    if (run.covered.empty()) return project_values(kit, lane, entry, run.tokens, run.values, x);
    std::size_t const hidden = entry.projection.outputs, values = entry.projection.inputs;
    std::size_t const count = run.tokens - run.covered.size();
    scratch_scope_t scope(lane);
    narrow_t<wide_> *const shown = lane.claim<narrow_t<wide_>>(count * values);
    wide_ *const projected = lane.claim<wide_>(count * hidden);
    if (lane.failed()) return;
    std::size_t used = 0;
    for_each_shown(
        run, [&](std::size_t token) { std::copy_n(run.values + token * values, values, shown + used++ * values); });
    project_values(kit, lane, entry, count, shown, projected);
    used = 0;
    for_each_shown(run,
                   [&](std::size_t token) { std::copy_n(projected + used++ * hidden, hidden, x + token * hidden); });
    for (std::uint32_t const token : run.covered)
        for (std::size_t i = 0; i < hidden; ++i) x[(token - run.first) * hidden + i] = widen(entry.mask[i]);
}

/** Rotary rows [tokens, 64] of a grid's first tokens: pair j reads t, y, t, x for j mod 4 = 0, 1, 2, 3. */
template <typename wide_>
void turn_grid(rotary_table_t<wide_> const &table, token_grid_t const &grid, std::size_t tokens,
               wide_ *rotary) noexcept {
    std::size_t const layer = grid.rows * grid.columns;
    wide_ moment[head_width_k]; // the turns of a time that lies between the table's
    for (std::size_t token = 0; token < tokens; ++token) {
        if (grid.times && token % layer == 0) turn_at(grid.times[token / layer], moment);
        wide_ const *const axes[4] = {grid.times ? moment : table.row(0), table.row(token % layer / grid.columns),
                                      grid.times ? moment : table.row(0), table.row(token % grid.columns)};
        wide_ *const row = rotary + token * head_width_k;
        for (std::size_t i = 0; i < head_width_k; ++i) row[i] = axes[i % 4][i]; // 32 cosines, then 32 sines
    }
}

/** Of a recording's first tokens: those of as many bytes. */
template <typename wide_>
void turn_sequence(rotary_table_t<wide_> const &table, std::size_t tokens, wide_ *rotary) noexcept {
    std::copy_n(table.row(0), tokens * head_width_k, rotary);
}

} // namespace uform
