/**
 *  @file json.hpp
 *  @brief Fallible reading of a JSON document of bounded size and depth: objects, arrays, strings, exact integers.
 *
 *  A thin cover over simdjson's DOM, which parses without recursion, validates UTF-8 and never throws here; its header
 *  stays inside json.cpp. Values are two-word cursors into the parsed document and live as long as the `json_t`.
 *  Parsing takes up to 15 times the document's bytes of memory, so callers bound those first. What the keys mean is
 *  theirs too.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** One value of a parsed document. */
struct json_value_t {
    std::uint64_t cursor[2] = {};

    bool is_object() const noexcept;
    bool is_array() const noexcept;
    /** False where the value is not a string; the text is valid UTF-8 and may hold NUL bytes. */
    [[nodiscard]] bool read(std::string_view &text) const noexcept;
    /** False where the value is not an integer in [0, 2^64): 1.0, 1e3 and -1 are refused, never rounded. */
    [[nodiscard]] bool read(std::uint64_t &number) const noexcept;
};

/** Walks an object's members in the document's order, or an array's elements (their keys empty). */
class json_walk_t {
    std::uint64_t next_[2] = {}, last_[2] = {};
    bool keyed_ = false;

  public:
    struct member_t {
        std::string_view key;
        json_value_t value;
    };
    /** Over any other value than an object or an array the walk is empty. */
    explicit json_walk_t(json_value_t container) noexcept;
    [[nodiscard]] bool next(member_t &member) noexcept;
};

class json_t {
    struct parser_t;
    parser_t *parser_ = nullptr;
    buffer_t<char> padded_; // the document and the slack that vector loads may read past it
    json_value_t root_;

  public:
    json_t() noexcept = default;
    json_t(json_t const &) = delete;
    json_t &operator=(json_t const &) = delete;
    ~json_t() noexcept;

    /** `malformed` where the text is no JSON document or nests deeper than `depth_limit`. */
    failure_t parse(std::string_view text, std::size_t depth_limit) noexcept;
    json_value_t root() const noexcept { return root_; }
};

/** `malformed`, naming the key, where an object says one key twice. */
failure_t refuse_duplicate_keys(json_value_t object) noexcept;

bool is_utf8(std::string_view text) noexcept;

/** A text made fit for a failure's detail: cut to 64 bytes between characters, control bytes shown as `?`. */
struct shown_text_t {
    char text[65] = {};
    explicit shown_text_t(std::string_view source) noexcept;
};

} // namespace uform
