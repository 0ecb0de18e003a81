/**
 *  @file names.hpp
 *  @brief Enumerators and their spellings, and the two walks over a table of them.
 */
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <uform/types.h>

namespace uform_stub {

struct named_t {
    std::int32_t value;
    char const *name;
};

inline char const *name_in(std::span<named_t const> names, std::int32_t value) noexcept {
    for (named_t const &named : names)
        if (named.value == value) return named.name;
    return "unknown";
}

inline std::int32_t value_in(std::span<named_t const> names, uform_bytes_view_t name) noexcept {
    if (!name.data) return -1;
    for (named_t const &named : names)
        if (std::string_view(static_cast<char const *>(name.data), name.length) == named.name) return named.value;
    return -1;
}

} // namespace uform_stub
