/**
 *  @file lipschitz.hpp
 *  @brief The Lipschitz regularizer: weight v^T Z^T Z v over unit rows, v their leading direction.
 *
 *  After spectral norm regularization (Yoshida and Miyato 2017): v is the unit vector of a few power-iteration steps on
 *  Z^T Z from a keyed normal start, and is held constant in the backward, where d_z_i = 2 weight (z_i . v) v. It runs
 *  over the world's rows, so it does not depend on how many processes there are.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <uform/train/normalize.hpp>
#include <uform/train/streams.hpp>
#include <uform/utilities/lane.hpp>
#include <uform/utilities/random.hpp>

namespace uform {

template <typename scalar_>
struct lipschitz_t {
    std::size_t items = 0;
    std::size_t hidden = 0;
    scalar_ const *embeddings = nullptr; // [items, hidden], not normalized
    float weight = 0;
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    std::size_t iterations = 4; // of the power method
};

namespace power {

/** direction [hidden] becomes Z^T Z direction over its norm; false where that is zero. */
template <typename real_>
bool iterate(std::size_t items, std::size_t hidden, real_ const *z, real_ *direction, real_ *gathered) noexcept {
    for (std::size_t k = 0; k < hidden; ++k) gathered[k] = 0;
    std::size_t i = 0;
    for (; i + 4 <= items; i += 4) { // once through Z, which is what an iteration costs
        real_ along[4];
        real_ const *const row = z + i * hidden;
        dot_four(hidden, row, hidden, direction, 0, along);
        for (std::size_t k = 0; k < hidden; ++k) // in the order of the rows
            gathered[k] = gathered[k] + along[0] * row[k] + along[1] * row[hidden + k] +
                          along[2] * row[2 * hidden + k] + along[3] * row[3 * hidden + k];
    }
    for (; i < items; ++i) {
        real_ const along = dot(hidden, z + i * hidden, direction);
        for (std::size_t k = 0; k < hidden; ++k) gathered[k] += along * z[i * hidden + k];
    }
    real_ const inverse = inverse_norm_of(hidden, gathered);
    for (std::size_t k = 0; k < hidden; ++k) direction[k] = gathered[k] * inverse;
    return inverse != 0;
}

/** Z's real part, which the direction is of: Z itself where it is real. */
inline float const *real_rows(lane_t &, std::size_t, float const *z) noexcept { return z; }
inline double const *real_rows(lane_t &, std::size_t, double const *z) noexcept { return z; }
inline double const *real_rows(lane_t &lane, std::size_t count, std::complex<double> const *z) noexcept {
    double *const rows = lane.claim<double>(count);
    for (std::size_t i = 0; rows && i < count; ++i) rows[i] = z[i].real();
    return rows;
}

} // namespace power

/** The weighted loss; its gradient is added to d_embeddings_sum [items, hidden]. */
template <typename scalar_>
scalar_ lipschitz(lane_t &lane, lipschitz_t<scalar_> const &in, scalar_ *d_embeddings_sum) noexcept {
    using real = real_t<scalar_>;
    if (in.items == 0 || in.weight == 0) return 0;
    std::size_t const items = in.items, hidden = in.hidden;
    scratch_scope_t scope(lane);
    scalar_ *const z = lane.claim<scalar_>(items * hidden), *const norms = lane.claim<scalar_>(items);
    scalar_ *const scores = lane.claim<scalar_>(items); // z_i . v
    real *const direction = lane.claim<real>(hidden), *const gathered = lane.claim<real>(hidden);
    if (lane.failed()) return 0;
    normalize_rows_to(items, hidden, hidden, in.embeddings, z, norms);
    real const *const rows = power::real_rows(lane, items * hidden, z);
    if (lane.failed()) return 0;
    keyed_t const keyed(in.seed, streams::lipschitz_k, in.step);
    for (std::size_t k = 0; k < hidden; k += 4) { // which come together, and cost as much as an iteration one by one
        auto const normals = keyed.normals(k / 4);
        for (std::size_t i = k; i < std::min(hidden, k + 4); ++i) direction[i] = real(normals[i - k]);
    }
    for (std::size_t i = 0; i < in.iterations; ++i)
        if (!power::iterate(items, hidden, rows, direction, gathered)) return 0;

    dot_rows(items, hidden, z, hidden, direction, 0, scores);
    scalar_ loss = 0;
    for (std::size_t i = 0; i < items; ++i) {
        scalar_ const score = scores[i];
        loss += score * score;
        // d_z is 2 weight score v, and along z it is 2 weight score^2: `normalize_row_backward` without its product.
        scalar_ const push = real(2 * in.weight) * score * norms[i];
        for (std::size_t k = 0; k < hidden; ++k)
            d_embeddings_sum[i * hidden + k] += push * (direction[k] - score * z[i * hidden + k]);
    }
    return real(in.weight) * loss;
}

} // namespace uform
