/**
 *  @file culprits.hpp
 *  @brief Which sources a step failed for: each one's share of the batch is tried alone, at the same weights.
 */
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "support/material.hpp"
#include "support/trainer.hpp"

namespace uform::tools {

/** What a non-finite step came from. */
struct verdict_t {
    std::vector<std::size_t> sources; // that are to blame, as far as is known
    std::string sentence;             // which says so
};

/** Blames the sources whose share alone is not finite either. The weights travel through a file at `scratch`, which lives
 *  for this function; `trainer` stays as it is. */
verdict_t find_culprits(trainer_t const &trainer, executor_t const &executor, plan_t const &plan,
                        material_t const &material, drawn_t const &drawn, std::string const &scratch);

} // namespace uform::tools
