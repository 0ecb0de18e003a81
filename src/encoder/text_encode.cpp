/**
 *  @file text_encode.cpp
 *  @brief Cutting a batch into chunks, dealing them, and landing what each chunk answers.
 */
#include <uform/encoder/text_encode.hpp>

#include <uform/utilities/progress.hpp>

namespace uform {
namespace {

/** Consecutive whole items that go through the tower together. */
struct chunk_t {
    std::size_t first, last;
};

/** Rows enough to fill the product's tiles and amortize its panels; a wider model's activations outgrow the L2 anyhow. */
constexpr std::size_t chunk_tokens_k = 512;
/** Fewer rows than this leave tiles unfilled, whatever the threads. */
constexpr std::size_t least_chunk_tokens_k = 64;
/** Chunks a thread takes in turn, so that the last one to finish is not far behind. */
constexpr std::size_t chunks_per_thread_k = 4;
/** Below so many values of x, splitting an operation's rows costs more in forks (microseconds each) than it saves. */
constexpr std::size_t wide_values_k = 1 << 14;

class text_encoder_t {
    text_encode_job_t const &job_;
    executor_t &executor_;
    model_t const &model_;
    std::span<chunk_t> chunks_;     // scratch of the wide lane, below what its chunks claim
    std::size_t wide_chunks_ = 0;   // the first so many
    std::size_t chunk_tokens_ = 0;  // of a chunk of several items
    progress_t progress_;

  public:
    text_encoder_t(text_encode_job_t const &job, executor_t &executor) noexcept
        : job_(job), executor_(executor), model_(*job.model), progress_(job.progress, job.count()) {}

    failure_t run() noexcept {
        if (!plan()) return fail(uform_status_out_of_memory_k, "memory for the batch's plan is out");
        for (std::size_t i = 0; i < wide_chunks_; ++i) {
            lane_t &lane = executor_.wide_lane();
            {
                scratch_scope_t scope(lane);
                encode(chunks_[i], lane);
            }
            if (lane.failed()) return lane.failure();
        }
        return executor_.deal(chunks_.size() - wide_chunks_,
                              [&](std::size_t i, lane_t &lane) { encode(chunks_[wide_chunks_ + i], lane); });
    }

  private:
    std::size_t tokens(std::size_t first, std::size_t last) const noexcept {
        return job_.token_offsets[last] - job_.token_offsets[first];
    }
    /** A chunk is as many whole items as fit; one that would keep a thread busy after the others are done goes wide. */
    bool plan() noexcept {
        std::size_t const threads = executor_.threads(), all = tokens(0, job_.count());
        chunk_tokens_ = std::clamp(all / (threads * chunks_per_thread_k), least_chunk_tokens_k, chunk_tokens_k);
        std::size_t count = 0;
        for (std::size_t item = 0; item < job_.count(); ++count) item = end_of_chunk(item);
        chunks_ = {executor_.wide_lane().claim<chunk_t>(count), count};
        if (!chunks_.data()) return false;
        std::size_t placed = 0; // wide ones first; each kind in the order of its items
        for (bool const wide : {true, false}) {
            for (std::size_t item = 0; item < job_.count(); item = end_of_chunk(item))
                if (is_wide(tokens(item, end_of_chunk(item)), all, threads) == wide)
                    chunks_[placed++] = {item, end_of_chunk(item)};
            if (wide) wide_chunks_ = placed;
        }
        return true;
    }
    bool is_wide(std::size_t chunk, std::size_t all, std::size_t threads) const noexcept {
        bool const outlasts = chunk > all / (2 * threads) && chunk > chunk_tokens_ / 2;
        return threads > 1 && outlasts && chunk * model_.options.geometry.hidden >= wide_values_k;
    }
    std::size_t end_of_chunk(std::size_t first) const noexcept {
        std::size_t last = first + 1;
        while (last < job_.count() && tokens(first, last + 1) <= chunk_tokens_) ++last;
        return last;
    }

    void encode(chunk_t chunk, lane_t &lane) noexcept {
        geometry_t const &geometry = model_.options.geometry;
        text_batch_t<float> batch;
        auto const text_of = [&](std::size_t i) { return job_.texts[chunk.first + i]; };
        states_t<float> states;
        std::size_t const tokens_count = tokens(chunk.first, chunk.last);
        float *x = lane.claim<float>(tokens_count * geometry.hidden);
        if (!pack_texts(lane, model_.rotary, chunk.last - chunk.first, text_of, batch) ||
            !states.claim(lane, geometry, tokens_count))
            return lane.fail(fail(uform_status_out_of_memory_k, "scratch memory is out"));
        tower_forward(*model_.kit, lane, model_.tower.weights, batch, residuals_t<float> {x, 0}, states);
        if (lane.failed()) return;
        if (job_.embeddings) land_embeddings(chunk, lane, batch.items, states.states);
        if (job_.states) land_states(chunk, lane, states.states);
        if (job_.token_vectors) land_token_vectors(chunk, lane, states.states);
        if (!lane.failed()) progress_.advance(chunk.last - chunk.first, lane);
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
        std::size_t const begin = job_.token_offsets[chunk.first], count = tokens(chunk.first, chunk.last);
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
        failure_t failure = fail(uform_status_malformed_k, "the item's output is not finite");
        failure.item = item;
        lane.fail(failure);
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
