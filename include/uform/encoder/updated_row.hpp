/**
 *  @file updated_row.hpp
 *  @brief The update of one row, element by element: one loop that every class compiles for its own registers.
 *
 *  No two of its operations may be fused, or classes would differ in their last bits: the build says -ffp-contract=off.
 */
#pragma once
#include <cstddef>

#include <uform/encoder/kit.hpp>

namespace uform::serial {

/** Element j of the row, which was `weight`; its moment is updated. */
[[gnu::always_inline]] inline float updated_weight(updated_row_t const &row, std::size_t j, float weight) noexcept {
    float const clipped = row.gradient[j] * row.row_scale * row.column_scales[j];
    float const first = row.first_decay * row.first_moment[j] + (1 - row.first_decay) * clipped;
    row.first_moment[j] = first;
    return weight - row.learning_rate * (first * row.correction + row.decay * weight);
}

[[gnu::always_inline]] inline void update_row(updated_row_t const row) noexcept {
#pragma GCC ivdep // nothing here is another's
    for (std::size_t j = 0; j < row.columns; ++j)
        row.master[j] = round_stochastically(updated_weight(row, j, widen(row.master[j])), row.draws[j]);
}

} // namespace uform::serial
