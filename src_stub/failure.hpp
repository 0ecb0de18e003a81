/**
 *  @file failure.hpp
 *  @brief What the stub throws inside and answers outside: a status, a static message, an item, a detail.
 *
 *  Exceptions never pass a verb: `call.hpp` catches them all and copies them into the caller's outcome.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <uform/types.h>

#include "utf8.hpp"

namespace uform_stub {

/** Trivially copyable, so that carrying it needs no memory. */
struct failure_t {
    uform_status_t status = uform_status_success_k;
    char const *message = ""; // static storage
    std::size_t item = SIZE_MAX;
    char detail[UFORM_DETAIL_CAPACITY] = {};

    explicit operator bool() const noexcept { return status != uform_status_success_k; }
};

/** Throws. The detail is cut between characters, and one that is no UTF-8 shows `?` for what is not ASCII. */
[[noreturn]] inline void fail(uform_status_t status, char const *message, std::string detail = {},
                              std::size_t item = SIZE_MAX) {
    failure_t failure;
    failure.status = status, failure.message = message, failure.item = item;
    for (char &byte : detail)
        if (byte == 0) byte = '?';
    if (!is_utf8(detail))
        for (char &byte : detail)
            if (byte & 0x80) byte = '?';
    std::size_t length = detail.size();
    if (length >= sizeof(failure.detail)) {
        length = sizeof(failure.detail) - 1;
        while (length > 0 && (detail[length] & 0xc0) == 0x80) --length;
    }
    std::memcpy(failure.detail, detail.data(), length);
    throw failure;
}

[[noreturn]] inline void refuse(char const *message, std::string detail = {}, std::size_t item = SIZE_MAX) {
    fail(uform_status_invalid_argument_k, message, std::move(detail), item);
}
[[noreturn]] inline void unsupported(char const *message, std::string detail = {}, std::size_t item = SIZE_MAX) {
    fail(uform_status_unsupported_k, message, std::move(detail), item);
}
[[noreturn]] inline void malformed(char const *message, std::string detail = {}, std::size_t item = SIZE_MAX) {
    fail(uform_status_malformed_k, message, std::move(detail), item);
}

} // namespace uform_stub
