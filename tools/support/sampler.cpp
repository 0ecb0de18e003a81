/**
 *  @file sampler.cpp
 *  @brief Keyed shuffles.
 */
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "support/sampler.hpp"

namespace uform::tools {

namespace {

/** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit. */
std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

std::uint64_t keyed(std::uint64_t key, std::uint64_t value) noexcept {
    return mix(key + 0x9e3779b97f4a7c15u * (value + 1));
}

/** Fisher-Yates; the bias of the remainder is below 2^-40 for any corpus that fits in memory. */
void shuffle(std::vector<std::size_t> &values, std::uint64_t key) noexcept {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[keyed(key, i) % i]);
}

} // namespace

sampler_t::sampler_t(std::vector<std::size_t> source_offsets, std::vector<double> const &weights, std::uint64_t seed)
    : source_offsets_(std::move(source_offsets)), seed_(seed) {
    for (std::size_t source = 0; source + 1 < source_offsets_.size(); ++source) {
        double const records = double(source_offsets_[source + 1] - source_offsets_[source]);
        draws_per_source_.push_back(std::size_t(std::max(1.0, std::round(records * weights[source]))));
    }
    epoch_draws_ = std::accumulate(draws_per_source_.begin(), draws_per_source_.end(), std::size_t(0));
}

void sampler_t::shuffle_epoch(std::uint64_t epoch) {
    order_.clear();
    for (std::size_t source = 0; source < draws_per_source_.size(); ++source) {
        std::size_t const first = source_offsets_[source], count = source_offsets_[source + 1] - first;
        std::uint64_t const begin = epoch * draws_per_source_[source], end = begin + draws_per_source_[source];
        std::vector<std::size_t> pass(count);
        std::uint64_t const source_key = keyed(keyed(seed_, 1), source);
        for (std::uint64_t draw = begin; draw < end; ++draw) {
            if (draw == begin || draw % count == 0) {
                std::iota(pass.begin(), pass.end(), first);
                shuffle(pass, keyed(source_key, draw / count));
            }
            order_.push_back(pass[draw % count]);
        }
    }
    shuffle(order_, keyed(keyed(seed_, 2), epoch));
    epoch_ = epoch;
}

void sampler_t::draw(std::uint64_t first, std::span<std::size_t> records) {
    for (std::size_t &record : records) {
        if (first / epoch_draws_ != epoch_) shuffle_epoch(first / epoch_draws_);
        record = order_[first % epoch_draws_];
        ++first;
    }
}

} // namespace uform::tools
