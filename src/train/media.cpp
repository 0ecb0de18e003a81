/**
 *  @file media.cpp
 *  @brief The phases of a step that concern pictures, clips and recordings before any arithmetic: a chunk's tokens of
 *  any kind laid out, their values fetched, some of them hidden.
 *
 *  Values are fetched once, into memory that forward, backward and reconstruction share: all of a chunk's tokens of one
 *  medium lie together. Items beside one another that enter the same way are one run.
 */
#include "train/step.hpp"

#include <uform/train/masking.hpp>
#include <uform/train/streams.hpp>

namespace uform {
namespace {

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the step is out"); }

} // namespace

/** Lays out a chunk's tokens: ids of texts, room for values of media, rotary rows of all. */
failure_t step_t::claim_batch(chunk_t &chunk) noexcept {
    std::size_t const count = chunk.last - chunk.first;
    std::uint32_t *const offsets = lane_.claim<std::uint32_t>(count + 1);
    run_t<float> *const runs = lane_.claim<run_t<float>>(count);
    if (lane_.failed()) return out_of_memory();
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) offsets[i + 1] = offsets[i] + std::uint32_t(tokens_of(chunk.first + i));
    chunk.ids = lane_.claim<std::uint16_t>(offsets[count]);
    float *const rotary = lane_.claim<float>(offsets[count] * head_width_k);
    if (lane_.failed()) return out_of_memory();
    if (failure_t const failure = claim_values(chunk)) return failure;
    lay_tokens(chunk, offsets, rotary);
    chunk.batch.items = items_t {{offsets, count + 1}}, chunk.batch.rotary = rotary;
    chunk.batch.runs = {runs, list_runs(chunk, offsets, runs)};
    return {};
}

/** Claims each medium's values, and tells its items where theirs are. */
failure_t step_t::claim_values(chunk_t &chunk) noexcept {
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept)
        if (has_values(kept)) chunk.parts[std::size_t(medium_of(kept))].tokens += tokens_of(kept);
    bf16_t *next[media_k] = {};
    for (std::size_t medium = 0; medium < media_k; ++medium) {
        part_t &part = chunk.parts[medium];
        if (!part.tokens) continue;
        next[medium] = part.values = lane_.claim<bf16_t>(part.tokens * token_values(medium));
        if (!part.values) return out_of_memory();
    }
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        values_[kept] = nullptr;
        if (!has_values(kept)) continue;
        std::size_t const medium = std::size_t(medium_of(kept));
        values_[kept] = std::exchange(next[medium], next[medium] + tokens_of(kept) * token_values(medium));
    }
    return {};
}

/** Ids of texts, a MASK behind those that ask; where everything sits. */
void step_t::lay_tokens(chunk_t const &chunk, std::uint32_t const *offsets, float *rotary) const noexcept {
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        std::size_t const begin = offsets[kept - chunk.first], tokens = tokens_of(kept);
        float *const turns = rotary + begin * head_width_k;
        if (has_values(kept) && medium_of(kept) != medium_t::audio_k)
            turn_grid(trainer_.rotary_, items_.grids[kept_[kept]], tokens, turns);
        else
            turn_sequence(trainer_.rotary_, tokens, turns);
        std::uint16_t *const ids = chunk.ids + begin;
        ids[0] = pad_token_k; // of what has no tokens; of media no id is read
        if (has_values(kept) || !items_.is_text(kept_[kept])) continue;
        std::span<unsigned char const> const text = items_.texts[kept_[kept]];
        std::copy_n(text.begin(), std::min(text.size(), tokens), ids);
        if (asks(kept)) ids[tokens - 1] = mask_token_k;
    }
}

std::size_t step_t::list_runs(chunk_t const &chunk, std::uint32_t const *offsets, run_t<float> *runs) const noexcept {
    std::size_t count = 0;
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        std::size_t const first = offsets[kept - chunk.first];
        bool const values = has_values(kept), follows = count && values == !runs[count - 1].ids;
        if (!follows || (values && runs[count - 1].medium != medium_of(kept)))
            runs[count++] = {.first = first,
                             .tokens = 0,
                             .ids = values ? nullptr : chunk.ids + first,
                             .values = values_[kept],
                             .medium = values ? medium_of(kept) : medium_t::image_k,
                             .covered = {}};
        runs[count - 1].tokens += tokens_of(kept);
    }
    return count;
}

