/**
 *  @file attention_backward.hpp
 *  @brief Attention backward: weights are recomputed from the lse, tile by tile (Dao et al., 2022, appendix B).
 *
 *  Per tile of 64 keys, over blocks of query rows:
 *
 *      p = 2^(q k^T scale - lse)      d_p = d_o v^T      d_s = p (d_p - delta) / 8,  delta = <d_o, o>
 *      d_q += d_s k                   d_k += d_s^T q     d_v += p^T d_o
 *
 *  p and d_s are rounded to BFloat16 and zipped over pairs of query rows as they are made, which is the layout the last
 *  two products want for their left operand. All three gradients gather in float and are rounded once.
 */
#pragma once

constexpr std::size_t replay_rows_k = 2 * tile_rows_k;    // rows of scores at a time: even, so that they pair up
constexpr std::size_t replay_block_k = 6 * replay_rows_k; // rows behind one product of d_k and d_v

struct replay_t {
    float scores[replay_rows_k * key_tile_k];
    float d_weights[replay_rows_k * key_tile_k];
    bf16_t d_scores[replay_rows_k * key_tile_k];         // row by row, for d_q
    bf16_t weights_zipped[replay_block_k * key_tile_k];  // [rows / 2][64 keys][2], for d_v
    bf16_t d_scores_zipped[replay_block_k * key_tile_k]; // likewise, for d_k
    float d_keys[tile_elements_k], d_values[tile_elements_k];
    bf16_t keys[tile_elements_k], values[tile_elements_k]; // panels with keys as columns
    bf16_t keys_zipped[tile_elements_k];                   // panel with keys as depth
};

/** One head of one item, and what is prepared once for all its tiles. */
struct replay_head_t {
    bf16_t const *queries, *attended, *d_attended;
    bf16_t *d_queries; // keys and values lie one and two `hidden` further
    std::size_t tokens, hidden;
    bool far;                                   // some row's lse is
    float *lse, *delta;                         // [tokens], in units of log2 unless far, and <d_o, o>
    float *d_queries_sum;                       // [tokens, 64]
    bf16_t *queries_zipped, *d_attended_zipped; // [tokens / 2][64][2]

    std::size_t stride() const { return 3 * hidden; }
};

inline void prepare_head(replay_head_t &head, float const *lse, std::size_t heads) {
    float reach = 0;
    pack_rows(head.queries, head.stride(), head.tokens, head_width_k, head.queries_zipped);
    pack_rows(head.d_attended, head.hidden, head.tokens, head_width_k, head.d_attended_zipped);
    for (std::size_t row = 0; row < head.tokens; ++row) {
        f32x_t sum_f32x = zero();
        for (std::size_t column = 0; column < head_width_k; column += lanes_k)
            sum_f32x = multiply_add(load_narrow(head.attended + row * head.hidden + column),
                                    load_narrow(head.d_attended + row * head.hidden + column), sum_f32x);
        head.delta[row] = reduce_sum(sum_f32x);
        head.lse[row] = lse[row * heads] * log2_e_k;
        float const distance = head.lse[row] < 0 ? -head.lse[row] : head.lse[row];
        reach = distance > reach ? distance : reach;
    }
    head.far = reach > far_score_k;
    for (std::size_t row = 0; head.far && row < head.tokens; ++row) head.lse[row] = lse[row * heads];
}

/** What one query row makes of sixteen, or eight, keys. */
struct replayed_t {
    f32x_t weight_f32x, d_score_f32x;
};

/** No score is above its lse; where both are far from zero, rounding of the lse may not say otherwise. */
inline f32x_t far_power(f32x_t score_f32x, float lse) {
    return smaller(zero(), multiply_add(score_f32x, broadcast(0.125f), broadcast(-lse))) * broadcast(log2_e_k);
}

template <bool far_>
replayed_t replay(float const *scores, float const *d_weights, float lse, float delta, std::size_t keys) {
    f32x_t weight_f32x = exp2_of(far_ ? far_power(load(scores), lse)
                                      : multiply_add(load(scores), broadcast(score_scale_k), broadcast(-lse)));
    if (keys < lanes_k) weight_f32x = keep_first(weight_f32x, keys, zero());
    f32x_t const slope_f32x = (load(d_weights) - broadcast(delta)) * broadcast(0.125f);
    return {weight_f32x, weight_f32x * slope_f32x};
}

/** Turns scores and d_weights of `rows` rows into p and d_s; a missing odd row is all zeros. */
template <bool far_>
void replay_rows(std::size_t rows, std::size_t keys, float const *lse, float const *delta, replay_t &state,
                 std::size_t zipped) {
    for (std::size_t row = 0; row < rows; row += 2)
        for (std::size_t key = 0; key < keys; key += lanes_k) {
            std::size_t const cell = row * key_tile_k + key, target = zipped + row * key_tile_k + 2 * key;
            replayed_t const even =
                replay<far_>(state.scores + cell, state.d_weights + cell, lse[row], delta[row], keys - key);
            store_narrow(state.d_scores + cell, even.d_score_f32x);
            replayed_t odd {zero(), zero()};
            if (row + 1 < rows) {
                odd = replay<far_>(state.scores + cell + key_tile_k, state.d_weights + cell + key_tile_k, lse[row + 1],
                                   delta[row + 1], keys - key);
                store_narrow(state.d_scores + cell + key_tile_k, odd.d_score_f32x);
            }
            store_pairs(state.weights_zipped + target, zip_narrow(even.weight_f32x, odd.weight_f32x));
            store_pairs(state.d_scores_zipped + target, zip_narrow(even.d_score_f32x, odd.d_score_f32x));
        }
}

