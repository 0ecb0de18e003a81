/**
 *  @file image.cpp
 *  @brief Telling formats apart by their first bytes, and the limits that a header must keep.
 */
#include <uform/media/image.hpp>

#include <optional>

#include "bytes.hpp"
#include "formats.hpp"

namespace uform {
namespace {

constexpr std::uint64_t pixels_limit_k = std::uint64_t(1) << 36; // beyond it resampling's sums are not exact

std::optional<image_format_t> format_of(file_t file) noexcept {
    if (starts_with(file, 0, {0xff, 0xd8, 0xff})) return image_format_t::jpeg_k;
    if (starts_with(file, 0, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'})) return image_format_t::png_k;
    if (starts_with(file, 0, {'R', 'I', 'F', 'F'}) && starts_with(file, 8, {'W', 'E', 'B', 'P'}))
        return image_format_t::webp_k;
    return std::nullopt;
}

failure_t read_format(file_t file, image_header_t &header) noexcept {
    switch (header.format) {
    case image_format_t::jpeg_k:
        return read_jpeg_header(file, header);
    case image_format_t::png_k:
        return read_png_header(file, header);
    case image_format_t::webp_k:
        break;
    }
    return read_webp_header(file, header);
}

failure_t check_pixels(image_header_t const &header, std::uint64_t limit) noexcept {
    if (header.width == 0 || header.height == 0) return fail(uform_status_malformed_k, "the picture has no pixels");
    bool const countable = header.width < picture_side_limit_k && header.height < picture_side_limit_k;
    std::uint64_t const pixels = countable ? std::uint64_t(header.width) * header.height : UINT64_MAX;
    if (pixels <= std::min(limit, pixels_limit_k)) return {};
    return fail(uform_status_malformed_k,
                pixels > limit ? "the picture has more pixels than limits.max_pixels"
                               : "the picture has more pixels than are averaged without rounding",
                "%zu x %zu, beyond %llu", header.width, header.height,
                (unsigned long long)std::min(limit, pixels_limit_k));
}

} // namespace

failure_t read_image_header(file_t file, uform_limits_t const &limits, image_header_t &header) noexcept {
    if (failure_t const failure = check_file_bytes(file, limits)) return failure;
    std::optional<image_format_t> const format = format_of(file);
    if (!format) return fail(uform_status_unknown_kind_k, "the file is neither JPEG nor PNG nor WebP");
    image_header_t read;
    read.format = *format;
    if (failure_t const failure = read_format(file, read)) return failure;
    if (failure_t const failure = check_pixels(read, resolved(limits).max_pixels)) return failure;
    read.orientation = orientation_of(*format, file);
    header = read;
    return {};
}

failure_t decode_image(file_t file, image_header_t const &header, std::size_t reduction, row_sink_t sink) noexcept {
    switch (header.format) {
    case image_format_t::jpeg_k:
        return decode_jpeg(file, header, reduction, sink);
    case image_format_t::png_k:
        return decode_png(file, header, sink);
    case image_format_t::webp_k:
        break;
    }
    return decode_webp(file, header, sink);
}

} // namespace uform
