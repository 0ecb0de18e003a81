/**
 *  @file pictures.cpp
 *  @brief The headers of three formats, read by hand.
 */
#include "pictures.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "failure.hpp"

namespace uform_stub {
namespace {

constexpr std::size_t side_limit_k = std::size_t(1) << 24;

[[noreturn]] void refuse_file(std::size_t item, char const *message, std::string const &detail = {}) {
    fail(uform_status_malformed_k, message, detail, item);
}

/** A number of `count` bytes, which must be there. */
std::size_t number(std::string_view file, std::size_t at, std::size_t count, bool little, std::size_t item) {
    if (at > file.size() || count > file.size() - at) refuse_file(item, "the picture is cut short");
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = value << 8 | static_cast<unsigned char>(file[at + (little ? count - 1 - i : i)]);
    return value;
}

/** Segments up to the frame's, whose marker is one of sixteen but for three. */
sides_t sides_of_jpeg(std::string_view file, std::size_t item) {
    for (std::size_t at = 2;;) {
        if (number(file, at, 1, false, item) != 0xff) refuse_file(item, "the JPEG is damaged");
        std::size_t const marker = number(file, at + 1, 1, false, item);
        if (marker == 0xff) {
            ++at;
            continue;
        }
        std::size_t const length = number(file, at + 2, 2, false, item);
        bool const frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (frame) return {number(file, at + 5, 2, false, item), number(file, at + 7, 2, false, item)};
        if (length < 2 || marker == 0xda || marker == 0xd9) refuse_file(item, "the JPEG is damaged");
        at += 2 + length;
    }
}
sides_t sides_of_png(std::string_view file, std::size_t item) {
    if (number(file, 8, 8, false, item) != 0x0000000d49484452) refuse_file(item, "the PNG is damaged");
    return {number(file, 20, 4, false, item), number(file, 16, 4, false, item)};
}
sides_t sides_of_webp(std::string_view file, std::size_t item) {
    if (number(file, 4, 4, true, item) > file.size() - 8) refuse_file(item, "the WebP is cut short");
    (void)number(file, 8, 8, true, item); // it is there
    std::string_view const kind = file.substr(12, 4);
    if (kind == "VP8X") return {number(file, 27, 3, true, item) + 1, number(file, 24, 3, true, item) + 1};
    if (kind == "VP8 ") return {number(file, 28, 2, true, item) & 0x3fff, number(file, 26, 2, true, item) & 0x3fff};
    if (kind != "VP8L") refuse_file(item, "the WebP is damaged");
    std::size_t const bits = number(file, 21, 4, true, item);
    return {(bits >> 14 & 0x3fff) + 1, (bits & 0x3fff) + 1};
}

/** A file that ends within the signature counts as having it. */
bool starts_with(std::string_view file, std::size_t at, std::string_view signature) {
    return file.size() <= at || file.substr(at, signature.size()) == signature.substr(0, file.size() - at);
}
std::optional<sides_t> sides_of(std::string_view file, std::size_t item) {
    if (starts_with(file, 0, "\xff\xd8\xff")) return sides_of_jpeg(file, item);
    if (starts_with(file, 0, "\x89PNG\r\n\x1a\n")) return sides_of_png(file, item);
    if (starts_with(file, 0, "RIFF") && starts_with(file, 8, "WEBP")) return sides_of_webp(file, item);
    return std::nullopt;
}

} // namespace

sides_t read_sides(std::string_view file, uform_limits_t const &limits, std::size_t item) {
    std::uint64_t const bytes = limits.max_file_bytes ? limits.max_file_bytes : std::uint64_t(1) << 32;
    std::uint64_t const pixels = limits.max_pixels ? limits.max_pixels : std::uint64_t(1) << 27;
    if (file.empty()) refuse_file(item, "the file is empty");
    if (file.size() > bytes) refuse_file(item, "the file is larger than limits.max_file_bytes");
    std::optional<sides_t> const sides = sides_of(file, item);
    if (!sides) fail(uform_status_unknown_kind_k, "the file is neither JPEG nor PNG nor WebP", {}, item);
    if (!sides->height || !sides->width) refuse_file(item, "the picture has no pixels");
    if (sides->height >= side_limit_k || sides->width >= side_limit_k ||
        sides->height * sides->width > std::min(pixels, std::uint64_t(1) << 36))
        refuse_file(item, "the picture has more pixels than limits.max_pixels");
    return *sides;
}

std::size_t patches_of(sides_t sides, std::size_t patch_side, std::size_t most) noexcept {
    std::size_t const square = most * sides.height / sides.width;
    std::size_t rows = 1;
    while (rows < most && (rows + 1) * (rows + 1) <= square) ++rows;
    rows = std::min(rows, (sides.height + patch_side - 1) / patch_side);
    return rows * std::min(most / rows, (sides.width + patch_side - 1) / patch_side);
}

} // namespace uform_stub
