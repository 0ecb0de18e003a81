/**
 *  @file rounding.hpp
 *  @brief Stochastic rounding of float32 to BFloat16, keyed by (seed, step, tensor, index).
 *
 *  Sixteen random bits are added below the kept half and the sum is cut: x rounds up with probability exactly its
 *  discarded fraction, so the mean is kept and a value that fits stays. Philox gives four words per counter, eight
 *  draws. They are dealt so that eight counters run side by side and nothing is transposed. Element e takes
 *      counter 8 (e / 64) + e % 8,   word e / 8 % 4,   lower half where e / 32 is even, else the upper
 */
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include <uform/utilities/random.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

inline constexpr std::size_t rounding_chunk_k = 64; // elements per round of eight counters

struct rounding_key_t {
    std::uint64_t seed;
    std::uint32_t stream;
    std::uint64_t step; // modulo 2^32
};

inline constexpr std::size_t rounding_counters_k = 8; // side by side
inline constexpr int rounding_rounds_k = 10;
inline constexpr std::uint32_t rounding_even_k = 0xD2511F53u, rounding_odd_k = 0xCD9E8D57u; // multipliers
inline constexpr std::uint32_t rounding_low_k = 0x9E3779B9u,
                               rounding_high_k = 0xBB67AE85u; // what a round adds to the key

/** The draws of elements [64 chunk, 64 chunk + 64): ten rounds of Philox 4x32 over eight counters at once. */
inline void rounding_bits(rounding_key_t const &key, std::uint64_t chunk, std::uint16_t *bits) noexcept {
    constexpr std::size_t counters_k = rounding_counters_k;
    std::uint32_t x[4][counters_k];
    for (std::size_t i = 0; i < counters_k; ++i) {
        std::uint64_t const counter = counters_k * chunk + i;
        x[0][i] = std::uint32_t(counter), x[1][i] = std::uint32_t(counter >> 32);
        x[2][i] = key.stream, x[3][i] = std::uint32_t(key.step);
    }
    std::uint32_t low_key = std::uint32_t(key.seed), high_key = std::uint32_t(key.seed >> 32);
    for (int round = 0; round < rounding_rounds_k; ++round, low_key += rounding_low_k, high_key += rounding_high_k)
        for (std::size_t i = 0; i < counters_k; ++i) {
            std::uint64_t const even = std::uint64_t(rounding_even_k) * x[0][i];
            std::uint64_t const odd = std::uint64_t(rounding_odd_k) * x[2][i];
            x[0][i] = std::uint32_t(odd >> 32) ^ x[1][i] ^ low_key, x[1][i] = std::uint32_t(odd);
            x[2][i] = std::uint32_t(even >> 32) ^ x[3][i] ^ high_key, x[3][i] = std::uint32_t(even);
        }
    for (std::size_t word = 0; word < 4; ++word)
        for (std::size_t i = 0; i < counters_k; ++i) {
            bits[word * counters_k + i] = std::uint16_t(x[word][i]);
            bits[(4 + word) * counters_k + i] = std::uint16_t(x[word][i] >> 16);
        }
}

[[gnu::always_inline]] inline bf16_t round_stochastically(float x, std::uint16_t bits) noexcept {
    return {std::uint16_t((std::bit_cast<std::uint32_t>(x) + bits) >> 16)};
}

} // namespace uform
