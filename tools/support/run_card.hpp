/**
 *  @file run_card.hpp
 *  @brief The README.md beside a checkpoint: what made it, on what, from what, and how well it does.
 */
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <uform/train.h>

#include "support/material.hpp"
#include "support/plan.hpp"
#include "support/retrieval.hpp"

namespace uform::tools {

/** What a card is drawn from. */
struct run_card_t {
    training_options_t const &options;
    plan_t const &plan;
    material_t const &material;
    uform_trainer_step_stats_t const &stats; // of the last step
    struct scores_t {
        std::size_t step;
        retrieval_t retrieval;
    };
    std::optional<scores_t> const &scores;
};

/** In a folder of the run's own `README.md`; beside another checkpoint, `name.safetensors`, `name.README.md`. */
std::string card_path(std::string const &checkpoint, bool own_folder);

/** Refuses to write over a file that no run wrote. */
void check_card(std::string const &path);

void write_card(run_card_t const &card);

/** The sources that the card beside a checkpoint does not list with their records as they are now, and their weights;
 *  none where there is no such card. */
std::vector<std::string> changed_sources(std::string const &checkpoint, material_t const &material);

/** The processor's name as Linux tells it; empty where it does not. */
std::string processor_name();

/** A command line that a shell reads back as it was. */
std::string shell_quoted(int argc, char const *const *argv);

} // namespace uform::tools
