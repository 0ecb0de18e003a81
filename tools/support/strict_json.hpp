/**
 *  @file strict_json.hpp
 *  @brief A JSON file read key by key, where every surprise is a failure with file, line and key.
 *
 *  A thin layer over simdjson's on-demand reader, whose raw keys point into the text: that is how lines are known.
 */
#pragma once
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "support/error.hpp"

namespace uform::tools {

using json_value_t = simdjson::ondemand::value;

class strict_json_t {
  public:
    explicit strict_json_t(std::string const &path);

    /** Hands each key of the root to `handler(key, value)`, which answers false for one it does not know. */
    template <typename handler_> void root(handler_ &&handler) {
        simdjson::ondemand::object object;
        if (document_.get_object().get(object)) refuse("must be one JSON object");
        each(object, handler);
        if (!document_.current_location().error()) refuse("text follows the object");
    }
    template <typename handler_> void object(json_value_t value, handler_ &&handler) {
        simdjson::ondemand::object object;
        if (value.get_object().get(object)) refuse("must be an object");
        each(object, handler);
    }
    template <typename handler_> void array(json_value_t value, handler_ &&handler) {
        simdjson::ondemand::array array;
        if (value.get_array().get(array)) refuse("must be an array");
        for (auto element : array) {
            json_value_t inner;
            if (element.get(inner)) refuse("is not well-formed JSON");
            handler(inner);
        }
    }

    std::string string(json_value_t value);
    std::string path(json_value_t value); // a string without NUL
    double number(json_value_t value, double at_least, double at_most = std::numeric_limits<double>::max());
    std::size_t count(json_value_t value, std::size_t at_least);
    bool boolean(json_value_t value);
    std::vector<std::string> strings(json_value_t value);

    /** Fails at the key that was read last. */
    [[noreturn]] void refuse(std::string_view complaint) const;

  private:
    template <typename handler_> void each(simdjson::ondemand::object object, handler_ &&handler) {
        std::set<std::string> seen;
        for (auto field : object) {
            if (field.error()) refuse("is followed by something that is not well-formed JSON");
            at_ = field.key().value_unsafe().raw();
            std::string_view key;
            if (field.unescaped_key().get(key)) refuse("is not well-formed JSON");
            key_ = key;
            auto const [own, is_new] = seen.insert(key_); // which stays while the handler reads keys further in
            if (!is_new) refuse("is given twice; keep one");
            if (!handler(std::string_view(*own), field.value().value_unsafe()))
                refuse("is no key of a mixture; see tools/README.md");
        }
    }
    std::size_t line() const noexcept;

    std::string path_;
    simdjson::padded_string text_;
    simdjson::ondemand::parser parser_;
    simdjson::ondemand::document document_;
    char const *at_ = nullptr; // the key read last, inside `text_`
    std::string key_;
};

} // namespace uform::tools
