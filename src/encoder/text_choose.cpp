/**
 *  @file text_choose.cpp
 *  @brief A chunk of texts from bytes to the states of their MASK tokens, to logits, to landed probabilities.
 */
#include <uform/encoder/text_choose.hpp>

#include <uform/utilities/progress.hpp>
#include <uform/utilities/rows.hpp>

namespace uform {
namespace {

class text_chooser_t {
    text_choose_job_t const &job_;
    executor_t &executor_;
    model_t const &model_;
    chunks_t chunks_;
    progress_t progress_;

  public:
    text_chooser_t(text_choose_job_t const &job, executor_t &executor) noexcept
        : job_(job), executor_(executor), model_(*job.model),
          chunks_(job.token_offsets, job.texts.size(), model_.options.geometry.hidden),
          progress_(job.progress, job.texts.size()) {}

    failure_t run() noexcept {
        return chunks_.run(executor_, [this](chunk_t chunk, lane_t &lane) { choose(chunk, lane); });
    }

  private:
    void choose(chunk_t chunk, lane_t &lane) noexcept {
        geometry_t const &geometry = model_.options.geometry;
        std::size_t const tokens = chunks_.tokens(chunk);
        auto const text_of = [&](std::size_t i) { return job_.texts[chunk.first + i]; };
        text_batch_t<float> batch;
        states_t<float> states;
        float *const x = lane.claim<float>(tokens * geometry.hidden);
        if (!pack_questions(lane, model_.rotary, chunk.count(), text_of, batch) ||
            !states.claim(lane, geometry, tokens))
            return lane.fail(fail(uform_status_out_of_memory_k, "scratch memory is out"));
        tower_forward(*model_.kit, lane, model_.tower.weights, batch, residuals_t<float> {x, 0}, states);
        float *const logits = lane.failed() ? nullptr : decode(lane, batch.items, states.states);
        if (logits) choose_bytes(chunk, lane, logits);
        if (!lane.failed()) progress_.advance(chunk.count(), lane);
    }

    /** Logits [items, 256] of each item's last token, which is its MASK. */
    float *decode(lane_t &lane, items_t items, bf16_t const *states) noexcept {
        std::size_t const hidden = model_.options.geometry.hidden, count = items.count();
        bf16_t *const masks = lane.claim<bf16_t>(count * hidden);
        float *const logits = lane.claim<float>(count * byte_values_k);
        if (lane.failed()) return nullptr;
        for (std::size_t item = 0; item < count; ++item)
            std::copy_n(states + (items.offsets[item + 1] - 1) * hidden, hidden, masks + item * hidden);
        auto const &weights = model_.tower.weights;
        logits_forward(*model_.kit, lane, weights.decoder, weights.decoder_bias, count, masks, logits);
        return logits;
    }

    void choose_bytes(chunk_t chunk, lane_t &lane, float const *logits) noexcept {
        std::size_t const begin = job_.choice_offsets[chunk.first], count = job_.choice_offsets[chunk.last] - begin;
        std::uint32_t *const offsets = lane.claim<std::uint32_t>(chunk.count() + 1);
        std::uint8_t *const bytes = lane.claim<std::uint8_t>(count);
        float *const scales = lane.claim<float>(chunk.count()), *const probabilities = lane.claim<float>(count);
        if (lane.failed()) return;
        for (std::size_t i = 0; i <= chunk.count(); ++i)
            offsets[i] = std::uint32_t(job_.choice_offsets[chunk.first + i] - begin);
        for (std::size_t i = 0; i < chunk.count(); ++i) {
            std::ranges::copy(job_.choices[chunk.first + i], bytes + offsets[i]);
            scales[i] = scale_of(chunk.first + i);
        }
        model_.kit->choices_softmax(lane,
                                    {items_t {{offsets, chunk.count() + 1}}, bytes, logits, scales, probabilities});
        for (std::size_t i = 0; i < chunk.count(); ++i)
            land(lane, chunk.first + i, probabilities + offsets[i], offsets[i + 1] - offsets[i]);
    }
    float scale_of(std::size_t item) const noexcept {
        if (model_.choice_scales.size() == 0) return 1;
        return model_.choice_scales[job_.temperature_groups ? job_.temperature_groups[item] : 0];
    }
    void land(lane_t &lane, std::size_t item, float const *row, std::size_t count) noexcept {
        std::byte *const target = job_.probabilities + job_.choice_offsets[item] * uform_scalar_bytes(job_.scalar);
        if (land_row(job_.scalar, row, count, target) || lane.failed()) return;
        lane.fail(refuse_row("the item's output is not finite", "the item's output does not fit outputs_scalar",
                             job_.scalar, row, count, item));
    }
};

} // namespace

std::size_t measure_questions(text_choose_job_t const &job, std::size_t *token_offsets) noexcept {
    std::size_t const context = job.model->options.geometry.context;
    std::size_t truncated = 0;
    token_offsets[0] = 0;
    for (std::size_t item = 0; item < job.texts.size(); ++item) {
        std::size_t const bytes = job.texts[item].size();
        truncated += bytes > context - 1;
        token_offsets[item + 1] = token_offsets[item] + question_tokens(bytes, context);
    }
    return truncated;
}

failure_t choose_texts(text_choose_job_t const &job, executor_t &executor) noexcept {
    return text_chooser_t(job, executor).run();
}

} // namespace uform
