/**
 *  @file attention.hpp
 *  @brief Ragged bidirectional attention, forward: softmax over an item's keys, 64 at a time, never stored whole.
 *
 *  For a block of query rows and each tile of keys: scores = q k^T, the running maximum, weights rounded to BFloat16,
 *  attended = attended * shrink + weights v (Milakov and Gimelshein, 2018; Dao et al., 2022). Tiles start at the item's
 *  own first key, and every row keeps its own maximum and sum, so a row depends on its item alone. Scores are kept in
 *  units of log2: one multiplication by log2(e) / 8 serves the scale and the exponential.
 *
 *  The maximum is rounded by that multiplication, the fused one of the weights is not. Far from zero the difference is
 *  no longer small, and beyond 2^31 past what an exponential takes; blocks of rows with a maximum that far subtract
 *  before they scale, and keep an lse that their backward can subtract in the same way.
 */
#pragma once

constexpr std::size_t key_tile_k = panel_columns_k;
using operand_t = multiplier_t<left_rows_t>::attention_element_t;
constexpr std::size_t query_rows_k = 4 * rows_of_tile_k<operand_t>; // rows of a block: all of it stays in L1
constexpr std::size_t query_slots_k = (query_rows_k + lanes_k - 1) / lanes_k * lanes_k;
constexpr std::size_t query_chunk_k = 512; // rows dealt to one thread at a time
constexpr std::size_t tile_elements_k = key_tile_k * head_width_k;
constexpr float score_scale_k = 0.125f * log2_e_k;
constexpr float no_score_k = -std::numeric_limits<float>::infinity(); // below every score
constexpr float far_score_k = 0x1p14f; // in units of log2: rounded by 2^-10, below a weight's own rounding

/** Sums continued after a row's own factor: what has been attended shrinks when the maximum grows. */
struct shrink_sink_t {
    float *sums; // [rows, 64]
    float const *factors;

    shrink_sink_t from(std::size_t row, std::size_t column) const {
        return {sums + row * head_width_k + column, factors + row};
    }
    f32x_t start(std::size_t row, std::size_t column) const {
        return load(sums + row * head_width_k + column) * broadcast(factors[row]);
    }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        store(sums + row * head_width_k + column, sum);
    }
};

struct attention_block_t {
    float scores[query_rows_k * key_tile_k];
    float attended[query_rows_k * head_width_k];
    float sums[query_rows_k * lanes_k]; // of weights, lane by lane
    operand_t weights[query_rows_k * key_tile_k];
    operand_t queries[query_rows_k * head_width_k]; // where they are copied
    float highest[query_slots_k];                   // running maximum
    float top[query_slots_k];                       // that times log2(e) / 8
    float shrink[query_slots_k];                    // 2^(old maximum - new)
    float totals[query_slots_k];                    // also what a far maximum grew by
    bool far;                                       // some row's maximum is
};

/** Keys and values of one item's head, as panels: per tile of keys [32][64][2] and [keys / 2][64][2], or, of floats,
 *  [64][64] and [keys][64]. */
struct attention_panels_t {
    operand_t *keys, *values;
};

inline void pack_head(bf16_t const *keys, bf16_t const *values, std::size_t stride, std::size_t tokens,
                      attention_panels_t panels) {
    for (std::size_t key = 0; key < tokens; key += key_tile_k) {
        std::size_t const count = least(tokens - key, key_tile_k);
        pack_columns(keys + key * stride, stride, count, head_width_k, panels.keys + key * head_width_k);
    }
    pack_rows(values, stride, tokens, head_width_k, panels.values);
}

