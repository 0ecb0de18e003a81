/**
 *  @file text_encode.cpp
 *  @brief A chunk of texts from bytes to states to landed rows.
 */
#include <uform/encoder/text_encode.hpp>

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
        land_chunk(job_, chunk, batch.items, states.states, lane);
        if (!lane.failed()) progress_.advance(chunk.count(), lane);
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
