/**
 *  @file text_encoder.cpp
 *  @brief Fills `uform_text_encode_t`.
 */
#include "support/interrupt.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

void text_batch_t::add(std::string_view text) {
    std::size_t const room = limit_ > prefix_.size() ? limit_ - prefix_.size() : 0;
    bytes_.append(prefix_, 0, limit_);
    bytes_.append(text.substr(0, room));
    offsets_.push_back(bytes_.size());
    truncated_ += text.size() > room;
}

text_encoder_t::text_encoder_t(std::string const &checkpoint, executor_t const &executor)
    : text_encoder_t(checkpoint, load_model(checkpoint, executor), executor) {}

text_encoder_t::text_encoder_t(std::string const &checkpoint, model_t model, executor_t const &executor)
    : checkpoint_(checkpoint), executor_(executor), arena_(make_arena(executor)), model_(std::move(model)),
      description_(describe(model_)) {}

encoded_t text_encoder_t::encode(text_batch_t const &batch, surface_t surface, std::size_t dimensions,
                                 uform_scalar_t scalar) {
    encoded_t encoded;
    uform_rows_t embeddings = {};
    uform_encode_stats_t stats = {};
    uform_outcome_t outcome = {};
    uform_text_encode_t call = {};
    call.model = model_.get(), call.executor = executor_.get(), call.outcome = &outcome;
    call.texts = batch.tape(), call.count = batch.count();
    call.arena = arena_.get(), call.outputs_scalar = scalar, call.stats = &stats;
    call.progress = interruptible();
    switch (surface) {
    case surface_t::embeddings_k: call.embeddings = &embeddings, call.dimensions = dimensions; break;
    case surface_t::states_k: call.states = &encoded.rows; break;
    case surface_t::token_vectors_k: call.token_vectors = &encoded.rows; break;
    }
    uform_text_encode(&call);
    check(outcome, checkpoint_);
    if (surface == surface_t::embeddings_k)
        encoded.rows = {embeddings.data,   embeddings.count,  embeddings.columns,
                        embeddings.stride, embeddings.scalar, nullptr};
    encoded.tokens = stats.tokens;
    return encoded;
}

} // namespace uform::tools
