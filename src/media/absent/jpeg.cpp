/**
 *  @file jpeg.cpp
 *  @brief What links where JPEG is not built: every file of it is answered with the option that brings it.
 */
#include "../formats.hpp"

namespace uform {
namespace {

failure_t refuse() noexcept {
    return fail(uform_status_unsupported_k, "this build reads no JPEG files; configure with -DUFORM_WITH_JPEG=ON");
}

} // namespace

failure_t read_jpeg_header(file_t, image_header_t &) noexcept { return refuse(); }
failure_t decode_jpeg(file_t, image_header_t const &, std::size_t, row_sink_t) noexcept { return refuse(); }

} // namespace uform
