/**
 *  @file growth.hpp
 *  @brief A larger model that computes what a smaller one does: more blocks, or a wider residual stream.
 *
 *  Net2Net (Chen, Goodfellow, Shlens: "Net2Net: Accelerating learning via knowledge transfer", ICLR 2016) for this
 *  model, as pure functions on tensors; they know neither files nor the engine. growth_probe.hpp measures what
 *  they promise.
 */
#pragma once
#include <cstddef>

#include "support/tensor_file.hpp"

namespace uform::tools {

/**
 *  Adds identity blocks until there are `depth`, which is above the file's and at most twice it. They follow blocks
 *  spread evenly over the tower, each the copy of the block it follows with `attention.output` and `mlp.down` zero: it
 *  adds nothing, to the bit, and its outputs have gradients from the first step, the rest of it from the second.
 */
tensor_file_t deepened(tensor_file_t const &file, std::size_t depth);

/**
 *  Widens to `hidden` columns, a multiple of 128 above the file's width d and at most twice it. The first `hidden - d`
 *  attention heads' columns, inner columns of the MLP and of the pool are there twice. What reads a column that is there
 *  twice shares its weight W between the copies as W/2 + N and W/2 - N, with N drawn for each element of each row, up to
 *  W/8: the two add up to W exactly, also in BFloat16, and copies get different gradients, so that training parts them.
 *
 *      hidden = 2 d    the residual stream is [x, x], and everything that writes or reads it repeats or shares likewise
 *      hidden < 2 d    the residual stream is [x, 0], and scales of an rmsnorm shrink by sqrt(d / hidden), since zeros
 *                      lower the mean of squares; what reads the zeros are weights of other columns with drawn signs,
 *                      so that their writers, zero as well, have gradients from the first step
 *
 *  A third way, x in some columns once and in others twice, needs factors of sqrt(2) in weights, which BFloat16 rounds:
 *  256 to 384 columns then missed the cosine of 0.9999 on a trained model. Either way the first d columns of an
 *  embedding point where they did, and cosines between whole embeddings are what they were. The epsilon of an rmsnorm
 *  counts hidden / d as much beside zeros: 1e-6 beside a mean of squares near 1.
 */
tensor_file_t widened(tensor_file_t const &file, std::size_t hidden);

} // namespace uform::tools
