/**
 *  @file kit.hpp
 *  @brief The kit: the operations a tower is written in, and the table one CPU class fills with its kernels.
 *
 *  A kit is any type with `wide_t`, `narrow_t` and the operations below. `serial::kit<scalar>` is plain loops over any
 *  field; `kit_table_t` is function pointers, one table per CPU class, each starting as a copy of serial's.
 *
 *  Rules every operation keeps, in every class:
 *  - the lane comes first; work may be split over rows, items, heads or outputs, never over what is summed;
 *  - the order of a sum depends on the row's own item alone, not on the rows beside it (gradients of weights excepted:
 *    they are sums over the batch, in the batch's order);
 *  - narrow values are rounded to nearest even once, when stored; every sum is wide;
 *  - outputs are set; a buffer whose name ends in `_sum` is added to, a `weight_sum_t` where it continues. Outputs do not
 *    alias inputs unless said.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include <uform/encoder/geometry.hpp>
#include <uform/utilities/lane.hpp>
#include <uform/utilities/rounding.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

/**
 *  Rows of a root mean square beyond 2^57 are normalized, but their backward would multiply numbers that float does not
 *  hold: it answers NaN, which refuses the training step, instead of a gradient that lacks terms.
 */
inline constexpr float least_inverse_rms_k = 0x1p-57f;
inline constexpr float no_gradient_k = std::numeric_limits<float>::quiet_NaN();

/**
 *  A weight matrix in the order its kit reads it. `data` holds `pack_bytes(outputs, inputs, scalar)` bytes, 64-byte
 *  aligned. A product with E4M3 weights rounds its left operand to E4M3 as well, from the BFloat16 it is stored as, unless
 *  the weights ask for it as it is.
 */
struct packed_t {
    void *data = nullptr;
    std::size_t outputs = 0;                     // columns of the product
    std::size_t inputs = 0;                      // depth of the product
    uform_scalar_t scalar = uform_scalar_bf16_k; // what it is stored as: bf16, e4m3, or f32 for `max_products_wide`
    bool keeps_left = false;                     // of E4M3 weights: rows that meet them stay BFloat16

    bool is_e4m3() const noexcept { return scalar == uform_scalar_e4m3_k; }
    bool rounds_left() const noexcept { return is_e4m3() && !keeps_left; }
};

/** One direction of rotation per call: the backward of a rotation is the rotation by the opposite angle. */
enum class rotation_t { forward_k, backward_k };

template <typename wide_>
struct attention_backward_t {
    narrow_t<wide_> const *qkv;        // [tokens, 3 hidden], q and k already rotated
    narrow_t<wide_> const *attended;   // [tokens, hidden], what the forward answered
    wide_ const *lse;                  // [tokens, heads]
    narrow_t<wide_> const *d_attended; // [tokens, hidden]
    narrow_t<wide_> *d_qkv;            // [tokens, 3 hidden], set
};

template <typename wide_>
struct rmsnorm_backward_t {
    wide_ const *x;             // [rows, columns]
    wide_ const *scale;         // [columns]
    wide_ const *inverse_rms;   // [rows]
    narrow_t<wide_> const *d_y; // [rows, columns]
    wide_ *d_x_sum;             // [rows, columns]
    wide_ *d_scale_sum;         // [columns]
};

template <typename wide_>
struct pool_backward_t {
    narrow_t<wide_> const *states; // [tokens, hidden]
    wide_ const *query;            // [hidden]
    wide_ const *attention;        // [tokens, heads]: the weights alpha the forward answered
    wide_ const *d_pooled;         // [items, hidden]
    wide_ *d_states_sum;           // [tokens, hidden]
    wide_ *d_query_sum;            // [hidden]
};

/** Where the gradient of a weight gathers: added to what lies there or, where nothing was gathered yet, set. */
template <typename wide_>
struct weight_sum_t {
    wide_ *data; // [outputs, inputs]
    bool continues;

    weight_sum_t(wide_ *sum, bool is_continued = true) noexcept : data(sum), continues(is_continued) {}
};

