/**
 *  @file rendezvous.cpp
 *  @brief The files through which processes meet: written whole, read until all list each other, judged field by field.
 */
#include <uform/mesh/rendezvous.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <uform/mesh/fields.hpp>
#include <uform/utilities/file.hpp>

#include "mesh/meeting.hpp"

namespace uform {
namespace {

using clock_t = std::chrono::steady_clock;

constexpr std::size_t file_limit_k = std::size_t(1) << 20; // of a peer's file: what is longer is none of ours
/** Between two looks at the directory: short at first, since processes start together, then easy on a file server. */
constexpr long least_pause_k = 2000000, most_pause_k = 50000000; // nanoseconds
constexpr int refusal_linger_k = 1000;                           // milliseconds

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the mesh is out"); }

std::uint64_t draw_nonce() noexcept {
    std::uint64_t nonce = 0;
    while (nonce == 0)
        if (::getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
            nonce = std::uint64_t(clock_t::now().time_since_epoch().count()) << 20 ^ std::uint64_t(::getpid());
    return nonce;
}

} // namespace

buffer_t<char> rendezvous_t::path_of(char const *kind, std::uint64_t number, bool hexadecimal) const noexcept {
    buffer_t<char> path;
    std::size_t const capacity = options_.directory.size() + 64;
    if (path.resize(capacity))
        std::snprintf(path.data(), capacity, hexadecimal ? "%.*s/%s-%016llx" : "%.*s/%s-%llu",
                      int(options_.directory.size()), options_.directory.data(), kind, (unsigned long long)number);
    return path;
}

failure_t rendezvous_t::prepare(rendezvous_options_t const &options) noexcept {
    options_ = options, nonce_ = draw_nonce(), run_ = 0;
    delete[] std::exchange(peers_.data, new (std::nothrow) peer_t[options.count]);
    if (!peers_.data || !seen_.resize(options.count)) return out_of_memory();
    own_path_ = path_of("process", options.index, false); // kept, so that leaving needs no memory
    if (own_path_.size() == 0) return out_of_memory();
    remove_abandoned({own_path_.data()});
    seen_[options.index] = nonce_;
    peer_t &self = peers_[options.index];
    self.nonce = nonce_, self.answers = self.complete = true;
    if (!self.address.resize(options.address.size())) return out_of_memory();
    std::copy(options.address.begin(), options.address.end(), self.address.begin());
    return {};
}

failure_t rendezvous_t::join(rendezvous_options_t const &options) noexcept {
    failure_t failure = prepare(options);
    if (!failure) failure = meet();
    if (failure) leave();
    return failure;
}

failure_t rendezvous_t::meet() noexcept {
    if (failure_t const failure = publish("")) return failure;
    clock_t::time_point const end = clock_t::now() + std::chrono::milliseconds(options_.deadline_milliseconds);
    std::size_t reported = 0;
    for (long pause = least_pause_k;; pause = std::min(2 * pause, most_pause_k)) {
        if (failure_t const failure = look()) return failure;
        if (options_.progress.callback && !tell(reported))
            return fail(uform_status_cancelled_k, "the progress handler stopped the call");
        if (joined()) break;
        if (clock_t::now() >= end) return judge_absence();
        timespec const nap {0, pause};
        ::nanosleep(&nap, nullptr);
    }
    run_ = fnv1a({reinterpret_cast<char const *>(seen_.data()), seen_.size() * sizeof(std::uint64_t)});
    return {};
}

/** Counts who has come, one by one, and asks at every look whether to go on: a wait may be long. */
bool rendezvous_t::tell(std::size_t &reported) const noexcept {
    std::size_t const count = std::max(reported, answering());
    auto const go_on = [this](std::size_t came) {
        return options_.progress.callback(came, options_.count, options_.progress.context);
    };
    while (reported + 1 < count)
        if (!go_on(++reported)) return false;
    return go_on(reported = count);
}

/** Writes our file as it now is: what we state, whom we have read, and, where we gave up, why. */
failure_t rendezvous_t::publish(std::string_view refusal) noexcept {
    buffer_t<char> memory;
    std::string_view const text =
        write_meeting({nonce_, seen_.span(), options_.address, refusal, options_.fields}, memory);
    if (text.empty()) return out_of_memory();
    replacing_file_t target;
    if (failure_t const failure = target.create(own_path_.data())) return failure;
    if (failure_t const failure = target.append(std::as_bytes(std::span(text)))) return failure;
    if (failure_t const failure = target.commit()) return failure;
    published_ = true;
    return {};
}

/** One look at every file. What is new is listed before it is judged, so that a peer we refuse reads our refusal. */
failure_t rendezvous_t::look() noexcept {
    bool changed = false;
    if (failure_t const failure = look_at_own()) return failure;
    for (std::size_t process = 0; process < options_.count; ++process)
        if (process != options_.index)
            if (failure_t const failure = read_peer(process, changed)) return failure;
    settled_ = !changed; // else some were compared with nonces that are no longer listed
    if (changed)
        if (failure_t const failure = publish("")) return failure;
    for (std::size_t process = 0; process < options_.count; ++process)
        if (failure_t const failure = judge_peer(process)) return refuse(failure);
    return {};
}

/** Our own file replaced, or a note from whose file we replaced: two processes have one index. */
failure_t rendezvous_t::look_at_own() noexcept {
    buffer_t<char> const note = path_of("conflict", nonce_, true);
    if (note.size() == 0) return out_of_memory();
    std::uint64_t other = 0;
    if (::access(note.data(), F_OK) == 0) {
        ::unlink(note.data());
        published_ = false; // the file stays: another process is to find it, and its refusal names both
        return fail(uform_status_config_mismatch_k, "two processes of the run have one index",
                    "host_domain_index: %zu in this process and in one that came before", options_.index);
    }
    input_file_t file;
    meeting_t parts;
    buffer_t<char> text;
    if (file.open(own_path_.data()) || file.size() > file_limit_k || !text.resize(file.size()) ||
        file.peek(0, std::as_writable_bytes(text.span())) || !read_meeting({text.data(), text.size()}, parts))
        return {};
    other = parts.nonce;
    if (other == nonce_) return {};
    published_ = false; // it is no longer ours to remove
    buffer_t<char> const theirs = path_of("conflict", other, true);
    replacing_file_t conflict;
    if (theirs.size() && !conflict.create(theirs.data())) (void)conflict.commit();
    return fail(uform_status_config_mismatch_k, "two processes of the run have one index",
                "host_domain_index: %zu in this process and in one that came after", options_.index);
}

failure_t rendezvous_t::read_peer(std::size_t process, bool &changed) noexcept {
    peer_t &peer = peers_[process];
    buffer_t<char> const path = path_of("process", process, false);
    if (path.size() == 0) return out_of_memory();
    input_file_t file;
    if (file.open(path.data()) || file.size() > file_limit_k) return {}; // not there yet, or gone
    buffer_t<char> text;
    if (!text.resize(file.size())) return out_of_memory();
    if (file.peek(0, std::as_writable_bytes(text.span()))) return {};
    std::swap(peer.text, text);
    peer.unreadable = !parse_peer(process, changed);
    return {};
}

bool rendezvous_t::parse_peer(std::size_t process, bool &changed) noexcept {
    peer_t &peer = peers_[process];
    meeting_t parts;
    if (!read_meeting({peer.text.data(), peer.text.size()}, parts)) return false;
    if (parts.nonce != peer.nonce) {
        if (!read_bytes(parts.address, peer.address)) return false;
        peer.nonce = seen_[process] = parts.nonce, changed = true;
    }
    peer.answers = listed_nonce(parts.seen, options_.index) == nonce_;
    peer.complete = parts.seen.size() == 17 * options_.count - 1;
    for (std::size_t i = 0; i < options_.count && peer.complete; ++i)
        peer.complete = seen_[i] && listed_nonce(parts.seen, i) == seen_[i];
    return true;
}

/** A peer that answers must agree in everything; one that does not may be dead, but not of another job. */
failure_t rendezvous_t::judge_peer(std::size_t process) const noexcept {
    peer_t const &peer = peers_[process];
    meeting_t parts;
    if (process == options_.index || !peer.nonce || !read_meeting({peer.text.data(), peer.text.size()}, parts))
        return {};
    std::string_view ours = options_.fields, theirs = parts.fields;
    if (!peer.answers) return compare_fields({options_.index, take_line(ours)}, {process, take_line(theirs)});
    if (failure_t const failure = compare_fields({options_.index, ours}, {process, theirs})) return failure;
    if (parts.refusal.empty()) return {};
    return fail(uform_status_config_mismatch_k, "another process refused the run", "rank %zu: %.*s", process,
                int(parts.refusal.size()), parts.refusal.data());
}

/** What to say once the deadline has passed: a disagreement explains more than an absence. */
failure_t rendezvous_t::judge_absence() const noexcept {
    std::size_t missing = 0, first = options_.count;
    for (std::size_t process = options_.count; process-- > 0;) {
        if (process == options_.index || (peers_[process].answers && peers_[process].complete)) continue;
        ++missing, first = process;
    }
    for (std::size_t process = 0; process < options_.count; ++process) {
        meeting_t parts;
        peer_t const &peer = peers_[process];
        if (process == options_.index || !read_meeting({peer.text.data(), peer.text.size()}, parts)) continue;
        if (failure_t const failure = compare_fields({options_.index, options_.fields}, {process, parts.fields}))
            return failure;
    }
    peer_t const &peer = peers_[first];
    char const *const reason = peer.unreadable ? "left a file that cannot be read"
                               : !peer.nonce   ? "did not come"
                               : !peer.answers ? "left a file and does not answer"
                                               : "still waits for others";
    return fail(uform_status_io_k, "a process of the run did not come before the deadline",
                "rank %zu of %zu %s within %zu ms; %zu in all are missing", first, options_.count, reason,
                options_.deadline_milliseconds, missing);
}

/**
 *  Leaves a refusal in our file, where the others read it long before their deadlines. They believe one that lists them;
 *  a file that does not may be of a run long dead. So whoever comes a moment later is listed too.
 */
failure_t rendezvous_t::refuse(failure_t const &failure) noexcept {
    clock_t::time_point const end = clock_t::now() + std::chrono::milliseconds(refusal_linger_k);
    bool changed = true;
    do {
        if (changed && !publish(failure.detail)) published_ = false; // so that it stays
        changed = false;
        if (std::ranges::all_of(seen_.span(), [](std::uint64_t nonce) { return nonce != 0; })) break;
        timespec const nap {0, most_pause_k};
        ::nanosleep(&nap, nullptr);
        for (std::size_t process = 0; process < options_.count; ++process)
            if (process != options_.index) (void)read_peer(process, changed);
    } while (changed || clock_t::now() < end);
    return failure;
}

std::size_t rendezvous_t::answering() const noexcept {
    std::size_t count = 0;
    for (std::size_t process = 0; process < options_.count; ++process) count += peers_[process].answers;
    return count;
}

bool rendezvous_t::joined() const noexcept {
    if (!settled_) return false;
    for (std::size_t process = 0; process < options_.count; ++process)
        if (!peers_[process].answers || !peers_[process].complete) return false;
    return true;
}

void rendezvous_t::leave() noexcept {
    if (std::exchange(published_, false)) ::unlink(own_path_.data());
}

} // namespace uform
