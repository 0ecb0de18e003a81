/**
 *  @file optimizer.cpp
 *  @brief The three sweeps of Adafactor over one tensor at a time, rows dealt to threads in blocks of 64.
 */
#include <uform/train/optimizer.hpp>

#include <algorithm>
#include <numeric>

#include <uform/encoder/updated_row.hpp>
#include <uform/train/products.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/rounding.hpp>

namespace uform {
namespace {

constexpr std::size_t block_rows_k = 64;
constexpr float square_epsilon_k = 1e-30f;
constexpr float first_decay_k = 0.9f;
constexpr float weight_decay_k = 0.01f;
constexpr std::size_t chains_k = 8; // of interleaved sums

/** What an update's age and learning rate mean for every element. */
struct factors_t {
    float second_decay;     // b2
    float first_correction; // 1 / (1 - b1^age)
    float learning_rate;
};
factors_t factors_of(update_t const &update) noexcept {
    double const age = double(update.age);
    double const first = exp_of(age * log_of(double(first_decay_k)));
    return {float(1 - exp_of(-0.8 * log_of(age))), float(1 / (1 - first)), update.learning_rate};
}

float combine(float const *sums) noexcept {
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/** One row of g^2: added to the block's column sums, its own sum answered. */
float square_row(std::size_t columns, float const *gradient, float *column_sums) noexcept {
    float sums[chains_k] = {};
    std::size_t j = 0;
    for (; j + chains_k <= columns; j += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) {
            float const square = gradient[j + chain] * gradient[j + chain] + square_epsilon_k;
            column_sums[j + chain] += square, sums[chain] += square;
        }
    for (; j < columns; ++j) {
        float const square = gradient[j] * gradient[j] + square_epsilon_k;
        column_sums[j] += square, sums[j % chains_k] += square;
    }
    return combine(sums);
}

/** Sum of the squares of one row of g / sqrt(c). */
float scaled_square_sum(std::size_t columns, float const *gradient, float const *column_scales) noexcept {
    float sums[chains_k] = {};
    std::size_t j = 0;
    for (; j + chains_k <= columns; j += chains_k)
        for (std::size_t chain = 0; chain < chains_k; ++chain) {
            float const scaled = gradient[j + chain] * column_scales[j + chain];
            sums[chain] += scaled * scaled;
        }
    for (; j < columns; ++j) {
        float const scaled = gradient[j] * column_scales[j];
        sums[j % chains_k] += scaled * scaled;
    }
    return combine(sums);
}

void sweep_squares(lane_t &lane, tensor_view_t const &tensor, update_scratch_t const &sweep) noexcept {
    lane.rows(tensor.rows, block_rows_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
        for (std::size_t row = first; row < last; ++row) {
            float *const sums = sweep.column_sums + row / block_rows_k * tensor.columns;
            if (row % block_rows_k == 0) std::fill_n(sums, tensor.columns, 0.0f);
            sweep.row_scales[row] = square_row(tensor.columns, tensor.gradient + row * tensor.columns, sums);
        }
    });
}

/** Folds the sweep's sums into the moments, and turns the moments into the factors of u. */
void fold_means(tensor_view_t const &tensor, factors_t const &factors, update_scratch_t const &sweep) noexcept {
    float const keep = factors.second_decay, take = 1 - factors.second_decay;
    std::size_t const blocks = (tensor.rows + block_rows_k - 1) / block_rows_k;
    for (std::size_t block = 1; block < blocks; ++block)
        for (std::size_t j = 0; j < tensor.columns; ++j)
            sweep.column_sums[j] += sweep.column_sums[block * tensor.columns + j];
    float const per_row = take / float(tensor.rows), per_column = take / float(tensor.columns);
    for (std::size_t j = 0; j < tensor.columns; ++j) {
        tensor.column_means[j] = keep * tensor.column_means[j] + per_row * sweep.column_sums[j];
        sweep.column_scales[j] = 1 / sqrt_of(tensor.column_means[j]);
    }
    for (std::size_t i = 0; i < tensor.rows; ++i)
        tensor.row_means[i] = keep * tensor.row_means[i] + per_column * sweep.row_scales[i];
    float const mean = sum_of<float>(tensor.rows, tensor.row_means) / float(tensor.rows);
    for (std::size_t i = 0; i < tensor.rows; ++i) sweep.row_scales[i] = 1 / sqrt_of(tensor.row_means[i] / mean);
}

/** Multiplies the rows' factors by 1 / max(1, rms(u)). */
void clip(lane_t &lane, tensor_view_t const &tensor, update_scratch_t const &sweep) noexcept {
    lane.rows(tensor.rows, block_rows_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
        for (std::size_t row = first; row < last; ++row) {
            float const *const gradient = tensor.gradient + row * tensor.columns;
            float const scale = sweep.row_scales[row];
            sweep.row_squares[row] = scale * scale * scaled_square_sum(tensor.columns, gradient, sweep.column_scales);
        }
    });
    double const count = double(tensor.rows) * double(tensor.columns);
    double const rms = sqrt_of(double(sum_of(tensor.rows, sweep.row_squares)) / count);
    float const clipped = float(1 / std::max(1.0, rms));
    for (std::size_t i = 0; i < tensor.rows; ++i) sweep.row_scales[i] *= clipped;
}

/** Float32 masters, of norms, biases and temperatures: too few elements to be a class's. */
void update_row_f32(updated_row_t const &row, float maximum, float *master) noexcept {
    for (std::size_t j = 0; j < row.columns; ++j)
        master[j] = std::min(maximum, serial::updated_weight(row, row.gradient[j], row.column_scales[j],
                                                             row.first_moment[j], master[j]));
}

/** Rows are taken in groups that start at a multiple of a chunk of draws: one at a time where columns are one. */
struct step_t {
    kit_table_t const &kit;
    tensor_view_t const &tensor;
    update_scratch_t const &sweep;
    factors_t const &factors;
    rounding_key_t key;

