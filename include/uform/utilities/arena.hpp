/**
 *  @file arena.hpp
 *  @brief The memory that outputs land in: lent by the caller, rewound by each call, held by one call at a time.
 *
 *  Last stop of the data path. It is scratch memory with an owner: blocks keep every claimed pointer valid until the
 *  next call, which finds them merged into one of their total size. It knows nothing of what lands in it.
 */
#pragma once
#include <uform/utilities/hold.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

class arena_t {
    hold_t hold_;
    scratch_t memory_;

  public:
    /** Takes the arena for one call and forgets what the call before landed; false where a call still has it. */
    [[nodiscard]] bool try_hold() noexcept {
        if (!hold_.try_hold()) return false;
        memory_.reset();
        return true;
    }
    /** Takes it too, and keeps what landed: for a look at whose memory it is. */
    [[nodiscard]] bool try_look() noexcept { return hold_.try_hold(); }
    void release() noexcept { hold_.release(); }
    void release_leaving() noexcept { hold_.release_leaving(); }
    void leave() noexcept { hold_.leave(); }
    void wait_free() const noexcept { hold_.wait_free(); }
    bool torn_by_fork() const noexcept { return hold_.torn_by_fork(); }

    /** 64-byte aligned, uninitialized, valid until the next hold; null when memory is out. Its holder's to call. */
    template <typename element_>
    element_ *claim(std::size_t count) noexcept {
        return memory_.claim<element_>(count);
    }
    /** True where any of the `bytes` bytes at `data` are its own. Its holder's to ask. */
    bool holds(void const *data, std::size_t bytes) const noexcept { return memory_.holds(data, bytes); }
    void place(domains_t const &domains) noexcept { memory_.place(domains); }
    std::size_t capacity() const noexcept { return memory_.capacity(); }
};

} // namespace uform
