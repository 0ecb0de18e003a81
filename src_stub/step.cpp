/**
 *  @file step.cpp
 *  @brief A step's refusals, and what it says of the items it took: which found room, how many were cut.
 */
#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "arguments.hpp"
#include "call.hpp"
#include "inputs.hpp"
#include "rows.hpp"

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

void check_items(uform_trainer_step_t const &call, options_t const &options) {
    // First the count: a wrong one would have every array read beyond its end.
    if (call.count == 0) refuse("count must not be zero");
    if (call.count > options.batch.max_segments_per_device)
        fail(uform_status_shape_mismatch_k, "count is more than batch.max_segments_per_device",
             std::to_string(call.count) + " of " + std::to_string(options.batch.max_segments_per_device));
    check_tape(UFORM_STUB_FIELD("contents"), call.contents, call.count, uform_scalar_u8_k);
    for (std::size_t i = 0; i < call.count; ++i) {
        if (call.modalities && call.modalities[i] != uform_modality_text_k)
            unsupported("modalities names one that the run leaves out", {}, i);
        if (options.contrasts() && call.temperature_groups &&
            call.temperature_groups[i] >= options.contrastive.temperature_groups)
            refuse("temperature_groups must be below contrastive.temperature_groups", {}, i);
    }
    for (std::size_t i = 0; call.sides && i < call.count; ++i)
        if (call.sides[i] != uform_late_interaction_side_none_k) unsupported("sides are not in this build");
    if (call.choices.offsets || call.choice_targets.offsets) unsupported("choices are not in this build");
}

/** What a step reads must not be in the arena it lands in. */
void check_step_inputs(uform_trainer_step_t const &call, bool contrasts) {
    std::size_t const count = call.count;
    check_inputs(call.arena, {input_of("contents.data", call.contents, count),
                              offsets_of("contents.offsets", call.contents.offsets, count),
                              input_of("modalities", call.modalities, count), input_of("bags", call.bags, count),
                              input_of("temperature_groups", call.temperature_groups, count),
                              input_of("sides", call.sides, count)});
    for (uform_edges_view_t const &edges : {call.relations.attract, call.relations.repel, call.relations.ignore}) {
        if (!contrasts || !edges.offsets) continue;
        std::size_t const last = edges.offsets[count];
        check_inputs(call.arena,
                     {offsets_of("relations.offsets", edges.offsets, count), input_of("relations.ids", edges.ids, last),
                      input_of("relations.weights", edges.weights, last)});
    }
}

std::size_t tokens_of(std::string_view text, std::size_t columns) noexcept {
    return std::clamp<std::size_t>(text.size(), 1, columns);
}

/** Bags beyond the limit, in the order of their first mention, are left out whole. */
std::vector<bool> kept_bags(uform_trainer_step_t const &call, std::size_t limit) {
    std::vector<bool> kept(call.count, true);
    if (!call.bags || !limit) return kept;
    std::map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < call.count; ++i)
        kept[i] = places.try_emplace(call.bags[i], places.size()).first->second < limit;
    return kept;
}

/** Which items find room: whole items into rows of fixed width, longest first, each into the first row it fits. */
std::vector<bool> kept_items(uform_trainer_step_t const &call, uform_batch_shape_t const &batch) {
    std::size_t const columns = batch.max_columns_per_row;
    std::vector<bool> kept = kept_bags(call, batch.max_bags_per_device);
    std::vector<std::size_t> order(call.count), used;
    std::iota(order.begin(), order.end(), 0);
    auto const tokens = [&](std::size_t i) { return tokens_of(item_of(call.contents, i), columns); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tokens(a) > tokens(b); });
    for (std::size_t const item : order) {
        if (!kept[item]) continue;
        auto row = std::find_if(used.begin(), used.end(), [&](std::size_t u) { return u + tokens(item) <= columns; });
        if (row == used.end() && used.size() < batch.max_rows_per_device) row = used.insert(row, 0);
        kept[item] = row != used.end();
        if (kept[item]) *row += tokens(item);
    }
    return kept;
}

float learning_rate_at(uform_schedule_t const &schedule, std::size_t step) noexcept {
    double const peak = schedule.learning_rate, floor = schedule.min_learning_rate;
    if (step <= schedule.warmup_steps) return float(peak * double(step) / double(schedule.warmup_steps));
    if (step >= schedule.steps) return schedule.min_learning_rate;
    double const progress = double(step - schedule.warmup_steps) / double(schedule.steps - schedule.warmup_steps);
    return float(floor + (peak - floor) * 0.5 * (1 + std::cos(3.14159265358979323846 * progress)));
}

} // namespace

void check_step(uform_trainer_step_t const &call) {
    options_t const &options = call.trainer->options;
    if (call.executor != call.trainer->executor) refuse("executor is not the one the trainer was made on");
    check_items(call, options);
    if (call.embeddings) {
        if (!options.contrasts()) unsupported("embeddings are scored by contrastive and joint steps alone");
        if (!call.arena) refuse("arena must not be NULL where embeddings are asked for");
        check_outputs_scalar(call.outputs_scalar, true);
    }
    if (options.contrasts()) check_relations(call, options.contrastive.max_edges_per_device);
    check_step_inputs(call, options.contrasts());
}

void step(uform_trainer_step_t const &call) {
    uform_trainer_handle_t &trainer = *call.trainer;
    std::size_t const columns = trainer.options.batch.max_columns_per_row, hidden = trainer.options.sizes.hidden;
    std::vector<bool> const kept = kept_items(call, trainer.options.batch);
    uform_trainer_step_stats_t stats {};
    uform_rows_t view {};
    std::byte *data = nullptr;
    if (call.embeddings) {
        view.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
        view.count = call.count, view.columns = hidden, view.stride = hidden * uform_scalar_bytes(view.scalar);
        view.data = data = call.arena->claim(view.count * view.stride); // zeros: rows of dropped items
    }
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const text = item_of(call.contents, i);
        if (!kept[i]) continue;
        stats.truncated += text.size() > columns, stats.tokens += tokens_of(text, columns);
        if (data)
            land(row_of(hash_of('e', text.substr(0, columns)), 0, hidden, 1), view.scalar, data + i * view.stride);
    }
    trainer.dropped += std::size_t(std::count(kept.begin(), kept.end(), false));
    stats.step = ++trainer.steps_done, stats.dropped = trainer.dropped;
    stats.learning_rate = learning_rate_at(trainer.options.schedule, trainer.steps_done);
    if (call.embeddings) *call.embeddings = view;
    if (call.stats) *call.stats = stats, trainer.dropped = 0;
}

} // namespace uform_stub
