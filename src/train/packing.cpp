/**
 *  @file packing.cpp
 *  @brief First-fit decreasing, in the caller's array and a little scratch.
 */
#include <uform/train/packing.hpp>

#include <algorithm>

namespace uform {
namespace {

/** Drops the items of every bag beyond the first `max_bags` in order of first mention. */
bool drop_bags(lane_t &lane, std::size_t max_bags, std::span<std::uint32_t const> bags, bool *dropped) noexcept {
    scratch_scope_t scope(lane);
    std::uint32_t *const order = lane.claim<std::uint32_t>(bags.size());
    std::uint32_t *const firsts = lane.claim<std::uint32_t>(bags.size());
    if (lane.failed()) return false;
    for (std::uint32_t item = 0; item < bags.size(); ++item) order[item] = item;
    std::sort(order, order + bags.size(),
              [&](std::uint32_t a, std::uint32_t b) { return bags[a] != bags[b] ? bags[a] < bags[b] : a < b; });
    std::size_t count = 0;
    for (std::size_t i = 0; i < bags.size(); ++i)
        if (i == 0 || bags[order[i]] != bags[order[i - 1]]) firsts[count++] = order[i];
    if (count <= max_bags) return true;
    std::sort(firsts, firsts + count);
    std::uint32_t const limit = firsts[max_bags]; // the first mention of the first bag too many
    for (std::size_t i = 0, bag_first = 0; i < bags.size(); ++i) {
        if (i == 0 || bags[order[i]] != bags[order[i - 1]]) bag_first = order[i];
        dropped[order[i]] = bag_first >= limit;
    }
    return true;
}

} // namespace

packing_t pack_items(lane_t &lane, packing_limits_t const &limits, std::span<std::uint32_t const> lengths,
                     std::span<std::uint32_t const> bags, placement_t *placements) noexcept {
    packing_t packing;
    scratch_scope_t scope(lane);
    std::size_t const items = lengths.size(), columns = limits.max_columns_per_row;
    std::size_t const rows_limit = std::min(limits.max_rows, items); // no item opens two, whatever the caller allows
    std::uint32_t *const used = lane.claim<std::uint32_t>(rows_limit);
    bool *const dropped = lane.claim<bool>(items);
    if (lane.failed()) return packing;
    std::fill_n(dropped, items, false);
    if (limits.max_bags && !bags.empty() && !drop_bags(lane, limits.max_bags, bags, dropped)) return packing;

    for (std::size_t i = 0; i < items; ++i) {
        std::size_t const tokens = std::min<std::size_t>(std::max<std::uint32_t>(lengths[i], 1), columns);
        placements[i] = {std::uint32_t(i), no_row_k, 0, std::uint32_t(tokens)};
    }
    std::sort(placements, placements + items, [](placement_t const &a, placement_t const &b) {
        return a.tokens != b.tokens ? a.tokens > b.tokens : a.item < b.item;
    });
    for (std::size_t i = 0; i < items; ++i) {
        placement_t &placement = placements[i];
        if (dropped[placement.item] || packing.placed == limits.max_segments || columns == 0) continue;
        std::size_t row = 0;
        while (row < packing.rows && used[row] + placement.tokens > columns) ++row;
        if (row == rows_limit) continue;
        if (row == packing.rows) used[packing.rows++] = 0;
        placement.row = std::uint32_t(row), placement.column = used[row];
        used[row] += placement.tokens;
        packing.placed += 1, packing.tokens += placement.tokens, packing.truncated += lengths[placement.item] > columns;
    }
    packing.dropped = items - packing.placed;
    std::sort(placements, placements + items, [](placement_t const &a, placement_t const &b) {
        if (a.row != b.row) return a.row < b.row;
        return a.column != b.column ? a.column < b.column : a.item < b.item;
    });
    return packing;
}

} // namespace uform
