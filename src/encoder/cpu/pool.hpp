/**
 *  @file pool.hpp
 *  @brief Attention pooling: per head and item one softmax over tokens and the mean it weighs, forward and backward.
 *
 *  The backward gathers one gradient of the query over all items in their order, so threads share out heads there.
 */
#pragma once

inline f32x_t dot_step(bf16_t const *state, float const *query, std::size_t column, f32x_t sum_f32x) {
    return multiply_add(load_narrow(state + column), load(query + column), sum_f32x);
}

/** <state, query> of one head's slice. */
inline float head_dot(bf16_t const *state, float const *query) {
    f32x_t sum_f32x = zero();
    for (std::size_t column = 0; column < head_width_k; column += lanes_k)
        sum_f32x = dot_step(state, query, column, sum_f32x);
    return reduce_sum(sum_f32x);
}

/** weights = softmax(weights) in place, over `tokens` scores in units of log2; those below 2^-126 are zero. */
inline void softmax(std::size_t tokens, float *weights) {
    f32x_t top_f32x = broadcast(no_score_k), sum_f32x = zero();
    for (std::size_t token = 0; token < tokens; token += lanes_k) {
        std::size_t const count = least(tokens - token, lanes_k);
        top_f32x = larger(top_f32x, keep_first(load_part(weights + token, count), count, top_f32x));
    }
    f32x_t const low_f32x = broadcast(reduce_max(top_f32x));
    for (std::size_t token = 0; token < tokens; token += lanes_k) {
        std::size_t const count = least(tokens - token, lanes_k);
        f32x_t const power_f32x = load_part(weights + token, count) - low_f32x;
        f32x_t const weight_f32x = where_greater(broadcast(-exponent_limit_k), power_f32x, zero(), exp2_of(power_f32x));
        sum_f32x = sum_f32x + keep_first(weight_f32x, count, zero());
        store_part(weights + token, weight_f32x, count);
    }
    float const total = reduce_sum(sum_f32x);
    for (std::size_t token = 0; token < tokens; ++token) weights[token] = weights[token] / total;
}

/** One head of one item. Buffers that hold all heads are given at the item's first token and the head's column. */
inline void pool_head(std::size_t tokens, std::size_t heads, bf16_t const *states, float const *query, float *weights,
                      float *attention, float *pooled) {
    std::size_t const hidden = heads * head_width_k;
    for (std::size_t token = 0; token < tokens; ++token)
        weights[token] = head_dot(states + token * hidden, query) * score_scale_k;
    softmax(tokens, weights);
    for (std::size_t column = 0; column < head_width_k; column += lanes_k) {
        f32x_t sum_f32x = zero();
        for (std::size_t token = 0; token < tokens; ++token)
            sum_f32x = multiply_add(load_narrow(states + token * hidden + column), broadcast(weights[token]), sum_f32x);
        store(pooled + column, sum_f32x);
    }
    for (std::size_t token = 0; token < tokens; ++token) attention[token * heads] = weights[token];
}

inline void pool_units(lane_t &worker, items_t items, std::size_t heads, std::size_t first, std::size_t last,
                       bf16_t const *states, float const *query, float *attention, float *pooled) {
    scratch_scope_t scope(worker);
    float *weights = claim<float>(worker, longest_item(items) + 1);
    if (!weights) return;
    std::size_t const hidden = heads * head_width_k;
    for (std::size_t unit = first; unit < last; ++unit) {
        std::size_t const item = unit / heads, head = unit % heads, column = head * head_width_k;
        std::size_t const begin = items.offsets[item], tokens = items.offsets[item + 1] - begin;
        pool_head(tokens, heads, states + begin * hidden + column, query + column, weights,
                  attention + begin * heads + head, pooled + item * hidden + column);
    }
}

void pool(lane_t &lane, items_t items, std::size_t heads, bf16_t const *states, float const *query, float *attention,
          float *pooled) noexcept {
    lane.rows(items.count() * heads, 1, [=](std::size_t first, std::size_t last, lane_t &worker) {
        pool_units(worker, items, heads, first, last, states, query, attention, pooled);
    });
}

/** d_states += alpha d_pooled + d_score query, d_query += d_score state, for one token of one head. */
inline void pool_backward_token(bf16_t const *state, float weight, float d_score, float const *query,
                                float const *d_pooled, float *d_state_sum, float *d_query_sum) {
    f32x_t const weight_f32x = broadcast(weight), d_score_f32x = broadcast(d_score);
    for (std::size_t column = 0; column < head_width_k; column += lanes_k) {
        f32x_t sum_f32x = multiply_add(weight_f32x, load(d_pooled + column), load(d_state_sum + column));
        sum_f32x = multiply_add(d_score_f32x, load(query + column), sum_f32x);
        store(d_state_sum + column, sum_f32x);
        store(d_query_sum + column,
              multiply_add(d_score_f32x, load_narrow(state + column), load(d_query_sum + column)));
    }
}

inline void pool_backward_head(std::size_t tokens, std::size_t heads, float *d_weights,
                               pool_backward_t<float> const &io) {
    std::size_t const hidden = heads * head_width_k;
    float mean = 0;
    for (std::size_t token = 0; token < tokens; ++token) {
        d_weights[token] = head_dot(io.states + token * hidden, io.d_pooled);
        mean += io.attention[token * heads] * d_weights[token];
    }
    for (std::size_t token = 0; token < tokens; ++token) {
        float const weight = io.attention[token * heads];
        pool_backward_token(io.states + token * hidden, weight, weight * (d_weights[token] - mean) * 0.125f, io.query,
                            io.d_pooled, io.d_states_sum + token * hidden, io.d_query_sum);
    }
}

inline void pool_backward_heads(lane_t &worker, items_t items, std::size_t heads, std::size_t first, std::size_t last,
                                pool_backward_t<float> const &io) {
    scratch_scope_t scope(worker);
    float *d_weights = claim<float>(worker, longest_item(items) + 1);
    if (!d_weights) return;
    std::size_t const hidden = heads * head_width_k;
    for (std::size_t item = 0; item < items.count(); ++item)
        for (std::size_t head = first; head < last; ++head) {
            std::size_t const begin = items.offsets[item], column = head * head_width_k;
            pool_backward_head(items.offsets[item + 1] - begin, heads, d_weights,
                               {.states = io.states + begin * hidden + column,
                                .query = io.query + column,
                                .attention = io.attention + begin * heads + head,
                                .d_pooled = io.d_pooled + item * hidden + column,
                                .d_states_sum = io.d_states_sum + begin * hidden + column,
                                .d_query_sum = io.d_query_sum + column});
        }
}

void pool_backward(lane_t &lane, items_t items, std::size_t heads, pool_backward_t<float> const &io) noexcept {
    lane.rows(heads, 1, [&](std::size_t first, std::size_t last, lane_t &worker) {
        pool_backward_heads(worker, items, heads, first, last, io);
    });
}
