/**
 *  @file checkpoint_vector.hpp
 *  @brief One F32 vector of a checkpoint: read, and written anew with everything else as it was.
 *
 *  Whether the file is sound is for the engine, which a caller has load it first.
 */
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace uform::tools {

/** The values of an F32 vector; empty where the checkpoint has none of that name. */
std::vector<float> read_checkpoint_vector(std::string const &path, std::string_view name);

/** Writes `source` again as `target`, whole or not at all, with the vector replaced, or added as the last tensor. */
void write_checkpoint_vector(std::string const &source, std::string const &target, std::string_view name,
                             std::span<float const> values);

} // namespace uform::tools
