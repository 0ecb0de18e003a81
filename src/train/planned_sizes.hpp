/**
 *  @file planned_sizes.hpp
 *  @brief What processes tell each other of their plans of one step: the places of `statement_t::sizes`.
 */
#pragma once
#include <cstddef>

#include <uform/mesh/mesh.hpp>

#include "train/step.hpp"

namespace uform {

enum planned_size_t : std::size_t {
    kept_size_k,
    tokens_size_k,
    covered_size_k,
    truncated_size_k,
    dropped_size_k,
    words_size_k,
    chosen_size_k,
    read_size_k,
    covered_media_size_k // of the first medium, and so on
};
static_assert(covered_media_size_k + media_k <= statement_t::sizes_k);

} // namespace uform
