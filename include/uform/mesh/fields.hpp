/**
 *  @file fields.hpp
 *  @brief What processes must agree on: named values as lines of text, compared field by field.
 *
 *  Both the files of the rendezvous and the agreements over the transport carry such lines, so a disagreement always
 *  names the field and both values. Names are our own; a value must hold no line break.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <uform/utilities/status.hpp>

namespace uform {

class fields_t {
    static constexpr std::size_t capacity_k = 6144;
    char text_[capacity_k] = {};
    std::size_t size_ = 0;
    bool complete_ = true;

  public:
    void add(char const *name, std::string_view value) noexcept;
    void add(char const *name, std::uint64_t value) noexcept;
    void add(char const *name, float value) noexcept;
    /** False where something did not fit, which is a fault of ours. */
    bool complete() const noexcept { return complete_; }
    /** `name value\n`, in the order they were added. */
    std::string_view text() const noexcept { return {text_, size_}; }
};

/** Takes the next line off `text`, without its break; empty at the end. */
std::string_view take_line(std::string_view &text) noexcept;
/** The value of a line `name value`; false where the line has another name. */
bool value_of(std::string_view line, std::string_view name, std::string_view &value) noexcept;

/** Whose fields a comparison is about. */
struct stated_t {
    std::size_t process;
    std::string_view text;
};
/** `config_mismatch` naming the first field that differs, both processes and both values. */
failure_t compare_fields(stated_t ours, stated_t theirs) noexcept;

} // namespace uform
