/**
 *  @file meeting.cpp
 *  @brief Writes and reads the text of a rendezvous's file.
 */
#include "mesh/meeting.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include <uform/mesh/fields.hpp>

namespace uform {
namespace {

constexpr std::string_view format_k = "uform-mesh 1";

/** A file as it is written: claimed once for its longest, then appended to. */
struct writer_t {
    buffer_t<char> &memory;
    std::size_t size = 0;

    void text(std::string_view added) noexcept {
        std::copy_n(added.data(), added.size(), memory.data() + size), size += added.size();
    }
    void hexadecimal(std::uint64_t value) noexcept {
        size += std::size_t(std::snprintf(memory.data() + size, 18, "%016llx", (unsigned long long)value));
    }
    void bytes(std::span<std::byte const> added) noexcept {
        constexpr char digits[] = "0123456789abcdef";
        for (std::byte const byte : added)
            memory[size++] = digits[unsigned(byte) >> 4], memory[size++] = digits[unsigned(byte) & 15];
    }
    std::string_view view() const noexcept { return {memory.data(), size}; }
};

bool parse_number(std::string_view text, std::uint64_t &value, int base) noexcept {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size();
}

} // namespace

std::string_view write_meeting(announcement_t const &announcement, buffer_t<char> &memory) noexcept {
    writer_t file {memory};
    if (!memory.resize(256 + announcement.refusal.size() + 17 * announcement.seen.size() +
                       2 * announcement.address.size() + announcement.fields.size()))
        return {};
    file.text(format_k), file.text("\nnonce "), file.hexadecimal(announcement.nonce), file.text("\nseen");
    for (std::uint64_t const nonce : announcement.seen) file.text(" "), file.hexadecimal(nonce);
    file.text("\naddress "), file.bytes(announcement.address), file.text("\nrefusal ");
    std::size_t const start = file.size;
    file.text(announcement.refusal);
    std::replace(memory.data() + start, memory.data() + file.size, '\n', ' ');
    file.text("\n"), file.text(announcement.fields);
    std::uint64_t const checksum = fnv1a(file.view());
    file.text("end "), file.hexadecimal(checksum), file.text("\n");
    return file.view();
}

bool read_meeting(std::string_view text, meeting_t &parts) noexcept {
    std::size_t const end = text.rfind("end ");
    std::string_view value;
    std::uint64_t checksum = 0;
    if (end == text.npos || end == 0 || text[end - 1] != '\n') return false;
    std::string_view tail = text.substr(end), body = text.substr(0, end);
    if (!value_of(take_line(tail), "end", value) || !parse_number(value, checksum, 16)) return false;
    if (checksum != fnv1a(body) || take_line(body) != format_k) return false;
    if (!value_of(take_line(body), "nonce", value) || !parse_number(value, parts.nonce, 16) || !parts.nonce)
        return false;
    if (!value_of(take_line(body), "seen", parts.seen) || !value_of(take_line(body), "address", parts.address))
        return false;
    std::string_view const refusal = take_line(body);
    if (refusal != "refusal" && !value_of(refusal, "refusal", parts.refusal)) return false;
    parts.fields = body;
    return true;
}

bool read_bytes(std::string_view hexadecimal, buffer_t<std::byte> &bytes) noexcept {
    if (hexadecimal.size() % 2 || !bytes.resize(hexadecimal.size() / 2)) return false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::uint64_t value = 0;
        if (!parse_number(hexadecimal.substr(2 * i, 2), value, 16)) return false;
        bytes[i] = std::byte(value);
    }
    return true;
}

std::uint64_t listed_nonce(std::string_view seen, std::size_t index) noexcept {
    std::uint64_t nonce = 0;
    if (index >= (seen.size() + 1) / 17) return 0;
    return parse_number(seen.substr(index * 17, 16), nonce, 16) ? nonce : 0;
}

std::uint64_t fnv1a(std::string_view bytes) noexcept {
    std::uint64_t hash = 14695981039346656037u;
    for (char const byte : bytes) hash = (hash ^ std::uint8_t(byte)) * 1099511628211u;
    return hash;
}

} // namespace uform
