/**
 *  @file coding_rate.hpp
 *  @brief The coding-rate regularizer over unit rows: -weight/2 log det(I + d / (N e^2) Z^T Z), and its gradient.
 *
 *  Yu et al. 2020 (maximal coding rate reduction): rows that spread over more directions cost more nats to code, so the
 *  negated rate keeps embeddings from collapsing. With c = d / (N e^2), M = I + c Z^T Z = U^T U by Cholesky, the loss
 *  is
 *  -weight sum log U_kk and d_Z = -weight c Z M^-1, by substitution through U for 32 rows at a time. M's eigenvalues
 *  lie in [1, 1 + d / e^2], so float32 serves. Transposes are not conjugates: complex step runs through it.
 */
#pragma once
#include <algorithm>
#include <cstddef>

#include <uform/train/normalize.hpp>
#include <uform/train/products.hpp>
#include <uform/train/triangle.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

namespace cholesky {

inline constexpr std::size_t panel_k = 32; // rows factored before the rest is updated by a product
inline constexpr std::size_t sides_k = 32; // right-hand sides solved together

/** m [n, n], its upper triangle read: U in the upper triangle, the lower one left undefined. */
template <typename scalar_>
void factor(lane_t &lane, std::size_t n, scalar_ *m) noexcept {
    for (std::size_t start = 0; start < n; start += panel_k) {
        std::size_t const end = std::min(n, start + panel_k);
        for (std::size_t k = start; k < end; ++k) {
            for (std::size_t p = start; p < k; ++p) {
                scalar_ const left = m[p * n + k];
                for (std::size_t j = k; j < n; ++j) m[k * n + j] -= left * m[p * n + j];
            }
            scalar_ const inverse = scalar_(1) / sqrt_of(m[k * n + k]);
            for (std::size_t j = k; j < n; ++j) m[k * n + j] *= inverse;
        }
        triangle_rows(lane, n - end, [=](std::size_t first, std::size_t last) noexcept {
            std::size_t const i = end + first;
            scalar_ const *const panel = m + start * n + i;
            product_sum(product_t<scalar_> {
                last - first, n - i, end - start, {panel, 1, n}, panel, n, scalar_(-1), m + i * n + i, n});
        });
    }
}

/** x [n, sides], in place: x becomes M^-1 x where M = U^T U. A panel is solved row by row, the rest by products. */
template <typename scalar_>
void solve(std::size_t n, scalar_ const *u, scalar_ *x) noexcept {
    for (std::size_t start = 0; start < n; start += panel_k) {
        std::size_t const end = std::min(n, start + panel_k);
        for (std::size_t k = start; k < end; ++k) {
            scalar_ const inverse = scalar_(1) / u[k * n + k];
            scalar_ y[sides_k];
            for (std::size_t s = 0; s < sides_k; ++s) y[s] = x[k * sides_k + s] *= inverse;
            for (std::size_t j = k + 1; j < end; ++j)
                for (std::size_t s = 0; s < sides_k; ++s) x[j * sides_k + s] -= u[k * n + j] * y[s];
        }
        product_sum(product_t<scalar_> {n - end,
                                        sides_k,
                                        end - start,
                                        {u + start * n + end, 1, n},
                                        x + start * sides_k,
                                        sides_k,
                                        scalar_(-1),
                                        x + end * sides_k,
                                        sides_k});
    }
    for (std::size_t end = n; end > 0;) {
        std::size_t const start = (end - 1) / panel_k * panel_k;
        product_sum(product_t<scalar_> {end - start,
                                        sides_k,
                                        n - end,
                                        {u + start * n + end, n, 1},
                                        x + end * sides_k,
                                        sides_k,
                                        scalar_(-1),
                                        x + start * sides_k,
                                        sides_k});
        for (std::size_t k = end; k-- > start;) {
            scalar_ const inverse = scalar_(1) / u[k * n + k];
            scalar_ y[sides_k];
            for (std::size_t s = 0; s < sides_k; ++s) y[s] = x[k * sides_k + s];
            for (std::size_t j = k + 1; j < end; ++j)
                for (std::size_t s = 0; s < sides_k; ++s) y[s] -= u[k * n + j] * x[j * sides_k + s];
            for (std::size_t s = 0; s < sides_k; ++s) x[k * sides_k + s] = y[s] * inverse;
        }
        end = start;
    }
}

} // namespace cholesky

