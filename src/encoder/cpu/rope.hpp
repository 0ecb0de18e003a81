/**
 *  @file rope.hpp
 *  @brief Rotary positions: turns the pairs (v[j], v[j + 32]) of every q and k head in place.
 */
#pragma once

inline void rope_token(std::size_t heads, float const *rotary, float sign, bf16_t *qkv) {
    for (std::size_t j = 0; j < head_pairs_k; j += lanes_k) {
        f32x_t const cosine_f32x = load(rotary + j), sine_f32x = load(rotary + head_pairs_k + j) * broadcast(sign);
        for (std::size_t head = 0; head < 2 * heads; ++head) {
            bf16_t *slice = qkv + head * head_width_k + j;
            f32x_t const low_f32x = load_narrow(slice), high_f32x = load_narrow(slice + head_pairs_k);
            store_narrow(slice, subtract_product(low_f32x * cosine_f32x, high_f32x, sine_f32x));
            store_narrow(slice + head_pairs_k, multiply_add(low_f32x, sine_f32x, high_f32x * cosine_f32x));
        }
    }
}

void rope(lane_t &lane, std::size_t tokens, std::size_t heads, float const *rotary, rotation_t direction,
          bf16_t *qkv) noexcept {
    float const sign = direction == rotation_t::forward_k ? 1.0f : -1.0f;
    lane.rows(tokens, 16, [=](std::size_t first, std::size_t last, lane_t &) {
        for (std::size_t token = first; token < last; ++token)
            rope_token(heads, rotary + token * head_width_k, sign, qkv + token * 3 * heads * head_width_k);
    });
}
