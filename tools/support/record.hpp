/**
 *  @file record.hpp
 *  @brief One line of a source of pairs, parsed and checked; where lines come from and where they go is not known here.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "support/mixture.hpp"
#include "support/shard_rows.hpp"

namespace uform::tools {

/** All fields that a source's records may have and that are read. */
std::vector<column_t> columns_of(source_t const &source);

/** Whether records may have empty queries: late interaction scores their bytes. */
bool allows_empty_queries(mixture_t const &mixture) noexcept;

/** Refuses a source without records. */
void check_some(source_t const &source, std::size_t records);

/** What a line says. The views last until the next line is parsed. */
struct record_view_t {
    std::string_view query; // empty where the objective reads documents alone
    std::vector<std::string_view> positives, negatives;
    std::uint64_t group = 0; // equal where records may not repel each other
};

class record_parser_t {
  public:
    /** `empty_queries`: whether a query may be. */
    record_parser_t(source_t const &source, bool with_queries, bool empty_queries)
        : source_(source), with_queries_(with_queries), empty_queries_(empty_queries) {}

    /** False for a blank line and for one that the filter holds back. `line` is for failures; zero says that this line
     *  was sound when it was first read. `number` is the record's among all, which alone makes the group of a record
     *  that names none, so that a record met twice in a batch does not repel itself. */
    bool parse(std::string const &json, std::size_t line, std::size_t number);
    record_view_t const &record() const noexcept { return record_; }

  private:
    template <typename... arguments_>
    [[noreturn]] void refuse(fmt::format_string<arguments_...> format, arguments_ &&...arguments) const;
    std::string_view text(simdjson::dom::object record, std::string const &field) const;
    simdjson::dom::element required(simdjson::dom::object record, std::string const &field) const;
    bool passes(simdjson::dom::object record) const;
    std::uint64_t group(simdjson::dom::object record, std::size_t number) const;
    void texts(simdjson::dom::element value, std::string const &field, std::vector<std::string_view> &found) const;
    void read_positives(simdjson::dom::object record);
    void read_negatives(simdjson::dom::object record);

    source_t const &source_;
    bool with_queries_;
    bool empty_queries_;
    std::size_t line_ = 0;
    simdjson::dom::parser parser_;
    record_view_t record_;
};

} // namespace uform::tools
