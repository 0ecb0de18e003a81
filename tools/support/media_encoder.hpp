/**
 *  @file media_encoder.hpp
 *  @brief Pictures, clips and recordings through the verb of their modality; files that it refuses are told apart from
 *  the rest.
 */
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/engine.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

/** Whole files end to end. */
class file_batch_t {
  public:
    void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
    void add(std::string_view file) { bytes_.append(file), offsets_.push_back(bytes_.size()); }
    /** The first one is taken as it is: a large file alone is not in memory twice. */
    void add(std::string &&file) {
        if (bytes_.empty() && bytes_.capacity() < file.size())
            bytes_ = std::move(file);
        else
            bytes_.append(file);
        offsets_.push_back(bytes_.size());
    }
    std::string_view operator[](std::size_t index) const noexcept {
        return std::string_view(bytes_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
    }
    /** Takes one out; those behind it move up. */
    void drop(std::size_t index);
    void clear() noexcept { bytes_.clear(), offsets_.resize(1); }
    std::size_t count() const noexcept { return offsets_.size() - 1; }
    uform_tape_view_t tape() const noexcept { return {bytes_.data(), offsets_.data(), uform_scalar_u8_k}; }

  private:
    std::string bytes_;
    std::vector<std::size_t> offsets_ {0};
};

/** A file that its verb refused. */
struct refused_t {
    std::size_t index; // in the batch as it was given
    std::string reason;
};

/** What a verb says of an item, in the words of its message and detail. */
std::string reason_of(uform_outcome_t const &outcome);

/** Encodes one modality with an arena of its own, so that rows of several modalities live at once. */
class media_encoder_t {
  public:
    /** Borrows the model and the executor; `checkpoint` is what failures call the model. */
    media_encoder_t(std::string const &checkpoint, model_t const &model, executor_t const &executor,
                    uform_modality_t modality);

    /** Encodes what the verb accepts; what it refuses is taken out of the batch, as is a file that memory does not suffice
     *  for even alone. A failure that no single file is to blame for refuses them all where it is `unsupported`, and ends
     *  the tool else. */
    encoded_t encode(file_batch_t &batch, surface_t surface, std::size_t dimensions, uform_scalar_t scalar,
                     std::vector<refused_t> &refused);
    std::size_t truncated() const noexcept { return truncated_; } // over all batches

  private:
    /** Tries a file alone that memory ran out for among others. Where it fails as well, `outcome` is of that. */
    bool fails_alone(file_batch_t const &batch, std::size_t index, uform_outcome_t &outcome);
    encoded_t call(file_batch_t const &batch, surface_t surface, std::size_t dimensions, uform_scalar_t scalar,
                   uform_outcome_t &outcome);

    std::string checkpoint_;
    model_t const &model_;
    executor_t const &executor_;
    uform_modality_t modality_;
    arena_t arena_;
    std::size_t truncated_ = 0;
};

} // namespace uform::tools
