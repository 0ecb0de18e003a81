/**
 *  @file trainer.hpp
 *  @brief A run that counts steps: options checked as the engine checks them, weights that no step moves.
 */
#pragma once
#include <uform/train.h>

#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "hold.hpp"

namespace uform_stub {

/** A run's arguments, checked, with the defaults that are read later filled in. */
struct options_t {
    sizes_t sizes;
    uform_batch_shape_t batch {};
    uform_objective_t objective = uform_objective_masked_k;
    uform_masking_t masking {};
    uform_contrastive_t contrastive {};
    std::vector<std::size_t> widths; // Matryoshka's, at least the full one where the objective contrasts
    uform_choices_t choices {};
    uform_late_interaction_t late_interaction {}; // of weight zero: no token head
    uform_regularizers_t regularizers {};
    uform_schedule_t schedule {};
    std::uint64_t seed = 0;

    bool masks() const noexcept { return objective != uform_objective_contrastive_k; }
    bool contrasts() const noexcept { return objective != uform_objective_masked_k; }
    bool chooses() const noexcept { return choices.weight > 0; }
    bool interacts() const noexcept { return late_interaction.weight > 0; }
};

/** Refuses what `uform_trainer_init_ram` refuses before it reads a file. */
options_t resolve(uform_trainer_init_ram_t const &call);

void check_step(uform_trainer_step_t const &call);
/** Packs, counts and lands hashed rows; computes no loss and moves no weight. */
void step(uform_trainer_step_t const &call);

/** Bytes as metadata holds them: what is not printable ASCII becomes \xHH, a backslash two. */
std::string escaped(std::string_view bytes);

} // namespace uform_stub

/** A run of one process. */
struct uform_mesh_handle_t {
    uform_executor_t executor = nullptr;
};

struct uform_trainer_handle_t {
    uform_stub::options_t options;
    std::vector<uform_stub::spec_t> specs;
    std::vector<std::string> weights;          // one of `specs` each, as stored
    std::string query_prefix, document_prefix; // escaped
    std::uint64_t steps_done = 0;
    std::size_t dropped = 0; // since stats were last read
    uform_executor_t executor = nullptr;
    uform_stub::hold_t hold;

    /** Scales of one, temperatures and biases as asked for, zeros elsewhere. */
    void start(uform_trainer_init_ram_t const &call);
    void resume(std::string_view path, uform_progress_t const &progress);
    void warm_start(std::string_view path, uform_progress_t const &progress);
    void save(std::string_view path, uform_progress_t const &progress) const;
};
