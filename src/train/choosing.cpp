/**
 *  @file choosing.cpp
 *  @brief The phases of a step that concern items that choose: what they choose from, and their MASK kept from the pool.
 *
 *  An item that asks ends in a MASK token, which the tower reads like any other and the pool does not. The chunk's
 *  states without MASKs are a copy, made only where a chunk has an item that asks. A text without bytes leaves its
 *  MASK to the pool, which would have nothing to read.
 */
#include "train/step.hpp"

namespace uform {
namespace {

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the step is out"); }

} // namespace

/** Gathers the chunk's legal bytes, targets and temperatures, in the order of its items. */
failure_t step_t::claim_choosing(chunk_t &chunk) noexcept {
    std::size_t count = 0, total = 0;
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept)
        if (asks(kept)) count += 1, total += items_.choices[kept_[kept]].size();
    if (count == 0) return {};
    std::uint32_t *tokens = lane_.claim<std::uint32_t>(count), *offsets = lane_.claim<std::uint32_t>(count + 1);
    std::uint8_t *choices = lane_.claim<std::uint8_t>(total);
    float *targets = lane_.claim<float>(total), *scales = lane_.claim<float>(count);
    if (lane_.failed()) return out_of_memory();
    parameters_t const &parameters = trainer_.parameters_;
    float const *const temperatures = parameters.wide(parameters.find("choices.inverse_temperatures"));
    std::size_t at = 0;
    offsets[0] = 0;
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        if (!asks(kept)) continue;
        std::size_t const item = kept_[kept];
        tokens[at] = chunk.batch.items.offsets[kept - chunk.first + 1] - 1;
        scales[at] = temperatures[items_.temperature_groups.empty() ? 0 : items_.temperature_groups[item]];
        std::ranges::copy(items_.choices[item], choices + offsets[at]);
        std::ranges::copy(items_.choice_targets[item], targets + offsets[at]);
        offsets[at + 1] = offsets[at] + std::uint32_t(items_.choices[item].size());
        ++at;
    }
    chunk.choosing.decoded = {count, tokens, chunk.states.states, geometry().hidden};
    chunk.choosing.choices = {
        .items = {{offsets, count + 1}}, .choices = choices, .targets = targets, .scales = scales};
    chosen_ += count;
    return {};
}

/** What heads over whole items read: the batch itself, or its items without their MASKs. */
failure_t step_t::claim_read(chunk_t &chunk) noexcept {
    chunk.read = chunk.batch.items, chunk.read_states = chunk.states.states;
    if (chunk.choosing.decoded.count == 0 || !trainer_.options_.contrasts()) return {};
    std::size_t const count = chunk.batch.items.count();
    std::uint32_t *const offsets = lane_.claim<std::uint32_t>(count + 1);
    if (!offsets) return out_of_memory();
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t const tokens = chunk.batch.items.offsets[i + 1] - chunk.batch.items.offsets[i];
        offsets[i + 1] = offsets[i] + tokens - (tokens > 1 && asks(chunk.first + i));
    }
    chunk.read = {{offsets, count + 1}};
    chunk.read_states = lane_.claim<bf16_t>(chunk.read.tokens() * geometry().hidden);
    return chunk.read_states ? failure_t {} : out_of_memory();
}

void step_t::gather_read(chunk_t &chunk) const noexcept {
    std::size_t const hidden = geometry().hidden;
    if (chunk.read_states == chunk.states.states) return;
    for (std::size_t i = 0; i < chunk.read.count(); ++i)
        std::copy_n(chunk.states.states + chunk.batch.items.offsets[i] * hidden,
                    (chunk.read.offsets[i + 1] - chunk.read.offsets[i]) * hidden,
                    chunk.read_states + chunk.read.offsets[i] * hidden);
}

/** The way back of `gather_read`: d_read [read tokens, hidden] onto d_states_sum [tokens, hidden]. */
void step_t::spread_read(chunk_t const &chunk, float const *d_read, float *d_states_sum) const noexcept {
    std::size_t const hidden = geometry().hidden;
    for (std::size_t i = 0; i < chunk.read.count(); ++i) {
        float const *const from = d_read + chunk.read.offsets[i] * hidden;
        float *const to = d_states_sum + chunk.batch.items.offsets[i] * hidden;
        std::size_t const cells = (chunk.read.offsets[i + 1] - chunk.read.offsets[i]) * hidden;
        for (std::size_t cell = 0; cell < cells; ++cell) to[cell] += from[cell];
    }
}

/** Choices are a mean over the step's items that choose. */
void step_t::backward_choices(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                              lane_t &lane) noexcept {
    tower_weights_t<float> const &weights = trainer_.tower_.weights;
    uform_choices_t const &options = trainer_.options_.choices;
    choosing_t<float> choosing = chunk.choosing;
    choosing.choices.brier_weight = options.brier_weight;
    choosing.choices.scale = options.weight / float(std::max<std::size_t>(chosen_, 1));
    chunk.choices_loss =
        choices_head(*trainer_.kit_, lane, {weights.decoder, weights.decoder_transposed, weights.decoder_bias},
                     {gradients.decoder_weight_sum, gradients.decoder_bias_sum}, choosing, d_states_sum);
}

} // namespace uform
