/**
 *  @file json.cpp
 *  @brief A recursive parser of RFC 8259, small rather than fast.
 */
#include "json.hpp"

#include <charconv>

#include "failure.hpp"
#include "utf8.hpp"

namespace uform_stub {
namespace {

constexpr std::size_t depth_limit_k = 8; // the format nests 3 deep

class parser_t {
    std::string_view left_;

  public:
    explicit parser_t(std::string_view text) : left_(text) {}

    json_t document() {
        json_t value = read_value(1);
        skip_space();
        if (!left_.empty()) invalid();
        return value;
    }

  private:
    [[noreturn]] static void invalid() { malformed("invalid JSON"); }

    void skip_space() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\n\r"), left_.size())); }
    bool take(char expected) {
        skip_space();
        if (left_.empty() || left_[0] != expected) return false;
        left_.remove_prefix(1);
        return true;
    }
    bool take(std::string_view word) {
        if (!left_.starts_with(word)) return false;
        left_.remove_prefix(word.size());
        return true;
    }

    json_t read_value(std::size_t depth) {
        if (depth > depth_limit_k) invalid();
        skip_space();
        json_t value;
        if (left_.empty()) invalid();
        if (left_[0] == '{') return read_items(depth, json_t::object_k, '}');
        if (left_[0] == '[') return read_items(depth, json_t::array_k, ']');
        if (left_[0] == '"')
            value.kind = json_t::string_k, value.text = read_string();
        else if (left_[0] == '-' || (left_[0] >= '0' && left_[0] <= '9'))
            read_number(value);
        else if (!take("true") && !take("false") && !take("null"))
            invalid();
        return value;
    }

    json_t read_items(std::size_t depth, json_t::kind_t kind, char last) {
        json_t value;
        value.kind = kind;
        left_.remove_prefix(1);
        if (take(last)) return value;
        do {
            std::string key;
            if (kind == json_t::object_k) {
                skip_space();
                if (left_.empty() || left_[0] != '"') invalid();
                key = read_string();
                if (value.find(key)) malformed("a JSON key appears twice", "key '" + key.substr(0, 64) + "'");
                if (!take(':')) invalid();
            }
            value.items.emplace_back(std::move(key), read_value(depth + 1));
        } while (take(','));
        if (!take(last)) invalid();
        return value;
    }

    /** Fractions and exponents are valid, and no count. */
    void read_number(json_t &value) {
        auto const digits = [this] {
            std::size_t const length = std::min(left_.find_first_not_of("0123456789"), left_.size());
            if (length == 0) invalid();
            std::string_view const read = left_.substr(0, length);
            left_.remove_prefix(length);
            return read;
        };
        bool const negative = take("-");
        std::string_view const whole = digits();
        if (whole.size() > 1 && whole[0] == '0') invalid();
        bool exact = !negative;
        if (take(".")) digits(), exact = false;
        if (take("e") || take("E")) {
            if (!take("+")) take("-");
            digits(), exact = false;
        }
        auto const read = std::from_chars(whole.data(), whole.data() + whole.size(), value.count);
        if (exact && read.ec == std::errc()) value.kind = json_t::count_k;
    }

    std::string read_string() {
        std::string text;
        for (left_.remove_prefix(1);;) {
            if (left_.empty() || static_cast<unsigned char>(left_[0]) < 0x20) invalid();
            char const byte = left_[0];
            left_.remove_prefix(1);
            if (byte == '"') return text;
            if (byte != '\\')
                text += byte;
            else
                read_escape(text);
        }
    }
    void read_escape(std::string &text) {
        if (left_.empty()) invalid();
        char const escaped = left_[0];
        left_.remove_prefix(1);
        if (escaped == 'u') return append_utf8(text, read_code_point());
        constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        std::size_t const at = letters.find(escaped);
        if (at == letters.npos) invalid();
        text += meanings[at];
    }
    std::uint32_t read_unit() {
        std::uint32_t unit = 0;
        if (left_.size() < 4) invalid();
        auto const read = std::from_chars(left_.data(), left_.data() + 4, unit, 16);
        if (read.ec != std::errc() || read.ptr != left_.data() + 4) invalid();
        left_.remove_prefix(4);
        return unit;
    }
    /** A pair of surrogates is one code point; a lone one is none. */
    std::uint32_t read_code_point() {
        std::uint32_t const high = read_unit();
        if (high < 0xd800 || high > 0xdfff) return high;
        if (high > 0xdbff || !take("\\u")) invalid();
        std::uint32_t const low = read_unit();
        if (low < 0xdc00 || low > 0xdfff) invalid();
        return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    static void append_utf8(std::string &text, std::uint32_t code) {
        if (code < 0x80) return void(text += char(code));
        int const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
        text += char(leads[more] | code >> (6 * more));
        for (int i = more; i-- > 0;) text += char(0x80 | (code >> (6 * i) & 0x3f));
    }
};

} // namespace

json_t parse_json(std::string_view text) {
    if (!is_utf8(text)) malformed("invalid JSON");
    return parser_t(text).document();
}

std::string quoted(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string result = "\"";
    for (char const byte : text) {
        if (byte == '"' || byte == '\\') result += '\\';
        if (static_cast<unsigned char>(byte) >= 0x20)
            result += byte;
        else
            result += std::string("\\u00") + digits[byte >> 4 & 15] + digits[byte & 15];
    }
    return result + '"';
}

} // namespace uform_stub
