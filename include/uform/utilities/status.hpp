/**
 *  @file status.hpp
 *  @brief The word every fallible function answers: a status and a message in static storage.
 *
 *  The enumerators are those of the C ABI (`uform/types.h`), which is their only definition. `failure_t` is what travels
 *  inside the engine; the verbs copy it into the caller's `uform_outcome_t`. `detail` carries what varies (the tensor's
 *  name, both values) and is always NUL-ended, cut at its capacity, never allocated.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/types.h>

namespace uform {

using status_t = uform_status_t;

/** First failure of a call; `status` is `uform_status_success_k` while nothing went wrong. */
struct failure_t {
    static constexpr std::size_t detail_capacity_k = 256;
    static constexpr std::size_t no_item_k = SIZE_MAX;

    status_t status = uform_status_success_k;
    char const *message = "";        // static storage, never null
    std::size_t item = no_item_k;    // index of the item at fault
    char detail[detail_capacity_k] = {};

    explicit operator bool() const noexcept { return status != uform_status_success_k; }
};

/** Makes a failure with a `printf`-style detail; a UTF-8 sequence cut by the capacity is dropped whole. */
[[gnu::format(printf, 3, 4)]] failure_t fail(status_t status, char const *message, char const *detail_format,
                                             ...) noexcept;
inline failure_t fail(status_t status, char const *message) noexcept {
    failure_t failure;
    failure.status = status, failure.message = message;
    return failure;
}

} // namespace uform