/** Rows of a table, each times a factor of its own, that are added to one row. */
template <typename wide_>
struct gather_rows_t {
    std::size_t count;
    std::uint32_t const *rows; // [count] of x, any of them again
    wide_ const *factors;      // [count]
    narrow_t<wide_> const *x;  // [any, columns]
    wide_ *y_sum;              // [columns]
};

/** Answers to choose from: item i has choices `[offsets[i], offsets[i + 1])`. */
template <typename wide_>
struct choices_softmax_t {
    items_t items;
    std::uint8_t const *choices; // the byte each choice stands for
    wide_ const *logits;         // [items, 256]
    wide_ const *scales;         // [items]: inverse temperatures
    wide_ *probabilities;        // one per choice, set
};

/** A row of BFloat16 masters that Adafactor updates, m and u as in train/optimizer.hpp; it may be of any length. */
struct updated_row_t {
    std::size_t columns = 0;
    float const *gradient = nullptr;      // [columns]
    float const *column_scales = nullptr; // [columns]: with the row's, what makes u of the gradient
    float row_scale = 1;
    float first_decay = 0;                // of m
    float correction = 1;                 // of m, for its age
    float learning_rate = 0, decay = 0;   // of the weights
    std::uint16_t const *draws = nullptr; // [columns]
    float *first_moment = nullptr;        // [columns]
    bf16_t *master = nullptr;             // [columns]
};

/**
 *  Kernels of one CPU class. Products are `y[rows, outputs] = a[rows, inputs] * w[outputs, inputs]^T`.
 *  The formulas are those of the model's definition (docs/DESIGN.md); `head` counts 64-wide slices of `hidden`.
 */
struct kit_table_t {
    using wide_t = float;
    using narrow_t = bf16_t;
    using wide = float const *;    // an input
    using narrow = bf16_t const *; // an input

    char const *name;

    // Weights. `pack` takes `count` rows of a row-major [outputs, inputs] matrix, from row `first` on, where `first`
    // and `count` are multiples of 64 or end at `outputs`, and rounds them to the target's scalar. `pack_transposed`
    // packs all of it for `a[rows, outputs] * w`: the target is bf16 and has `outputs` and `inputs` exchanged.
    std::size_t (*pack_bytes)(std::size_t outputs, std::size_t inputs, uform_scalar_t scalar) noexcept;
    void (*pack)(narrow source, std::size_t first, std::size_t count, packed_t target) noexcept;
    void (*pack_transposed)(narrow source, packed_t target) noexcept;

    // Products. `addend` [rows, outputs] may be null and may be `y`.
    void (*gemm)(lane_t &, std::size_t rows, narrow a, packed_t w, bf16_t *y) noexcept;
    void (*gemm_wide)(lane_t &, std::size_t rows, narrow a, packed_t w, wide addend, float *y) noexcept;
    // d_w_sum[outputs, inputs] += d_y[rows, outputs]^T * a[rows, inputs]; the same bits set as added to zeros
    void (*gemm_backward_weight)(lane_t &, std::size_t rows, std::size_t outputs, std::size_t inputs, narrow d_y,
                                 narrow a, weight_sum_t<float> d_w_sum) noexcept;

    // y = x / rms(x) * scale, epsilon 1e-6; inverse_rms [rows] is kept for the backward.
    void (*rmsnorm)(lane_t &, std::size_t rows, std::size_t columns, wide x, wide scale, bf16_t *y,
                    float *inverse_rms) noexcept;
    void (*rmsnorm_backward)(lane_t &, std::size_t rows, std::size_t columns,
                             rmsnorm_backward_t<float> const &) noexcept;

    // Turns the q and k thirds of qkv [tokens, 3 hidden] in place; rotary [tokens, 64] holds 32 cosines, then 32 sines.
    void (*rope)(lane_t &, std::size_t tokens, std::size_t heads, wide rotary, rotation_t, bf16_t *qkv) noexcept;

    // Ragged bidirectional attention within each item: softmax(q k^T / 8) v; lse [tokens, heads] is the natural-log
    // sum of exponentials of the scaled scores.
    void (*attention)(lane_t &, items_t, std::size_t heads, narrow qkv, bf16_t *attended, float *lse) noexcept;
    void (*attention_backward)(lane_t &, items_t, std::size_t heads, attention_backward_t<float> const &) noexcept;

