/**
 *  @file trainer.hpp
 *  @brief A training run: what it is made of, one optimizer step, saving and resuming.
 *
 *  A step is pack, corrupt, forward, losses, backward, reduce, update (docs/DESIGN.md). Its bits depend on the batch,
 *  the seed and the step's number: not on threads, nor on how often the run was stopped and resumed with its moments.
 */
#pragma once
#include <uform/train.h>

#include <uform/encoder/media_encode.hpp>
#include <uform/encoder/packed_tower.hpp>
#include <uform/mesh/mesh.hpp>
#include <uform/train/masking.hpp>
#include <uform/train/parameters.hpp>
#include <uform/train/relations.hpp>
#include <uform/train/schedule.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/executor.hpp>
#include <uform/utilities/rows.hpp>

namespace uform {

inline constexpr std::size_t matryoshka_limit_k = 8;

/** A run's arguments, checked, every default filled in. */
struct trainer_options_t {
    model_options_t model;
    uform_batch_shape_t batch {};
    uform_objective_t objective = uform_objective_masked_k;
    masking_t masking {};
    uform_contrastive_t contrastive {}; // its widths point into `widths`
    std::size_t widths[matryoshka_limit_k] = {};
    uform_choices_t choices {};
    uform_late_interaction_t late_interaction {}; // of weight zero: no token head is trained
    uform_regularizers_t regularizers {};
    schedule_t schedule {};
    std::uint64_t seed = 0;
    std::string_view query_prefix, document_prefix; // bytes; borrowed until `start` returns

    bool masks() const noexcept { return objective != uform_objective_contrastive_k; }
    bool contrasts() const noexcept { return objective != uform_objective_masked_k; }
    bool chooses() const noexcept { return choices.weight > 0; }
    bool interacts() const noexcept { return late_interaction.weight > 0; }
};

/** Tokens by which a query of `tokens` scores; zero where the prefix is all there is. */
inline std::size_t query_tokens(uform_late_interaction_t const &options, std::size_t tokens) noexcept {
    return tokens <= options.prefix_tokens ? 0 : std::min(tokens - options.prefix_tokens, options.max_query_span);
}

/** Tokens of a text that heads over whole items read: an item that asks ends in a MASK, which they leave out. */
inline std::size_t read_tokens(std::size_t bytes, bool asks, std::size_t context) noexcept {
    return std::clamp<std::size_t>(bytes, 1, std::max<std::size_t>(context - asks, 1));
}

/** One process's share of a step; relations index its items. */
struct step_items_t {
    tape_t<unsigned char> texts;                       // [count]; of media, whatever they are, which is not read
    std::span<uform_modality_t const> modalities;      // [count], or empty: all are texts
    std::span<token_grid_t const> grids;               // [count], of media; empty where all are texts
    token_source_t source;                             // of the values of media, an item's index being its own here
    std::span<std::uint32_t const> bags;               // [count] or empty
    std::span<std::uint32_t const> temperature_groups; // [count] or empty
    tape_t<unsigned char> choices;                     // [count] or empty: the legal bytes of each item, all different
    tape_t<float> choice_targets;                      // [count] or empty: a probability for each of `choices`
    std::span<uform_late_interaction_side_t const> sides; // [count], or empty: none takes part
    relations_t relations;
    float *embeddings = nullptr; // [count, hidden], unit rows as the loss scored them; null skips the copy
    float *token_vectors = nullptr;       // [tokens of all items, token_width], likewise, those of dropped items left out
    std::size_t *token_offsets = nullptr; // [count + 1], set where `token_vectors` is not null

    std::size_t count() const noexcept { return texts.size(); }
    bool is_text(std::size_t item) const noexcept {
        return modalities.empty() || modalities[item] == uform_modality_text_k;
    }
    /** Bytes of a text, tokens of anything else. */
    std::size_t length(std::size_t item) const noexcept {
        return is_text(item) ? texts[item].size() : grids[item].tokens();
    }
    /** Whether it enters by projection; what has no tokens enters as a PAD, whatever it is. */
    bool has_values(std::size_t item) const noexcept { return !is_text(item) && grids[item].tokens(); }
    medium_t medium(std::size_t item) const noexcept { return medium_t(modalities[item] - uform_modality_image_k); }
    /** Whether an item has a MASK behind its text, at which it chooses. */
    bool asks(std::size_t item) const noexcept { return choices.size() && !choices[item].empty(); }
};

class trainer_t {
  public:
    trainer_t() noexcept = default;

    /** Allocates and draws the weights of step zero. */
    [[nodiscard]] failure_t start(trainer_options_t const &options, uform_cpu_class_t cpu_class,
                                  executor_t &executor) noexcept;
    /** Replaces drawn tensors by those of a checkpoint whose name and shape match. */
    [[nodiscard]] failure_t warm_start(std::string_view path, uform_progress_t const &progress) noexcept;
    /** Goes on from a checkpoint of the same run, with its moments where they were saved beside it. */
    [[nodiscard]] failure_t resume(std::string_view path, uform_progress_t const &progress) noexcept;

    /** Makes it one of a run's trainers: compares options and weights with the others'. The mesh is borrowed for good.
     *  Once, before the first step; without it, this process is the world. */
    [[nodiscard]] failure_t meet(mesh_t &mesh) noexcept;
    mesh_t const &world() const noexcept { return *world_; }

    /** `stats` may be null. A `refusal` of this process's arguments fails the step in the whole world. */
    [[nodiscard]] failure_t step(step_items_t const &items, executor_t &executor, uform_trainer_step_stats_t *stats,
                                 failure_t const &refusal = {}) noexcept;
    [[nodiscard]] failure_t save(std::string_view path, bool with_moments, uform_progress_t const &progress) noexcept;

    trainer_options_t const &options() const noexcept { return options_; }
    parameters_t const &parameters() const noexcept { return parameters_; }
    std::uint64_t steps_done() const noexcept { return steps_done_; }

  private:
    friend class step_t;
    failure_t prepare() noexcept;
    failure_t keep_prefixes(trainer_options_t const &options) noexcept;
    failure_t keep_escaped(std::string_view text, buffer_t<char> &target) noexcept;
    failure_t read_moments(std::string_view path) noexcept;
    failure_t place_moments(std::string_view moments) noexcept;
    std::uint64_t weights_fingerprint() const noexcept;
    failure_t write_moments(std::string_view path) const noexcept;
    /** `renamed`: whether the file took its place, be it that a flush failed after. */
    failure_t write_weights(std::string_view path, uform_progress_t const &progress, bool &renamed) const noexcept;

    trainer_options_t options_;
    kit_table_t const *kit_ = nullptr;
    parameters_t parameters_;
    packed_tower_t<kit_table_t> tower_;
    rotary_table_t<float> rotary_;
    lane_t planner_; // its scratch holds what outlives a chunk's forward
    std::uint64_t steps_done_ = 0;
    std::uint64_t moments_since_ = 0; // the step after which the moments started
    std::size_t dropped_ = 0;         // over the world, since stats were last read
    mesh_t alone_;                    // a world of this process
    mesh_t *world_ = &alone_;
    std::uint64_t trail_ = 0; // bits of the last step's gradient norm: replicas that drift apart are found by it
    buffer_t<char> query_prefix_, document_prefix_; // escaped, as the metadata holds them
};

} // namespace uform
