/**
 *  @file status.cpp
 *  @brief The detail of a failure: formatted, cut at its capacity, and made UTF-8 whatever went in.
 *
 *  Paths are the system's bytes and may be no text at all, yet a binding must be able to read a detail as a string.
 */
#include <uform/utilities/status.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace uform {
namespace {

/** Bytes of the UTF-8 sequence that a NUL-ended text starts with; zero where it starts with none (RFC 3629). */
std::size_t sequence_at(char const *text) noexcept {
    auto const byte = [text](std::size_t i) { return std::uint8_t(text[i]); };
    std::uint8_t const lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    // The second byte's bounds leave out overlong spellings, surrogates, and what lies beyond U+10FFFF.
    std::uint8_t const low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    std::uint8_t const high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) return 0;
    std::size_t const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    for (std::size_t i = 2; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    return length;
}

} // namespace

failure_t fail(status_t status, char const *message, char const *detail_format, ...) noexcept {
    failure_t failure = fail(status, message);
    std::va_list values;
    va_start(values, detail_format);
    std::vsnprintf(failure.detail, failure_t::detail_capacity_k, detail_format, values);
    va_end(values);
    std::size_t length = 0;
    while (failure.detail[length]) ++length;
    if (length + 1 == failure_t::detail_capacity_k) { // a sequence cut by the capacity is dropped whole
        std::size_t lead = length;
        while (lead > 0 && (failure.detail[lead - 1] & 0xC0) == 0x80) --lead;
        if (lead > 0 && (failure.detail[lead - 1] & 0x80)) failure.detail[lead - 1] = 0;
    }
    for (char *at = failure.detail; *at; at += std::max<std::size_t>(sequence_at(at), 1))
        if (sequence_at(at) == 0) *at = '?';
    return failure;
}

} // namespace uform
