/**
 *  @file frame_rows.cpp
 *  @brief Colour by libswscale, in whole numbers that no instruction set changes: SWS_BITEXACT and SWS_ACCURATE_RND.
 */
#include "frame_rows.hpp"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace uform {
namespace {

constexpr int scaling_k = SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_ACCURATE_RND | SWS_BITEXACT;
constexpr std::size_t alignment_k = 64; // of rows, for the scaler's vectors

/** Formats named after JPEG are others' twins, of full range. */
int without_range(int format) noexcept {
    switch (format) {
    case AV_PIX_FMT_YUVJ411P: return AV_PIX_FMT_YUV411P;
    case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P;
    default: return format;
    }
}

/** Those that libswscale has tables of; the two of BT.2020 share one, and so do the two of BT.601. */
bool is_known_matrix(int matrix) noexcept {
    return matrix == AVCOL_SPC_BT709 || matrix == AVCOL_SPC_FCC || matrix == AVCOL_SPC_BT470BG ||
           matrix == AVCOL_SPC_SMPTE170M || matrix == AVCOL_SPC_SMPTE240M || matrix == AVCOL_SPC_BT2020_NCL ||
           matrix == AVCOL_SPC_BT2020_CL;
}

/** Where chroma lies, in 256ths of a luma sample from the first one's upper left corner; as libswscale counts. */
struct chroma_place_t {
    int across, down;
};
chroma_place_t place_of(int location) noexcept {
    bool const centre = location == AVCHROMA_LOC_CENTER || location == AVCHROMA_LOC_TOP ||
                        location == AVCHROMA_LOC_BOTTOM;
    bool const top = location == AVCHROMA_LOC_TOPLEFT || location == AVCHROMA_LOC_TOP;
    bool const bottom = location == AVCHROMA_LOC_BOTTOMLEFT || location == AVCHROMA_LOC_BOTTOM;
    return {centre ? 128 : 0, top ? 0 : bottom ? 256 : 128};
}

bool set(SwsContext *scaler, char const *name, std::int64_t value) noexcept {
    return av_opt_set_int(scaler, name, value, 0) >= 0;
}

failure_t out_of_memory() noexcept {
    return fail(uform_status_out_of_memory_k, "memory for decoding a clip is out");
}

} // namespace

frame_shape_t shape_of(AVFrame const &frame) noexcept {
    frame_shape_t shape;
    shape.left = frame.crop_left, shape.top = frame.crop_top;
    shape.width = std::size_t(frame.width) - frame.crop_left - frame.crop_right;
    shape.height = std::size_t(frame.height) - frame.crop_top - frame.crop_bottom;
    shape.format = without_range(frame.format);
    shape.full_range = frame.color_range == AVCOL_RANGE_JPEG || shape.format != frame.format;
    bool const large = shape.width >= 1280 || shape.height > 576;
    bool const told = frame.colorspace != AVCOL_SPC_UNSPECIFIED && frame.colorspace != AVCOL_SPC_RESERVED;
    shape.matrix = told ? frame.colorspace : large ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    shape.chroma = frame.chroma_location != AVCHROMA_LOC_UNSPECIFIED ? frame.chroma_location : AVCHROMA_LOC_LEFT;
    return shape;
}

frame_rows_t::~frame_rows_t() noexcept { sws_freeContext(scaler_); }

failure_t frame_rows_t::start(frame_shape_t const &shape) noexcept {
    sws_freeContext(scaler_);
    shape_ = {}, scaler_ = nullptr;
    AVPixFmtDescriptor const *const layout = av_pix_fmt_desc_get(AVPixelFormat(shape.format));
    bool const is_rgb = layout && (layout->flags & AV_PIX_FMT_FLAG_RGB), is_grey = layout && layout->nb_components < 3;
    if (!layout || !sws_isSupportedInput(AVPixelFormat(shape.format)) ||
        (!is_rgb && !is_grey && !is_known_matrix(shape.matrix)))
        return fail(uform_status_unsupported_layout_k, "the clip's colours are of a kind that is not read", "%s, %s",
                    layout ? layout->name : "none", av_color_space_name(AVColorSpace(shape.matrix)));
    std::size_t const columns = shape.left + shape.width, rows = shape.top + shape.height;
    stride_ = (columns * 3 + alignment_k - 1) / alignment_k * alignment_k;
    if (rows_.size() != rows * stride_ + alignment_k && !rows_.resize(rows * stride_ + alignment_k))
        return out_of_memory();
    scaler_ = sws_alloc_context();
    if (!scaler_) return out_of_memory();
    bool is_set = set(scaler_, "srcw", std::int64_t(columns)) && set(scaler_, "dstw", std::int64_t(columns)) &&
                  set(scaler_, "srch", std::int64_t(rows)) && set(scaler_, "dsth", std::int64_t(rows)) &&
                  set(scaler_, "src_format", shape.format) && set(scaler_, "dst_format", AV_PIX_FMT_RGB24) &&
                  set(scaler_, "sws_flags", scaling_k);
    chroma_place_t const place = place_of(shape.chroma);
    if (layout->log2_chroma_w) is_set = is_set && set(scaler_, "src_h_chr_pos", place.across);
    if (layout->log2_chroma_h) is_set = is_set && set(scaler_, "src_v_chr_pos", place.down);
    if (!is_set || sws_init_context(scaler_, nullptr, nullptr) < 0) return out_of_memory();
    if (!is_rgb) {
        int const *const coefficients = sws_getCoefficients(shape.matrix);
        if (sws_setColorspaceDetails(scaler_, coefficients, shape.full_range, coefficients, 1, 0, 1 << 16, 1 << 16) < 0)
            return out_of_memory();
    }
    shape_ = shape;
    return {};
}

failure_t frame_rows_t::convert(AVFrame const &frame) noexcept {
    frame_shape_t const shape = shape_of(frame);
    if (!scaler_ || !(shape == shape_))
        if (failure_t const failure = start(shape)) return failure;
    std::uint8_t *const target[4] = {rows_.data()};
    int const strides[4] = {int(stride_)}, rows = int(shape_.top + shape_.height);
    if (sws_scale(scaler_, frame.data, frame.linesize, 0, rows, target, strides) != rows) return out_of_memory();
    return {};
}

} // namespace uform
