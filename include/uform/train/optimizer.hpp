/**
 *  @file optimizer.hpp
 *  @brief Adafactor with a first moment, over BFloat16 masters that round stochastically.
 *
 *  Shazeer and Stern 2018, with Adam's first moment of the clipped update, per matrix [rows, columns]:
 *      r = b2 r + (1 - b2) row means of (g^2 + 1e-30),  c likewise by columns,  b2 = 1 - age^-0.8
 *      u = g / sqrt(r / mean(r)) / sqrt(c)              never g / sqrt(r c / mean(r)): that underflows to 0 / 0
 *      u = u / max(1, rms(u));  m = 0.9 m + 0.1 u;  w = w - rate (m / (1 - 0.9^age) + 0.01 w)
 *  A vector is a matrix of one row: then r / mean(r) is 1 and c is the full second moment, so it needs no second path.
 *  `age` counts the updates these moments have seen, this one included, so that moments that start anew on a resumed
 *  run are corrected from there; `step` counts the run's and keys the rounding. Three sweeps read the gradient: the
 *  means, the rms (which needs all of c), the update. Sums run by blocks of 64 rows, so threads change no bit.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/lane.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

/** How many floats one tensor's moments take; all start at zero, and all must be saved for a bit-exact resume. */
struct moment_sizes_t {
    std::size_t row_means;    // rows
    std::size_t column_means; // columns
    std::size_t first;        // rows * columns
    std::size_t total() const noexcept { return row_means + column_means + first; }
};
constexpr moment_sizes_t moment_sizes(std::size_t rows, std::size_t columns) noexcept {
    return {rows, columns, rows * columns};
}

/** One tensor of the model, as the update sees it. Exactly one of the masters is not null. */
struct tensor_view_t {
    bf16_t *master_bf16 = nullptr;   // [rows, columns]
    float *master_f32 = nullptr;     // [rows, columns]
    float const *gradient = nullptr; // [rows, columns]
    float *row_means = nullptr;      // [rows]
    float *column_means = nullptr;   // [columns]
    float *first_moment = nullptr;   // [rows, columns]
    std::size_t rows = 1;            // one for a vector
    std::size_t columns = 0;
    std::uint32_t stream = 0; // of the rounding's draws: the tensor's, whatever its place in the list
    bool decay = false;       // matrices decay; norms, biases and temperatures do not
    // F32 masters alone: log 100 for the logarithm of an inverse temperature, which else grows until rows overflow.
    float maximum = std::numeric_limits<float>::infinity();
};

struct update_t {
    float learning_rate = 0;
    std::uint64_t seed = 0;
    std::uint64_t step = 1; // of the run, from one
    std::uint64_t age = 1;  // of the moments, from one
};

inline constexpr std::size_t no_tensor_k = SIZE_MAX;

/** What an update needs beside its tensors, claimed ahead: whoever holds it cannot run out of memory any more. */
struct update_scratch_t {
    float *column_sums = nullptr;              // [blocks of rows, columns]
    float *row_scales = nullptr;               // [rows]: sums of squares, then 1 / sqrt(r / mean(r)), then clipped
    float *column_scales = nullptr;            // [columns]: 1 / sqrt(c)
    float *row_squares = nullptr;              // [rows]: sums of u^2
    std::uint16_t **bits_of_workers = nullptr; // [workers], the draws of a group of rows each
};
/** For any of the tensors, on the lane that will update them, which fails where memory is out. */
update_scratch_t claim_update(lane_t &lane, std::span<tensor_view_t const> tensors) noexcept;

/** The first tensor whose gradient is not finite, or whose squares are not; asked before an update writes anything. */
std::size_t find_non_finite(lane_t &lane, std::span<tensor_view_t const> tensors,
                            update_scratch_t const &scratch) noexcept;

/** Updates masters and moments in place. Gradients must be finite. */
void adafactor(kit_table_t const &kit, lane_t &lane, std::span<tensor_view_t const> tensors, update_t const &update,
               update_scratch_t const &scratch) noexcept;

} // namespace uform
