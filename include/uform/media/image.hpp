/**
 *  @file image.hpp
 *  @brief Arrow 1 of pictures: file bytes → rows of pixels. Content decides the format, the header decides the limits.
 *
 *  Two steps, as a batch is planned before it is decoded: `read_image_header` looks at a file's first bytes alone, and
 *  `decode_image` hands its rows to a sink, one at a time from the top, so that a photograph is never in memory whole
 *  where its format allows. Both may run on any thread, for any files at once. Nothing is printed, nothing is global.
 *
 *  Rows are 8-bit RGB, or RGBA with straight alpha where a file has any: grey and palettes expand, 16-bit channels
 *  round to 8, CMYK and YCCK become RGB, colour profiles and gamma are ignored, an animation gives its first frame.
 *  Rows lie as they are stored: turning them upright is the resampler's caller's, through `orientation`.
 */
#pragma once
#include <uform/media/file.hpp>

namespace uform {

enum class image_format_t : std::uint8_t { jpeg_k, png_k, webp_k };

inline constexpr std::size_t picture_side_limit_k = std::size_t(1) << 24; // beyond it resampling's sums are not exact

/** How stored rows lie, numbered as in EXIF: 1 is upright; from 5 on, rows are stored as columns. */
struct orientation_t {
    std::uint8_t number = 1;

    bool transposes() const noexcept { return number >= 5; }
};

struct image_header_t {
    image_format_t format = image_format_t::jpeg_k;
    std::size_t width = 0, height = 0; // pixels, as stored
    std::size_t channels = 3;          // of a decoded row: 4 where the file has alpha
    orientation_t orientation;

    std::size_t upright_width() const noexcept { return orientation.transposes() ? height : width; }
    std::size_t upright_height() const noexcept { return orientation.transposes() ? width : height; }
};

/** Takes rows [width, channels]. */
struct row_sink_t {
    bool (*take)(void *self, std::uint8_t const *row) noexcept = nullptr; // false: no more of them
    void *self = nullptr;

    bool operator()(std::uint8_t const *row) const noexcept { return take(self, row); }
};

/** Answers what a file holds, refusing what is above the limits; a zero limit is its default. */
failure_t read_image_header(file_t file, uform_limits_t const &limits, image_header_t &header) noexcept;

/** Whether rows can come at a 1/`reduction` scale of theirs, 2, 4 or 8: of JPEG, by transforming less. */
inline bool can_reduce(image_format_t format) noexcept { return format == image_format_t::jpeg_k; }

/**
 *  Hands over ⌈height / reduction⌉ rows of ⌈width / reduction⌉ pixels, each the mean of a square of as many pixels; of
 *  those at the right and lower edge, part lies beyond the picture. `header` is what `read_image_header` answered. A
 *  sink that wants no more ends it as `cancelled`.
 */
failure_t decode_image(file_t file, image_header_t const &header, std::size_t reduction, row_sink_t sink) noexcept;

} // namespace uform
