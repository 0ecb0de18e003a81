/**
 *  @file meeting.hpp
 *  @brief The text of a rendezvous's file: what a process states, whom it has read, why it gave up, and a checksum.
 *
 *      uform-mesh 1
 *      nonce <16 digits>
 *      seen <16 digits> ...       one for each process, zeros where none was read
 *      address <hexadecimal>
 *      refusal <words, or none>
 *      <name> <value>             of `fields_t`, a line each
 *      end <16 digits>            FNV-1a of all before
 *
 *  Whatever is in a file, reading it is safe; what was cut or changed is not taken. Knows no directory.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <uform/utilities/buffer.hpp>

namespace uform {

/** What a process writes. */
struct announcement_t {
    std::uint64_t nonce;
    std::span<std::uint64_t const> seen;
    std::span<std::byte const> address;
    std::string_view refusal; // line breaks in it become spaces
    std::string_view fields;
};
/** The file's text, in `memory`; empty where there is not enough. */
[[nodiscard]] std::string_view write_meeting(announcement_t const &announcement, buffer_t<char> &memory) noexcept;

/** What is read of a file whose checksum holds, most of it as text. */
struct meeting_t {
    std::uint64_t nonce = 0;
    std::string_view seen, address, refusal, fields;
};
bool read_meeting(std::string_view text, meeting_t &parts) noexcept;
bool read_bytes(std::string_view hexadecimal, buffer_t<std::byte> &bytes) noexcept;
/** The nonce at `index` of a list; zero beyond its end. */
std::uint64_t listed_nonce(std::string_view seen, std::size_t index) noexcept;

/** FNV-1a over bytes: tells a file that was cut or mixed up, and runs apart; no forgery. */
std::uint64_t fnv1a(std::string_view bytes) noexcept;

} // namespace uform
