/**
 *  @file boxes.cpp
 *  @brief Whether an MP4 or a WebM is all there, which demuxers do not ask: they play what there is.
 *
 *  Both formats are a row of parts that tell their length: an MP4 a length of four or eight bytes and a name of four; a
 *  WebM a name and a length of as many bytes as there are zeros in front of their first one bit, and one. Each of the
 *  outermost parts must end within the file, and within a WebM's segment and its clusters, where demuxers search for the
 *  next part that makes sense, each of theirs. A part that was written before its length was known tells none: an MP4's
 *  goes to the end of the file, a WebM's to where its parent's next begins, so its children are looked at in its place.
 */
#include "boxes.hpp"

#include <bit>

#include "bytes.hpp"

namespace uform {
namespace {

constexpr std::uint64_t segment_k = 0x18538067, cluster_k = 0x1f43b675;

/** Bytes of the number that starts with this one; above eight where none does. */
std::size_t length_of_number(std::uint8_t first) noexcept { return std::size_t(std::countl_zero(first)) + 1; }

/** One part of a WebM: what it is, and where its content begins and ends; `none_k` where it tells no length. */
struct element_t {
    static constexpr std::size_t none_k = SIZE_MAX;
    std::uint64_t name = 0;
    std::size_t content = 0, end = 0;
};
/** Reads the part at `at`, of which no byte may lie beyond `end`. */
bool read_element(file_t file, std::size_t at, std::size_t end, element_t &element) noexcept {
    file_t const parent = file.first(end);
    std::size_t const name_length = length_of_number(parent[at]);
    if (name_length > 4 || !has(parent, at, name_length + 1)) return false;
    element.name = number(parent, at, name_length);
    at += name_length;
    std::size_t const digits = length_of_number(parent[at]);
    if (digits > 8 || !has(parent, at, digits)) return false;
    std::uint64_t const mask = (std::uint64_t(1) << (7 * digits)) - 1, length = number(parent, at, digits) & mask;
    element.content = at + digits;
    element.end = length == mask ? element_t::none_k : element.content + std::size_t(length);
    return length == mask || length <= end - element.content;
}

} // namespace

bool are_boxes_whole(file_t file, stop_t stop) noexcept {
    steps_t steps(stop);
    for (std::size_t at = 0; at < file.size();) {
        if (steps.stopped() || !has(file, at, 8)) return false;
        std::uint64_t length = number(file, at, 4);
        bool const is_long = length == 1;
        if (length == 0) return true;
        if (is_long && !has(file, at, 16)) return false;
        if (is_long) length = number(file, at + 8, 8);
        if (length < (is_long ? 16 : 8) || length > file.size() - at) return false;
        at += length;
    }
    return true;
}

bool are_elements_whole(file_t file, stop_t stop) noexcept {
    steps_t steps(stop);
    constexpr std::size_t depth_k = 3;                    // the file, its segment, a cluster
    std::size_t ends[depth_k] = {file.size()}, depth = 0; // of the parts that are being walked
    for (std::size_t at = 0;;) {
        while (at == ends[depth] && depth > 0) --depth;
        if (at == file.size()) return true;
        if (steps.stopped()) return false;
        element_t element;
        if (at >= ends[depth] || !read_element(file, at, ends[depth], element)) return false;
        bool const is_parent = element.name == segment_k || element.name == cluster_k;
        bool const is_told = element.end != element_t::none_k;
        if (!is_parent && !is_told) return false;
        at = is_parent ? element.content : element.end;
        if (!is_parent || !is_told) continue; // the children of what tells no length count as its parent's
        if (++depth == depth_k) return false;
        ends[depth] = element.end;
    }
}

} // namespace uform
