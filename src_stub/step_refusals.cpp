/**
 *  @file step_refusals.cpp
 *  @brief What a step refuses, in the engine's order: its arguments, then what only its files tell.
 */
#include <cmath>
#include <string>
#include <tuple>

#include "arguments.hpp"
#include "call.hpp"
#include "inputs.hpp"
#include "rows.hpp"
#include "step_items.hpp"
#include "trainer.hpp"

namespace uform_stub {
namespace {

struct edge_messages_t {
    char const *offsets_order, *ids_count, *ids_range, *ids_order, *weights_value;
};
#define UFORM_STUB_EDGES(set)                                                                                          \
    edge_messages_t {                                                                                                  \
        "relations." set ".offsets must not decrease",                                                                 \
            "relations." set ".ids must hold as many entries as its offsets say",                                      \
            "relations." set ".ids must lie below the step's count of items",                                          \
            "relations." set ".ids must ascend within each item",                                                      \
            "relations." set ".weights must be finite and not negative"                                                \
    }

void check_edges(uform_edges_view_t const &edges, std::size_t count, bool weighted, edge_messages_t const &messages) {
    if (!edges.offsets) return;
    for (std::size_t i = 0; i < count; ++i)
        if (edges.offsets[i + 1] < edges.offsets[i]) refuse(messages.offsets_order, {}, i);
    if (edges.offsets[count] && !edges.ids) refuse(messages.ids_count);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t edge = edges.offsets[i]; edge < edges.offsets[i + 1]; ++edge) {
            if (edges.ids[edge] >= count) refuse(messages.ids_range, {}, i);
            if (edge > edges.offsets[i] && edges.ids[edge] <= edges.ids[edge - 1]) refuse(messages.ids_order, {}, i);
            float const weight = weighted && edges.weights ? edges.weights[edge] : 1;
            if (!std::isfinite(weight) || weight < 0) refuse(messages.weights_value, {}, i);
        }
}

std::size_t edges_of(uform_edges_view_t const &edges, std::size_t count) noexcept {
    return edges.offsets ? edges.offsets[count] - edges.offsets[0] : 0;
}

void check_relations(uform_trainer_step_t const &call, std::size_t limit) {
    auto const &[attract, repel, ignore] = call.relations;
    check_edges(attract, call.count, true, UFORM_STUB_EDGES("attract"));
    check_edges(repel, call.count, true, UFORM_STUB_EDGES("repel"));
    check_edges(ignore, call.count, false, UFORM_STUB_EDGES("ignore"));
    if (!edges_of(attract, call.count)) refuse("relations.attract must name an edge in a contrastive step");
    for (uform_edges_view_t const &edges : {attract, repel, ignore})
        if (limit && edges_of(edges, call.count) > limit)
            fail(uform_status_shape_mismatch_k, "relations name more edges than contrastive.max_edges_per_device");
}

void check_targets(float const *targets, std::size_t count, std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < count; sum += targets[j++])
        if (!(targets[j] >= 0) || std::isinf(targets[j]))
            refuse("choice_targets must be finite and not negative", {}, i);
    if (!(std::fabs(sum - 1) <= 0x1p-8))
        refuse("choice_targets of one item must sum to one", "they sum to " + std::to_string(sum), i);
}

void check_choices(uform_trainer_step_t const &call, options_t const &options) {
    auto const &[choices, targets] = std::tie(call.choices, call.choice_targets);
    if (!choices.offsets && !targets.offsets) return;
    if (!options.chooses()) unsupported("choices are given to a run whose choices.weight is zero");
    check_tape(UFORM_STUB_FIELD("choices"), choices, call.count, uform_scalar_u8_k);
    check_tape(UFORM_STUB_FIELD("choice_targets"), targets, call.count, uform_scalar_f32_k);
    for (std::size_t i = 0; i < call.count; ++i)
        if (item_of(choices, i).size() != targets.offsets[i + 1] - targets.offsets[i])
            refuse("choice_targets must hold one probability for each of choices", {}, i);
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const legal = item_of(choices, i);
        if (legal.empty()) continue;
        if (!is_text(call, i)) refuse("choices are for items of text alone", {}, i);
        if (legal.size() > options.batch.max_choices_per_item)
            fail(uform_status_shape_mismatch_k, "an item has more choices than batch.max_choices_per_item",
                 std::to_string(legal.size()) + " of " + std::to_string(options.batch.max_choices_per_item), i);
        check_twins(legal, i);
        if (call.temperature_groups && call.temperature_groups[i] >= options.choices.temperature_groups)
            refuse("temperature_groups of items that choose must be below choices.temperature_groups", {}, i);
        check_targets(static_cast<float const *>(targets.data) + targets.offsets[i], legal.size(), i);
    }
}

