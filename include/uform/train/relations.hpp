/**
 *  @file relations.hpp
 *  @brief Which pairs of a step's items attract, repel or are skipped: three validated sparse edge sets, read by row.
 *
 *  A pair is ordered: the row is the anchor. Per pair the order is ignore, attract, repel, then the ambient weight; an
 *  item never meets itself. A row is answered densely, as two weights per column of which at most one is not zero, in
 *  one pass over the columns and the row's own edges. Knows nothing of scores: the losses read what it fills in.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/utilities/status.hpp>

namespace uform {

/** One edge set as compressed sparse rows: item i names `ids[offsets[i]]` up to `ids[offsets[i + 1]]`, ascending. */
struct edges_t {
    std::span<std::size_t const> offsets; // [items + 1], or empty: no edges
    std::span<std::uint32_t const> ids;   // [offsets.back()] at least
    std::span<float const> weights;       // paired with `ids`, or empty: every edge weighs one

    std::size_t first(std::size_t item) const noexcept { return offsets.empty() ? 0 : offsets[item]; }
    std::size_t last(std::size_t item) const noexcept { return offsets.empty() ? 0 : offsets[item + 1]; }
    std::size_t count() const noexcept { return offsets.empty() ? 0 : offsets.back() - offsets.front(); }
    float weight(std::size_t edge) const noexcept { return weights.empty() ? 1.0f : weights[edge]; }
};

/** The pairs of one step. `ambient` is the weight at which pairs that no edge names repel; zero under `named`. */
struct relations_t {
    std::size_t items = 0;
    edges_t attract;
    edges_t repel;
    edges_t ignore; // weights are not read
    float ambient = 1.0f;
};

/**
 *  Everything that can be wrong with a step's relations, naming the field. A step without an attract edge is refused, of
 *  several processes' steps the world's.
 */
failure_t validate_relations(relations_t const &relations, bool whole_world = true) noexcept;
/** The refusal of a world's step that names no attract edge. */
failure_t refuse_no_attraction() noexcept;

/** Total weight of a row's halves, in double: the sum of 2^24 ambient ones in float would stop growing. */
struct row_weights_t {
    double attract = 0;
    double repel = 0;
};

/** In eight interleaved chains, as `sum_of` takes its own. */
inline double weight_of(std::size_t count, float const *weights) noexcept {
    constexpr std::size_t chains_k = 8;
    double sums[chains_k] = {};
    std::size_t i = 0;
    for (; i + chains_k <= count; i += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) sums[chain] += weights[i + chain];
    for (; i < count; ++i) sums[i % chains_k] += weights[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/** Fills one row: `attract[column]` and `repel[column]`, both [items], zero where a pair has no such force. */
inline void relation_row(relations_t const &relations, std::size_t anchor, float *attract, float *repel) noexcept {
    for (std::size_t column = 0; column < relations.items; ++column)
        attract[column] = 0, repel[column] = relations.ambient;
    // Later writes win, so the sets go in the reverse of the order in which a pair asks them.
    for (std::size_t edge = relations.repel.first(anchor); edge < relations.repel.last(anchor); ++edge)
        repel[relations.repel.ids[edge]] = relations.repel.weight(edge);
    for (std::size_t edge = relations.attract.first(anchor); edge < relations.attract.last(anchor); ++edge) {
        std::uint32_t const column = relations.attract.ids[edge];
        attract[column] = relations.attract.weight(edge), repel[column] = 0;
    }
    for (std::size_t edge = relations.ignore.first(anchor); edge < relations.ignore.last(anchor); ++edge)
        attract[relations.ignore.ids[edge]] = 0, repel[relations.ignore.ids[edge]] = 0;
    attract[anchor] = 0, repel[anchor] = 0;
}

/** Whether a row has attract weight left once its ignored pairs and itself are out: both runs ascend, so they merge. */
inline bool is_anchor(relations_t const &relations, std::size_t row) noexcept {
    std::size_t skip = relations.ignore.first(row);
    std::size_t const skip_end = relations.ignore.last(row);
    for (std::size_t edge = relations.attract.first(row); edge < relations.attract.last(row); ++edge) {
        std::uint32_t const column = relations.attract.ids[edge];
        while (skip < skip_end && relations.ignore.ids[skip] < column) ++skip;
        bool const ignored = skip < skip_end && relations.ignore.ids[skip] == column;
        if (column != row && !ignored && relations.attract.weight(edge) > 0) return true;
    }
    return false;
}

/** Anchors of the step: what its losses are a mean over. */
inline std::size_t count_anchors(relations_t const &relations) noexcept {
    std::size_t anchors = 0;
    for (std::size_t row = 0; row < relations.items; ++row) anchors += is_anchor(relations, row);
    return anchors;
}

} // namespace uform