/** Query rows [first, first + rows) against one tile of keys. */
inline void replay_block(replay_head_t const &head, std::size_t first, std::size_t rows, std::size_t key,
                         replay_t &state) {
    std::size_t const keys = least(head.tokens - key, key_tile_k);
    for (std::size_t row = 0; row < rows; row += replay_rows_k) {
        std::size_t const count = least(rows - row, replay_rows_k), at = first + row;
        multiply_panel(count, keys, left_rows_t {head.queries + at * head.stride(), head.stride()}, state.keys,
                       head_width_k / 2, sums_sink_t<false> {state.scores, key_tile_k});
        multiply_panel(count, keys, left_rows_t {head.d_attended + at * head.hidden, head.hidden}, state.values,
                       head_width_k / 2, sums_sink_t<false> {state.d_weights, key_tile_k});
        auto const replay_these = head.far ? replay_rows<true> : replay_rows<false>;
        replay_these(count, keys, head.lse + at, head.delta + at, state, row * key_tile_k);
        left_rows_t const d_scores {state.d_scores, key_tile_k};
        float *d_queries = head.d_queries_sum + at * head_width_k;
        if (key == 0)
            multiply_panel(count, d_scores, state.keys_zipped, divide_up(keys, 2),
                           sums_sink_t<false> {d_queries, head_width_k});
        else
            multiply_panel(count, d_scores, state.keys_zipped, divide_up(keys, 2),
                           sums_sink_t<true> {d_queries, head_width_k});
    }
    sums_sink_t<true> const d_values {state.d_values, head_width_k}, d_keys {state.d_keys, head_width_k};
    multiply_panel(keys, left_panel_t {state.weights_zipped}, head.d_attended_zipped + first * head_width_k,
                   divide_up(rows, 2), d_values);
    multiply_panel(keys, left_panel_t {state.d_scores_zipped}, head.queries_zipped + first * head_width_k,
                   divide_up(rows, 2), d_keys);
}

inline void narrow_rows(float const *sums, std::size_t rows, std::size_t stride, bf16_t *y) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < head_width_k; column += lanes_k)
            store_narrow(y + row * stride + column, load(sums + row * head_width_k + column));
}

inline void replay_head(replay_head_t const &head, replay_t &state) {
    for (std::size_t key = 0; key < head.tokens; key += key_tile_k) {
        std::size_t const keys = least(head.tokens - key, key_tile_k);
        bf16_t const *tile_keys = head.queries + head.hidden + key * head.stride();
        pack_columns(tile_keys, head.stride(), keys, head_width_k, state.keys);
        pack_columns(tile_keys + head.hidden, head.stride(), keys, head_width_k, state.values);
        pack_rows(tile_keys, head.stride(), keys, head_width_k, state.keys_zipped);
        std::memset(state.d_keys, 0, keys * head_width_k * sizeof(float));
        std::memset(state.d_values, 0, keys * head_width_k * sizeof(float));
        for (std::size_t row = 0; row < head.tokens; row += replay_block_k)
            replay_block(head, row, least(head.tokens - row, replay_block_k), key, state);
        bf16_t *d_keys = head.d_queries + head.hidden + key * head.stride();
        narrow_rows(state.d_keys, keys, head.stride(), d_keys);
        narrow_rows(state.d_values, keys, head.stride(), d_keys + head.hidden);
    }
    narrow_rows(head.d_queries_sum, head.tokens, head.stride(), head.d_queries);
}

inline void replay_units(lane_t &worker, items_t items, std::size_t heads, std::size_t first, std::size_t last,
                         attention_backward_t<float> const &io) {
    scratch_scope_t scope(worker);
    std::size_t const longest = round_up(longest_item(items), 2), hidden = heads * head_width_k;
    replay_t *state = claim<replay_t>(worker, 1);
    float *rows = claim<float>(worker, longest * (2 + head_width_k));
    bf16_t *zipped = claim<bf16_t>(worker, longest * 2 * head_width_k);
    if (!state || !rows || !zipped) return;
    std::memset(static_cast<void *>(state), 0, sizeof(*state));
    for (std::size_t unit = first; unit < last; ++unit) {
        std::size_t const item = unit / heads, column = unit % heads * head_width_k, begin = items.offsets[item];
        replay_head_t head {.queries = io.qkv + begin * 3 * hidden + column,
                            .attended = io.attended + begin * hidden + column,
                            .d_attended = io.d_attended + begin * hidden + column,
                            .d_queries = io.d_qkv + begin * 3 * hidden + column,
                            .tokens = items.offsets[item + 1] - begin,
                            .hidden = hidden,
                            .far = false,
                            .lse = rows + longest * head_width_k,
                            .delta = rows + longest * (head_width_k + 1),
                            .d_queries_sum = rows,
                            .queries_zipped = zipped,
                            .d_attended_zipped = zipped + longest * head_width_k};
        prepare_head(head, io.lse + begin * heads + unit % heads, heads);
        replay_head(head, *state);
    }
}

void attention_backward(lane_t &lane, items_t items, std::size_t heads,
                        attention_backward_t<float> const &io) noexcept {
    lane.rows(items.count() * heads, 1, [&](std::size_t first, std::size_t last, lane_t &worker) {
        replay_units(worker, items, heads, first, last, io);
    });
}
