/**
 *  @file material.hpp
 *  @brief What a run trains on, checked and ready: records on the disk, choices, and the batch of any step.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/batch.hpp"
#include "support/choice_store.hpp"
#include "support/pair_store.hpp"
#include "support/plan.hpp"
#include "support/sampler.hpp"

namespace uform::tools {

class material_t {
  public:
    /** Reads all sources, and tells the plan the capacity that they ask for. */
    explicit material_t(plan_t &plan);

    /** This process's share of the step's, a pure function of the seed and the step; one thread at a time. */
    drawn_t draw(std::uint64_t step);
    /** Reads the texts; any thread may. */
    batch_t batch(drawn_t const &drawn) const;

    std::size_t records() const noexcept { return pairs_.size(); }
    /** Sources of pairs or texts, then of choices. */
    std::size_t sources() const noexcept { return mixture_.sources.size() + choice_sources(); }
    source_t const &source(std::size_t index) const noexcept;
    std::size_t records_of(std::size_t source) const noexcept;
    /** Equal where all records of a source are, whatever file they came from. */
    std::uint64_t content_of(std::size_t source) const noexcept;
    /** What of `drawn` is of one source. */
    drawn_t part_of(drawn_t const &drawn, std::size_t source) const;

  private:
    std::size_t choice_sources() const noexcept { return mixture_.choices ? mixture_.choices->sources.size() : 0; }

    void check_files(std::size_t source) const;

    mixture_t mixture_;
    bool with_pairs_;
    std::size_t rank_, ranks_;
    pair_store_t pairs_;
    std::vector<media_files_t> media_; // of each source of pairs; empty where all are texts
    choice_store_t choices_;
    std::optional<sampler_t> sampler_;
    std::optional<sampler_t> choice_sampler_;
};

} // namespace uform::tools
