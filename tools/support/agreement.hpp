/**
 *  @file agreement.hpp
 *  @brief What all processes of a run must have alike, by name: its plan, and the content of what it reads.
 *
 *  The trainer compares its own options as it is made. Batches are built by the tool, from a mixture and files that
 *  another process may have in another version: what they follow from is compared here, before a step is taken.
 */
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/material.hpp"
#include "support/pair_store.hpp"
#include "support/plan.hpp"

namespace uform::tools {

/** Names and values, values as text. Paths are not among them: hosts may keep one content in different places. */
nlohmann::ordered_json run_fields(plan_t const &plan, material_t const &material, pair_store_t const *held_out);

/** The first field in which a process differs from that of rank 0, with both values; empty where none does. */
std::string first_difference(std::vector<nlohmann::ordered_json> const &fields);

} // namespace uform::tools
