/**
 *  @file rendezvous.hpp
 *  @brief How the processes of a run find each other: one file each, in a directory that every host sees.
 *
 *  A process draws a nonce and writes `<directory>/process-<index>`: what all must agree on, its transport address,
 *  and the nonces of the peers it has read. A peer's file counts once it lists our nonce back, which no file of a
 *  dead run can: nonces are never drawn twice. All are joined when every file lists the same nonces; their hash is
 *  the run's identity, which the transport's first barrier compares again. Files are replaced by rename, so readers
 *  see them whole.
 *
 *      process 0   nonce a, seen a -      ─▶  reads b, seen a b  ─▶  process 1 lists a b too: joined
 *      process 1         nonce b, seen - b  ─▶  reads a, seen a b  ─▶  process 0 lists a b too: joined
 *
 *  A process that takes an index held by a live one replaces its file. The first sees that, leaves `conflict-<nonce>`
 *  for the second, and both fail. Modelled by `verification/rendezvous.pml`. It knows files, not the transport.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

struct rendezvous_options_t {
    std::string_view directory; // OS bytes
    std::size_t index = 0;
    std::size_t count = 1;
    std::string_view fields; // of `fields_t`, the job first: what all must agree on
    std::span<std::byte const> address;
    std::size_t deadline_milliseconds = 60000;
    uform_progress_t progress {}; // counts processes that joined, this one included; asked at every look
};

class rendezvous_t {
  public:
    static constexpr std::size_t job_limit_k = 128; // bytes: two of them must fit a detail
    rendezvous_t() noexcept = default;
    rendezvous_t(rendezvous_t const &) = delete;
    rendezvous_t &operator=(rendezvous_t const &) = delete;
    ~rendezvous_t() noexcept { leave(); }

    /** Meets all others, or says why not. The options' views are read until it returns. */
    [[nodiscard]] failure_t join(rendezvous_options_t const &options) noexcept;
    /** The same in every process of the run, and in no other run. */
    std::uint64_t run() const noexcept { return run_; }
    std::span<std::byte const> address(std::size_t process) const noexcept { return peers_[process].address.span(); }
    /** Removes this process's file, unless another took its place or its refusal is still to be read. */
    void leave() noexcept;

  private:
    /** What was last read of a peer. */
    struct peer_t {
        std::uint64_t nonce = 0; // zero: no file that can be read
        bool answers = false;    // its file lists our nonce
        bool complete = false;   // it lists the nonces that we list
        bool unreadable = false;
        buffer_t<std::byte> address;
        buffer_t<char> text; // the whole file
    };
    /** Peers own buffers, so they live in plain memory of their own. */
    struct peers_t {
        peer_t *data = nullptr;
        ~peers_t() noexcept { delete[] data; }
        peer_t &operator[](std::size_t i) const noexcept { return data[i]; }
    };

    failure_t prepare(rendezvous_options_t const &options) noexcept;
    failure_t meet() noexcept;
    bool tell(std::size_t &reported) const noexcept;
    failure_t publish(std::string_view refusal) noexcept;
    failure_t look() noexcept;
    failure_t look_at_own() noexcept;
    failure_t read_peer(std::size_t process, bool &changed) noexcept;
    bool parse_peer(std::size_t process, bool &changed) noexcept;
    failure_t judge_peer(std::size_t process) const noexcept;
    failure_t judge_absence() const noexcept;
    failure_t refuse(failure_t const &failure) noexcept;
    bool joined() const noexcept;
    std::size_t answering() const noexcept;
    buffer_t<char> path_of(char const *kind, std::uint64_t number, bool hexadecimal) const noexcept;

    rendezvous_options_t options_;
    std::uint64_t nonce_ = 0, run_ = 0;
    peers_t peers_;                // [count]
    buffer_t<std::uint64_t> seen_; // [count] nonces, ours included
    buffer_t<char> own_path_;      // of this process's file
    bool published_ = false, settled_ = false;
};

} // namespace uform
