/**
 *  @file update.hpp
 *  @brief What an update of the weights does to every element: draws for rounding, and the row that takes them.
 *
 *  Words of Philox lie in lanes of 64 bits, whose upper half is of no account: a product reads the lower one, and shifts
 *  its own upper half down.
 */
#pragma once

using draws_t = std::uint16_t __attribute__((vector_size(2 * words_k)));

inline words_t same_words(std::uint64_t word) { return words_t {} + word; }

inline void store_draws(std::uint16_t *draws, words_t words) {
    draws_t const narrow = __builtin_convertvector(words, draws_t);
    std::memcpy(draws, &narrow, sizeof(narrow));
}

/** A register's counters, from `counter` on: eight draws of each, told apart by its place among the chunk's. */
inline void draw_counters(rounding_key_t const &key, std::uint64_t counter, std::uint16_t *draws) {
    words_t places = {};
    for (std::size_t i = 0; i < words_k; ++i) places[i] = i;
    words_t words[4] = {places + counter, (places + counter) >> 32, same_words(key.stream), same_words(key.step)};
    words_t low_key = same_words(key.seed), high_key = same_words(key.seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < rounding_rounds_k; ++round) {
        words_t const even = multiply_words(words[0], rounding_even_k), odd = multiply_words(words[2], rounding_odd_k);
        words[0] = (odd >> 32) ^ words[1] ^ low_key, words[1] = odd;
        words[2] = (even >> 32) ^ words[3] ^ high_key, words[3] = even;
        low_key += rounding_low_k, high_key += rounding_high_k;
    }
#pragma GCC unroll 4
    for (std::size_t word = 0; word < 4; ++word) {
        store_draws(draws + word * rounding_counters_k, words[word]);
        store_draws(draws + (4 + word) * rounding_counters_k, words[word] >> 16);
    }
}

void draw_rounding(rounding_key_t const &key, std::uint64_t first_chunk, std::size_t chunks,
                   std::uint16_t *draws) noexcept {
    for (std::size_t i = 0; i < chunks; ++i)
        for (std::size_t counter = 0; counter < rounding_counters_k; counter += words_k)
            draw_counters(key, rounding_counters_k * (first_chunk + i) + counter,
                          draws + i * rounding_chunk_k + counter);
}

void update_row(updated_row_t const &row) noexcept { serial::update_row(row); }
