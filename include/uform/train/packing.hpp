/**
 *  @file packing.hpp
 *  @brief Which items a step trains on: first-fit decreasing into rows of a fixed number of tokens.
 *
 *  Items go whole into rows, longest first, ties by index (Johnson 1974). One longer than a row is cut to it; one that
 *  finds no room is dropped alone, its bag's other items staying. Bags beyond the limit, in the order of their first
 *  mention, are dropped whole. This executor is one device, so bags are together by themselves. An item without tokens
 *  takes one, its PAD. Nothing here sees the items' bytes.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/utilities/lane.hpp>

namespace uform {

struct packing_limits_t {
    std::size_t max_rows = 0;
    std::size_t max_columns_per_row = 0;
    std::size_t max_segments = 0;
    std::size_t max_bags = 0; // zero: every item is its own, and bags are not counted
};

inline constexpr std::uint32_t no_row_k = UINT32_MAX;

/** Where one item went: `tokens` is its length after the cut, `row` is `no_row_k` for one dropped. */
struct placement_t {
    std::uint32_t item;
    std::uint32_t row;
    std::uint32_t column; // of its first token
    std::uint32_t tokens;
};

struct packing_t {
    std::size_t placed = 0; // the first of the placements; the dropped follow
    std::size_t rows = 0;   // rows in use
    std::size_t tokens = 0; // of all placed items
    std::size_t truncated = 0;
    std::size_t dropped = 0;
};

/**
 *  lengths [items] in tokens; bags [items] or empty. placements [items] is set, by row, then by column, the dropped
 *  last.
 */
packing_t pack_items(lane_t &lane, packing_limits_t const &limits, std::span<std::uint32_t const> lengths,
                     std::span<std::uint32_t const> bags, placement_t *placements) noexcept;

} // namespace uform
