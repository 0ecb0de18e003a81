/**
 *  @file rows.hpp
 *  @brief The last arrow's arithmetic: a float row becomes a row of the scalar the caller asked for.
 *
 *  Non-finite values never land: `land_row` answers false and the caller names the item. float16 and BFloat16 round to
 *  nearest even, a value that rounds to infinity counting as non-finite; i8 is round(127 x) of a unit row.
 */
#pragma once
#include <cstddef>

#include <uform/types.h>
#include <uform/utilities/names.hpp>
#include <uform/utilities/scalar.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** IEEE 754 binary16, rounded to nearest even; overflow becomes infinity, a NaN stays one. */
std::uint16_t round_to_f16(float x) noexcept;
float widen_f16(std::uint16_t bits) noexcept;

/** Writes `columns` values as `scalar` (f32, bf16, f16, i8) to `target`; false where one does not stay finite. */
[[nodiscard]] bool land_row(uform_scalar_t scalar, float const *row, std::size_t columns, void *target) noexcept;

/** The same from BFloat16 states. */
[[nodiscard]] bool land_row(uform_scalar_t scalar, bf16_t const *row, std::size_t columns, void *target) noexcept;

/** Why `land_row` answered false: what was computed is not finite, or it is, and the scalar cannot hold it. */
template <typename source_>
failure_t refuse_row(char const *not_finite, char const *does_not_fit, uform_scalar_t scalar, source_ const *row,
                     std::size_t columns, std::size_t item) noexcept {
    bool finite = true;
    for (std::size_t i = 0; i < columns; ++i) {
        float value; // f32 holds whatever is finite
        finite &= land_row(uform_scalar_f32_k, row + i, 1, &value);
    }
    failure_t failure = finite ? fail(uform_status_malformed_k, does_not_fit, "%s", name_of_scalar(scalar))
                               : fail(uform_status_malformed_k, not_finite);
    failure.item = item;
    return failure;
}

} // namespace uform
