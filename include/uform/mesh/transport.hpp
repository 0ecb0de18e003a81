/**
 *  @file transport.hpp
 *  @brief Bytes between the processes of a run: transfers posted together, awaited under a deadline, failures by rank.
 *
 *  One primitive, `exchange`: all its transfers are done when it answers success. While it waits it sends a sign of
 *  life to every peer; it gives up where a peer it waits for was silent for the deadline, lost its connection, or
 *  says that the run has failed or that it left. Whoever gives up first tells all others which process is to blame,
 *  so that none blames one that merely waited as well. After a failure the transport is closed and repeats that
 *  failure.
 *
 *  The body is UCX (`src/mesh/ucx.cpp`), or, where a build has none, a refusal (`src/mesh/absent.cpp`). UCX is loaded
 *  when a transport is first opened, never by linking: it would install signal handlers in every program. Knows no
 *  collective.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/utilities/status.hpp>

namespace uform {

enum class direction_t : std::uint8_t { send_k, receive_k };

/** One message. Both sides name the same tag and the same size; a tag is used once between two processes. */
struct transfer_t {
    direction_t direction;
    std::size_t peer;
    std::uint64_t tag; // below 2^48
    void *data;        // read from, or written to, until `exchange` answers
    std::size_t bytes; // zero: nothing is transferred
};

class transport_t {
  public:
    static constexpr std::size_t processes_limit_k = 4096;

    transport_t() noexcept = default;
    transport_t(transport_t const &) = delete;
    transport_t &operator=(transport_t const &) = delete;
    ~transport_t() noexcept { close(); }

    /** Readies this process to be reached; `unsupported` where UCX is not there. */
    [[nodiscard]] failure_t open() noexcept;
    std::span<std::byte const> address() const noexcept;
    /** Connects to all, whose addresses `address_of(context, process)` answers. */
    using address_of_t = std::span<std::byte const> (*)(void const *context, std::size_t process);
    [[nodiscard]] failure_t connect(std::size_t index, std::size_t count, std::size_t deadline_milliseconds,
                                    address_of_t address_of, void const *context) noexcept;
    [[nodiscard]] failure_t exchange(std::span<transfer_t const> transfers) noexcept;
    /** Tells the others that this process leaves, and disconnects. */
    void close() noexcept;

  private:
    struct state_t;
    state_t *state_ = nullptr;
};

} // namespace uform
