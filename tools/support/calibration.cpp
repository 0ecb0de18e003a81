/**
 *  @file calibration.cpp
 *  @brief A bisection per group, over sums in double.
 */
#include <algorithm>
#include <cmath>

#include "support/calibration.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t bins_k = 15; // as in Guo et al.
constexpr int halvings_k = 64;     // of a range of 12 binary orders: beyond a double's digits

/** Calls `body(first, last, probabilities)` for every item of the group. */
template <typename body_>
void for_each_item(judged_choices_t const &judged, std::uint32_t group, double inverse_temperature, body_ &&body) {
    std::vector<double> probabilities;
    for (std::size_t item = 0; item < judged.size(); ++item) {
        std::size_t const first = judged.offsets[item], last = judged.offsets[item + 1];
        if (judged.groups[item] != group || first == last) continue;
        probabilities.assign(last - first, 0);
        double const top = *std::max_element(judged.logits.begin() + std::ptrdiff_t(first),
                                             judged.logits.begin() + std::ptrdiff_t(last));
        double sum = 0;
        for (std::size_t i = first; i < last; ++i)
            sum += probabilities[i - first] = std::exp(inverse_temperature * (judged.logits[i] - top));
        for (double &p : probabilities) p /= sum;
        body(first, last, probabilities);
    }
}

/** Of the negative log-likelihood's sum: never decreasing in the inverse temperature. */
double slope(judged_choices_t const &judged, std::uint32_t group, double inverse_temperature) {
    double sum = 0;
    for_each_item(judged, group, inverse_temperature, [&](std::size_t first, std::size_t last, auto const &p) {
        for (std::size_t i = first; i < last; ++i) // logits from the first one on, whose constant then cancels exactly
            sum += (p[i - first] - judged.targets[i]) * (judged.logits[i] - judged.logits[first]);
    });
    return sum;
}

} // namespace

calibration_score_t score_group(judged_choices_t const &judged, std::uint32_t group, double inverse_temperature) {
    calibration_score_t score;
    double gaps[bins_k] = {};
    std::size_t items = 0;
    for_each_item(judged, group, inverse_temperature, [&](std::size_t first, std::size_t last, auto const &p) {
        std::size_t const top = std::size_t(std::max_element(p.begin(), p.end()) - p.begin());
        for (std::size_t i = first; i < last; ++i) // through the largest, so that a probability of zero has a logarithm
            score.negative_log_likelihood +=
                judged.targets[i] *
                (inverse_temperature * (judged.logits[first + top] - judged.logits[i]) - std::log(p[top]));
        gaps[std::min(bins_k - 1, std::size_t(p[top] * bins_k))] += p[top] - judged.targets[first + top];
        ++items;
    });
    if (items == 0) return {};
    for (double const gap : gaps) score.calibration_error += std::fabs(gap) / double(items);
    score.negative_log_likelihood /= double(items);
    return score;
}

std::vector<calibrated_group_t> calibrate(judged_choices_t const &judged, std::span<float const> stored) {
    std::vector<calibrated_group_t> groups(stored.size());
    for (std::size_t item = 0; item < judged.size(); ++item)
        groups[judged.groups[item]].items += judged.offsets[item] != judged.offsets[item + 1];
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
        double least = least_inverse_temperature_k, most = most_inverse_temperature_k;
        bool const falls = slope(judged, group, least)<0, rises = slope(judged, group, most)> 0;
        for (int halving = 0; halving < halvings_k && falls && rises; ++halving) {
            double const middle = std::sqrt(least * most);
            (slope(judged, group, middle) < 0 ? least : most) = middle;
        }
        calibrated_group_t &fitted = groups[group];
        fitted.inverse_temperature = falls || rises ? float(falls ? most : least) : stored[group];
        fitted.before = score_group(judged, group, stored[group]);
        fitted.after = score_group(judged, group, fitted.inverse_temperature);
    }
    return groups;
}

} // namespace uform::tools