/** Decodes all media over the executor's threads. Before the plan is agreed on, so that a file that cannot be decoded
 *  fails the step in every process before anything changed. */
failure_t step_t::fill_values() noexcept {
    if (items_.modalities.empty()) return {};
    return executor_.deal(kept_.size(), [this](std::size_t kept, lane_t &lane) {
        if (!values_[kept]) return;
        failure_t failure = items_.source.fill(items_.source.self, kept_[kept], tokens_of(kept), values_[kept], {});
        if (failure) failure.item = kept_[kept], lane.fail(failure);
    });
}

/** Hides a share of each medium's tokens; those of text are `mask_chunk`'s. */
failure_t step_t::mask_media(chunk_t &chunk) noexcept {
    std::size_t first_row[media_k] = {};
    for (part_t &part : chunk.parts) {
        if (!part.tokens) continue;
        part.covered = lane_.claim<std::uint32_t>(part.tokens), part.rows = lane_.claim<std::uint32_t>(part.tokens);
        if (lane_.failed()) return out_of_memory();
    }
    for (std::size_t kept = chunk.first; kept < chunk.last; ++kept) {
        if (!has_values(kept)) continue;
        std::size_t const medium = std::size_t(medium_of(kept));
        part_t &part = chunk.parts[medium];
        std::uint32_t *const covered = part.covered + part.covered_count, *const rows = part.rows + part.covered_count;
        std::size_t const count = cover_item(kept, covered);
        if (lane_.failed()) return out_of_memory();
        for (std::size_t i = 0; i < count; ++i) {
            rows[i] = std::uint32_t(first_row[medium]) + covered[i];
            covered[i] += chunk.batch.items.offsets[kept - chunk.first];
        }
        part.covered_count += count, first_row[medium] += tokens_of(kept);
    }
    for (std::size_t medium = 0; medium < media_k; ++medium)
        covered_media_[medium] += chunk.parts[medium].covered_count;
    cover_runs(chunk);
    return {};
}

/** Chooses an item's hidden tokens, ascending: patches, chunks of samples, or a clip's columns through all time. */
std::size_t step_t::cover_item(std::size_t kept, std::uint32_t *covered) noexcept {
    masking_t const &masking = trainer_.options_.masking;
    mask_key_t const key {trainer_.options_.seed, trainer_.steps_done_ + 1, first_item_ + kept_[kept]};
    std::size_t const tokens = tokens_of(kept);
    if (medium_of(kept) == medium_t::image_k)
        return choose_masked(masking.image_mask_ratio, streams::image_masks_k, key, tokens, covered);
    if (medium_of(kept) == medium_t::audio_k)
        return choose_masked(masking.audio_mask_ratio, streams::audio_masks_k, key, tokens, covered);
    token_grid_t const &grid = items_.grids[kept_[kept]];
    std::size_t const columns = grid.rows * grid.columns;
    scratch_scope_t scope(lane_);
    std::uint32_t *const chosen = lane_.claim<std::uint32_t>(columns);
    if (!chosen) return 0;
    std::size_t const count = choose_masked(masking.video_mask_ratio, streams::video_masks_k, key, columns, chosen);
    std::size_t used = 0;
    for (std::size_t layer = 0; layer < tokens; layer += columns)
        for (std::size_t i = 0; i < count && layer + chosen[i] < tokens; ++i)
            covered[used++] = std::uint32_t(layer + chosen[i]);
    return used;
}

/** Tells each run which of its tokens are hidden: a part of its medium's list, since both are ascending. */
void step_t::cover_runs(chunk_t &chunk) const noexcept {
    std::size_t used[media_k] = {};
    auto *const runs = const_cast<run_t<float> *>(chunk.batch.runs.data()); // claimed by claim_batch
    for (std::size_t i = 0; i < chunk.batch.runs.size(); ++i) {
        if (runs[i].ids) continue;
        part_t const &part = chunk.parts[std::size_t(runs[i].medium)];
        std::size_t &last = used[std::size_t(runs[i].medium)], first = last;
        while (last < part.covered_count && part.covered[last] < runs[i].first + runs[i].tokens) ++last;
        runs[i].covered = {part.covered + first, last - first};
    }
}

} // namespace uform
