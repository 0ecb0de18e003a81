/**
 *  @file world.hpp
 *  @brief The processes of a run: how they meet, and how they stop together.
 */
#pragma once
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "support/engine.hpp"
#include "support/plan.hpp"

namespace uform::tools {

/** Refuses flags that do not belong together. */
void check_world(training_options_t const &options);

/** Joins the other processes in the folder named; alone, an empty mesh. `fields` are of `run_fields`: where those of any
 *  two processes differ, all of them refuse the run, naming the field and both values. */
mesh_t join_world(training_options_t const &options, executor_t const &executor, nlohmann::ordered_json const &fields);

/** Tidies up once every process is past `join_world`, as a trainer that could be made with the mesh says. */
void settle_world(training_options_t const &options) noexcept;

/** Ends a run after one step in all processes, whichever of them is asked to stop. No process ends a step before every
 *  other one has begun it, so what one writes down between two steps all others can read after the second. */
class stopping_t {
  public:
    explicit stopping_t(training_options_t const &options);

    /** Whether the step that has been taken, `done` in all, is the last. */
    bool stops_after(std::size_t done);

  private:
    std::string note_;     // a file that holds the last step; empty where this process is alone
    std::size_t last_ = 0; // zero: not known
};

} // namespace uform::tools