void check_sides(uform_trainer_step_t const &call, options_t const &options, lengths_t const &lengths) {
    uform_late_interaction_t const &late = options.late_interaction;
    std::size_t queries = 0, documents = 0, document_tokens = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        std::size_t const tokens = read_tokens_of(call, lengths, i, options.batch.max_columns_per_row);
        if (call.sides[i] < 0 || call.sides[i] > uform_late_interaction_side_query_and_document_k)
            refuse("sides names one that does not exist", {}, i);
        if (call.sides[i] & uform_late_interaction_side_query_k) {
            if (tokens <= late.prefix_tokens)
                refuse("sides names a query without a token past late_interaction.prefix_tokens", {}, i);
            queries += std::min(tokens - late.prefix_tokens, late.max_query_span);
        }
        if (call.sides[i] & uform_late_interaction_side_document_k) ++documents, document_tokens += tokens;
    }
    auto const bound = [](std::size_t count, std::size_t limit, char const *message) {
        if (limit && count > limit) fail(uform_status_shape_mismatch_k, message);
    };
    bound(queries, late.max_query_tokens_per_device,
          "sides name more query tokens than late_interaction.max_query_tokens_per_device");
    bound(documents, late.max_documents_per_device,
          "sides name more documents than late_interaction.max_documents_per_device");
    bound(document_tokens, late.max_document_tokens_per_device,
          "sides name more document tokens than late_interaction.max_document_tokens_per_device");
}

void check_items(uform_trainer_step_t const &call, options_t const &options) {
    // First the count: a wrong one would have every array read beyond its end.
    if (call.count == 0) refuse("count must not be zero");
    if (call.count > options.batch.max_segments_per_device)
        fail(uform_status_shape_mismatch_k, "count is more than batch.max_segments_per_device",
             std::to_string(call.count) + " of " + std::to_string(options.batch.max_segments_per_device));
    check_tape(UFORM_STUB_FIELD("contents"), call.contents, call.count, uform_scalar_u8_k);
    for (std::size_t i = 0; i < call.count; ++i) {
        if (!takes_part(call, options, i)) unsupported("modalities names one that the run leaves out", {}, i);
        if (options.contrasts() && call.temperature_groups &&
            call.temperature_groups[i] >= options.contrastive.temperature_groups)
            refuse("temperature_groups must be below contrastive.temperature_groups", {}, i);
    }
    check_choices(call, options);
    if (options.interacts() && call.sides && !has_media(call)) check_sides(call, options, lengths_of(call, options));
}

/** What a step reads must not be in the arena it lands in. */
void check_step_inputs(uform_trainer_step_t const &call, bool contrasts) {
    std::size_t const count = call.count;
    check_inputs(call.arena, {input_of("contents.data", call.contents, count),
                              offsets_of("contents.offsets", call.contents.offsets, count),
                              input_of("modalities", call.modalities, count), input_of("bags", call.bags, count),
                              input_of("temperature_groups", call.temperature_groups, count),
                              input_of("sides", call.sides, count)});
    if (call.choices.offsets)
        check_inputs(call.arena, {input_of("choices.data", call.choices, count),
                                  offsets_of("choices.offsets", call.choices.offsets, count),
                                  input_of("choice_targets.data", static_cast<float const *>(call.choice_targets.data),
                                           call.choice_targets.offsets[count]),
                                  offsets_of("choice_targets.offsets", call.choice_targets.offsets, count)});
    for (uform_edges_view_t const &edges : {call.relations.attract, call.relations.repel, call.relations.ignore}) {
        if (!contrasts || !edges.offsets) continue;
        std::size_t const last = edges.offsets[count];
        check_inputs(call.arena,
                     {offsets_of("relations.offsets", edges.offsets, count), input_of("relations.ids", edges.ids, last),
                      input_of("relations.weights", edges.weights, last)});
    }
}

} // namespace

lengths_t measure(uform_trainer_step_t const &call, options_t const &options) {
    lengths_t lengths = lengths_of(call, options);
    if (options.interacts() && call.sides && has_media(call)) check_sides(call, options, lengths);
    return lengths;
}

void check_step(uform_trainer_step_t const &call) {
    options_t const &options = call.trainer->options;
    if (call.executor != call.trainer->executor) refuse("executor is not the one the trainer was made on");
    check_items(call, options);
    if (call.embeddings && !options.contrasts())
        unsupported("embeddings are scored by contrastive and joint steps alone");
    if (call.token_vectors && !options.interacts())
        unsupported("token_vectors are scored where late_interaction has weight alone");
    if (call.embeddings || call.token_vectors) {
        if (!call.arena) refuse("arena must not be NULL where embeddings or token_vectors are asked for");
        check_outputs_scalar(call.outputs_scalar, true);
    }
    if (options.contrasts()) check_relations(call, options.contrastive.max_edges_per_device);
    check_step_inputs(call, options.contrasts());
}

} // namespace uform_stub
