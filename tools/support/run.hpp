/**
 *  @file run.hpp
 *  @brief A training run from its plan to its last save.
 */
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>

#include "support/batch_queue.hpp"
#include "support/engine.hpp"
#include "support/evaluation.hpp"
#include "support/material.hpp"
#include "support/plan.hpp"
#include "support/progress_bar.hpp"
#include "support/run_card.hpp"
#include "support/run_log.hpp"
#include "support/world.hpp"

namespace uform::tools {

/** A run of at least one step. */
class run_t {
  public:
    run_t(training_options_t const &options, plan_t plan);
    /** Answers the exit code. */
    int run();

  private:
    uform_trainer_step_stats_t take_step(trainer_t &trainer, std::size_t step, prepared_t prepared);
    bool skip_unread(std::size_t step, prepared_t &prepared);
    void skip(std::size_t step, prepared_t &prepared, std::vector<batch_file_t> lost);
    void take_next(batch_queue_t &queue, std::size_t &step);
    void stop_early(trainer_t const &trainer, std::size_t done, drawn_t const &drawn, uform_outcome_t const &outcome);
    std::size_t steps_for(double minutes);
    void open_log();
    void warn_of_earlier_run() const;
    void warn_of_small_sources() const;
    double find_peak() const;
    void log_step(uform_trainer_step_stats_t const &stats, double seconds);
    bool leads() const noexcept { return options_.rank == 0; } // writes files, alone in its world
    void save();
    void save_before_failing();
    evaluation_t score_held_out(std::size_t most_pairs);
    void rehearse_validation();
    void validate(std::size_t step);
    void save_and_validate(std::size_t step);
    int stop(std::size_t done);

    training_options_t const &options_;
    plan_t plan_;
    std::optional<run_log_t> log_;
    executor_t executor_;
    material_t material_;
    std::optional<pair_store_t> held_out_;
    mesh_t mesh_;
    trainer_t trainer_;
    stopping_t stopping_;
    progress_bar_t bar_;
    uform_trainer_step_stats_t stats_ = {}; // of the last step
    std::optional<run_card_t::scores_t> scores_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    batch_t taken_;              // of the last step
    bool rehearses_ = false;     // steps of a throwaway trainer, which the run will meet again
    bool diverged_ = false;      // the steps taken are of no use, and are not saved
    std::size_t save_tried_ = 0; // the last step that one was, as the trainer counts
    std::size_t skipped_ = 0;    // files, and the records that name them with them
    std::size_t tokens_ = 0;
    double operations_ = 0; // useful ones
    double seconds_ = 0;    // in steps alone
    double peak_ = 0;       // operations per second that all processors of the run could do; zero: not known
};

} // namespace uform::tools
