/**
 *  @file updated_row.hpp
 *  @brief The update of one row, element by element: one loop that every class compiles for its own registers.
 *
 *  No two of its operations may be fused, or classes would differ in their last bits: the build says -ffp-contract=off.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/encoder/kit.hpp>

namespace uform::serial {

/** What becomes of `weight`; its moment is updated. */
[[gnu::always_inline]] inline float updated_weight(updated_row_t const row, float gradient, float column_scale,
                                                   float &first_moment, float weight) noexcept {
    float const clipped = gradient * row.row_scale * column_scale;
    float const first = row.first_decay * first_moment + (1 - row.first_decay) * clipped;
    first_moment = first;
    return weight - row.learning_rate * (first * row.correction + row.decay * weight);
}

/** No two arrays of a row overlap, which a compiler must be told before it takes elements side by side. */
[[gnu::always_inline]] inline void update_row(updated_row_t const &row) noexcept {
    float const *__restrict const gradient = row.gradient;
    float const *__restrict const column_scales = row.column_scales;
    std::uint16_t const *__restrict const draws = row.draws;
    float *__restrict const first_moment = row.first_moment;
    bf16_t *__restrict const master = row.master;
    for (std::size_t j = 0; j < row.columns; ++j)
        master[j] = round_stochastically(
            updated_weight(row, gradient[j], column_scales[j], first_moment[j], widen(master[j])), draws[j]);
}

} // namespace uform::serial
