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

/** Sources with a share in `drawn`. */
std::vector<std::size_t> sources_in(material_t const &material, drawn_t const &drawn);

/** Sources whose share alone is not finite either; none where it takes several together. The weights travel through a
 *  file at `scratch`, which lives for this function; `trainer` stays as it is. */
std::vector<std::size_t> find_culprits(trainer_t const &trainer, executor_t const &executor, plan_t const &plan,
                                       material_t const &material, drawn_t const &drawn, std::string const &scratch);

} // namespace uform::tools
