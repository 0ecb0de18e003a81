/**
 *  @file chunks.cpp
 *  @brief What is read of files without a library: how the camera was held, and whether a PNG is all there.
 *
 *  EXIF is a TIFF file within the file: in JPEG's APP1 segment, PNG's eXIf chunk, WebP's EXIF chunk. Of its first
 *  directory one entry matters, tag 0x0112. Every step checks that what it reads is there.
 */
#include <cstring>

#include "formats.hpp"

namespace uform {
namespace {

constexpr std::size_t orientation_tag_k = 0x0112, short_k = 3, long_k = 4;

/** `count` bytes from `at` on, or none where they are not all there. */
file_t part(file_t bytes, std::size_t at, std::size_t count) noexcept {
    return at <= bytes.size() && count <= bytes.size() - at ? bytes.subspan(at, count) : file_t {};
}
/** An unsigned number of up to four bytes; zero where they are not all there. */
std::size_t number(file_t bytes, std::size_t at, std::size_t count, bool little) noexcept {
    std::size_t value = 0;
    file_t const digits = part(bytes, at, count);
    for (std::size_t i = 0; i < digits.size(); ++i) value = value << 8 | digits[little ? count - 1 - i : i];
    return value;
}
bool says(file_t bytes, std::size_t at, char const *text) noexcept {
    std::size_t const count = std::strlen(text);
    file_t const found = part(bytes, at, count);
    return found.size() == count && std::memcmp(found.data(), text, count) == 0;
}

orientation_t orientation_in(file_t tiff) noexcept {
    bool const little = says(tiff, 0, "II");
    if (!little && !says(tiff, 0, "MM")) return {};
    if (number(tiff, 2, 2, little) != 42) return {};
    std::size_t const directory = number(tiff, 4, 4, little), entries = number(tiff, directory, 2, little);
    for (std::size_t i = 0; i < entries; ++i) {
        file_t const entry = part(tiff, directory + 2 + i * 12, 12);
        if (entry.empty()) return {};
        if (number(entry, 0, 2, little) != orientation_tag_k) continue;
        std::size_t const type = number(entry, 2, 2, little);
        if ((type != short_k && type != long_k) || number(entry, 4, 4, little) != 1) return {};
        std::size_t const value = number(entry, 8, type == short_k ? 2 : 4, little);
        return value >= 1 && value <= 8 ? orientation_t {std::uint8_t(value)} : orientation_t {};
    }
    return {};
}

file_t without_prefix(file_t exif) noexcept {
    return says(exif, 0, "Exif") && exif.size() >= 6 && exif[4] == 0 ? exif.subspan(6) : exif;
}

/** Segments up to the first scan: a marker, and but for a few a length that counts itself. */
file_t exif_of_jpeg(file_t file) noexcept {
    for (std::size_t at = 2; at + 4 <= file.size() && file[at] == 0xff;) {
        std::uint8_t const marker = file[at + 1];
        if (marker == 0xff) { // a fill byte
            ++at;
            continue;
        }
        if (marker == 0xda) return {};
        std::size_t const length = number(file, at + 2, 2, false);
        if (length < 2) return {};
        file_t const segment = part(file, at + 4, length - 2);
        if (marker == 0xe1 && says(segment, 0, "Exif") && segment.size() >= 6 && segment[4] == 0) return segment;
        at += 2 + length;
    }
    return {};
}

/** Calls `body(type, content)` for each chunk that is whole, until it answers false. */
template <typename body_>
void for_each_png_chunk(file_t file, body_ const &body) noexcept {
    for (std::size_t at = 8; at + 12 <= file.size();) {
        std::size_t const length = number(file, at, 4, false);
        if (length > file.size() - at - 12 || !body(part(file, at + 4, 4), part(file, at + 8, length))) return;
        at += 12 + length;
    }
}
file_t exif_of_png(file_t file) noexcept {
    file_t found;
    for_each_png_chunk(file, [&](file_t type, file_t content) {
        if (says(type, 0, "eXIf")) found = content;
        return found.empty();
    });
    return found;
}

/** The first chunk of this type that is whole: chunks of an even length follow the twelve bytes that name the format. */
file_t find_webp_chunk(file_t file, char const *type) noexcept {
    for (std::size_t at = 12; at + 8 <= file.size();) {
        std::size_t const length = number(file, at + 4, 4, true);
        if (length > file.size() - at - 8) return {};
        if (says(file, at, type)) return part(file, at + 8, length);
        at += 8 + length + length % 2;
    }
    return {};
}
file_t exif_of_webp(file_t file) noexcept { return find_webp_chunk(file, "EXIF"); }

} // namespace

bool has_png_chunk(file_t file, char const (&type)[5]) noexcept {
    bool found = false;
    for_each_png_chunk(file, [&](file_t other, file_t) {
        found = says(other, 0, type);
        return !found && !says(other, 0, "IDAT");
    });
    return found;
}

bool is_whole_png(file_t file) noexcept {
    bool whole = false;
    for_each_png_chunk(file, [&](file_t type, file_t) { return !(whole = says(type, 0, "IEND")); });
    return whole;
}

bool is_whole_webp(file_t file) noexcept { return file.size() >= 12 && number(file, 4, 4, true) <= file.size() - 8; }

/** A frame's chunk: its place in twos of pixels, its sides less one, how long it shows, and then its picture's chunks. */
webp_frame_t first_webp_frame(file_t file) noexcept {
    file_t const frame = find_webp_chunk(file, "ANMF");
    if (frame.size() < 16) return {};
    return {frame.subspan(16), 2 * number(frame, 0, 3, true), 2 * number(frame, 3, 3, true),
            number(frame, 6, 3, true) + 1, number(frame, 9, 3, true) + 1};
}

orientation_t orientation_of(image_format_t format, file_t file) noexcept {
    switch (format) {
    case image_format_t::jpeg_k:
        return orientation_in(without_prefix(exif_of_jpeg(file)));
    case image_format_t::png_k:
        return orientation_in(without_prefix(exif_of_png(file)));
    case image_format_t::webp_k:
        break;
    }
    return orientation_in(without_prefix(exif_of_webp(file)));
}

} // namespace uform
