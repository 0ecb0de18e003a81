/**
 *  @file choices.hpp
 *  @brief Choices as records say them: one line parsed and checked, many laid end to end.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

namespace uform::tools {

/** Records whose texts are in memory, laid out as `uform_text_choose` reads them. */
struct choices_t {
    std::string texts, legal;
    std::vector<std::size_t> text_offsets {0}, legal_offsets {0};
    std::vector<double> targets; // one for each legal byte
    std::vector<std::uint32_t> groups;

    std::size_t size() const noexcept { return groups.size(); }
    /** One beyond the highest group. */
    std::size_t groups_count() const;
};

/** Lines of {"text", "choices", "targets" or "answer", "group"}. */
class choice_parser_t {
  public:
    /** Records that name no group are of `group`. */
    choice_parser_t(std::string path, std::uint32_t group) : path_(std::move(path)), default_group_(group) {}

    /** Appends what a line says; false for a blank one. `line` is for failures; zero says that this line was sound when
     *  it was first read. */
    bool append(std::string const &json, std::size_t line, choices_t &choices);

  private:
    template <typename... arguments_>
    [[noreturn]] void refuse(fmt::format_string<arguments_...> format, arguments_ &&...arguments) const;
    std::string_view text(simdjson::dom::object record, char const *field) const;
    std::uint32_t group(simdjson::dom::object record) const;
    std::string_view legal(simdjson::dom::object record) const;
    void add_answer(std::string_view legal, std::string_view answer, choices_t &choices) const;
    void add_targets(std::string_view legal, simdjson::dom::element value, choices_t &choices) const;

    std::string path_;
    std::uint32_t default_group_;
    std::size_t line_ = 0;
    simdjson::dom::parser parser_;
};

} // namespace uform::tools
