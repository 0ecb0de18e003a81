/**
 *  @file file.hpp
 *  @brief A whole file in the caller's memory, as every decoder takes it, and what all of them have in common.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/utilities/status.hpp>
#include <uform/utilities/stop.hpp>

namespace uform {

using file_t = std::span<std::uint8_t const>;

/** The limits with their defaults in place of zeros. */
inline uform_limits_t resolved(uform_limits_t limits) noexcept {
    if (!limits.max_pixels) limits.max_pixels = std::uint64_t(1) << 27;
    if (!limits.max_frame_pixels) limits.max_frame_pixels = std::uint64_t(1) << 26;
    if (!limits.max_file_bytes) limits.max_file_bytes = std::uint64_t(1) << 32;
    if (!limits.max_seconds) limits.max_seconds = 3600;
    return limits;
}

/** Refuses a file of no bytes, and one of more than `limits.max_file_bytes`. */
inline failure_t check_file_bytes(file_t file, uform_limits_t const &limits) noexcept {
    std::uint64_t const limit = resolved(limits).max_file_bytes;
    if (file.empty()) return fail(uform_status_malformed_k, "the file is empty");
    if (file.size() <= limit) return {};
    return fail(uform_status_malformed_k, "the file is larger than limits.max_file_bytes", "%zu bytes, beyond %llu",
                file.size(), (unsigned long long)limit);
}

} // namespace uform