    // gate_up [rows, 2 inner]: gate, then up. y [rows, inner] = silu(gate) * up.
    void (*swiglu)(lane_t &, std::size_t rows, std::size_t inner, narrow gate_up, bf16_t *y) noexcept;
    void (*swiglu_backward)(lane_t &, std::size_t rows, std::size_t inner, narrow gate_up, narrow d_y,
                            bf16_t *d_gate_up) noexcept;
    void (*silu)(lane_t &, std::size_t count, narrow x, bf16_t *y) noexcept;
    void (*silu_backward)(lane_t &, std::size_t count, narrow x, narrow d_y, bf16_t *d_x) noexcept;

    // x[t] = table[ids[t]]; the table is [258, hidden]. The sum walks tokens in order.
    void (*gather_bytes)(lane_t &, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, narrow table,
                         float *x) noexcept;
    void (*scatter_bytes_sum)(lane_t &, std::size_t tokens, std::size_t hidden, std::uint16_t const *ids, wide d_x,
                              float *d_table_sum) noexcept;

    // y_sum += factors[i] * x[rows[i]], in the order of i.
    void (*gather_rows_sum)(lane_t &, std::size_t columns, gather_rows_t<float> const &) noexcept;

    // Per head and item: alpha = softmax over tokens of (query_h . s_h / 8), pooled_h = sum of alpha s_h.
    void (*pool)(lane_t &, items_t, std::size_t heads, narrow states, wide query, float *attention,
                 float *pooled) noexcept;
    void (*pool_backward)(lane_t &, items_t, std::size_t heads, pool_backward_t<float> const &) noexcept;

    // y = x / |x|; a row of zeros stays zeros. Strides count elements. inverse_norm [rows] is kept for the backward.
    void (*normalize_rows)(lane_t &, std::size_t rows, std::size_t columns, std::size_t stride, wide x, float *y,
                           float *inverse_norm) noexcept;

    // Late interaction (Khattab and Zaharia, arXiv:2004.12832): largest[c] is the largest inner product of query row c
    // with any of `rows` rows that start `stride` elements apart; NaN where a product is not finite. The query is packed
    // as [tokens, width] weights are: by `pack`, or as f32 by `pack_wide`.
    void (*pack_wide)(wide source, packed_t target) noexcept;
    void (*max_products)(lane_t &, std::size_t rows, std::size_t stride, narrow a, packed_t query,
                         float *largest) noexcept;
    void (*max_products_wide)(lane_t &, std::size_t rows, std::size_t stride, wide a, packed_t query,
                              float *largest) noexcept;
    // The same for training, of at most 65536 rows that lie dense: winners[c] is the first row whose product with query
    // row c is `largest[c]`. NaN never wins; where nothing is above -infinity, that is the answer, and row zero.
    void (*winning_products)(lane_t &, std::size_t rows, narrow a, packed_t query, float *largest,
                             std::uint16_t *winners) noexcept;

    // Per item: softmax over its choices of scale * logit; an item may have none.
    void (*choices_softmax)(lane_t &, choices_softmax_t<float> const &) noexcept;

    // The optimizer's, on the thread that calls, in the same bits in every class: draws of elements from
    // [64 first_chunk, 64 (first_chunk + chunks)), as utilities/rounding.hpp deals them; and a row's update.
    void (*draw_rounding)(rounding_key_t const &, std::uint64_t first_chunk, std::size_t chunks,
                          std::uint16_t *draws) noexcept;
    void (*update_row)(updated_row_t const &) noexcept;

    void (*cast_rows)(lane_t &, std::size_t count, wide x, bf16_t *y) noexcept;
    void (*widen_f16)(lane_t &, std::size_t count, std::uint16_t const *x, float *y) noexcept; // exact
};

/** The table of `class_`, or null where this build has no kernels for it. Whether the machine runs it is another
 *  question. */
kit_table_t const *kit_of(uform_cpu_class_t class_) noexcept;
inline bool has_kernels(uform_cpu_class_t class_) noexcept { return kit_of(class_) != nullptr; }

} // namespace uform
