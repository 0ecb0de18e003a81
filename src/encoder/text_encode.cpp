/**
 *  @file text_encode.cpp
 *  @brief A chunk of texts from bytes to states, and landing what is asked of it.
 */
#include <uform/encoder/text_encode.hpp>

#include <uform/utilities/progress.hpp>

namespace uform {
namespace {

class text_encoder_t {
    text_encode_job_t const &job_;
    executor_t &executor_;
    model_t const &model_;
    chunks_t chunks_;
    progress_t progress_;

  public:
    text_encoder_t(text_encode_job_t const &job, executor_t &executor) noexcept
        : job_(job), executor_(executor), model_(*job.model),
          chunks_(job.token_offsets, job.count(), model_.options.geometry.hidden),
          progress_(job.progress, job.count()) {}

    failure_t run() noexcept {
        return chunks_.run(executor_, [this](chunk_t chunk, lane_t &lane) { encode(chunk, lane); });
    }

  private:
    void encode(chunk_t chunk, lane_t &lane) noexcept {
        geometry_t const &geometry = model_.options.geometry;
        text_batch_t<float> batch;
        auto const text_of = [&](std::size_t i) { return job_.texts[chunk.first + i]; };
        states_t<float> states;
        std::size_t const tokens_count = chunks_.tokens(chunk);
        float *x = lane.claim<float>(tokens_count * geometry.hidden);
        if (!pack_texts(lane, model_.rotary, chunk.count(), text_of, batch) ||
            !states.claim(lane, geometry, tokens_count))
            return lane.fail(fail(uform_status_out_of_memory_k, "scratch memory is out"));
        tower_forward(*model_.kit, lane, model_.tower.weights, batch, residuals_t<float> {x, 0}, states);
        if (lane.failed()) return;
        if (job_.embeddings) land_embeddings(chunk, lane, batch.items, states.states);
        if (job_.states) land_states(chunk, lane, states.states);
        if (job_.token_vectors) land_token_vectors(chunk, lane, states.states);
        if (!lane.failed()) progress_.advance(chunk.count(), lane);
    }

    void land_embeddings(chunk_t chunk, lane_t &lane, items_t items, bf16_t const *states) noexcept {
        geometry_t const &geometry = model_.options.geometry;
        scratch_scope_t scope(lane);
        pool_stash_t<float> stash;
        float *rows = lane.claim<float>(items.count() * geometry.hidden), *norms = lane.claim<float>(items.count());
        if (!stash.claim(lane, geometry, items)) return;
        pool_forward(*model_.kit, lane, geometry, model_.tower.weights.pool, items, states, stash, rows);
        model_.kit->normalize_rows(lane, items.count(), job_.embeddings.columns, geometry.hidden, rows, rows, norms);
        for (std::size_t item = chunk.first; item < chunk.last; ++item)
            land(lane, item, job_.embeddings, rows + (item - chunk.first) * geometry.hidden, item);
    }
    void land_states(chunk_t chunk, lane_t &lane, bf16_t const *states) noexcept {
        std::size_t const begin = job_.token_offsets[chunk.first], hidden = model_.options.geometry.hidden;
        for (std::size_t item = chunk.first; item < chunk.last; ++item)
            for (std::size_t token = job_.token_offsets[item]; token < job_.token_offsets[item + 1]; ++token)
                land(lane, item, job_.states, states + (token - begin) * hidden, token);
    }
    void land_token_vectors(chunk_t chunk, lane_t &lane, bf16_t const *states) noexcept {
        std::size_t const begin = job_.token_offsets[chunk.first], count = chunks_.tokens(chunk);
        std::size_t const width = model_.options.token_width;
        scratch_scope_t scope(lane);
        float *vectors = lane.claim<float>(count * width), *norms = lane.claim<float>(count);
        if (lane.failed()) return;
        token_vectors_forward(*model_.kit, lane, model_.tower.weights.tokens_projection, count, states, vectors, norms);
        for (std::size_t item = chunk.first; item < chunk.last; ++item)
            for (std::size_t token = job_.token_offsets[item]; token < job_.token_offsets[item + 1]; ++token)
                land(lane, item, job_.token_vectors, vectors + (token - begin) * width, token);
    }
    template <typename source_>
    void land(lane_t &lane, std::size_t item, surface_t const &surface, source_ const *row, std::size_t at) noexcept {
        if (land_row(job_.scalar, row, surface.columns, surface.row(at)) || lane.failed()) return;
        lane.fail(refuse_row("the item's output is not finite", "the item's output does not fit outputs_scalar",
                             job_.scalar, row, surface.columns, item));
    }
};

} // namespace

std::size_t measure_texts(text_encode_job_t const &job, std::size_t *token_offsets) noexcept {
    std::size_t const context = job.model->options.geometry.context;
    std::size_t truncated = 0;
    token_offsets[0] = 0;
    for (std::size_t item = 0; item < job.count(); ++item) {
        std::size_t const bytes = job.texts[item].size();
        truncated += bytes > context;
        token_offsets[item + 1] = token_offsets[item] + text_tokens(bytes, context);
    }
    return truncated;
}

failure_t encode_texts(text_encode_job_t const &job, executor_t &executor) noexcept {
    return text_encoder_t(job, executor).run();
}

} // namespace uform
