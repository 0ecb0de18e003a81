/**
 *  @file fields.cpp
 *  @brief Named values written as lines, and the first line in which two processes differ.
 */
#include <uform/mesh/fields.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace uform {
namespace {

/** A detail holds two values and the words between them: each gets a share, cut where it is longer. */
constexpr std::size_t shown_k = 72;

int shown(std::string_view value) noexcept { return int(std::min(value.size(), shown_k)); }

} // namespace

void fields_t::add(char const *name, std::string_view value) noexcept {
    std::size_t const length = std::strlen(name);
    if (size_ + length + value.size() + 2 > capacity_k) {
        complete_ = false;
        return;
    }
    char *at = text_ + size_;
    at = std::copy_n(name, length, at), *at++ = ' ';
    at = std::copy_n(value.data(), value.size(), at), *at++ = '\n';
    size_ = std::size_t(at - text_);
}

void fields_t::add(char const *name, std::uint64_t value) noexcept {
    char digits[24];
    add(name,
        std::string_view(digits, std::size_t(std::to_chars(digits, digits + sizeof(digits), value).ptr - digits)));
}

/** Nine digits tell any two floats apart. */
void fields_t::add(char const *name, float value) noexcept {
    char digits[32];
    auto const end = std::to_chars(digits, digits + sizeof(digits), double(value), std::chars_format::general, 9).ptr;
    add(name, std::string_view(digits, std::size_t(end - digits)));
}

std::string_view take_line(std::string_view &text) noexcept {
    std::size_t const end = text.find('\n');
    std::string_view const line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    return line;
}

bool value_of(std::string_view line, std::string_view name, std::string_view &value) noexcept {
    if (line.size() <= name.size() || line.substr(0, name.size()) != name || line[name.size()] != ' ') return false;
    value = line.substr(name.size() + 1);
    return true;
}

failure_t compare_fields(stated_t ours, stated_t theirs) noexcept {
    if (ours.text == theirs.text) return {};
    while (!ours.text.empty() || !theirs.text.empty()) {
        std::string_view const a = take_line(ours.text), b = take_line(theirs.text);
        if (a == b) continue;
        std::size_t const space = std::min(a.find(' '), a.size());
        std::string_view const name = a.substr(0, space), mine = a.substr(std::min(space + 1, a.size()));
        std::string_view yours = b;
        (void)value_of(b, name, yours); // another name altogether is shown whole
        return fail(uform_status_config_mismatch_k, "the processes of the run disagree",
                    "%.*s: rank %zu has %.*s, rank %zu has %.*s", shown(name), name.data(), ours.process, shown(mine),
                    mine.data(), theirs.process, shown(yours), yours.data());
    }
    return {};
}

} // namespace uform
