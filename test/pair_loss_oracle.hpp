/**
 *  @file pair_loss_oracle.hpp
 *  @brief The pair losses a second time, as direct double loops over their formulas, for whatever scores the pairs.
 */
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <uform/train/pair_loss.hpp>

namespace uform::testing {

inline double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/** What force a pair is under, asked pair by pair: ignore before attract before repel before ambient. */
struct force_t {
    double attract = 0, repel = 0;
};
template <typename step_>
force_t force_of(step_ const &step, std::uint32_t i, std::uint32_t j) {
    if (i == j || step.ignore.edges.count({i, j})) return {};
    if (auto edge = step.attract.edges.find({i, j}); edge != step.attract.edges.end()) return {edge->second, 0};
    if (auto edge = step.repel.edges.find({i, j}); edge != step.repel.edges.end()) return {0, edge->second};
    return {0, step.ambient};
}

/** One anchor's loss over its pairs. */
inline double row_loss(pair_loss_t form, std::vector<double> const &z, std::vector<force_t> const &w) {
    double attract = 0, repel = 0, attract_total = 0, repel_total = 0, ranked = 0, softmax = 0;
    for (std::size_t j = 0; j < z.size(); ++j) {
        attract += w[j].attract * softplus(-z[j]), repel += w[j].repel * softplus(z[j]);
        attract_total += w[j].attract, repel_total += w[j].repel;
    }
    for (std::size_t p = 0; p < z.size(); ++p) {
        double inner = 1;
        for (std::size_t n = 0; n < z.size(); ++n) {
            ranked += w[p].attract * w[n].repel * softplus(-(z[p] - z[n]));
            inner += w[n].repel * std::exp(z[n] - z[p]);
        }
        softmax += w[p].attract * std::log(inner);
    }
    if (form == pair_loss_t::sigmoid_k) return attract + repel;
    if (form == pair_loss_t::balanced_k)
        return (attract_total > 0 ? attract / attract_total : 0) + (repel_total > 0 ? repel / repel_total : 0);
    if (form == pair_loss_t::ranked_k) return repel_total > 0 ? ranked / (attract_total * repel_total) : 0;
    return softmax / attract_total;
}

} // namespace uform::testing
