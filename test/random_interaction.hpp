/**
 *  @file random_interaction.hpp
 *  @brief Random items on two sides with random token vectors, for the tests of late interaction.
 */
#pragma once
#include <uform/encoder/serial.hpp>
#include <uform/train/late_interaction.hpp>

#include "random_step.hpp"

namespace uform::testing {

/** The graph, groups, theta and bias of a random step; items of 1 to 9 tokens, on no, one or both sides. */
struct random_interaction_t : random_step_t {
    std::size_t width;
    std::vector<std::size_t> offsets {0}; // [items + 1], of tokens
    std::vector<scored_item_t> queries, documents;
    std::vector<double> vectors; // [tokens, width]
    float weight = 0.75f;

    random_interaction_t(std::size_t items, std::size_t width, unsigned seed)
        : random_step_t(items, 3, seed), width(width) {
        std::mt19937 generator(seed * 7919);
        std::normal_distribution<double> normal;
        for (std::uint32_t i = 0; i < items; ++i) {
            std::uint32_t const tokens = 1 + generator() % 9, side = generator() % 4;
            std::uint32_t const prefix = generator() % tokens;
            std::uint32_t const span = 1 + generator() % (tokens - prefix);
            if (side & 1) queries.push_back({i, span, offsets.back() + prefix});
            if (side & 2) documents.push_back({i, tokens, offsets.back()});
            offsets.push_back(offsets.back() + tokens);
        }
        for (std::size_t i = 0; i < offsets.back() * width; ++i) vectors.push_back(normal(generator));
    }
    std::size_t tokens() const { return offsets.back(); }

    template <typename wide_>
    late_interaction_t<wide_> late(pair_loss_t form, std::vector<narrow_t<wide_>> const &v, std::vector<wide_> const &t,
                                   std::vector<wide_> const &b) {
        late_interaction_t<wide_> in;
        in.relations = {items, attract.view(items), repel.view(items), ignore.view(items), ambient};
        in.form = form, in.weight = weight, in.width = width, in.queries = queries, in.documents = documents;
        in.groups = groups, in.vectors = v.data(), in.theta = t.data(), in.bias = b.data();
        return in;
    }
};

template <typename wide_>
struct late_answer_t {
    wide_ loss;
    std::vector<wide_> d_vectors, d_theta, d_bias;
    bool operator==(late_answer_t const &) const = default;
};

template <typename kit_, typename wide_ = typename kit_::wide_t>
late_answer_t<wide_> late_answer(kit_ const &kit, lane_t &lane, late_interaction_t<wide_> const &in,
                                 std::size_t tokens) {
    late_answer_t<wide_> out {0, std::vector<wide_>(tokens * in.width), std::vector<wide_>(2), std::vector<wide_>(2)};
    out.loss = late_interaction(kit, lane, in, {out.d_vectors.data(), out.d_theta.data(), out.d_bias.data()});
    return out;
}

} // namespace uform::testing