/** Grows the maxima by a tile's scores; answers what earlier sums shrink by. */
inline void raise_tops(std::size_t rows, std::size_t keys, attention_block_t &block) {
    f32x_t reach_f32x = zero();
    for (std::size_t row = 0; row < rows; ++row) {
        float const *scores = block.scores + row * key_tile_k;
        f32x_t top_f32x = broadcast(no_score_k);
        for (std::size_t key = 0; key < keys; key += lanes_k)
            top_f32x = larger(top_f32x, keep_first(load(scores + key), keys - key, top_f32x));
        block.totals[row] = reduce_max(top_f32x);
    }
    for (std::size_t row = 0; row < rows; row += lanes_k) {
        f32x_t const old_f32x = load(block.highest + row), new_f32x = larger(old_f32x, load(block.totals + row));
        f32x_t const top_f32x = new_f32x * broadcast(score_scale_k);
        store(block.shrink + row, exp2_of(load(block.top + row) - top_f32x));
        store(block.totals + row, (old_f32x - new_f32x) * broadcast(score_scale_k));
        store(block.highest + row, new_f32x);
        store(block.top + row, top_f32x);
        f32x_t const distance_f32x = keep_first(larger(top_f32x, zero() - top_f32x), rows - row, zero());
        reach_f32x = larger(reach_f32x, distance_f32x);
    }
    block.far = reduce_max(reach_f32x) > far_score_k;
    for (std::size_t row = 0; block.far && row < rows; row += lanes_k)
        store(block.shrink + row, exp2_of(load(block.totals + row)));
}

/** weights = 2^(score - top), and their sums. */
template <bool far_>
void weigh(std::size_t rows, std::size_t keys, attention_block_t &block) {
    for (std::size_t row = 0; row < rows; ++row) {
        float const *scores = block.scores + row * key_tile_k;
        f32x_t const low_f32x = broadcast(far_ ? -block.highest[row] : -block.top[row]),
                     scale_f32x = broadcast(score_scale_k);
        f32x_t sum_f32x = load(block.sums + row * lanes_k) * broadcast(block.shrink[row]);
        for (std::size_t key = 0; key < keys; key += lanes_k) {
            f32x_t weight_f32x = exp2_of(far_ ? (load(scores + key) + low_f32x) * scale_f32x
                                              : multiply_add(load(scores + key), scale_f32x, low_f32x));
            if (keys - key < lanes_k) weight_f32x = keep_first(weight_f32x, keys - key, zero());
            sum_f32x = sum_f32x + weight_f32x;
            store_narrow(block.weights + row * key_tile_k + key, weight_f32x);
        }
        store(block.sums + row * lanes_k, sum_f32x);
    }
}

template <typename left_>
void attend_tile(std::size_t rows, std::size_t keys, bool first, left_ queries, attention_panels_t panels,
                 attention_block_t &block) {
    std::size_t const unit = unit_of(panels.keys);
    multiply_panel(rows, keys, queries, panels.keys, head_width_k / unit,
                   sums_sink_t<false> {block.scores, key_tile_k});
    raise_tops(rows, keys, block);
    block.far ? weigh<true>(rows, keys, block) : weigh<false>(rows, keys, block);
    left_ const weights = rows_of(block.weights, key_tile_k);
    if (first)
        multiply_panel(rows, weights, panels.values, divide_up(keys, unit),
                       sums_sink_t<false> {block.attended, head_width_k});
    else
        multiply_panel(rows, weights, panels.values, divide_up(keys, unit),
                       shrink_sink_t {block.attended, block.shrink});
}

/** Where a block's answers go: rows of `attended` and of `lse`, one head's column of each. */
struct attended_rows_t {
    bf16_t *attended;
    float *lse;
    std::size_t hidden, heads;
};

inline void finish_block(std::size_t rows, attention_block_t &block, attended_rows_t out) {
    for (std::size_t row = 0; row < rows; ++row) block.totals[row] = reduce_sum(load(block.sums + row * lanes_k));
    for (std::size_t row = 0; row < rows; row += lanes_k) {
        f32x_t const totals_f32x = load(block.totals + row);
        f32x_t const lse_f32x = block.far
                                    ? multiply_add(load(block.highest + row), broadcast(0.125f), log_of(totals_f32x))
                                    : multiply_add(load(block.top + row), broadcast(ln_2_k), log_of(totals_f32x));
        store(block.shrink + row, broadcast(1.0f) / totals_f32x);
        store(block.top + row, lse_f32x);
    }
    for (std::size_t row = 0; row < rows; ++row) {
        out.lse[row * out.heads] = block.top[row];
        for (std::size_t column = 0; column < head_width_k; column += lanes_k)
            store_narrow(out.attended + row * out.hidden + column,
                         load(block.attended + row * head_width_k + column) * broadcast(block.shrink[row]));
    }
}

