/**
 *  @file media_encode.cpp
 *  @brief A chunk of pictures, clips or recordings from values to states to landed rows.
 */
#include <uform/encoder/media_encode.hpp>

namespace uform {
namespace {

class media_encoder_t {
    media_encode_job_t const &job_;
    executor_t &executor_;
    model_t const &model_;
    chunks_t chunks_;
    progress_t progress_;
    bf16_t **ready_ = nullptr; // [wide chunks]: values made before their chunk's turn; they take turns in order

  public:
    media_encoder_t(media_encode_job_t const &job, executor_t &executor) noexcept
        : job_(job), executor_(executor), model_(*job.model),
          chunks_(job.token_offsets, job.count, model_.options.geometry.hidden), progress_(job.progress, job.count) {}

    failure_t run() noexcept {
        return chunks_.run(
            executor_, [this](chunk_t chunk, lane_t &lane) { encode(chunk, lane); },
            [this](std::span<chunk_t const> wide) { return prepare(wide); });
    }

  private:
    std::size_t token_values() const noexcept { return model_.options.token_values(job_.medium); }
    bool is_empty(std::size_t item) const noexcept { return job_.grids[item].tokens() == 0; }
    std::size_t tokens(std::size_t item) const noexcept {
        return job_.token_offsets[item + 1] - job_.token_offsets[item];
    }

    /** An empty item's place stays unwritten, and unread. */
    void fill(chunk_t chunk, lane_t &lane, bf16_t *values) noexcept {
        for (std::size_t item = chunk.first; item < chunk.last; values += tokens(item++) * token_values()) {
            if (progress_.stopped())
                return lane.fail(fail(uform_status_cancelled_k, "the progress handler stopped the call"));
            if (is_empty(item)) continue;
            asker_t asker(progress_, lane);
            failure_t failure = job_.source.fill(job_.source.self, item, tokens(item), values, asker.stop());
            if (!failure) continue;
            failure.item = item;
            return lane.fail(failure); // where the handler stopped it, the lane has failed of that
        }
    }

    /**
     *  The wide lane's chunks are walked by all threads together, an operation at a time. Making values is no such
     *  operation, so theirs are made before, a chunk a thread. Such chunks are fewer than twice the threads.
     */
    failure_t prepare(std::span<chunk_t const> wide) noexcept {
        lane_t &lane = executor_.wide_lane();
        ready_ = lane.claim<bf16_t *>(wide.size());
        for (std::size_t i = 0; i < wide.size() && !lane.failed(); ++i)
            ready_[i] = lane.claim<bf16_t>(chunks_.tokens(wide[i]) * token_values());
        if (lane.failed()) return lane.failure();
        return executor_.deal(wide.size(), [&](std::size_t i, lane_t &worker) { fill(wide[i], worker, ready_[i]); });
    }

    bool pack(chunk_t chunk, lane_t &lane, mixed_batch_t<float> &batch) noexcept {
        std::uint32_t *const offsets = lane.claim<std::uint32_t>(chunk.count() + 1);
        float *const rotary = lane.claim<float>(chunks_.tokens(chunk) * head_width_k);
        run_t<float> *const runs = lane.claim<run_t<float>>(chunk.count());
        bool const wide = lane.width() > 1;
        bf16_t *const values = wide ? *ready_++ : lane.claim<bf16_t>(chunks_.tokens(chunk) * token_values());
        if (lane.failed()) return false;
        offsets[0] = 0;
        for (std::size_t item = chunk.first; item < chunk.last; ++item) {
            std::uint32_t *const offset = offsets + (item - chunk.first);
            offset[1] = offset[0] + std::uint32_t(tokens(item));
            turn(item, rotary + offset[0] * head_width_k);
        }
        batch.items = items_t {{offsets, chunk.count() + 1}}, batch.rotary = rotary;
        batch.runs = {runs, list_runs(chunk, offsets, values, runs)};
        if (!wide) fill(chunk, lane, values);
        return !lane.failed();
    }
    void turn(std::size_t item, float *rotary) const noexcept {
        if (is_empty(item) || job_.medium == medium_t::audio_k)
            turn_sequence(model_.rotary, tokens(item), rotary);
        else
            turn_grid(model_.rotary, job_.grids[item], tokens(item), rotary);
    }
    /** Items beside one another are one run; an empty one is a run of its own, and a PAD. */
    std::size_t list_runs(chunk_t chunk, std::uint32_t const *offsets, bf16_t const *values,
                          run_t<float> *runs) const noexcept {
        static constexpr std::uint16_t pad = pad_token_k;
        std::size_t count = 0;
        for (std::size_t item = chunk.first; item < chunk.last; ++item) {
            std::size_t const first = offsets[item - chunk.first];
            bool const joins = count && !is_empty(item) && !runs[count - 1].ids;
            if (!joins)
                runs[count++] = {first, 0, is_empty(item) ? &pad : nullptr, values + first * token_values(),
                                 job_.medium};
            runs[count - 1].tokens += tokens(item);
        }
        return count;
    }

    void encode(chunk_t chunk, lane_t &lane) noexcept {
        geometry_t const &geometry = model_.options.geometry;
        std::size_t const tokens_count = chunks_.tokens(chunk);
        mixed_batch_t<float> batch;
        states_t<float> states;
        if (!pack(chunk, lane, batch)) return;
        float *const x = lane.claim<float>(tokens_count * geometry.hidden);
        if (!states.claim(lane, geometry, tokens_count)) return;
        tower_forward(*model_.kit, lane, model_.tower.weights, batch, residuals_t<float> {x, 0}, states);
        if (lane.failed()) return;
        land_chunk(job_, chunk, batch.items, states.states, lane);
        if (!lane.failed()) progress_.advance(chunk.count(), lane);
    }
};

} // namespace

std::size_t measure_media(media_encode_job_t const &job, std::size_t *token_offsets) noexcept {
    std::size_t const context = job.model->options.geometry.context;
    std::size_t truncated = 0;
    token_offsets[0] = 0;
    for (std::size_t item = 0; item < job.count; ++item) {
        std::size_t const tokens = std::max<std::size_t>(job.grids[item].tokens(), 1); // none: a PAD
        truncated += tokens > context || job.grids[item].is_cut;
        token_offsets[item + 1] = token_offsets[item] + std::min(tokens, context);
    }
    return truncated;
}

failure_t encode_media(media_encode_job_t const &job, executor_t &executor) noexcept {
    return media_encoder_t(job, executor).run();
}

} // namespace uform
