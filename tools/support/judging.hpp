/**
 *  @file judging.hpp
 *  @brief What a model says of held-out choices.
 */
#pragma once
#include <cstddef>
#include <string>

#include "support/calibration.hpp"
#include "support/choice_store.hpp"
#include "support/engine.hpp"

namespace uform::tools {

/**
 *  The model's logits of all legal bytes, from its probabilities at `inverse_temperature`, that of its group zero. A
 *  probability below 2^-126, the least that float32 holds whole, counts as that.
 */
judged_choices_t judge_choices(model_t const &model, executor_t const &executor, choice_store_t const &store,
                               float inverse_temperature, std::string const &path, std::size_t &truncated);

} // namespace uform::tools
