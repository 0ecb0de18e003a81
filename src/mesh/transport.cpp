/**
 *  @file transport.cpp
 *  @brief Who is waited for, for how long, and who is to blame: the rules of `exchange` over a link that knows none.
 *
 *  Modelled by `verification/death.pml`.
 */
#include <uform/mesh/transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include <uform/utilities/buffer.hpp>

#include "mesh/link.hpp"

namespace uform {
namespace {

using clock_t = std::chrono::steady_clock;
using milliseconds_t = std::chrono::milliseconds;

constexpr milliseconds_t most_beat_k {1000}; // between two signs of life
/** A lost connection may be the echo of another process's death: its notice is given this long to come. */
constexpr milliseconds_t most_grace_k {300};
/** For the others to leave too. TCP answers what comes for a closed connection, such as a late sign of life, with a
 *  reset, which throws away what is still on its way: half a megabyte under way is enough. */
constexpr milliseconds_t farewell_k {1000};
constexpr int idle_looks_k = 200;           // without a message, before sleeping: a few microseconds

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the mesh is out"); }

} // namespace

struct transport_t::state_t {
    struct peer_t {
        clock_t::time_point heard; // when it last gave a sign of life
        clock_t::time_point lost;  // when its connection was found lost; zero before
        bool gone;                 // it said that it leaves, or that the run failed
        bool awaited;              // by the exchange that runs
    };
    link_t link;
    std::size_t index = 0, count = 0;
    milliseconds_t deadline {}, beat {}, grace {};
    buffer_t<peer_t> peers;                // [count]
    buffer_t<link_t::message_t> messages;  // [4 count], of the exchange that runs
    std::span<transfer_t const> transfers; // of the exchange that runs
    clock_t::time_point started, beaten;
    notice_t heard_failure {}; // the first that came; its source is its culprit where none did
    bool failure_heard = false, connected = false;
    failure_t failure; // once the run is broken

    void hear(notice_t const &notice) noexcept;
    failure_t exchange(std::span<transfer_t const> asked) noexcept;
    std::size_t look() noexcept;
    void judge() noexcept;
    void judge_peer(std::size_t process, clock_t::time_point now) noexcept;
    void send_beats() noexcept;
    void blame(std::size_t culprit, char const *reason) noexcept;
    void linger(milliseconds_t limit) noexcept;
    void tell(notice_kind_t kind, std::size_t culprit, char const *reason) noexcept;
};

void transport_t::state_t::hear(notice_t const &notice) noexcept {
    if (notice.source >= peers.size()) return;
    peers[notice.source].heard = clock_t::now();
    if (notice.kind != notice_kind_t::alive_k) peers[notice.source].gone = true;
    if (notice.kind != notice_kind_t::failed_k || failure_heard || notice.culprit >= count) return;
    heard_failure = notice, failure_heard = true;
}

failure_t transport_t::state_t::exchange(std::span<transfer_t const> asked) noexcept {
    if (failure) return failure;
    transfers = asked, started = clock_t::now();
    for (direction_t const direction : {direction_t::receive_k, direction_t::send_k}) // receives first: none surprises
        for (std::size_t i = 0; i < asked.size(); ++i)
            if (asked[i].direction == direction) messages[i] = link.post(index, asked[i]);
    for (int idle = 0;;) {
        while (link.progress()) idle = 0;
        if (look() == 0 && !failure) break;
        if (!failure) judge();
        if (failure) break;
        if (++idle < idle_looks_k) continue;
        send_beats();
        link.sleep(int(std::max<std::int64_t>(1, (beat / 4).count())));
    }
    transfers = {};
    return failure;
}

/** How many messages are still under way; marks whom they are waited from. */
std::size_t transport_t::state_t::look() noexcept {
    std::size_t waiting = 0;
    for (peer_t &peer : peers) peer.awaited = false;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        link_t::message_t &message = messages[i];
        peer_t &peer = peers[transfers[i].peer];
        bool const was_waiting = message.request;
        link.look(message, transfers[i]);
        if (message.request || message.reason)
            ++waiting, peer.awaited = true;
        else if (was_waiting && transfers[i].direction == direction_t::receive_k)
            peer.heard = clock_t::now();
    }
    return waiting;
}

void transport_t::state_t::judge() noexcept {
    clock_t::time_point const now = clock_t::now();
    if (failure_heard) {
        bool const ourselves = heard_failure.culprit == index;
        return blame(ourselves ? heard_failure.source : heard_failure.culprit,
                     ourselves ? "it no longer hears this process" : heard_failure.reason);
    }
    for (std::size_t process = 0; process < count && !failure; ++process)
        if (process != index && peers[process].awaited) judge_peer(process, now);
}

