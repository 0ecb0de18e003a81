/**
 *  @file step_media.hpp
 *  @brief Where media and training meet: a step's files, each read as its modality says, → grids → values of tokens.
 *
 *  A decoder sees the items of its medium alone, as if they were all; what it says of one of them is told of the item's
 *  place in the step. Everything lies in the call's scratch.
 */
#pragma once
#include <uform/train.h>

#include <optional>

#include <uform/train/trainer.hpp>

#include "clips.hpp"
#include "pictures.hpp"
#include "recordings.hpp"

namespace uform {

class step_media_t {
    std::optional<pictures_t> pictures_;
    std::optional<clips_t> clips_;
    std::optional<recordings_t> recordings_;
    std::span<std::uint32_t> chosen_[media_k]; // the step's items of each medium, ascending
    std::uint32_t *places_ = nullptr;          // [count], of an item among those of its medium
    token_grid_t *grids_ = nullptr;            // [count]
    token_source_t sources_[media_k];
    uform_modality_t const *modalities_ = nullptr;

  public:
    /** Reads all headers over the executor's threads and says in `items` what they tell; a failure names its item. */
    [[nodiscard]] failure_t measure(uform_trainer_step_t const &call, model_options_t const &model,
                                    executor_t &executor, step_items_t &items) noexcept;

  private:
    [[nodiscard]] bool choose(uform_trainer_step_t const &call, executor_t &executor) noexcept;
    /** Takes over what measuring a medium's files told, or the failure of one of them. */
    template <typename files_>
    [[nodiscard]] failure_t place(medium_t medium, files_ &files, failure_t failure) noexcept;
    failure_t fill(std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) const noexcept;
};

/** Whether a step has an item that is not text. */
bool has_media(uform_trainer_step_t const &call) noexcept;

} // namespace uform
