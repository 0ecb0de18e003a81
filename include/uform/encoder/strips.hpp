/**
 *  @file strips.hpp
 *  @brief A chunk's items in strips, so that what a strip computes is still in the second-level cache where it is read.
 */
#pragma once
#include <uform/encoder/geometry.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** Tokens of a chunk that go forward together, for each thread of the lane: a chunk is cut for gradients of weights, which
 *  want many rows, and what it computes overflows a core's caches between one operation and the next. */
inline constexpr std::size_t strip_tokens_k = 256;

/** Calls `body(items, first_token)` for consecutive whole items of at most `tokens` together, or for a longer one alone;
 *  offsets of each strip start at zero. */
template <typename body_>
void for_each_strip(lane_t &lane, items_t items, std::size_t tokens, body_ const &body) noexcept {
    if (items.tokens() <= tokens) return body(items, std::size_t(0));
    scratch_scope_t scope(lane);
    std::uint32_t *const offsets = lane.claim<std::uint32_t>(items.count() + 1);
    for (std::size_t first = 0, last; offsets && first < items.count(); first = last) {
        std::size_t const begin = items.offsets[first];
        for (last = first + 1; last < items.count() && items.offsets[last + 1] - begin <= tokens;) ++last;
        for (std::size_t i = first; i <= last; ++i) offsets[i - first] = items.offsets[i] - std::uint32_t(begin);
        body(items_t {{offsets, last - first + 1}}, begin);
    }
}

} // namespace uform
