/**
 *  @file container_end.cpp
 *  @brief Whether a file ends before its container says it does, and whether Ogg's pages are what was written.
 *
 *  Demuxers end quietly where a file does, and half a download would be a shorter recording. Lengths that tell it are
 *  those of a Matroska's elements and of an MP4's boxes, which boxes.cpp walks, and those of an Ogg's pages, whose number
 *  nobody knows. FLAC and MP3 are judged as they are decoded; what a WAV tells is not to be trusted. FFmpeg drops pages
 *  whose checksum is wrong, a second of sound each, and goes on.
 */
#include <array>

#include "boxes.hpp"
#include "bytes.hpp"
#include "container.hpp"

namespace uform {
namespace {

constexpr std::uint64_t ogg_k = 0x4f676753; // "OggS"

constexpr std::size_t page_header_k = 27; // bytes, the last of which counts the lengths behind it

/** Bytes of the page at `at`; beyond the file where that is cut short. */
std::size_t page_bytes(file_t file, std::size_t at) noexcept {
    std::size_t const left = file.size() - at;
    if (left < page_header_k || left - page_header_k < file[at + page_header_k - 1]) return left + 1;
    std::size_t bytes = page_header_k + file[at + page_header_k - 1];
    for (std::size_t i = 0; i < file[at + page_header_k - 1]; ++i) bytes += file[at + page_header_k + i];
    return bytes;
}

constexpr std::size_t asked_pages_k = 64; // of up to 64 KB

bool is_cut_ogg(file_t file, stop_t stop) noexcept {
    steps_t steps(stop);
    for (std::size_t at = 0; at < file.size();) {
        if (steps.stopped()) return true;
        std::size_t const bytes = page_bytes(file, at);
        if (bytes > file.size() - at) return true;
        if (number(file, at, 4) != ogg_k) return false; // the demuxer's to refuse
        at += bytes;
    }
    return false;
}

/** x^32 + x^26 + … + 1, from the highest bit down, of nothing but a byte. */
constexpr std::array<std::uint32_t, 256> remainders() noexcept {
    std::array<std::uint32_t, 256> table {};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte << 24;
        for (int bit = 0; bit < 8; ++bit) rest = rest << 1 ^ (rest >> 31 ? 0x04c11db7u : 0);
        table[byte] = rest;
    }
    return table;
}
constexpr std::array<std::uint32_t, 256> remainders_k = remainders();

/** Of a page, its own checksum, bytes 22 to 25, taken as zero. */
std::uint32_t checksum(file_t page) noexcept {
    std::uint32_t rest = 0;
    for (std::size_t i = 0; i < page.size(); ++i)
        rest = rest << 8 ^ remainders_k[rest >> 24 ^ (i - 22 < 4 ? 0 : page[i])];
    return rest;
}

} // namespace

bool is_cut_short(file_t file, container_format_t format, stop_t stop) noexcept {
    if (format == container_format_t::mov_k) return !are_boxes_whole(file, stop);
    if (format == container_format_t::ogg_k) return is_cut_ogg(file, stop);
    return format == container_format_t::matroska_k && !are_elements_whole(file, stop);
}

/** Pages that open a stream, told by a bit of their sixth byte, come before all others of a link. */
file_t first_link(file_t file, stop_t stop) noexcept {
    steps_t steps(stop);
    bool is_open = true;
    for (std::size_t at = 0; file.size() - at >= page_header_k && number(file, at, 4) == ogg_k && !steps.stopped();) {
        bool const opens = file[at + 5] & 2;
        if (opens && !is_open) return file.first(at);
        is_open = opens;
        std::size_t const bytes = page_bytes(file, at);
        if (bytes > file.size() - at) break;
        at += bytes;
    }
    return file;
}

bool are_pages_whole(file_t file, std::size_t first_bytes, stop_t stop) noexcept {
    steps_t steps(stop, asked_pages_k);
    for (std::size_t at = 0; at < first_bytes && at < file.size();) {
        std::size_t const bytes = page_bytes(file, at);
        if (steps.stopped() || bytes > file.size() - at || number(file, at, 4) != ogg_k) return false;
        file_t const page = file.subspan(at, bytes);
        std::uint32_t told = 0;
        for (std::size_t i = 4; i-- > 0;) told = told << 8 | page[22 + i];
        if (told != checksum(page)) return false;
        at += bytes;
    }
    return true;
}

} // namespace uform