    std::size_t group_rows() const noexcept { return rounding_chunk_k / std::gcd(rounding_chunk_k, tensor.columns); }
    std::size_t group_bits() const noexcept { return group_rows() * tensor.columns; }

    void group(std::size_t first, std::size_t last, std::uint16_t *bits) const noexcept {
        std::size_t const start = first * tensor.columns, count = (last - first) * tensor.columns;
        if (tensor.master_bf16)
            kit.draw_rounding(key, start / rounding_chunk_k, (count + rounding_chunk_k - 1) / rounding_chunk_k, bits);
        for (std::size_t row = first; row < last; ++row) {
            std::size_t const at = row * tensor.columns;
            updated_row_t updated;
            updated.columns = tensor.columns, updated.gradient = tensor.gradient + at;
            updated.column_scales = sweep.column_scales, updated.row_scale = sweep.row_scales[row];
            updated.first_decay = first_decay_k, updated.correction = factors.first_correction;
            updated.learning_rate = factors.learning_rate, updated.decay = tensor.decay ? weight_decay_k : 0.0f;
            updated.first_moment = tensor.first_moment + at;
            if (!tensor.master_bf16) {
                update_row_f32(updated, tensor.maximum, tensor.master_f32 + at);
                continue;
            }
            updated.draws = bits + at - start, updated.master = tensor.master_bf16 + at;
            kit.update_row(updated);
        }
    }
};

void apply(lane_t &lane, step_t const &step, std::uint16_t *const *bits_of_workers) noexcept {
    std::size_t const group_rows = step.group_rows(), block = std::max(block_rows_k, group_rows);
    std::size_t const slices = lane.width();
    std::size_t const blocks = (step.tensor.rows + block - 1) / block, per_slice = (blocks + slices - 1) / slices;
    // Slices are numbered by hand, so that each finds the draws' buffer claimed for it before anything was written.
    lane.rows(slices, 1, [&](std::size_t first_slice, std::size_t last_slice, lane_t &) noexcept {
        for (std::size_t slice = first_slice; slice < last_slice; ++slice) {
            std::size_t const end = std::min(step.tensor.rows, (slice + 1) * per_slice * block);
            for (std::size_t row = slice * per_slice * block; row < end; row += group_rows)
                step.group(row, std::min(end, row + group_rows), bits_of_workers[slice]);
        }
    });
}

} // namespace

update_scratch_t claim_update(lane_t &lane, std::span<tensor_view_t const> tensors) noexcept {
    std::size_t rows = 1, columns = 1, sums = 1, bits = rounding_chunk_k;
    for (tensor_view_t const &tensor : tensors) {
        rows = std::max(rows, tensor.rows), columns = std::max(columns, tensor.columns);
        sums = std::max(sums, (tensor.rows + block_rows_k - 1) / block_rows_k * tensor.columns);
        bits = std::max(bits, rounding_chunk_k / std::gcd(rounding_chunk_k, tensor.columns) * tensor.columns);
    }
    update_scratch_t scratch {lane.claim<float>(sums), lane.claim<float>(rows), lane.claim<float>(columns),
                              lane.claim<float>(rows), lane.claim<std::uint16_t *>(lane.width())};
    for (std::size_t worker = 0; scratch.bits_of_workers && worker < lane.width(); ++worker)
        scratch.bits_of_workers[worker] = lane.claim<std::uint16_t>(bits);
    return scratch;
}

std::size_t find_non_finite(lane_t &lane, std::span<tensor_view_t const> tensors,
                            update_scratch_t const &scratch) noexcept {
    for (std::size_t index = 0; index < tensors.size(); ++index) {
        tensor_view_t const &tensor = tensors[index];
        lane.rows(tensor.rows, block_rows_k, [&](std::size_t first, std::size_t last, lane_t &) noexcept {
            for (std::size_t row = first; row < last; ++row) {
                float const *const gradient = tensor.gradient + row * tensor.columns;
                scratch.row_squares[row] = dot(tensor.columns, gradient, gradient);
            }
        });
        // A sum of squares is not finite exactly where an element, its square or their sum is not.
        if (!(sum_of(tensor.rows, scratch.row_squares) <= std::numeric_limits<float>::max())) return index;
    }
    return no_tensor_k;
}

void adafactor(kit_table_t const &kit, lane_t &lane, std::span<tensor_view_t const> tensors, update_t const &update,
               update_scratch_t const &scratch) noexcept {
    factors_t const factors = factors_of(update);
    for (tensor_view_t const &tensor : tensors) {
        if (tensor.rows == 0 || tensor.columns == 0) continue;
        sweep_squares(lane, tensor, scratch);
        fold_means(tensor, factors, scratch);
        clip(lane, tensor, scratch);
        apply(lane, {kit, tensor, scratch, factors, {update.seed, tensor.stream, update.step}},
              scratch.bits_of_workers);
    }
}

} // namespace uform
