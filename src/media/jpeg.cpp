/**
 *  @file jpeg.cpp
 *  @brief JPEG by libjpeg-turbo, through the interface of libjpeg: it hands out rows, and says what each warning is.
 *
 *  Errors leave the library by longjmp, so nothing between `guarded` and the library may have a destructor. The
 *  library patches up damaged files and warns; a warning that a picture's pixels could suffer from is a failure here.
 *  Four inks are taken to be stored inverted, as Adobe's programs store them, which is what other decoders do as well.
 */
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <uform/utilities/buffer.hpp>

#include "formats.hpp"

namespace uform {
namespace {

constexpr int scans_limit_k = 500; // a file of scans without end would keep a decoder busy without end

/** Into rows that are aligned libjpeg-turbo writes past the caches, and we would wait for memory to read them back. */
constexpr std::size_t misalignment_k = 8;

class jpeg_reader_t {
    jpeg_decompress_struct state_ {};
    jpeg_error_mgr errors_ {};
    jpeg_progress_mgr watch_ {};
    std::jmp_buf escape_;
    failure_t failure_;
    bool started_ = false; // past the header

  public:
    explicit jpeg_reader_t(file_t file) noexcept {
        state_.err = jpeg_std_error(&errors_);
        errors_.error_exit = [](j_common_ptr state) { self_of(state).escape(state); };
        errors_.emit_message = [](j_common_ptr state, int level) { self_of(state).warn(state, level); };
        errors_.output_message = [](j_common_ptr) {};
        watch_.progress_monitor = [](j_common_ptr state) { self_of(state).watch(state); };
        state_.client_data = this;
        guarded([&] {
            jpeg_create_decompress(&state_);
            state_.client_data = this, state_.progress = &watch_;
            jpeg_mem_src(&state_, file.data(), static_cast<unsigned long>(file.size()));
            jpeg_read_header(&state_, TRUE);
        });
    }
    jpeg_reader_t(jpeg_reader_t const &) = delete;
    jpeg_reader_t &operator=(jpeg_reader_t const &) = delete;
    ~jpeg_reader_t() noexcept { jpeg_destroy_decompress(&state_); }

    failure_t const &failure() const noexcept { return failure_; }
    jpeg_decompress_struct const &state() const noexcept { return state_; }

    /** Hands over all rows; `row` holds one of them, of `output_components` values a pixel. */
    void decode(std::size_t reduction, buffer_t<std::uint8_t> &row, row_sink_t sink) noexcept {
        started_ = true;
        guarded([&] {
            bool const inks = state_.num_components == 4;
            state_.scale_num = 1, state_.scale_denom = unsigned(reduction);
            state_.out_color_space = inks ? JCS_CMYK : JCS_RGB;
            jpeg_start_decompress(&state_);
            while (state_.output_scanline < state_.output_height && !failure_) {
                JSAMPROW target = row.data() + misalignment_k;
                jpeg_read_scanlines(&state_, &target, 1);
                if (inks) mix_inks(target, state_.output_width);
                if (!failure_ && !sink(target)) failure_ = decoding_stopped();
            }
            if (!failure_) jpeg_finish_decompress(&state_); // what is left must be there too
        });
    }

  private:
    template <typename body_>
    void guarded(body_ const &body) noexcept {
        if (failure_) return;
        if (setjmp(escape_) == 0) body();
    }
    static jpeg_reader_t &self_of(j_common_ptr state) noexcept {
        return *static_cast<jpeg_reader_t *>(state->client_data);
    }

    void refuse(j_common_ptr state) noexcept {
        char text[JMSG_LENGTH_MAX] = {};
        state->err->format_message(state, text);
        switch (state->err->msg_code) {
        case JERR_OUT_OF_MEMORY:
            failure_ = fail(uform_status_out_of_memory_k, "memory for decoding a JPEG is out");
            return;
        case JERR_BAD_PRECISION:
        case JERR_SOF_UNSUPPORTED:
        case JERR_ARITH_NOTIMPL:
        case JERR_NOTIMPL:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_CCIR601_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
            failure_ = fail(uform_status_unsupported_layout_k, "a JPEG of this kind is not read", "%s", text);
            return;
        default:
            failure_ = fail(uform_status_malformed_k, "the JPEG is damaged", "%s", text);
        }
    }
    void escape(j_common_ptr state) noexcept {
        if (!failure_) refuse(state);
        std::longjmp(escape_, 1);
    }
    void warn(j_common_ptr state, int level) noexcept {
        if (level >= 0 || failure_) return; // a trace
        switch (state->err->msg_code) {
        case JWRN_JFIF_MAJOR: // these four say nothing of the pixels
        case JWRN_ADOBE_XFORM:
        case JWRN_BOGUS_ICC:
        case JWRN_NOT_SEQUENTIAL:
            return;
        case JWRN_EXTRANEOUS_DATA:
            if (!started_) return; // between two headers
        }
        refuse(state);
    }
    void watch(j_common_ptr state) noexcept {
        if (failure_) std::longjmp(escape_, 1); // a warning was enough
        if (state_.input_scan_number <= scans_limit_k) return;
        failure_ = fail(uform_status_malformed_k, "the JPEG has more scans than any encoder writes");
        (void)state;
        std::longjmp(escape_, 1);
    }

    /** Stored inverted, an ink is the share of light it lets through: so is their product. */
    static void mix_inks(std::uint8_t *row, std::size_t pixels) noexcept {
        for (std::size_t i = 0; i < pixels; ++i) {
            unsigned const black = row[4 * i + 3];
            unsigned const inks[3] = {row[4 * i], row[4 * i + 1], row[4 * i + 2]};
            for (std::size_t c = 0; c < 3; ++c) row[3 * i + c] = std::uint8_t((2 * inks[c] * black + 255) / 510);
        }
    }
};

} // namespace

failure_t read_jpeg_header(file_t file, image_header_t &header) noexcept {
    jpeg_reader_t const reader(file);
    if (reader.failure()) return reader.failure();
    jpeg_decompress_struct const &state = reader.state();
    if (state.jpeg_color_space == JCS_UNKNOWN)
        return fail(uform_status_unsupported_layout_k, "a JPEG of this kind is not read", "%d components",
                    state.num_components);
    header.width = state.image_width, header.height = state.image_height, header.channels = 3;
    return {};
}

failure_t decode_jpeg(file_t file, image_header_t const &header, std::size_t reduction, row_sink_t sink) noexcept {
    buffer_t<std::uint8_t> row;
    if (!row.resize((header.width / reduction + 1) * 4 + misalignment_k))
        return fail(uform_status_out_of_memory_k, "memory for decoding a JPEG is out");
    jpeg_reader_t reader(file);
    if (!reader.failure()) reader.decode(reduction, row, sink);
    return reader.failure();
}

} // namespace uform
