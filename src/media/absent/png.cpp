/**
 *  @file png.cpp
 *  @brief What links where PNG is not built: every file of it is answered with the option that brings it.
 */
#include "../formats.hpp"

namespace uform {
namespace {

failure_t refuse() noexcept {
    return fail(uform_status_unsupported_k, "this build reads no PNG files; configure with -DUFORM_WITH_PNG=ON");
}

} // namespace

failure_t read_png_header(file_t, image_header_t &) noexcept { return refuse(); }
failure_t decode_png(file_t, image_header_t const &, row_sink_t) noexcept { return refuse(); }

} // namespace uform
