/**
 *  @file webp.cpp
 *  @brief WebP by libwebp: still pictures whole, and of an animation its first frame on its canvas.
 */
#include <algorithm>

#include <sys/mman.h>
#include <webp/decode.h>

#include <uform/utilities/buffer.hpp>

#include "formats.hpp"

namespace uform {
namespace {

failure_t refuse(VP8StatusCode status) noexcept {
    switch (status) {
    case VP8_STATUS_USER_ABORT: // of rows, which have no memory to be made in: nobody else here stops it
    case VP8_STATUS_OUT_OF_MEMORY:
        return fail(uform_status_out_of_memory_k, "memory for decoding a WebP is out");
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return fail(uform_status_malformed_k, "the WebP is cut short");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return fail(uform_status_unsupported_layout_k, "a WebP of this kind is not read");
    default:
        return fail(uform_status_malformed_k, "the WebP is damaged", "status %d", int(status));
    }
}

/**
 *  Whether so many more bytes can be had: addresses alone, no page of them is touched. Piece by piece, as Linux refuses
 *  one request beyond all the memory there is, and these are for files that no encoder writes.
 */
bool is_room_there(std::size_t bytes) noexcept {
    constexpr std::size_t piece_k = std::size_t(1) << 26;
    void *const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    bool is_there = true;
    for (std::size_t at = 0; is_there && at < bytes; at += piece_k)
        is_there = ::mprotect(static_cast<std::uint8_t *>(room) + at, std::min(piece_k, bytes - at),
                              PROT_READ | PROT_WRITE) == 0;
    return ::munmap(room, bytes) == 0 && is_there;
}

/**
 *  Whether there is memory for all that decoding may ask for, by the header. Where it runs out as lossless pictures' codes
 *  are read, and alpha is such a picture, libwebp 1.2.4 frees a pointer that it never set. Nobody can promise that what
 *  is there now is there a moment later; but a picture that does not fit is no reason to end the process.
 *
 *  A block of 4 x 4 pixels is the smallest that has a predictor, a colour transform and a group of codes of its own. A
 *  group's number has 16 bits, and libwebp counts those that are used; but up to 1,000, and no more than there are pixels,
 *  all below the highest. Each has tables of up to 3 · 630 + 410 + 2,704 entries, made at once for all of them; and a file
 *  can fill these to the last entry, where libwebp makes as many again.
 */
bool is_memory_there(std::size_t width, std::size_t height) noexcept {
    constexpr std::size_t pixel_bytes = 4 + 4 + 2, block_bytes = 3 * 4; // as coded, as handed over, two planes of alpha
    constexpr std::size_t row_bytes = 18 * 4 + 128;                     // of caches, of a lossy picture's too
    constexpr std::size_t counted_groups_k = std::size_t(1) << 16, uncounted_groups_k = 1000;
    constexpr std::size_t table_bytes = (3 * 630 + 410 + 2704) * 4, group_bytes = 600 + 2 * table_bytes;
    constexpr std::size_t rest_k = std::size_t(1) << 20;
    std::size_t const pixels = width * height, blocks = ((width + 3) / 4) * ((height + 3) / 4);
    std::size_t const groups = std::max(std::min(pixels, uncounted_groups_k), std::min(blocks, counted_groups_k));
    return is_room_there(pixels * pixel_bytes + blocks * block_bytes + width * row_bytes + groups * group_bytes +
                         rest_k);
}

/** A decoded picture, freed with its owner. */
class webp_pixels_t {
    WebPDecoderConfig config_ {};
    failure_t failure_;

