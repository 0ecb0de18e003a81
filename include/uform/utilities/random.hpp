/**
 *  @file random.hpp
 *  @brief Keyed random draws: the value depends on (seed, step, stream, index) and on nothing else.
 *
 *  Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) turns a 128-bit counter and a
 *  64-bit key into four independent words, so that any thread of any process can draw any index without a state to pass
 *  around. Normals use our own logarithm and cosine: a fresh model has the same bits on every machine.
 *
 *      key     = seed
 *      counter = index / 4 (64 bits), stream (32), step (32);  index % 4 picks the word
 *
 *  One index is one draw: `bits(i)`, `uniform(i)` and `normal(i)` share their words, so a stream is read one way only.
 */
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include <uform/utilities/elementary.hpp>

namespace uform {

using philox_words_t = std::array<std::uint32_t, 4>;

/** Ten rounds of Philox 4x32. */
inline philox_words_t philox(philox_words_t counter, std::array<std::uint32_t, 2> key) noexcept {
    for (int round = 0; round < 10; ++round) {
        std::uint64_t const even = std::uint64_t(0xD2511F53u) * counter[0];
        std::uint64_t const odd = std::uint64_t(0xCD9E8D57u) * counter[2];
        counter = {std::uint32_t(odd >> 32) ^ counter[1] ^ key[0], std::uint32_t(odd),
                   std::uint32_t(even >> 32) ^ counter[3] ^ key[1], std::uint32_t(even)};
        key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
    }
    return counter;
}

/** The stream of a tensor: its name hashed (FNV-1a), so that adding a head moves no other tensor's draws. The upper bit
 *  is set; streams below 2^31 are for other uses. */
constexpr std::uint32_t stream_of_name(std::string_view name) noexcept {
    std::uint32_t hash = 2166136261u;
    for (char const byte : name) hash = (hash ^ std::uint8_t(byte)) * 16777619u;
    return hash | 0x80000000u;
}

class keyed_t {
    std::array<std::uint32_t, 2> key_;
    std::uint32_t stream_, step_;

  public:
    /** `step` counts modulo 2^32. */
    keyed_t(std::uint64_t seed, std::uint32_t stream, std::uint64_t step) noexcept
        : key_ {std::uint32_t(seed), std::uint32_t(seed >> 32)}, stream_(stream), step_(std::uint32_t(step)) {}

    /** The words of indices [4 * quartet, 4 * quartet + 4). */
    philox_words_t words(std::uint64_t quartet) const noexcept {
        return philox({std::uint32_t(quartet), std::uint32_t(quartet >> 32), stream_, step_}, key_);
    }
    std::uint32_t bits(std::uint64_t index) const noexcept { return words(index / 4)[index % 4]; }

    /** In [0, 1), a multiple of 2^-32. */
    double uniform(std::uint64_t index) const noexcept { return double(bits(index)) * 0x1p-32; }

    /** An integer in [0, bound); the bias of the multiplication is below bound / 2^32. */
    std::uint32_t below(std::uint64_t index, std::uint32_t bound) const noexcept {
        return std::uint32_t(std::uint64_t(bits(index)) * bound >> 32);
    }

    /** The standard normals of indices [4 * quartet, 4 * quartet + 4), by Box-Muller; none exceeds 6.67. */
    std::array<double, 4> normals(std::uint64_t quartet) const noexcept {
        philox_words_t const drawn = words(quartet);
        std::array<double, 4> values;
        for (std::size_t pair = 0; pair < 4; pair += 2) {
            double const radius = sqrt_of(-2.0 * log_of((double(drawn[pair]) + 1.0) * 0x1p-32));
            double const angle = double(drawn[pair + 1]) * (6.28318530717958647692 * 0x1p-32);
            values[pair] = radius * cos_of(angle), values[pair + 1] = radius * sin_of(angle);
        }
        return values;
    }
    double normal(std::uint64_t index) const noexcept { return normals(index / 4)[index % 4]; }
};

} // namespace uform
