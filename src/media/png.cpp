/**
 *  @file png.cpp
 *  @brief PNG by libspng, a row at a time; interlaced ones whole, as their rows come in seven passes.
 */
#include <algorithm>

#include <spng.h>

#include <uform/utilities/buffer.hpp>

#include "formats.hpp"

namespace uform {
namespace {

constexpr std::size_t chunk_limit_k = std::size_t(1) << 24, chunks_limit_k = std::size_t(1) << 26; // bytes of ancillary

/** Where the pixels of a pass lie in their row: every `step`-th from `first` on. */
struct pass_t {
    std::size_t first, step;
};
constexpr pass_t passes_k[7] = {{0, 8}, {4, 8}, {0, 4}, {2, 4}, {0, 2}, {1, 2}, {0, 1}};

failure_t refuse(int error) noexcept {
    switch (error) {
    case SPNG_EMEM: return fail(uform_status_out_of_memory_k, "memory for decoding a PNG is out");
    case SPNG_IO_EOF: return fail(uform_status_malformed_k, "the PNG is cut short");
    default: return fail(uform_status_malformed_k, "the PNG is damaged", "%s", spng_strerror(error));
    }
}

class png_reader_t {
    spng_ctx *state_ = spng_ctx_new(0);
    spng_ihdr header_ {};
    failure_t failure_;
    std::size_t channels_ = 3;
    buffer_t<std::uint16_t> deep_;  // a row [width, 4] of 16-bit channels
    buffer_t<std::uint8_t> shallow_; // a row [width, channels], or all of them

  public:
    explicit png_reader_t(file_t file) noexcept {
        if (!state_) {
            failure_ = refuse(SPNG_EMEM);
            return;
        }
        check(spng_set_crc_action(state_, SPNG_CRC_ERROR, SPNG_CRC_DISCARD));
        check(spng_set_chunk_limits(state_, chunk_limit_k, chunks_limit_k));
        check(spng_set_png_buffer(state_, file.data(), file.size()));
        check(spng_get_ihdr(state_, &header_));
    }
    png_reader_t(png_reader_t const &) = delete;
    png_reader_t &operator=(png_reader_t const &) = delete;
    ~png_reader_t() noexcept { spng_ctx_free(state_); }

    failure_t const &failure() const noexcept { return failure_; }
    spng_ihdr const &header() const noexcept { return header_; }

    void decode(std::size_t channels, row_sink_t sink) noexcept {
        channels_ = channels;
        bool const interlaced = header_.interlace_method != SPNG_INTERLACE_NONE;
        std::size_t const row_bytes = header_.width * channels_, rows = interlaced ? header_.height : 1;
        int const format = is_deep() ? SPNG_FMT_RGBA16 : channels_ == 4 ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
        if ((is_deep() && !deep_.resize(std::size_t(header_.width) * 4)) || !shallow_.resize(row_bytes * rows))
            return check(SPNG_EMEM);
        check(spng_decode_image(state_, nullptr, 0, format, SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE));
        for (bool last = false; !last && !failure_;) {
            spng_row_info place {};
            check(spng_get_row_info(state_, &place));
            if (failure_) return;
            std::uint8_t *const row = shallow_.data() + (interlaced ? place.row_num * row_bytes : 0);
            last = decode_row(row, place.pass, interlaced);
            if (!interlaced && !failure_ && !sink(row)) failure_ = decoding_stopped();
        }
        if (!failure_) check(spng_decode_chunks(state_)); // what is left must be there too
        for (std::size_t row = 0; interlaced && !failure_ && row < header_.height; ++row)
            if (!sink(shallow_.data() + row * row_bytes)) failure_ = decoding_stopped();
    }

  private:
    void check(int error) noexcept {
        if (error && !failure_) failure_ = refuse(error);
    }
    bool is_deep() const noexcept { return header_.bit_depth == 16; }

    /** True after the last row. */
    bool decode_row(std::uint8_t *row, int pass, bool interlaced) noexcept {
        std::size_t const width = header_.width;
        int const error = is_deep() ? spng_decode_row(state_, deep_.data(), width * 4 * sizeof(std::uint16_t))
                                    : spng_decode_row(state_, row, width * channels_);
        if (error != SPNG_EOI) check(error);
        if (failure_ || !is_deep()) return error == SPNG_EOI;
        pass_t const pixels = interlaced ? passes_k[pass] : pass_t {0, 1};
        for (std::size_t x = pixels.first; x < width; x += pixels.step)
            for (std::size_t c = 0; c < channels_; ++c)
                row[x * channels_ + c] = std::uint8_t((deep_[x * 4 + c] + 128u) / 257u); // to the nearest
        return error == SPNG_EOI;
    }
};

} // namespace

failure_t read_png_header(file_t file, image_header_t &header) noexcept {
    png_reader_t const reader(file);
    if (reader.failure()) return reader.failure();
    spng_ihdr const &read = reader.header();
    bool const alpha = read.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                       read.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA || has_png_chunk(file, "tRNS");
    header.width = read.width, header.height = read.height, header.channels = alpha ? 4 : 3;
    return {};
}

failure_t decode_png(file_t file, image_header_t const &header, row_sink_t sink) noexcept {
    if (!is_whole_png(file)) return refuse(SPNG_IO_EOF);
    png_reader_t reader(file);
    if (!reader.failure()) reader.decode(header.channels, sink);
    return reader.failure();
}

} // namespace uform