  public:
    webp_pixels_t(file_t file, std::size_t channels, WebPBitstreamFeatures const &features) noexcept {
        bool const has_codes = features.format != 1 || features.has_alpha; // 1: lossy
        if (has_codes && !is_memory_there(std::size_t(features.width), std::size_t(features.height))) {
            failure_ = refuse(VP8_STATUS_OUT_OF_MEMORY);
            return;
        }
        if (!WebPInitDecoderConfig(&config_)) {
            failure_ = fail(uform_status_unsupported_k, "libwebp is not the one built against");
            return;
        }
        config_.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
        VP8StatusCode status = WebPDecode(file.data(), file.size(), &config_);
        if (status == VP8_STATUS_BITSTREAM_ERROR) // which is also what a lack of memory within alpha is called: again
            status = WebPDecode(file.data(), file.size(), &config_);
        if (status != VP8_STATUS_OK) failure_ = refuse(status);
    }
    webp_pixels_t(webp_pixels_t const &) = delete;
    webp_pixels_t &operator=(webp_pixels_t const &) = delete;
    ~webp_pixels_t() noexcept { WebPFreeDecBuffer(&config_.output); }

    failure_t const &failure() const noexcept { return failure_; }
    std::size_t width() const noexcept { return std::size_t(config_.output.width); }
    std::size_t height() const noexcept { return std::size_t(config_.output.height); }
    std::uint8_t const *row(std::size_t y) const noexcept {
        return config_.output.u.RGBA.rgba + y * std::size_t(config_.output.u.RGBA.stride);
    }
};

failure_t decode_still(file_t file, image_header_t const &header, WebPBitstreamFeatures const &features,
                       row_sink_t sink) noexcept {
    webp_pixels_t const pixels(file, header.channels, features);
    if (pixels.failure()) return pixels.failure();
    if (pixels.width() != header.width || pixels.height() != header.height)
        return fail(uform_status_malformed_k, "the WebP's picture is not of its header's size");
    for (std::size_t y = 0; y < header.height; ++y)
        if (!sink(pixels.row(y))) return decoding_stopped();
    return {};
}

/** The first frame on a canvas of nothing. */
failure_t decode_first_frame(file_t file, image_header_t const &header, row_sink_t sink) noexcept {
    webp_frame_t const frame = first_webp_frame(file);
    if (!is_whole_webp(file)) return refuse(VP8_STATUS_NOT_ENOUGH_DATA);
    if (frame.content.empty() || frame.left + frame.width > header.width || frame.top + frame.height > header.height)
        return fail(uform_status_malformed_k, "the animated WebP's first frame is missing or beyond its canvas");
    WebPBitstreamFeatures features;
    VP8StatusCode const status = WebPGetFeatures(frame.content.data(), frame.content.size(), &features);
    if (status != VP8_STATUS_OK) return refuse(status);
    if (std::size_t(features.width) != frame.width || std::size_t(features.height) != frame.height)
        return fail(uform_status_malformed_k, "the animated WebP's first frame is not of its own size");
    buffer_t<std::uint8_t> row;
    if (!row.resize(header.width * 4)) return refuse(VP8_STATUS_OUT_OF_MEMORY);
    webp_pixels_t const pixels(frame.content, 4, features);
    if (pixels.failure()) return pixels.failure();
    for (std::size_t y = 0; y < header.height; ++y) {
        bool const beside = y < frame.top || y - frame.top >= frame.height;
        std::fill(row.begin(), row.end(), std::uint8_t(0));
        if (!beside) std::copy_n(pixels.row(y - frame.top), frame.width * 4, row.data() + frame.left * 4);
        if (!sink(row.data())) return decoding_stopped();
    }
    return {};
}

} // namespace

failure_t read_webp_header(file_t file, image_header_t &header) noexcept {
    WebPBitstreamFeatures features;
    VP8StatusCode const status = WebPGetFeatures(file.data(), file.size(), &features);
    if (status != VP8_STATUS_OK) return refuse(status);
    header.width = std::size_t(features.width), header.height = std::size_t(features.height);
    header.channels = features.has_alpha || features.has_animation ? 4 : 3;
    return {};
}

failure_t decode_webp(file_t file, image_header_t const &header, row_sink_t sink) noexcept {
    WebPBitstreamFeatures features;
    VP8StatusCode const status = WebPGetFeatures(file.data(), file.size(), &features);
    if (status != VP8_STATUS_OK) return refuse(status);
    return features.has_animation ? decode_first_frame(file, header, sink) : decode_still(file, header, features, sink);
}

} // namespace uform
