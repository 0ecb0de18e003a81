/**
 *  @file initialize.hpp
 *  @brief A fresh model's weights: keyed normals, and heads that look at their neighbours from the first step.
 *
 *  Every element depends on (seed, the tensor's name, its place) alone, so rows may be filled in any order by any
 *  thread, a head added later moves nothing else, and the bits are the same on every machine. Used by the trainer at
 *  step 0 and for heads that `initial` lacks.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/encoder/weights.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

/** Where the learned temperatures and pair biases start; the defaults are what a softmax over cosines trains well from.
 */
struct initialization_t {
    std::uint64_t seed = 0;
    float choice_inverse_temperature = 1.0f;
    float contrastive_inverse_temperature = 10.0f, contrastive_bias = 0.0f;
    float late_interaction_inverse_temperature = 1.0f, late_interaction_bias = 0.0f;
};

/** Rows `[first, first + count)` of a tensor; a vector is one row. */
struct row_range_t {
    std::size_t first = 0, count = 0;
};

/**
 *  Fills `target` [rows.count, spec.columns] with a tensor's first values. Into float go the values as the checkpoint
 *  stores them: those of BF16 tensors are rounded to BF16 either way, so an F32 tensor is to be filled as float.
 */
void initialize_rows(tensor_spec_t const &spec, initialization_t const &options, model_options_t const &model,
                     row_range_t rows, bf16_t *target) noexcept;
void initialize_rows(tensor_spec_t const &spec, initialization_t const &options, model_options_t const &model,
                     row_range_t rows, float *target) noexcept;

/** How many bytes back (negative) or ahead a head of blocks 0 and 1 starts by attending; zero is no such head. */
int local_offset(std::size_t block, std::size_t head, std::size_t heads) noexcept;

} // namespace uform
