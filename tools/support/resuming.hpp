/**
 *  @file resuming.hpp
 *  @brief Where a run writes and what it goes on from, where flags leave that open.
 */
#pragma once
#include <cstdint>
#include <string>

namespace uform::tools {

/** A run that owns a whole folder is given its name, or one with a slash at the end, which is made where missing; its
 *  checkpoint is `model.safetensors` in it. Any other name is the checkpoint's own. */
std::string output_file_of(std::string const &output);

/** Whether an output is named as such a folder. */
bool names_folder(std::string const &output);

/** What `--resume auto` goes on from: the run's own checkpoint, readable or not, as other files beside it may be copies
 *  or of other runs. Empty: there is none yet. `output` is as the user wrote it. */
std::string find_checkpoint(std::string const &output);

/** Whether the optimizer's moments of that step lie beside a checkpoint. */
bool has_moments(std::string const &checkpoint, std::uint64_t step);

/** Whether a file is named as the moments are that a save of some step leaves beside a checkpoint. */
bool names_moments_of(std::string const &checkpoint, std::string const &file);

/** Takes out of a log what came after `step`, which a resumed run is about to do again, and a line cut short. */
void cut_log(std::string const &path, std::uint64_t step);

} // namespace uform::tools
