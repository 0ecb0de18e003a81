/**
 *  @file text_encoder.hpp
 *  @brief A model and an arena over an executor, ready to encode batches of texts.
 */
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine.hpp"

namespace uform::tools {

/** Texts gathered for one call; each is cut to `limit` bytes, prefix included, and cuts are counted. */
class text_batch_t {
  public:
    text_batch_t(std::string prefix, std::size_t limit) : prefix_(std::move(prefix)), limit_(limit) {}

    void add(std::string_view text);
    void clear() noexcept { bytes_.clear(), offsets_.resize(1); }
    std::size_t count() const noexcept { return offsets_.size() - 1; }
    std::size_t limit() const noexcept { return limit_; }
    std::size_t truncated() const noexcept { return truncated_; } // over all batches
    uform_tape_view_t tape() const noexcept { return {bytes_.data(), offsets_.data(), uform_scalar_u8_k}; }

  private:
    std::string prefix_;
    std::size_t limit_;
    std::size_t truncated_ = 0;
    std::string bytes_;
    std::vector<std::size_t> offsets_ {0};
};

/** What an encode call gives: one row per item, or rows per token with offsets. */
enum class surface_t { embeddings_k, states_k, token_vectors_k };

/** Views into the arena, until the next call. For embeddings `offsets` is NULL. */
struct encoded_t {
    uform_rows_tape_t rows = {};
    std::size_t tokens = 0;
};

class text_encoder_t {
  public:
    /** Borrows the executor. */
    text_encoder_t(std::string const &checkpoint, executor_t const &executor);
    /** Of a model loaded already; `checkpoint` is what failures call it. */
    text_encoder_t(std::string const &checkpoint, model_t model, executor_t const &executor);

    uform_model_description_t const &description() const noexcept { return description_; }
    model_t const &model() const noexcept { return model_; }
    std::string const &checkpoint() const noexcept { return checkpoint_; }
    encoded_t encode(text_batch_t const &batch, surface_t surface, std::size_t dimensions, uform_scalar_t scalar);

  private:
    std::string checkpoint_;
    executor_t const &executor_;
    arena_t arena_;
    model_t model_;
    uform_model_description_t description_;
};

} // namespace uform::tools
