/**
 *  @file landing.cpp
 *  @brief Landing what is asked of a chunk's states, one surface after the other.
 */
#include <uform/encoder/landing.hpp>

namespace uform {
namespace {

template <typename source_>
void land(encode_job_t const &job, lane_t &lane, std::size_t item, surface_t const &surface, source_ const *row,
          std::size_t at) noexcept {
    if (land_row(job.scalar, row, surface.columns, surface.row(at)) || lane.failed()) return;
    lane.fail(refuse_row("the item's output is not finite", "the item's output does not fit outputs_scalar", job.scalar,
                         row, surface.columns, item));
}

/** Rows [tokens, columns] of the chunk's tokens. */
template <typename source_>
void land_tokens(encode_job_t const &job, chunk_t chunk, lane_t &lane, surface_t const &surface, source_ const *rows,
                 std::size_t columns) noexcept {
    std::size_t const begin = job.token_offsets[chunk.first];
    for (std::size_t item = chunk.first; item < chunk.last; ++item)
        for (std::size_t token = job.token_offsets[item]; token < job.token_offsets[item + 1]; ++token)
            land(job, lane, item, surface, rows + (token - begin) * columns, token);
}

void land_embeddings(encode_job_t const &job, chunk_t chunk, lane_t &lane, items_t items,
                     bf16_t const *states) noexcept {
    model_t const &model = *job.model;
    geometry_t const &geometry = model.options.geometry;
    scratch_scope_t scope(lane);
    pool_stash_t<float> stash;
    float *rows = lane.claim<float>(items.count() * geometry.hidden), *norms = lane.claim<float>(items.count());
    if (!stash.claim(lane, geometry, items)) return;
    pool_forward(*model.kit, lane, geometry, model.tower.weights.pool, items, states, stash, rows);
    model.kit->normalize_rows(lane, items.count(), job.embeddings.columns, geometry.hidden, rows, rows, norms);
    for (std::size_t item = chunk.first; item < chunk.last; ++item)
        land(job, lane, item, job.embeddings, rows + (item - chunk.first) * geometry.hidden, item);
}

void land_token_vectors(encode_job_t const &job, chunk_t chunk, lane_t &lane, items_t items,
                        bf16_t const *states) noexcept {
    model_t const &model = *job.model;
    std::size_t const width = model.options.token_width, count = items.tokens();
    scratch_scope_t scope(lane);
    float *vectors = lane.claim<float>(count * width), *norms = lane.claim<float>(count);
    if (lane.failed()) return;
    token_vectors_forward(*model.kit, lane, model.tower.weights.tokens_projection, count, states, vectors, norms);
    land_tokens(job, chunk, lane, job.token_vectors, vectors, width);
}

} // namespace

void land_chunk(encode_job_t const &job, chunk_t chunk, items_t items, bf16_t const *states, lane_t &lane) noexcept {
    if (job.embeddings) land_embeddings(job, chunk, lane, items, states);
    if (job.states) land_tokens(job, chunk, lane, job.states, states, job.model->options.geometry.hidden);
    if (job.token_vectors) land_token_vectors(job, chunk, lane, items, states);
}

} // namespace uform
