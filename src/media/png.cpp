/**
 *  @file png.cpp
 *  @brief PNG by libspng, a row at a time; interlaced ones whole, as theirs come in seven passes.
 */
#include <cstdlib>

#include <spng.h>

#include <uform/utilities/buffer.hpp>

#include "formats.hpp"

namespace uform {
namespace {

constexpr std::size_t chunk_limit_k = std::size_t(1) << 24, chunks_limit_k = std::size_t(1) << 26; // bytes of ancillary

/**
 *  Whether memory ran out for the PNG at hand. zlib's lack of memory reaches libspng as a damaged stream, and libspng's
 *  hooks for memory carry no context, so the thread does. Set anew for each file.
 */
thread_local bool memory_ran_out = false;

void *noted(void *memory) noexcept {
    memory_ran_out = memory_ran_out || !memory;
    return memory;
}

failure_t refuse(int error) noexcept {
    switch (memory_ran_out ? int(SPNG_EMEM) : error) {
    case SPNG_EMEM:
    case SPNG_EZLIB_INIT:
        return fail(uform_status_out_of_memory_k, "memory for decoding a PNG is out");
    case SPNG_IO_EOF:
        return fail(uform_status_malformed_k, "the PNG is cut short");
    default:
        return fail(uform_status_malformed_k, "the PNG is damaged", "%s", spng_strerror(error));
    }
}

class png_reader_t {
    spng_ctx *state_ = nullptr;
    spng_ihdr header_ {};
    failure_t failure_;
    std::size_t channels_ = 3;
    buffer_t<std::uint8_t> shallow_; // rows [width, channels]: one, or all of an interlaced picture
    buffer_t<std::uint16_t> deep_;   // the same of 16-bit channels, always four

  public:
    explicit png_reader_t(file_t file) noexcept {
        spng_alloc hooks {[](std::size_t bytes) { return noted(std::malloc(bytes)); },
                          [](void *memory, std::size_t bytes) { return noted(std::realloc(memory, bytes)); },
                          [](std::size_t count, std::size_t bytes) { return noted(std::calloc(count, bytes)); },
                          [](void *memory) { std::free(memory); }};
        memory_ran_out = false;
        state_ = spng_ctx_new2(&hooks, 0);
        if (!state_) {
            failure_ = refuse(SPNG_EMEM);
            return;
        }
        check(spng_set_crc_action(state_, SPNG_CRC_ERROR, SPNG_CRC_ERROR));
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
        std::size_t const pixels = std::size_t(header_.width) * (interlaced ? header_.height : 1);
        if (!shallow_.resize(is_deep() ? header_.width * channels_ : pixels * channels_) ||
            (is_deep() && !deep_.resize(pixels * 4)))
            return check(SPNG_EMEM);
        if (interlaced)
            decode_whole(sink);
        else
            decode_rows(sink);
    }

  private:
    void check(int error) noexcept {
        if (error && !failure_) failure_ = refuse(error);
    }
    bool is_deep() const noexcept { return header_.bit_depth == 16; }
    int format() const noexcept {
        return is_deep() ? SPNG_FMT_RGBA16 : channels_ == 4 ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
    }
    void *target() const noexcept {
        return is_deep() ? static_cast<void *>(deep_.data()) : static_cast<void *>(shallow_.data());
    }
    std::size_t target_bytes() const noexcept {
        return is_deep() ? deep_.size() * sizeof(std::uint16_t) : shallow_.size();
    }

    void decode_rows(row_sink_t sink) noexcept {
        check(spng_decode_image(state_, nullptr, 0, format(), SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE));
        for (std::size_t row = 0; row < header_.height && !failure_; ++row) {
            int const error = spng_decode_row(state_, target(), target_bytes());
            check(error == SPNG_EOI && row + 1 == header_.height ? 0 : error);
            hand_over(0, sink);
        }
        if (!failure_) check(spng_decode_chunks(state_)); // what is left must be there too
    }
    void decode_whole(row_sink_t sink) noexcept {
        check(spng_decode_image(state_, target(), target_bytes(), format(), SPNG_DECODE_TRNS));
        if (!failure_) check(spng_decode_chunks(state_));
        for (std::size_t row = 0; row < header_.height && !failure_; ++row) hand_over(row, sink);
    }
    void hand_over(std::size_t row, row_sink_t sink) noexcept {
        if (failure_) return;
        std::size_t const width = header_.width;
        std::uint8_t *const shown = shallow_.data() + (is_deep() ? 0 : row * width * channels_);
        std::uint16_t const *const deep = deep_.data() + row * width * 4;
        for (std::size_t x = 0; is_deep() && x < width; ++x)
            for (std::size_t c = 0; c < channels_; ++c)
                shown[x * channels_ + c] = std::uint8_t((deep[x * 4 + c] + 128u) / 257u); // to the nearest
        if (!sink(shown)) failure_ = decoding_stopped();
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
