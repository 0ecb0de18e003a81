/**
 *  @file step.cpp
 *  @brief What a step says of the items it took: which found room, how many were cut.
 */
#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "arguments.hpp"
#include "handles.hpp"
#include "rows.hpp"
#include "step_items.hpp"

namespace uform_stub {
namespace {

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
std::vector<bool> kept_items(uform_trainer_step_t const &call, lengths_t const &lengths,
                             uform_batch_shape_t const &batch) {
    std::size_t const columns = batch.max_columns_per_row;
    std::vector<bool> kept = kept_bags(call, batch.max_bags_per_device);
    std::vector<std::size_t> order(call.count), used;
    std::iota(order.begin(), order.end(), 0);
    auto const tokens = [&](std::size_t i) { return tokens_of(call, lengths, i, columns); };
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

/** Rows of the kept items' tokens, hashed as encoding hashes them. */
uform_rows_tape_t land_token_vectors(uform_trainer_step_t const &call, lengths_t const &lengths,
                                     std::vector<bool> const &kept) {
    options_t const &options = call.trainer->options;
    std::size_t const width = options.sizes.token_width;
    uform_rows_tape_t view {};
    view.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    view.columns = width, view.stride = width * uform_scalar_bytes(view.scalar);
    auto *const offsets = reinterpret_cast<std::size_t *>(call.arena->claim((call.count + 1) * sizeof(std::size_t)));
    auto const tokens_of = [&](std::size_t i) {
        return read_tokens_of(call, lengths, i, options.batch.max_columns_per_row);
    };
    auto const text_of = [&](std::size_t i) {
        std::string_view const item = item_of(call.contents, i);
        return is_text(call, i) ? item.substr(0, tokens_of(i)) : item;
    };
    for (std::size_t i = 0; i < call.count; ++i) offsets[i + 1] = offsets[i] + (kept[i] ? tokens_of(i) : 0);
    view.offsets = offsets, view.count = offsets[call.count];
    std::byte *const data = call.arena->claim(view.count * view.stride);
    view.data = data;
    for (std::size_t i = 0; i < call.count; ++i)
        for (std::size_t token = offsets[i]; token < offsets[i + 1]; ++token)
            land(row_of(hash_of('t', text_of(i)), token - offsets[i], width, 1), view.scalar,
                 data + token * view.stride);
    return view;
}

} // namespace

void step(uform_trainer_step_t const &call) {
    uform_trainer_handle_t &trainer = *call.trainer;
    std::size_t const columns = trainer.options.batch.max_columns_per_row, hidden = trainer.options.sizes.hidden;
    lengths_t const lengths = measure(call, trainer.options);
    std::vector<bool> const kept = kept_items(call, lengths, trainer.options.batch);
    uform_trainer_step_stats_t stats {};
    uform_rows_t view {};
    std::byte *data = nullptr;
    if (call.embeddings) {
        view.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
        view.count = call.count, view.columns = hidden, view.stride = hidden * uform_scalar_bytes(view.scalar);
        view.data = data = call.arena->claim(view.count * view.stride); // zeros: rows of dropped items
    }
    uform_rows_tape_t vectors {};
    if (call.token_vectors) vectors = land_token_vectors(call, lengths, kept);
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const item = item_of(call.contents, i);
        if (!kept[i]) continue;
        std::size_t const room = columns - asks(call, i);
        std::string_view const seen = is_text(call, i) ? item.substr(0, room) : item;
        stats.truncated += lengths[i] > room || lengths.cut[i], stats.tokens += tokens_of(call, lengths, i, columns);
        if (data) land(row_of(hash_of('e', seen), 0, hidden, 1), view.scalar, data + i * view.stride);
    }
    trainer.dropped += std::size_t(std::count(kept.begin(), kept.end(), false));
    stats.step = ++trainer.steps_done, stats.dropped = trainer.dropped;
    stats.learning_rate = learning_rate_at(trainer.options.schedule, trainer.steps_done);
    if (call.embeddings) *call.embeddings = view;
    if (call.token_vectors) *call.token_vectors = vectors;
    if (call.stats) *call.stats = stats, trainer.dropped = 0;
}

} // namespace uform_stub
