/**
 *  @file container_end.cpp
 *  @brief Whether a file ends before its container says it does.
 *
 *  Demuxers end quietly where a file does, and half a download would be a shorter recording. Some containers tell
 *  theirs: that of a Matroska's segment, and of each of the boxes that an MP4 is a row of, and of
 *  each page of an Ogg, whose whole length nobody knows. FLAC and MP3 are judged as they are decoded; what a WAV tells
 *  is not to be trusted.
 */
#include "container.hpp"

namespace uform {
namespace {

std::uint64_t number(file_t file, std::size_t at, std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | file[at + i];
    return value;
}

/** Boxes are their length, their type and their content; length 1 is told in 64 bits behind the type, 0 is the rest. */
bool is_cut_mov(file_t file) noexcept {
    for (std::size_t at = 0; file.size() - at >= 8;) {
        std::uint64_t length = number(file, at, 4);
        if (length == 0) return false;
        if (length == 1) {
            if (file.size() - at < 16) return true;
            length = number(file, at + 8, 8);
        }
        if (length < 8) return false; // no length at all: the demuxer's to refuse
        if (length > file.size() - at) return true;
        at += std::size_t(length);
    }
    return false;
}

/** An element's length: as many bytes as its first one has leading zeros, and one; all ones mean that nobody knew. */
bool is_cut_matroska(file_t file) noexcept {
    std::size_t at = 0;
    for (std::uint64_t const id : {0x1a45dfa3u, 0x18538067u}) { // header, segment
        if (file.size() - at < 5) return true;
        if (number(file, at, 4) != id) return false;
        std::size_t bytes = 1;
        while (bytes < 8 && !(file[at + 4] & 0x80 >> (bytes - 1))) ++bytes;
        if (file.size() - at < 4 + bytes) return true;
        std::uint64_t const most = (std::uint64_t(1) << 7 * bytes) - 1, length = number(file, at + 4, bytes) & most;
        at += 4 + bytes;
        if (length == most) return false;
        if (length > file.size() - at) return true;
        at += std::size_t(length);
    }
    return false;
}

/** Pages are a header of 27 bytes, the last of which counts the lengths behind it, those lengths, and as many bytes. */
bool is_cut_ogg(file_t file) noexcept {
    for (std::size_t at = 0; at < file.size();) {
        if (file.size() - at < 27 || file.size() - at - 27 < file[at + 26]) return true;
        if (number(file, at, 4) != 0x4f676753) return false; // the demuxer's to refuse
        std::size_t const segments = file[at + 26];
        std::size_t body = 0;
        for (std::size_t i = 0; i < segments; ++i) body += file[at + 27 + i];
        at += 27 + segments;
        if (body > file.size() - at) return true;
        at += body;
    }
    return false;
}

} // namespace

bool is_cut_short(file_t file, container_format_t format) noexcept {
    if (format == container_format_t::mov_k) return is_cut_mov(file);
    if (format == container_format_t::ogg_k) return is_cut_ogg(file);
    return format == container_format_t::matroska_k && is_cut_matroska(file);
}

} // namespace uform