inline void attend_block(std::size_t rows, std::size_t tokens, left_rows_t queries, attention_panels_t panels,
                         attention_block_t &block, attended_rows_t out) {
    for (std::size_t row = 0; row < query_slots_k; ++row)
        block.highest[row] = block.top[row] = block.totals[row] = no_score_k;
    for (std::size_t row = 0; row < rows; ++row) store(block.sums + row * lanes_k, zero());
    auto const staged = stage_rows(queries, rows, head_width_k, block.queries);
    for (std::size_t key = 0; key < tokens; key += key_tile_k)
        attend_tile(rows, least(tokens - key, key_tile_k), key == 0, staged,
                    {panels.keys + key * head_width_k, panels.values + key * head_width_k}, block);
    finish_block(rows, block, out);
}

/** Where one unit of work lies: an item, a head, and 512 query rows of it at most. */
struct attention_chunk_t {
    std::size_t item, head, first, last; // rows count from the item's first token
};

/** Units are numbered by item, then head, then chunk of rows. */
struct attention_walk_t {
    items_t items;
    std::size_t heads, item = 0, passed = 0;

    static std::size_t chunks(std::size_t tokens) { return divide_up(tokens, query_chunk_k); }
    std::size_t tokens(std::size_t index) const { return items.offsets[index + 1] - items.offsets[index]; }
    std::size_t count() const {
        std::size_t sum = 0;
        for (std::size_t index = 0; index < items.count(); ++index) sum += chunks(tokens(index)) * heads;
        return sum;
    }
    attention_chunk_t at(std::size_t unit) {
        for (; unit - passed >= chunks(tokens(item)) * heads; ++item) passed += chunks(tokens(item)) * heads;
        std::size_t const each = chunks(tokens(item)), index = unit - passed, first = index % each * query_chunk_k;
        return {item, index / each, first, least(first + query_chunk_k, tokens(item))};
    }
};

inline std::size_t longest_item(items_t items) {
    std::size_t longest = 0;
    for (std::size_t item = 0; item < items.count(); ++item) {
        std::size_t const tokens = items.offsets[item + 1] - items.offsets[item];
        longest = tokens > longest ? tokens : longest;
    }
    return longest;
}

inline void attend_units(lane_t &worker, attention_walk_t walk, std::size_t first, std::size_t last, bf16_t const *qkv,
                         bf16_t *attended, float *lse) {
    scratch_scope_t scope(worker);
    std::size_t const hidden = walk.heads * head_width_k, stride = 3 * hidden;
    std::size_t const room = round_up(longest_item(walk.items), key_tile_k) * head_width_k;
    attention_panels_t const panels {claim<operand_t>(worker, room), claim<operand_t>(worker, room)};
    attention_block_t *block = claim<attention_block_t>(worker, 1);
    if (!panels.keys || !panels.values || !block) return;
    std::memset(static_cast<void *>(block), 0, sizeof(*block));
    for (std::size_t unit = first; unit < last; ++unit) {
        attention_chunk_t const chunk = walk.at(unit);
        std::size_t const begin = walk.items.offsets[chunk.item], tokens = walk.tokens(chunk.item);
        bf16_t const *queries = qkv + begin * stride + chunk.head * head_width_k;
        if (unit == first || chunk.first == 0)
            pack_head(queries + hidden, queries + 2 * hidden, stride, tokens, panels);
        for (std::size_t row = chunk.first; row < chunk.last; row += query_rows_k)
            attend_block(least(chunk.last - row, query_rows_k), tokens, {queries + row * stride, stride}, panels,
                         *block,
                         {attended + (begin + row) * hidden + chunk.head * head_width_k,
                          lse + (begin + row) * walk.heads + chunk.head, hidden, walk.heads});
    }
}

void attention(lane_t &lane, items_t items, std::size_t heads, bf16_t const *qkv, bf16_t *attended,
               float *lse) noexcept {
    attention_walk_t const walk {items, heads};
    lane.rows(walk.count(), 1, [=](std::size_t first, std::size_t last, lane_t &worker) {
        attend_units(worker, walk, first, last, qkv, attended, lse);
    });
}
