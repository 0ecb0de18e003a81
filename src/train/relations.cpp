/**
 *  @file relations.cpp
 *  @brief The refusals of a step's relations: every message names the field and the rule it broke.
 */
#include <uform/train/relations.hpp>

#include <cmath>

namespace uform {
namespace {

/** Messages live in static storage, so each edge set brings its own. */
struct edge_messages_t {
    char const *offsets_count, *offsets_order, *offsets_end, *ids_count, *ids_range, *ids_order, *weights_count,
        *weights_value;
};

constexpr edge_messages_t attract_messages_k {
    "relations.attract.offsets must hold one more entry than the step has items",
    "relations.attract.offsets must not decrease",
    "relations.attract.offsets end beyond any memory",
    "relations.attract.ids must hold as many entries as its offsets say",
    "relations.attract.ids must lie below the step's count of items",
    "relations.attract.ids must ascend within each item",
    "relations.attract.weights must hold one entry per id",
    "relations.attract.weights must be finite and not negative",
};
constexpr edge_messages_t repel_messages_k {
    "relations.repel.offsets must hold one more entry than the step has items",
    "relations.repel.offsets must not decrease",
    "relations.repel.offsets end beyond any memory",
    "relations.repel.ids must hold as many entries as its offsets say",
    "relations.repel.ids must lie below the step's count of items",
    "relations.repel.ids must ascend within each item",
    "relations.repel.weights must hold one entry per id",
    "relations.repel.weights must be finite and not negative",
};
constexpr edge_messages_t ignore_messages_k {
    "relations.ignore.offsets must hold one more entry than the step has items",
    "relations.ignore.offsets must not decrease",
    "relations.ignore.offsets end beyond any memory",
    "relations.ignore.ids must hold as many entries as its offsets say",
    "relations.ignore.ids must lie below the step's count of items",
    "relations.ignore.ids must ascend within each item",
    "relations.ignore.weights must hold one entry per id",
    "relations.ignore.weights must be finite and not negative",
};

failure_t refuse(char const *message, std::size_t item) noexcept {
    failure_t failure = fail(uform_status_invalid_argument_k, message);
    failure.item = item;
    return failure;
}

failure_t validate_run(edges_t const &edges, std::size_t item, std::size_t items, bool weighted,
                       edge_messages_t const &messages) noexcept {
    for (std::size_t edge = edges.first(item); edge < edges.last(item); ++edge) {
        if (edges.ids[edge] >= items) return refuse(messages.ids_range, item);
        // Strictly: a pair named twice would have two weights.
        if (edge > edges.first(item) && edges.ids[edge] <= edges.ids[edge - 1]) return refuse(messages.ids_order, item);
        float const weight = weighted ? edges.weight(edge) : 1.0f;
        if (!std::isfinite(weight) || weight < 0) return refuse(messages.weights_value, item);
    }
    return {};
}

failure_t validate_edges(edges_t const &edges, std::size_t items, bool weighted,
                         edge_messages_t const &messages) noexcept {
    if (edges.offsets.empty()) return {};
    if (edges.offsets.size() != items + 1)
        return fail(uform_status_invalid_argument_k, messages.offsets_count, "%zu offsets, %zu items",
                    edges.offsets.size(), items);
    for (std::size_t item = 0; item < items; ++item)
        if (edges.offsets[item + 1] < edges.offsets[item]) return refuse(messages.offsets_order, item);
    // A run that ascends below `items` is no longer than that: a longer one is refused before its ids are read, since
    // offsets that are wrong lead beyond the caller's ids.
    for (std::size_t item = 0; item < items; ++item)
        if (edges.offsets[item + 1] - edges.offsets[item] > items) return refuse(messages.ids_order, item);
    if (edges.offsets.back() > PTRDIFF_MAX / sizeof(std::uint32_t))
        return fail(uform_status_invalid_argument_k, messages.offsets_end, "the last offset is %zu",
                    edges.offsets.back());
    if (edges.ids.size() < edges.offsets.back())
        return fail(uform_status_invalid_argument_k, messages.ids_count, "%zu ids, the last offset is %zu",
                    edges.ids.size(), edges.offsets.back());
    if (weighted && !edges.weights.empty() && edges.weights.size() < edges.offsets.back())
        return fail(uform_status_invalid_argument_k, messages.weights_count, "%zu weights, the last offset is %zu",
                    edges.weights.size(), edges.offsets.back());
    for (std::size_t item = 0; item < items; ++item)
        if (failure_t failure = validate_run(edges, item, items, weighted, messages)) return failure;
    return {};
}

} // namespace

failure_t validate_relations(relations_t const &relations, bool whole_world) noexcept {
    if (failure_t failure = validate_edges(relations.attract, relations.items, true, attract_messages_k))
        return failure;
    if (failure_t failure = validate_edges(relations.repel, relations.items, true, repel_messages_k)) return failure;
    if (failure_t failure = validate_edges(relations.ignore, relations.items, false, ignore_messages_k)) return failure;
    if (!std::isfinite(relations.ambient) || relations.ambient < 0)
        return fail(uform_status_invalid_argument_k,
                    "contrastive.ambient_repulsion_weight must be finite and not negative");
    return whole_world && relations.attract.count() == 0 ? refuse_no_attraction() : failure_t {};
}

failure_t refuse_no_attraction() noexcept {
    return fail(uform_status_invalid_argument_k, "relations.attract must name an edge in a contrastive step");
}

} // namespace uform
