/**
 *  @file container_format.cpp
 *  @brief Telling containers apart by their first bytes, whichever of them a build can read.
 */
#include "bytes.hpp"
#include "container.hpp"

namespace uform {
namespace {

/** The types of the boxes that files of the ISO base media format, and QuickTime's, are seen to start with. */
bool is_first_box(file_t file) noexcept {
    for (std::initializer_list<std::uint8_t> const type :
         std::initializer_list<std::initializer_list<std::uint8_t>> {{'f', 't', 'y', 'p'},
                                                                     {'s', 't', 'y', 'p'},
                                                                     {'m', 'o', 'o', 'v'},
                                                                     {'m', 'o', 'o', 'f'},
                                                                     {'m', 'd', 'a', 't'},
                                                                     {'f', 'r', 'e', 'e'},
                                                                     {'s', 'k', 'i', 'p'},
                                                                     {'w', 'i', 'd', 'e'}})
        if (file.size() > 4 && starts_with(file, 4, type)) return true;
    return false;
}

/** Bytes of the tag that MP3 files, and some of FLAC, begin with; zero without one. */
std::size_t tag_bytes(file_t file) noexcept {
    if (file.size() < 10 || !starts_with(file, 0, {'I', 'D', '3'})) return 0;
    std::size_t bytes = 0;
    for (std::size_t i = 6; i < 10; ++i) bytes = bytes << 7 | (file[i] & 0x7f);
    return 10 + bytes + (file[5] & 0x10 ? 10 : 0); // a footer
}

/** Bytes of the frame that a header of MPEG-1, -2 or -2.5 audio opens, layers I to III; zero where it is none. */
std::size_t frame_bytes(file_t file, std::size_t at) noexcept {
    static constexpr std::uint16_t kilobits[5][15] = {
        {0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448}, // MPEG-1 layer I
        {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},    // II
        {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},     // III
        {0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},    // MPEG-2 and -2.5 layer I
        {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}};        // II and III
    static constexpr std::uint32_t rates[3] = {44100, 48000, 32000};
    if (file.size() < at + 4 || file[at] != 0xff || file[at + 1] < 0xe0) return 0;
    unsigned const version = file[at + 1] >> 3 & 3, layer = 4 - (file[at + 1] >> 1 & 3); // 3: MPEG-1, 2: -2, 0: -2.5
    unsigned const bitrate = file[at + 2] >> 4, rate = file[at + 2] >> 2 & 3, padding = file[at + 2] >> 1 & 1;
    if (version == 1 || layer == 4 || bitrate == 0 || bitrate == 15 || rate == 3) return 0;
    bool const first = version == 3;
    std::size_t const bits = kilobits[first ? layer - 1 : layer == 1 ? 3 : 4][bitrate] * std::size_t(1000);
    std::size_t const hertz = rates[rate] / (first ? 1 : version == 2 ? 2 : 4);
    if (layer == 1) return (12 * bits / hertz + padding) * 4;
    return (layer == 3 && !first ? 72 : 144) * bits / hertz + padding;
}

/** A frame with another behind it, or the end of the file. */
bool is_mpeg_audio(file_t file, std::size_t at) noexcept {
    std::size_t const bytes = frame_bytes(file, at);
    return bytes && (at + bytes + 4 > file.size() || frame_bytes(file, at + bytes));
}

} // namespace

std::optional<container_format_t> container_format_of(file_t file) noexcept {
    if (starts_with(file, 0, {'R', 'I', 'F', 'F'}) || starts_with(file, 0, {'R', 'F', '6', '4'}))
        if (starts_with(file, 8, {'W', 'A', 'V', 'E'})) return container_format_t::wav_k;
    if (starts_with(file, 0, {'O', 'g', 'g', 'S'})) return container_format_t::ogg_k;
    if (starts_with(file, 0, {0x1a, 0x45, 0xdf, 0xa3})) return container_format_t::matroska_k;
    if (is_first_box(file)) return container_format_t::mov_k;
    std::size_t const tag = tag_bytes(file);
    if (starts_with(file, tag, {'f', 'L', 'a', 'C'}) && (tag == 0 || file.size() > tag))
        return container_format_t::flac_k;
    if (tag || starts_with(file, 0, {'I', 'D', '3'}) || is_mpeg_audio(file, 0)) return container_format_t::mp3_k;
    return std::nullopt;
}

} // namespace uform
