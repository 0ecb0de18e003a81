/**
 *  @file strict_json.cpp
 *  @brief Typed values, and lines for messages.
 */
#include <algorithm>
#include <cmath>

#include "support/files.hpp"
#include "support/strict_json.hpp"

namespace uform::tools {

namespace {

/** Without the mark that some editors begin a file in UTF-8 with. */
std::string read_unmarked(std::string const &path) {
    std::string text = read_file(path);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
    return text;
}

} // namespace

strict_json_t::strict_json_t(std::string const &path) : path_(path), text_(read_unmarked(path)), at_(text_.data()) {
    if (text_.size() == 0) fail_at(path_, 1, "is empty; write one JSON object");
    auto const failed = parser_.iterate(text_).get(document_);
    if (failed == simdjson::UTF8_ERROR) fail_at(path_, 0, "is not UTF-8; save it as UTF-8");
    if (failed) fail_at(path_, 0, "is not well-formed JSON; check quotes and brackets");
}

std::size_t strict_json_t::line() const noexcept {
    return 1 + static_cast<std::size_t>(std::count(text_.data(), at_, '\n'));
}

void strict_json_t::refuse(std::string_view complaint) const {
    if (key_.empty()) fail_at(path_, line(), "the text {}; check quotes and brackets", complaint);
    fail_at(path_, line(), "\"{}\" {}", key_, complaint);
}

std::string strict_json_t::string(json_value_t value) {
    std::string_view text;
    if (value.get_string().get(text)) refuse("must be a string");
    return std::string(text);
}

std::string strict_json_t::path(json_value_t value) {
    std::string text = string(value);
    if (text.empty()) refuse("must be a path, and is empty; name a file");
    if (text.find('\0') != text.npos) refuse("holds a NUL byte; no path can, remove it");
    return text;
}

double strict_json_t::number(json_value_t value, double at_least, double at_most) {
    double found = 0;
    if (value.get_double().get(found) || !std::isfinite(found)) refuse("must be a number");
    if (found < at_least) refuse(fmt::format("must be at least {}", at_least));
    if (found > at_most) refuse(fmt::format("must be at most {}", at_most));
    return found;
}

std::size_t strict_json_t::count(json_value_t value, std::size_t at_least) {
    std::uint64_t found = 0;
    if (value.get_uint64().get(found)) refuse("must be a whole number, not negative");
    if (found < at_least) refuse(fmt::format("must be at least {}", at_least));
    return static_cast<std::size_t>(found);
}

bool strict_json_t::boolean(json_value_t value) {
    bool found = false;
    if (value.get_bool().get(found)) refuse("must be true or false");
    return found;
}

std::vector<std::string> strict_json_t::strings(json_value_t value) {
    std::vector<std::string> found;
    array(value, [&](json_value_t each) { found.push_back(string(each)); });
    return found;
}

} // namespace uform::tools
