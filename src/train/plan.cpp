/**
 *  @file plan.cpp
 *  @brief The phases of a step before any arithmetic: which items find room, how they are cut, what a chunk keeps.
 */
#include "train/step.hpp"

#include <uform/train/masking.hpp>
#include <uform/train/packing.hpp>

namespace uform {
namespace {

/** Tokens that go through the tower together: enough rows to amortize adding to the weights' gradients. */
constexpr std::size_t chunk_tokens_k = 1024;

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the step is out"); }

} // namespace

failure_t step_t::plan() noexcept {
    if (failure_t const failure = keep_items()) return failure;
    if (failure_t const failure = compact_relations()) return failure;
    if (failure_t const failure = cut_chunks()) return failure;
    std::size_t const stash_bytes = block_stash_t<float>::bytes(geometry(), tokens_);
    if (stash_bytes)
        kept_blocks_ = std::min(geometry().depth, trainer_.options_.batch.kept_activation_bytes / stash_bytes);
    for (chunk_t &chunk : chunks_)
        if (failure_t const failure = claim_chunk(chunk)) return failure;
    return trainer_.options_.interacts() ? claim_token_vectors() : failure_t {};
}

/** Packs as a device's rows would, so that what is cut and what is dropped does not depend on where a run trains. */
failure_t step_t::keep_items() noexcept {
    trainer_options_t const &options = trainer_.options_;
    std::size_t const count = items_.count();
    std::uint32_t *lengths = lane_.claim<std::uint32_t>(count), *kept = lane_.claim<std::uint32_t>(count);
    placement_t *placements = lane_.claim<placement_t>(count);
    if (lane_.failed()) return out_of_memory();
    for (std::size_t item = 0; item < count; ++item)
        lengths[item] = std::uint32_t(std::min<std::size_t>(items_.length(item) + items_.asks(item), UINT32_MAX));
    packing_limits_t const limits {options.batch.max_rows_per_device, options.batch.max_columns_per_row,
                                   options.batch.max_segments_per_device, options.batch.max_bags_per_device};
    packing_t const packing = pack_items(lane_, limits, {lengths, count}, items_.bags, placements);
    if (lane_.failed()) return lane_.failure();
    for (std::size_t i = 0; i < packing.placed; ++i) kept[i] = placements[i].item;
    std::sort(kept, kept + packing.placed);
    kept_ = {kept, packing.placed};
    truncated_ = packing.truncated, dropped_ = packing.dropped;
    for (std::uint32_t const item : kept_) // of what its grid had no room for, packing knows nothing
        truncated_ += !items_.is_text(item) && items_.grids[item].is_cut && lengths[item] <= limits.max_columns_per_row;
    return {};
}

failure_t step_t::cut_chunks() noexcept {
    std::size_t const count = kept_.size();
    chunk_t *chunks = lane_.claim<chunk_t>(count);
    values_ = lane_.claim<bf16_t *>(count);
    if (lane_.failed()) return out_of_memory();
    std::size_t used = 0;
    for (std::size_t first = 0, last; first < count; first = last) {
        std::size_t tokens = tokens_of(first);
        for (last = first + 1; last < count && tokens + tokens_of(last) <= chunk_tokens_k; ++last)
            tokens += tokens_of(last);
        chunks[used++] = chunk_t {.first = first, .last = last, .first_read = read_tokens_};
        tokens_ += tokens;
        for (std::size_t item = first; item < last; ++item) read_tokens_ += read_tokens_of(item);
    }
    chunks_ = {chunks, used};
    // Slab s takes chunks until it has its share of all tokens.
    slabs_used_ = std::min(trainer_.parameters_.slabs(), std::max<std::size_t>(used, 1));
    std::size_t chunk = 0, tokens = 0;
    for (std::size_t slab = 0; slab < slabs_used_; ++slab) {
        slabs_[slab].first = chunk;
        while (chunk < used && tokens * slabs_used_ < tokens_ * (slab + 1)) {
            for (std::size_t item = chunks[chunk].first; item < chunks[chunk].last; ++item) tokens += tokens_of(item);
            ++chunk;
        }
        slabs_[slab].last = chunk;
    }
    return {};
}

/** Lays out a chunk's tokens and claims what must outlive its forward. */
failure_t step_t::claim_chunk(chunk_t &chunk) noexcept {
    if (failure_t const failure = claim_batch(chunk)) return failure;
    if (failure_t const failure = claim_residuals(chunk)) return failure;
    if (!chunk.states.claim(lane_, geometry(), chunk.batch.items.tokens())) return out_of_memory();
    if (failure_t const failure = claim_choosing(chunk)) return failure;
    if (failure_t const failure = claim_read(chunk)) return failure;
    if (trainer_.options_.contrasts() && !chunk.pool.claim(lane_, geometry(), chunk.read)) return out_of_memory();
    if (!trainer_.options_.masks()) return {};
    if (failure_t const failure = mask_chunk(chunk)) return failure;
    return mask_media(chunk);
}

/** Blocks keep their input, and the first of them all they compute, as many as every chunk has memory for. */
failure_t step_t::claim_residuals(chunk_t &chunk) noexcept {
    std::size_t const tokens = chunk.batch.items.tokens(), stride = cells(chunk);
    float *const inputs = lane_.claim<float>(stride * (geometry().depth + 1));
    block_stash_t<float> *const stashes = lane_.claim<block_stash_t<float>>(kept_blocks_);
    if (lane_.failed()) return out_of_memory();
    chunk.residuals = {inputs, stride, {stashes, kept_blocks_}};
    for (std::size_t block = 0; block < kept_blocks_; ++block) {
        stashes[block] = {.middle = lane_.claim<float>(stride)};
        if (!stashes[block].claim(lane_, geometry(), tokens)) return out_of_memory();
    }
    return {};
}

/** Shows the tower a corrupted chunk and remembers which bytes it hides; draws are keyed by the item, not its place. */
failure_t step_t::mask_chunk(chunk_t &chunk) noexcept {
    std::size_t const tokens = chunk.batch.items.tokens();
    chunk.covered = lane_.claim<std::uint32_t>(tokens), chunk.targets = lane_.claim<std::uint8_t>(tokens);
    if (lane_.failed()) return out_of_memory();
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        if (!items_.is_text(kept_[kept])) continue;
        std::span<unsigned char const> const text =
            items_.texts[kept_[kept]].first(std::min(items_.texts[kept_[kept]].size(), tokens_of(kept) - asks(kept)));
        if (text.empty()) continue; // one PAD or MASK, which hides nothing
        std::uint32_t const begin = chunk.batch.items.offsets[kept - chunk.first];
        std::uint32_t *covered = chunk.covered + chunk.covered_count;
        mask_key_t const key {trainer_.options_.seed, trainer_.steps_done_ + 1, first_item_ + kept_[kept]};
        std::size_t const count = corrupt_text(trainer_.options_.masking, key, text, chunk.ids + begin, covered);
        for (std::size_t i = 0; i < count; ++i) {
            chunk.targets[chunk.covered_count + i] = text[covered[i]];
            covered[i] += begin;
        }
        chunk.covered_count += count;
    }
    covered_ += chunk.covered_count;
    return {};
}

