/**
 *  @file tensors.hpp
 *  @brief A model's tensors as pointers, one field per tensor: masters, gradients and the checkpoint share the shape.
 *
 *  `encoder/weights.hpp` says what the tensors are called and how large they are; this says where they lie. Masters
 *  point to narrow matrices and wide norm scales, gradients to wide sums of both.
 */
#pragma once
#include <cstddef>

#include <uform/encoder/weights.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/scalar.hpp>

namespace uform {

template <typename matrix_, typename scale_>
struct block_tensors_t {
    scale_ attention_norm; // [hidden]
    matrix_ qkv;           // [3 hidden, hidden]: q heads, k heads, v heads
    matrix_ output;        // [hidden, hidden]
    scale_ mlp_norm;       // [hidden]
    matrix_ gate;          // [inner, hidden]
    matrix_ up;            // [inner, hidden]
    matrix_ down;          // [hidden, inner]
};

/** Of one medium, null where the model has no such entry, or no such head. */
template <typename matrix_>
struct media_tensors_t {
    matrix_ projection {};                   // [hidden, token values]
    matrix_ bias {}, mask {};                // [hidden]
    matrix_ reconstruction {};               // [token values, hidden]
    matrix_ reconstruction_bias {};          // [token values]
};

template <typename matrix_, typename scale_>
struct tower_tensors_t {
    matrix_ embedding {};                              // [258, hidden]
    media_tensors_t<matrix_> media[media_k];
    buffer_t<block_tensors_t<matrix_, scale_>> blocks; // [depth]
    scale_ norm {};                                    // [hidden]
    matrix_ pool_query {};                             // [hidden]
    matrix_ pool_hidden {}, pool_output {};            // [hidden, hidden]
    matrix_ tokens_projection {};                      // [token_width, hidden], null where there is no token head
    matrix_ decoder_weight {}, decoder_bias {};        // [256, hidden], [256], null where there is no decoder
};

template <typename wide_>
using masters_t = tower_tensors_t<narrow_t<wide_> const *, wide_ const *>;

} // namespace uform
