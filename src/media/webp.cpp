/**
 *  @file webp.cpp
 *  @brief WebP by libwebp: still pictures whole, and of an animation its first frame on its canvas.
 */
#include <webp/decode.h>
#include <webp/demux.h>

#include "formats.hpp"

namespace uform {
namespace {

failure_t refuse(VP8StatusCode status) noexcept {
    switch (status) {
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

failure_t hand_over(std::uint8_t const *pixels, std::size_t stride, std::size_t rows, row_sink_t sink) noexcept {
    for (std::size_t row = 0; row < rows; ++row)
        if (!sink(pixels + row * stride)) return decoding_stopped();
    return {};
}

failure_t decode_still(file_t file, image_header_t const &header, row_sink_t sink) noexcept {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return fail(uform_status_unsupported_k, "libwebp is not the one built against");
    config.output.colorspace = header.channels == 4 ? MODE_RGBA : MODE_RGB;
    VP8StatusCode const status = WebPDecode(file.data(), file.size(), &config);
    WebPRGBABuffer const &decoded = config.output.u.RGBA;
    failure_t failure;
    if (status != VP8_STATUS_OK)
        failure = refuse(status);
    else
        failure = hand_over(decoded.rgba, std::size_t(decoded.stride), header.height, sink);
    WebPFreeDecBuffer(&config.output);
    return failure;
}

failure_t decode_first_frame(file_t file, image_header_t const &header, row_sink_t sink) noexcept {
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInit(&options))
        return fail(uform_status_unsupported_k, "libwebp is not the one built against");
    options.color_mode = MODE_RGBA;
    WebPData const data {file.data(), file.size()};
    WebPAnimDecoder *const decoder = WebPAnimDecoderNew(&data, &options);
    if (!decoder)
        return fail(uform_status_malformed_k, "the animated WebP is damaged, or memory for decoding it is out");
    std::uint8_t *frame = nullptr;
    int milliseconds;
    failure_t failure;
    if (!WebPAnimDecoderGetNext(decoder, &frame, &milliseconds))
        failure = fail(uform_status_malformed_k, "the WebP's first frame is damaged");
    else
        failure = hand_over(frame, header.width * 4, header.height, sink);
    WebPAnimDecoderDelete(decoder);
    return failure;
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
    return features.has_animation ? decode_first_frame(file, header, sink) : decode_still(file, header, sink);
}

} // namespace uform
