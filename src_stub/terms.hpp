/**
 *  @file terms.hpp
 *  @brief What a run and its resumption must agree on beside sizes: the schedule, and what losses read.
 */
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "trainer.hpp"

namespace uform_stub {

using metadata_t = std::vector<std::pair<std::string, std::string>>;

/** As the metadata of a saved run, in the engine's order and digits. */
metadata_t terms_of(options_t const &options);

void check_same(std::string const &field, std::string const &saved, std::string const &asked);
/** A file is not held to what it says nothing of. */
void check_terms(checkpoint_t const &checkpoint, options_t const &options);

} // namespace uform_stub
