/**
 *  @file sampler.hpp
 *  @brief Which records each step sees: a pure function of the seed and the step, so that a resumed run goes on exactly.
 *
 *  The stream of draws is epochs end to end. In an epoch a source gives `weight * records` draws, taken from its own
 *  endless line of reshuffled passes, so a fraction left over in one epoch comes first in the next; then the epoch's
 *  draws of all sources are shuffled together. Only keyed hashes decide, never a generator's state.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace uform::tools {

class sampler_t {
  public:
    /** `source_offsets` [sources + 1] as in `corpus_t`; `weights` [sources]. */
    sampler_t(std::vector<std::size_t> source_offsets, std::vector<double> const &weights, std::uint64_t seed);

    /** Fills `records` with draws `first`, `first + 1`, … of the stream. */
    void draw(std::uint64_t first, std::span<std::size_t> records);
    std::size_t epoch_draws() const noexcept { return epoch_draws_; }

  private:
    void shuffle_epoch(std::uint64_t epoch);

    std::vector<std::size_t> source_offsets_;
    std::vector<std::size_t> draws_per_source_;
    std::size_t epoch_draws_ = 0;
    std::uint64_t seed_;
    std::uint64_t epoch_ = UINT64_MAX;
    std::vector<std::size_t> order_; // of `epoch_`: [epoch_draws_] records
};

} // namespace uform::tools