void transport_t::state_t::judge_peer(std::size_t process, clock_t::time_point now) noexcept {
    peer_t &peer = peers[process];
    char const *reason = link.lost(process);
    for (std::size_t i = 0; i < transfers.size() && !reason; ++i)
        if (transfers[i].peer == process) reason = messages[i].reason;
    if (reason) {
        if (peer.lost == clock_t::time_point()) peer.lost = now;
        if (now - peer.lost >= grace) blame(process, reason);
        return;
    }
    if (peer.gone) return blame(process, "it left the run");
    if (now - std::max(started, peer.heard) < deadline) return;
    char text[sizeof(notice_t::reason)];
    std::snprintf(text, sizeof(text), "nothing heard for %lld ms", (long long)deadline.count());
    blame(process, text);
}

void transport_t::state_t::send_beats() noexcept {
    clock_t::time_point const now = clock_t::now();
    if (now - beaten < beat) return;
    beaten = now;
    tell(notice_kind_t::alive_k, 0, "");
}

void transport_t::state_t::tell(notice_kind_t kind, std::size_t culprit, char const *reason) noexcept {
    notice_t notice;
    notice.kind = kind, notice.source = std::uint32_t(index), notice.culprit = std::uint32_t(culprit);
    std::snprintf(notice.reason, sizeof(notice.reason), "%s", reason);
    for (std::size_t process = 0; process < count; ++process)
        if (process != index && !peers[process].gone) link.notify(process, notice);
}

/** Breaks the run: everyone is told before the connections go, since their loss would point at this process. */
void transport_t::state_t::blame(std::size_t culprit, char const *reason) noexcept {
    failure = fail(uform_status_io_k, "a process of the run failed", "rank %zu: %s", culprit, reason);
    char kept[sizeof(notice_t::reason)];
    std::snprintf(kept, sizeof(kept), "%s", reason);
    peers[culprit].gone = true;
    for (int beats = 0; beats < 20 && link.notices_under_way(); ++beats) { // a sign of life may still be under way
        while (link.progress()) {
        }
        link.sleep(1);
    }
    tell(notice_kind_t::failed_k, culprit, kept);
    linger(most_grace_k);
    for (std::size_t i = 0; i < transfers.size(); ++i) link.cancel(messages[i]);
    link.disconnect(0);
    for (int looks = 0; looks < 100 && look() > 0; ++looks) { // cancelled ones still count where they failed
        bool under_way = false;
        for (std::size_t i = 0; i < transfers.size(); ++i) under_way |= messages[i].request != nullptr;
        if (!under_way) break;
        while (link.progress()) {
        }
        link.sleep(1);
    }
    connected = false;
}

/** Keeps reading until every peer has left or is lost, so that closing cuts nothing off that is under way. */
void transport_t::state_t::linger(milliseconds_t limit) noexcept {
    clock_t::time_point const end = clock_t::now() + limit;
    for (bool present = true; present && clock_t::now() < end;) {
        while (link.progress()) {
        }
        present = false;
        for (std::size_t process = 0; process < count; ++process)
            present |= process != index && !peers[process].gone && !link.lost(process);
        if (present) link.sleep(2);
    }
}

failure_t transport_t::open() noexcept {
    close();
    state_ = new (std::nothrow) state_t;
    if (!state_) return out_of_memory();
    auto const hear = [](void *state, notice_t const &notice) noexcept { static_cast<state_t *>(state)->hear(notice); };
    failure_t const failure = state_->link.open(hear, state_);
    if (failure) delete std::exchange(state_, nullptr);
    return failure;
}

std::span<std::byte const> transport_t::address() const noexcept { return state_->link.address(); }

failure_t transport_t::connect(std::size_t index, std::size_t count, std::size_t deadline_milliseconds,
                               address_of_t address_of, void const *context) noexcept {
    state_t &state = *state_;
    if (!state.peers.resize(count) || !state.messages.resize(4 * count)) return out_of_memory();
    if (failure_t const failure = state.link.reserve(count)) return failure;
    state.index = index, state.count = count, state.deadline = milliseconds_t(deadline_milliseconds);
    state.beat = std::min(most_beat_k, state.deadline / 8);
    state.grace = count == 2 ? milliseconds_t(0) : std::min(most_grace_k, state.deadline / 4);
    for (std::size_t process = 0; process < count; ++process) {
        if (process == index) continue;
        failure_t failure = state.link.connect(process, address_of(context, process));
        if (failure) return fail(failure.status, failure.message, "rank %zu: %.200s", process, failure.detail);
    }
    state.connected = true;
    return {};
}

failure_t transport_t::exchange(std::span<transfer_t const> transfers) noexcept { return state_->exchange(transfers); }

void transport_t::close() noexcept {
    if (!state_) return;
    if (state_->connected) {
        state_->tell(notice_kind_t::left_k, 0, "");
        state_->linger(farewell_k);
        state_->link.disconnect(100);
    }
    delete std::exchange(state_, nullptr);
}

} // namespace uform
