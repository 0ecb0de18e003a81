/**
 *  @file reconstruction.hpp
 *  @brief Masked media: the squared error of reconstructed patches, tubes and frames, with its gradient.
 *
 *  The target is a token's values less their mean, over the root of their variance and 1e-6 (He et al. 2022, section
 *  4): whoever answers zeros errs by one, on anything but a token of one value, which is a target of zeros. Rows are
 *  independent and run in parallel; their losses are added in order. No masked token is a loss of zero.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/train/decoder_head.hpp>
#include <uform/train/normalize.hpp>

namespace uform {

inline constexpr double reconstruction_epsilon_k = 1e-6; // beside the variance

template <typename wide_>
struct reconstruction_t {
    std::size_t positions = 0, values = 0;
    std::uint32_t const *rows = nullptr;      // [positions], of the targets
    narrow_t<wide_> const *targets = nullptr; // [any, values], as they would have entered
    real_t<wide_> scale = 1;                  // of the gradient: the medium's weight over the world's masked tokens
};

/** Values less their mean, over their deviation; target [values]. */
template <typename wide_>
void normalize_target(std::size_t values, narrow_t<wide_> const *source, wide_ *target) noexcept {
    wide_ const count = wide_(real_t<wide_>(values));
    for (std::size_t i = 0; i < values; ++i) target[i] = widen(source[i]);
    wide_ const mean = sum_of(values, target) / count;
    for (std::size_t i = 0; i < values; ++i) target[i] -= mean;
    wide_ const variance = dot(values, target, target) / count;
    wide_ const inverse = wide_(1) / sqrt_of(variance + wide_(real_t<wide_>(reconstruction_epsilon_k)));
    for (std::size_t i = 0; i < values; ++i) target[i] *= inverse;
}

/**
 *  The sum over positions of their mean squared errors, not scaled; predictions [positions, values] become `scale`
 *  times its gradient.
 */
template <typename wide_>
wide_ reconstruct(lane_t &lane, reconstruction_t<wide_> const &in, wide_ *predictions) noexcept {
    if (in.positions == 0) return wide_(0);
    scratch_scope_t scope(lane);
    wide_ *const losses = lane.claim<wide_>(in.positions);
    if (lane.failed()) return wide_(0);
    wide_ const count = wide_(real_t<wide_>(in.values)), slope = wide_(2 * in.scale) / count;
    lane.rows(in.positions, 1, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
        scratch_scope_t scope(worker);
        wide_ *const target = worker.claim<wide_>(in.values);
        if (!target) return;
        for (std::size_t row = first; row < last; ++row) {
            wide_ *const errors = predictions + row * in.values;
            normalize_target(in.values, in.targets + in.rows[row] * in.values, target);
            for (std::size_t i = 0; i < in.values; ++i) errors[i] -= target[i];
            losses[row] = dot(in.values, errors, errors) / count;
            for (std::size_t i = 0; i < in.values; ++i) errors[i] *= slope;
        }
    });
    return lane.failed() ? wide_(0) : sum_of(in.positions, losses);
}

/** The same from states: adds to the head's gradients and to d_states_sum [tokens of the chunk, hidden]. */
template <typename kit_, typename wide_ = typename kit_::wide_t>
wide_ reconstruction_head(kit_ const &kit, lane_t &lane, decoder_weights_t<wide_> const &weights,
                          decoder_gradients_t<wide_> const &gradients, decoded_t<wide_> const &decoded,
                          reconstruction_t<wide_> const &reconstruction, wide_ *d_states_sum) noexcept {
    auto const loss = [&](wide_ *predictions) noexcept { return reconstruct(lane, reconstruction, predictions); };
    return decoder_head(kit, lane, weights, gradients, decoded, loss, d_states_sum);
}

} // namespace uform
