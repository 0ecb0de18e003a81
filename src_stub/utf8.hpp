/**
 *  @file utf8.hpp
 *  @brief Whether bytes are UTF-8 (RFC 3629): no overlong spellings, no surrogates, nothing beyond U+10FFFF.
 */
#pragma once
#include <cstddef>
#include <string_view>

namespace uform_stub {

/** Bytes of the sequence that `text` starts with; zero where it starts with none. */
inline std::size_t utf8_sequence(std::string_view text) noexcept {
    auto const byte = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    unsigned const lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    unsigned const low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned const high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) return 0;
    std::size_t const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    for (std::size_t i = 2; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    return length;
}

inline bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        std::size_t const length = utf8_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

} // namespace uform_stub
