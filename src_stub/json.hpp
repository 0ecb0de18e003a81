/**
 *  @file json.hpp
 *  @brief The JSON that a safetensors header is made of: objects, arrays, strings, whole numbers; no more is accepted.
 *
 *  Whatever is no JSON, or JSON of another kind, throws `malformed`. Nesting is bounded, so hostile text cannot exhaust
 *  the stack.
 */
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace uform_stub {

struct json_t {
    enum kind_t { object_k, array_k, string_k, count_k, other_k } kind = other_k;
    std::string text;                                  // of a string
    std::uint64_t count = 0;                           // of an integer in [0, 2^64)
    std::vector<std::pair<std::string, json_t>> items; // of an object, or of an array with empty keys

    json_t const *find(std::string_view key) const {
        for (auto const &[name, value] : items)
            if (name == key) return &value;
        return nullptr;
    }
};

/** One document; an object that says a key twice is refused too. */
json_t parse_json(std::string_view text);

/** Quotes and escapes what a header holds. */
std::string quoted(std::string_view text);

} // namespace uform_stub
