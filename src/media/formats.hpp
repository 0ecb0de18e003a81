/**
 *  @file formats.hpp
 *  @brief What one format answers. A build without its library links the file of the same name in `absent/`.
 */
#pragma once
#include <uform/media/image.hpp>

namespace uform {

/** Width, height and channels; the format and the orientation are the caller's to fill in. */
failure_t read_jpeg_header(file_t file, image_header_t &header) noexcept;
failure_t read_png_header(file_t file, image_header_t &header) noexcept;
failure_t read_webp_header(file_t file, image_header_t &header) noexcept;

failure_t decode_jpeg(file_t file, image_header_t const &header, std::size_t reduction, row_sink_t sink) noexcept;
failure_t decode_png(file_t file, image_header_t const &header, row_sink_t sink) noexcept;
failure_t decode_webp(file_t file, image_header_t const &header, row_sink_t sink) noexcept;

/** The orientation that a file's EXIF tells of; upright where it tells of none, or of none that there is. */
orientation_t orientation_of(image_format_t format, file_t file) noexcept;

/** True where a chunk of this type is in front of a PNG's first data. */
bool has_png_chunk(file_t file, char const (&type)[5]) noexcept;

/** True where a PNG's chunks are all there, its last one's checksum too, which libspng does not read. */
bool is_whole_png(file_t file) noexcept;

/** The first picture of an animated WebP: a still one's chunks, and the part of the canvas that they fill. */
struct webp_frame_t {
    file_t content;
    std::size_t left = 0, top = 0, width = 0, height = 0;
};
/** The first frame; without content where there is none that is whole. */
webp_frame_t first_webp_frame(file_t file) noexcept;
/** True where a WebP has all the bytes it says it has. */
bool is_whole_webp(file_t file) noexcept;

/** A sink had enough. */
inline failure_t decoding_stopped() noexcept { return fail(uform_status_cancelled_k, "decoding was stopped"); }

} // namespace uform
