/**
 *  @file stop.hpp
 *  @brief How work below the verbs learns that its caller wants no more of it, without knowing who that is.
 */
#pragma once

namespace uform {

/** Asked now and then by work that takes long: true ends it as `cancelled`. Nobody to ask: false. */
struct stop_t {
    bool (*asked)(void *self) noexcept = nullptr;
    void *self = nullptr;

    bool operator()() const noexcept { return asked && asked(self); }
};

} // namespace uform
