/**
 *  @file boxes.cpp
 *  @brief Whether an MP4's boxes or a WebM's elements are all there, which demuxers do not ask: they play what there is.
 *
 *  Both formats are a row of parts that tell their length: an MP4 a length of four or eight bytes and a name of four; a
 *  WebM an identity and a length of so many bytes as the zeros before their first one bit, and one. Of the outermost
 *  parts each must end within the file. A part that was written before its length was known has none: an MP4's goes to
 *  the end of the file, a WebM's ends where its parent's next begins, so that its children are looked at in its place.
 */
#include "boxes.hpp"

#include <bit>

namespace uform {
namespace {

constexpr std::uint64_t ebml_k = 0x1a45dfa3, segment_k = 0x18538067, cluster_k = 0x1f43b675;

/** An unsigned number, its first byte highest; the bytes are there. */
std::uint64_t number(file_t file, std::size_t at, std::size_t count) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | file[at + i];
    return value;
}
bool has(file_t file, std::size_t at, std::size_t count) noexcept {
    return at <= file.size() && count <= file.size() - at;
}

bool is_whole_mp4(file_t file) noexcept {
    for (std::size_t at = 0; at < file.size();) {
        if (!has(file, at, 8)) return false;
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

/** Bytes of the number that starts with this one; above eight where none does. */
std::size_t length_of_number(std::uint8_t first) noexcept { return std::size_t(std::countl_zero(first)) + 1; }

bool is_whole_webm(file_t file) noexcept {
    for (std::size_t at = 0; at < file.size();) {
        std::size_t const name_length = length_of_number(file[at]);
        if (name_length > 4 || !has(file, at, name_length + 1)) return false;
        std::uint64_t const name = number(file, at, name_length);
        at += name_length;
        std::size_t const digits = length_of_number(file[at]);
        if (digits > 8 || !has(file, at, digits)) return false;
        std::uint64_t const mask = (std::uint64_t(1) << (7 * digits)) - 1, length = number(file, at, digits) & mask;
        at += digits;
        if (length == mask) { // not told
            if (name != segment_k && name != cluster_k) return false;
            continue;
        }
        if (length > file.size() - at) return false;
        at += length;
    }
    return true;
}

} // namespace

bool is_whole_clip(container_format_t format, file_t file) noexcept {
    return format == container_format_t::matroska_k ? is_whole_webm(file) : is_whole_mp4(file);
}

} // namespace uform