/** Every kept token has a vector, of items on no side too: a chunk's projection is one product. */
failure_t step_t::claim_token_vectors() noexcept {
    vectors_ = lane_.claim<float>(read_tokens_ * trainer_.options_.model.token_width);
    inverse_norms_ = lane_.claim<float>(read_tokens_);
    return lane_.failed() ? out_of_memory() : failure_t {};
}

/** Relations over kept items: as given where all were kept, else with the edges of dropped items left out. */
failure_t step_t::compact_relations() noexcept {
    relations_ = items_.relations, groups_ = items_.temperature_groups;
    if (!trainer_.options_.contrasts() || kept_.size() == items_.count()) return {};
    constexpr std::uint32_t dropped_k = UINT32_MAX;
    std::uint32_t *kept_of = lane_.claim<std::uint32_t>(items_.count()),
                  *groups = lane_.claim<std::uint32_t>(kept_.size());
    if (lane_.failed()) return out_of_memory();
    std::fill(kept_of, kept_of + items_.count(), dropped_k);
    for (std::uint32_t i = 0; i < kept_.size(); ++i) kept_of[kept_[i]] = i;
    if (!groups_.empty()) {
        for (std::size_t i = 0; i < kept_.size(); ++i) groups[i] = groups_[kept_[i]];
        groups_ = {groups, kept_.size()};
    }
    relations_.items = kept_.size();
    if (failure_t const failure = compact_edges(items_.relations.attract, kept_of, relations_.attract)) return failure;
    if (failure_t const failure = compact_edges(items_.relations.repel, kept_of, relations_.repel)) return failure;
    return compact_edges(items_.relations.ignore, kept_of, relations_.ignore);
}

failure_t step_t::compact_edges(edges_t const &from, std::uint32_t const *kept_of, edges_t &to) noexcept {
    if (from.offsets.empty()) return {};
    std::size_t *offsets = lane_.claim<std::size_t>(kept_.size() + 1);
    std::uint32_t *ids = lane_.claim<std::uint32_t>(from.ids.size() + 1);
    float *weights = lane_.claim<float>(from.weights.size() + 1);
    if (lane_.failed()) return out_of_memory();
    std::size_t used = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
        offsets[i] = used;
        for (std::size_t edge = from.first(kept_[i]); edge < from.last(kept_[i]); ++edge) {
            if (kept_of[from.ids[edge]] == UINT32_MAX) continue;
            ids[used] = kept_of[from.ids[edge]];
            if (!from.weights.empty()) weights[used] = from.weights[edge];
            ++used;
        }
    }
    offsets[kept_.size()] = used;
    to.offsets = {offsets, kept_.size() + 1}, to.ids = {ids, used};
    to.weights = from.weights.empty() ? std::span<float const> {} : std::span<float const> {weights, used};
    return {};
}

} // namespace uform
