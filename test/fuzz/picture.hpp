/**
 *  @file picture.hpp
 *  @brief What the fuzz targets of all picture formats ask: a refusal, or the rows that the header promised.
 */
#pragma once
#include <cstdint>
#include <cstdlib>

#include <uform/media/image.hpp>

namespace uform_fuzz {

struct seen_t {
    std::size_t bytes, rows = 0, sum = 0;
};

inline bool is_refusal(uform_status_t status) {
    return status == uform_status_malformed_k || status == uform_status_unknown_kind_k ||
           status == uform_status_unsupported_layout_k || status == uform_status_unsupported_k ||
           status == uform_status_out_of_memory_k;
}

inline void decode(uform::file_t file, uform::image_header_t const &header, std::size_t reduction) {
    std::size_t const columns = (header.width + reduction - 1) / reduction;
    seen_t seen {columns * header.channels};
    uform::row_sink_t const sink {[](void *self, std::uint8_t const *row) noexcept {
                                      seen_t &seen = *static_cast<seen_t *>(self);
                                      for (std::size_t i = 0; i < seen.bytes; ++i) seen.sum += row[i];
                                      return ++seen.rows != 0;
                                  },
                                  &seen};
    uform::failure_t const failure = decode_image(file, header, reduction, sink);
    if (failure ? !is_refusal(failure.status) : seen.rows != (header.height + reduction - 1) / reduction) std::abort();
}

/** Reads whatever it is given as `format`, which its first bytes are made to be. */
inline int attack(std::uint8_t const *data, std::size_t size, uform::image_format_t format) {
    uform::image_header_t header;
    uform_limits_t limits {};
    limits.max_pixels = 1 << 18; // so that thousands of files a second are tried
    uform::file_t const file(data, size);
    if (uform::failure_t const failure = read_image_header(file, limits, header)) {
        if (!is_refusal(failure.status)) std::abort();
        return 0;
    }
    if (header.format != format) return -1; // another target's: not worth keeping
    if (header.width * header.height > limits.max_pixels || header.orientation.number - 1u > 7) std::abort();
    decode(file, header, 1);
    if (can_reduce(format))
        for (std::size_t const reduction : {2, 4, 8}) decode(file, header, reduction);
    return 0;
}

} // namespace uform_fuzz
