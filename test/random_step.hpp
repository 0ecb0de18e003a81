/**
 *  @file random_step.hpp
 *  @brief Random relation graphs and rows for the tests of the losses, kept in plain containers the oracles read too.
 */
#pragma once
#include <complex>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <uform/train/contrastive.hpp>

namespace uform::testing {

using complex_t = std::complex<double>;
inline constexpr double step_k = 1e-50; // of the complex step: no subtraction, so nothing is lost by its being tiny

/** One edge set: (row, column) -> weight, and the sparse rows made of it. */
struct edge_map_t {
    std::map<std::pair<std::uint32_t, std::uint32_t>, float> edges;
    std::vector<std::size_t> offsets;
    std::vector<std::uint32_t> ids;
    std::vector<float> weights;

    edges_t view(std::size_t items) {
        offsets.assign(items + 1, 0), ids.clear(), weights.clear();
        for (auto const &[pair, weight] : edges) {
            ++offsets[pair.first + 1];
            ids.push_back(pair.second), weights.push_back(weight);
        }
        for (std::size_t i = 0; i < items; ++i) offsets[i + 1] += offsets[i];
        return {offsets, ids, weights};
    }
};

struct random_step_t {
    std::size_t items, hidden;
    edge_map_t attract, repel, ignore;
    float ambient = 0.5f;
    std::vector<std::size_t> widths;
    std::vector<std::uint32_t> groups;
    std::vector<double> embeddings, theta, bias;

    random_step_t(std::size_t items, std::size_t hidden, unsigned seed) : items(items), hidden(hidden) {
        std::mt19937 generator(seed);
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<float> uniform(0.1f, 2.0f);
        for (std::uint32_t i = 0; i < items; ++i)
            for (std::uint32_t j = 0; j < items; ++j) { // overlapping on purpose, the diagonal included
                if (generator() % 4 == 0) attract.edges[{i, j}] = generator() % 5 ? uniform(generator) : 0.0f;
                if (generator() % 3 == 0) repel.edges[{i, j}] = uniform(generator);
                if (generator() % 6 == 0) ignore.edges[{i, j}] = 1.0f;
            }
        widths = {hidden / 3, 2 * hidden / 3, hidden};
        if (seed % 2) widths = {hidden / 6, hidden / 3, hidden / 2, 2 * hidden / 3, hidden};
        for (std::size_t i = 0; i < items; ++i) groups.push_back(generator() % 2);
        for (std::size_t i = 0; i < items * hidden; ++i) embeddings.push_back(normal(generator));
        theta = {0.7, 1.3}, bias = {-1.0, 0.5};
    }

    template <typename scalar_>
    contrastive_t<scalar_> input(pair_loss_t form, std::vector<scalar_> const &e, std::vector<scalar_> const &t,
                                 std::vector<scalar_> const &b) {
        contrastive_t<scalar_> in;
        in.relations = {items, attract.view(items), repel.view(items), ignore.view(items), ambient};
        in.form = form, in.hidden = hidden, in.widths = widths, in.groups = groups;
        in.embeddings = e.data(), in.theta = t.data(), in.bias = b.data();
        return in;
    }
};

template <typename scalar_>
struct answer_t {
    scalar_ loss;
    std::vector<scalar_> d_embeddings, d_theta, d_bias;
};

template <typename scalar_>
answer_t<scalar_> answer(lane_t &lane, contrastive_t<scalar_> const &in, std::size_t groups) {
    answer_t<scalar_> out {0, std::vector<scalar_>(in.relations.items * in.hidden), std::vector<scalar_>(groups),
                           std::vector<scalar_>(groups)};
    contrastive_gradient_t<scalar_> const sums {out.d_embeddings.data(), out.d_theta.data(), out.d_bias.data()};
    out.loss = contrastive(lane, in, sums);
    return out;
}

template <typename to_, typename from_>
std::vector<to_> cast(std::vector<from_> const &from) {
    return std::vector<to_>(from.begin(), from.end());
}

inline constexpr pair_loss_t forms_k[4] = {pair_loss_t::balanced_k, pair_loss_t::ranked_k, pair_loss_t::sigmoid_k,
                                           pair_loss_t::softmax_k};

} // namespace uform::testing
