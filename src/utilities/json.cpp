/**
 *  @file json.cpp
 *  @brief The only unit of the engine that sees simdjson.
 *
 *  simdjson's handles are two words each and trivially copyable; the header carries them as integers.
 */
#include <uform/utilities/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include <simdjson.h>

namespace uform {
namespace {

using simdjson::dom::element;
using cursor_t = json_value_t;
static_assert(sizeof(element) == sizeof(cursor_t) && sizeof(simdjson::dom::object::iterator) == sizeof(cursor_t) &&
              sizeof(simdjson::dom::array::iterator) == sizeof(cursor_t));

template <typename handle_>
handle_ handle_of(std::uint64_t const (&words)[2]) noexcept {
    cursor_t cursor;
    std::copy(words, words + 2, cursor.cursor);
    return std::bit_cast<handle_>(cursor);
}
template <typename handle_>
void keep(handle_ const &handle, std::uint64_t (&words)[2]) noexcept {
    cursor_t const cursor = std::bit_cast<cursor_t>(handle);
    std::copy(cursor.cursor, cursor.cursor + 2, words);
}

template <typename container_>
void keep_bounds(container_ const &container, std::uint64_t (&next)[2], std::uint64_t (&last)[2]) noexcept {
    keep(container.begin(), next), keep(container.end(), last);
}

} // namespace

bool json_value_t::is_object() const noexcept { return handle_of<element>(cursor).is_object(); }
bool json_value_t::is_array() const noexcept { return handle_of<element>(cursor).is_array(); }
bool json_value_t::read(std::string_view &text) const noexcept {
    return handle_of<element>(cursor).get_string().get(text) == simdjson::SUCCESS;
}
bool json_value_t::read(std::uint64_t &number) const noexcept {
    return handle_of<element>(cursor).get_uint64().get(number) == simdjson::SUCCESS;
}

json_walk_t::json_walk_t(json_value_t container) noexcept {
    element const value = handle_of<element>(container.cursor);
    keyed_ = value.is_object();
    simdjson::dom::object object;
    simdjson::dom::array array;
    if (keyed_ && value.get_object().get(object) == simdjson::SUCCESS) keep_bounds(object, next_, last_);
    if (!keyed_ && value.get_array().get(array) == simdjson::SUCCESS) keep_bounds(array, next_, last_);
}

bool json_walk_t::next(member_t &member) noexcept {
    if (next_[1] == last_[1]) return false; // the second word is the place on the tape
    if (!keyed_) {
        auto items = handle_of<simdjson::dom::array::iterator>(next_);
        element const value = *items;
        member.key = {};
        keep(value, member.value.cursor), keep(++items, next_);
        return true;
    }
    auto members = handle_of<simdjson::dom::object::iterator>(next_);
    member.key = members.key();
    keep(members.value(), member.value.cursor), keep(++members, next_);
    return true;
}

struct json_t::parser_t {
    simdjson::dom::parser parser;
};

json_t::~json_t() noexcept { delete parser_; }

failure_t json_t::parse(std::string_view text, std::size_t depth_limit) noexcept {
    delete parser_;
    parser_ = new (std::nothrow) parser_t;
    if (!parser_ || !padded_.resize(text.size() + simdjson::SIMDJSON_PADDING))
        return fail(uform_status_out_of_memory_k, "no memory to parse JSON");
    if (!text.empty()) std::memcpy(padded_.data(), text.data(), text.size());
    auto error = parser_->parser.allocate(std::max<std::size_t>(text.size(), 64), depth_limit);
    if (error == simdjson::MEMALLOC) return fail(uform_status_out_of_memory_k, "no memory to parse JSON");
    element root;
    if (!error) error = parser_->parser.parse(padded_.data(), text.size(), false).get(root);
    if (error == simdjson::MEMALLOC) return fail(uform_status_out_of_memory_k, "no memory to parse JSON");
    if (error)
        return fail(uform_status_malformed_k, "invalid JSON", "%s (%zu bytes)", simdjson::error_message(error),
                    text.size());
    keep(root, root_.cursor);
    return {};
}

failure_t refuse_duplicate_keys(json_value_t object) noexcept {
    json_walk_t::member_t member;
    std::size_t count = 0;
    for (json_walk_t walk(object); walk.next(member);) ++count;
    buffer_t<std::string_view> keys;
    if (!keys.resize(count)) return fail(uform_status_out_of_memory_k, "no memory for the keys of a JSON object");
    count = 0;
    for (json_walk_t walk(object); walk.next(member);) keys[count++] = member.key;
    std::sort(keys.begin(), keys.end());
    auto const twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return {};
    return fail(uform_status_malformed_k, "a JSON key appears twice", "key '%s'", shown_text_t(*twice).text);
}

bool is_utf8(std::string_view text) noexcept { return simdjson::validate_utf8(text.data(), text.size()); }

shown_text_t::shown_text_t(std::string_view source) noexcept {
    std::size_t length = std::min(source.size(), sizeof(text) - 1);
    while (length > 0 && length < source.size() && (source[length] & 0xC0) == 0x80) --length;
    for (std::size_t i = 0; i < length; ++i)
        text[i] = std::uint8_t(source[i]) < 0x20 || source[i] == 0x7f ? '?' : source[i];
}

} // namespace uform
