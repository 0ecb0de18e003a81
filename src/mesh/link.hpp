/**
 *  @file link.hpp
 *  @brief What the transport asks of UCX, and nothing else: connections, messages by tag, short notices, sleeping.
 *
 *  `ucx.cpp` answers it with UCX, `absent.cpp` where a build has none. Nothing here waits for long, judges a peer or
 *  knows a deadline; that is the transport's. Reasons are UCX's own words, in static storage.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/mesh/transport.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** What processes tell each other beside the data. */
enum class notice_kind_t : std::uint32_t { alive_k = 1, failed_k = 2, left_k = 3 };

struct notice_t {
    notice_kind_t kind = notice_kind_t::alive_k;
    std::uint32_t source = 0;
    std::uint32_t culprit = 0; // where the run failed: whom the source blames
    char reason[52] = {};      // and why, NUL-ended
};

class link_t {
  public:
    using hear_t = void (*)(void *context, notice_t const &notice) noexcept;
    /** A message under way; a null request is done. */
    struct message_t {
        void *request = nullptr;
        char const *reason = nullptr; // why it failed
    };

    link_t() noexcept = default;
    link_t(link_t const &) = delete;
    link_t &operator=(link_t const &) = delete;
    ~link_t() noexcept { close(); }

    /** `hear` is called from `progress` alone, for every notice that comes. */
    [[nodiscard]] failure_t open(hear_t hear, void *context) noexcept;
    std::span<std::byte const> address() const noexcept;
    [[nodiscard]] failure_t reserve(std::size_t count) noexcept;
    [[nodiscard]] failure_t connect(std::size_t process, std::span<std::byte const> address) noexcept;
    /** Why the connection to a process is lost; null while it is not. */
    char const *lost(std::size_t process) const noexcept;

    message_t post(std::size_t self, transfer_t const &transfer) noexcept;
    /** Looks at a message under way: done, failed, or still with its request. */
    void look(message_t &message, transfer_t const &transfer) noexcept;
    void cancel(message_t &message) noexcept;
    /** Sends a notice unless the last one to that process is still under way. It is copied. */
    void notify(std::size_t process, notice_t const &notice) noexcept;
    bool notices_under_way() noexcept;

    /** Moves what can be moved; false where nothing could. */
    bool progress() noexcept;
    /** Sleeps until something can be moved, `milliseconds` at most. */
    void sleep(int milliseconds) noexcept;
    /** Ends every connection once what was sent is out, `milliseconds` at most; at once where that is zero. */
    void disconnect(int milliseconds) noexcept;
    void close() noexcept;

  private:
    struct state_t;
    state_t *state_ = nullptr;
};

} // namespace uform
