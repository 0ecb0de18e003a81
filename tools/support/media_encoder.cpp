/**
 *  @file media_encoder.cpp
 *  @brief Fills the argument structs of the three verbs, which differ in their type alone.
 */
#include <cstdint>
#include <new>
#include <numeric>

#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/media_encoder.hpp"

namespace uform::tools {

namespace {

template <typename call_, void (*verb_)(call_ *)>
encoded_t encode_by(call_ call, surface_t surface, std::size_t dimensions, std::size_t &truncated) {
    encoded_t encoded;
    uform_rows_t embeddings = {};
    uform_encode_stats_t stats = {};
    call.stats = &stats, call.progress = interruptible();
    switch (surface) {
    case surface_t::embeddings_k:
        call.embeddings = &embeddings, call.dimensions = dimensions;
        break;
    case surface_t::states_k:
        call.states = &encoded.rows;
        break;
    case surface_t::token_vectors_k:
        call.token_vectors = &encoded.rows;
        break;
    }
    verb_(&call);
    if (surface == surface_t::embeddings_k)
        encoded.rows = {embeddings.data,   embeddings.count,  embeddings.columns,
                        embeddings.stride, embeddings.scalar, nullptr};
    encoded.tokens = stats.tokens, truncated += stats.truncated;
    return encoded;
}

template <typename call_>
call_ call_of(model_t const &model, executor_t const &executor, arena_t const &arena, file_batch_t const &batch,
              uform_scalar_t scalar, uform_outcome_t &outcome) {
    call_ call = {};
    call.model = model.get(), call.executor = executor.get(), call.outcome = &outcome;
    call.files = batch.tape(), call.count = batch.count();
    call.arena = arena.get(), call.outputs_scalar = scalar;
    return call;
}

} // namespace

void file_batch_t::drop(std::size_t index) {
    std::size_t const begin = offsets_[index], bytes = offsets_[index + 1] - begin;
    bytes_.erase(begin, bytes);
    offsets_.erase(offsets_.begin() + std::ptrdiff_t(index) + 1);
    for (std::size_t i = index + 1; i < offsets_.size(); ++i) offsets_[i] -= bytes;
}

std::string reason_of(uform_outcome_t const &outcome) {
    std::string reason =
        outcome.message && *outcome.message ? outcome.message : uform_status_name(uform_outcome_status(&outcome));
    if (*outcome.detail) reason += fmt::format(" ({})", outcome.detail);
    return reason;
}

media_encoder_t::media_encoder_t(std::string const &checkpoint, model_t const &model, executor_t const &executor,
                                 uform_modality_t modality)
    : checkpoint_(checkpoint), model_(model), executor_(executor), modality_(modality), arena_(make_arena(executor)) {}

encoded_t media_encoder_t::call(file_batch_t const &batch, surface_t surface, std::size_t dimensions,
                                uform_scalar_t scalar, uform_outcome_t &outcome) {
    switch (modality_) {
    case uform_modality_image_k:
        return encode_by<uform_image_encode_t, uform_image_encode>(
            call_of<uform_image_encode_t>(model_, executor_, arena_, batch, scalar, outcome), surface, dimensions,
            truncated_);
    case uform_modality_video_k:
        return encode_by<uform_video_encode_t, uform_video_encode>(
            call_of<uform_video_encode_t>(model_, executor_, arena_, batch, scalar, outcome), surface, dimensions,
            truncated_);
    default:
        return encode_by<uform_audio_encode_t, uform_audio_encode>(
            call_of<uform_audio_encode_t>(model_, executor_, arena_, batch, scalar, outcome), surface, dimensions,
            truncated_);
    }
}

bool media_encoder_t::fails_alone(file_batch_t const &batch, std::size_t index, uform_outcome_t &outcome) {
    uform_outcome_t own = {};
    std::size_t const truncated = truncated_;
    try {
        file_batch_t alone;
        alone.add(batch[index]);
        call(alone, surface_t::embeddings_k, 0, uform_scalar_f32_k, own);
    } catch (std::bad_alloc const &) {
        return true;
    }
    truncated_ = truncated;
    if (uform_outcome_status(&own) == uform_status_success_k) return false;
    outcome = own;
    bool const lacks_memory = uform_outcome_status(&own) == uform_status_out_of_memory_k; // wherever it ran out
    if (own.item == 0 || lacks_memory) outcome.item = index;
    return true;
}

encoded_t media_encoder_t::encode(file_batch_t &batch, surface_t surface, std::size_t dimensions, uform_scalar_t scalar,
                                  std::vector<refused_t> &refused) {
    std::vector<std::size_t> given(batch.count()); // where what is left was at first
    std::iota(given.begin(), given.end(), std::size_t(0));
    while (batch.count()) {
        uform_outcome_t outcome = {};
        encoded_t const encoded = call(batch, surface, dimensions, scalar, outcome);
        uform_status_t status = uform_outcome_status(&outcome);
        if (status == uform_status_success_k) return encoded;
        bool const lacks_memory = status == uform_status_out_of_memory_k && outcome.item < batch.count();
        if (lacks_memory && batch.count() > 1) {
            if (!fails_alone(batch, outcome.item, outcome)) check(outcome, checkpoint_);
            status = uform_outcome_status(&outcome);
        }
        if (outcome.item < batch.count() && status != uform_status_cancelled_k) {
            refused.push_back({given[outcome.item], reason_of(outcome)});
            given.erase(given.begin() + std::ptrdiff_t(outcome.item));
            batch.drop(outcome.item);
            continue;
        }
        if (status != uform_status_unsupported_k) check(outcome, checkpoint_);
        for (std::size_t const index : given) refused.push_back({index, reason_of(outcome)});
        batch.clear();
    }
    return {};
}

} // namespace uform::tools
