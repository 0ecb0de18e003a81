/**
 *  @file plan.hpp
 *  @brief From flags, a mixture and a checkpoint's own words to everything a trainer is made with.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <uform/train.h>

#include "support/mixture.hpp"

namespace uform::tools {

/** One row of the family's table. */
struct tier_t {
    char const *name;
    std::size_t hidden;
    std::size_t depth;
    float learning_rate; // peak
};

inline constexpr tier_t tiers_k[] = {
    {"nano", 128, 4, 3e-3f},    {"micro", 256, 6, 2e-3f},   {"tiny", 512, 12, 5e-4f}, {"small", 1024, 12, 2e-4f},
    {"medium", 1024, 24, 2e-4f}, {"large", 2048, 24, 1e-4f}, {"xl", 2048, 48, 1e-4f},
};

/** The flags of `uform_base`. */
struct training_options_t {
    std::string tier;
    std::optional<std::size_t> hidden;
    std::optional<std::size_t> depth;
    std::string mixture;
    std::string data;
    std::string objective;
    std::optional<std::size_t> steps;
    std::optional<double> minutes;
    std::optional<std::size_t> batch_pairs;
    std::optional<float> learning_rate;
    std::optional<float> coding_rate_weight; // these and below win over the mixture's
    std::optional<float> lipschitz_weight;
    std::optional<float> choices_weight;
    std::optional<float> brier_weight;
    std::optional<float> late_interaction_weight;
    std::optional<std::size_t> late_interaction_width;
    std::string late_interaction_loss;
    geometry_t geometry; // sizes that are not zero win over the mixture's
    std::optional<float> text_weight, image_weight, video_weight, audio_weight; // of what is hidden
    std::optional<std::uint64_t> seed;
    std::size_t threads = 0;
    std::uint64_t kept_activations = 0; // bytes
    std::string cpu_class;
    std::string initial;
    std::string resume;
    std::size_t validate_every = 0;
    std::size_t save_every = 0;
    std::string output;
    std::string card; // beside the output
    std::string log;
    std::string command; // the whole line, for the card
    std::string mesh;    // folder to meet in
    std::size_t rank = 0;
    std::size_t ranks = 1;
    std::size_t deadline = 600; // seconds
    std::optional<double> peak; // of the processors together, in TFLOP/s; measured where it is not told
};

/** What a run is. */
struct plan_t {
    mixture_t mixture;
    std::size_t hidden = 0;
    std::size_t depth = 0;
    uform_objective_t objective = uform_objective_contrastive_k;
    float learning_rate = 0;
    std::uint64_t seed = 0;
    std::size_t context = 0;
    std::vector<std::size_t> matryoshka;
    std::size_t first_step = 0; // steps the resumed checkpoint has taken
    std::size_t steps = 0;      // of the whole run; zero: not known yet, or none are asked for
    std::string initial;
    std::string resume;
    std::size_t rank = 0; // of this process
    std::size_t ranks = 1;
    std::uint64_t kept_activations = 0; // bytes of memory
    std::string copies; // where sources that must be unpacked are, each for a moment
    // Of the corpus, once it is read: a step's capacity follows from them.
    std::size_t positives = 1; // of any record in a step, at most
    std::size_t negatives = 0;
    std::size_t choices_per_item = 1;
    std::size_t temperature_groups = 1;

    /** Whether a step may have a file. */
    bool has_media() const noexcept;
    bool with_choices() const noexcept { return mixture.choices && mixture.choices->weight > 0; }
    bool with_pairs() const noexcept { return objective != uform_objective_masked_k; }
    std::size_t items() const noexcept;
    std::size_t file_items() const noexcept;
    /** Without entries and reconstruction heads of media. */
    std::size_t parameters() const noexcept;
    /** Useful operations of a step, as bench/README.md counts them: products of block weights and attention, forward and
     *  twice that backward; what is computed again is not counted. */
    double operations(std::size_t tokens, double squared_lengths) const noexcept;
    uform_batch_shape_t batch_shape() const noexcept;
    uform_contrastive_t contrastive() const noexcept;
    uform_late_interaction_t late_interaction() const noexcept;
    uform_choices_t choices() const noexcept;
    uform_schedule_t schedule(std::size_t steps) const noexcept;
};

plan_t make_plan(training_options_t const &options);

} // namespace uform::tools