/** The upper triangle of m [hidden, hidden] = diagonal I + factor Z^T Z, z [items, hidden]; below it there are zeros. */
template <typename scalar_>
void gram(lane_t &lane, std::size_t items, std::size_t hidden, scalar_ const *z, scalar_ diagonal, scalar_ factor,
          scalar_ *m) noexcept {
    triangle_rows(lane, hidden, [=](std::size_t first, std::size_t last) noexcept {
        std::fill(m + first * hidden, m + last * hidden, scalar_(0));
        product_sum(product_t<scalar_> {last - first,
                                        hidden - first,
                                        items,
                                        {z + first, 1, hidden},
                                        z + first,
                                        hidden,
                                        factor,
                                        m + first * hidden + first,
                                        hidden});
        for (std::size_t i = first; i < last; ++i) {
            std::fill(m + i * hidden + first, m + i * hidden + i, scalar_(0));
            m[i * hidden + i] += diagonal;
        }
    });
}

template <typename scalar_>
struct coding_rate_t {
    std::size_t items = 0;
    std::size_t hidden = 0;
    scalar_ const *embeddings = nullptr; // [items, hidden], not normalized
    float weight = 0;
    float epsilon_squared = 0; // zero derives 0.5
};

/** The weighted loss, of the world's rows; its gradient is added to d_embeddings_sum [items, hidden]. */
template <typename scalar_>
scalar_ coding_rate(lane_t &lane, coding_rate_t<scalar_> const &in, scalar_ *d_embeddings_sum) noexcept {
    using namespace cholesky;
    if (in.items == 0 || in.weight == 0) return 0;
    std::size_t const items = in.items, hidden = in.hidden;
    scratch_scope_t scope(lane);
    scalar_ *const z = lane.claim<scalar_>(items * hidden), *const norms = lane.claim<scalar_>(items);
    scalar_ *const m = lane.claim<scalar_>(hidden * hidden);
    if (lane.failed()) return 0;
    real_t<scalar_> const epsilon_squared = in.epsilon_squared > 0 ? in.epsilon_squared : 0.5f;
    real_t<scalar_> const scale = real_t<scalar_>(hidden) / (real_t<scalar_>(items) * epsilon_squared);
    normalize_rows_to(items, hidden, hidden, in.embeddings, z, norms);
    gram(lane, items, hidden, z, scalar_(1), scalar_(scale), m);
    factor(lane, hidden, m);
    scalar_ rate = 0;
    for (std::size_t k = 0; k < hidden; ++k) rate += log_of(m[k * hidden + k]);

    real_t<scalar_> const push = -real_t<scalar_>(in.weight) * scale;
    lane.rows(items, sides_k, [&](std::size_t first, std::size_t last, lane_t &worker) noexcept {
        scratch_scope_t scope(worker);
        scalar_ *const sides = worker.claim<scalar_>(hidden * sides_k), *const d_z = worker.claim<scalar_>(hidden);
        if (worker.failed()) return;
        for (std::size_t row = first; row < last; row += sides_k) {
            std::size_t const count = std::min(sides_k, last - row);
            for (std::size_t k = 0; k < hidden; ++k)
                for (std::size_t s = 0; s < sides_k; ++s)
                    sides[k * sides_k + s] = s < count ? z[(row + s) * hidden + k] : scalar_(0);
            solve(hidden, m, sides);
            for (std::size_t s = 0; s < count; ++s) {
                for (std::size_t k = 0; k < hidden; ++k) d_z[k] = push * sides[k * sides_k + s];
                normalize_row_backward(hidden, z + (row + s) * hidden, norms[row + s], d_z,
                                       d_embeddings_sum + (row + s) * hidden);
            }
        }
    });
    return -real_t<scalar_>(in.weight) * rate;
}

/**
 *  How many directions the unit rows fill: (tr C)^2 / tr(C^2) of C = Z^T Z / N, the exponential of the order-2 Renyi
 *  entropy of C's eigenvalues. From 1 (collapsed) to min(items, hidden); it needs no eigenvalues, and is never above
 *  the exponential of the Shannon entropy that is also called effective rank (Roy and Vetterli 2007).
 */
template <typename scalar_>
scalar_ effective_rank(lane_t &lane, std::size_t items, std::size_t hidden, scalar_ const *embeddings) noexcept {
    scratch_scope_t scope(lane);
    scalar_ *const z = lane.claim<scalar_>(items * hidden), *const norms = lane.claim<scalar_>(items);
    scalar_ *const m = lane.claim<scalar_>(hidden * hidden);
    if (items == 0 || lane.failed()) return 0;
    normalize_rows_to(items, hidden, hidden, embeddings, z, norms);
    gram(lane, items, hidden, z, scalar_(0), scalar_(1) / scalar_(items), m);
    scalar_ trace = 0, diagonal = 0;
    for (std::size_t k = 0; k < hidden; ++k)
        trace += m[k * hidden + k], diagonal += m[k * hidden + k] * m[k * hidden + k];
    scalar_ const squares = scalar_(2) * dot(hidden * hidden, m, m) - diagonal; // of both triangles
    return squares == scalar_(0) ? scalar_(0) : trace * trace / squares;
}

} // namespace uform
