/**
 *  @file calibration.hpp
 *  @brief One inverse temperature per group of held-out choices (Guo et al., arXiv:1706.04599), and what it changes.
 *
 *  Sums alone: what the model said comes as logarithms, known up to a constant of each item.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace uform::tools {

/** Items of all groups end to end: item i owns `[offsets[i], offsets[i + 1])` of the choices. */
struct judged_choices_t {
    std::vector<std::size_t> offsets {0};
    std::vector<double> logits;        // at an inverse temperature of one, up to a constant of the item
    std::vector<double> targets;       // probabilities, one in sum for each item
    std::vector<std::uint32_t> groups; // of the items

    std::size_t size() const noexcept { return groups.size(); }
};

/** Means over the items of one group. */
struct calibration_score_t {
    double negative_log_likelihood = 0; // in nats, of the targets
    double calibration_error = 0; // the most probable choice: its probability against its target, in 15 equal bins
};

struct calibrated_group_t {
    std::size_t items = 0;
    float inverse_temperature = 1; // after
    calibration_score_t before, after;
};

inline constexpr double least_inverse_temperature_k = 1.0 / 64, most_inverse_temperature_k = 64;

/** The score of one group at an inverse temperature; zeros where it has no items. */
calibration_score_t score_group(judged_choices_t const &judged, std::uint32_t group, double inverse_temperature);

/**
 *  Minimizes each group's negative log-likelihood, which is convex in the inverse temperature, between 1/64 and 64. A
 *  group whose items say nothing of it, above all one without items, keeps `stored[group]`.
 */
std::vector<calibrated_group_t> calibrate(judged_choices_t const &judged, std::span<float const> stored);

} // namespace uform::tools
