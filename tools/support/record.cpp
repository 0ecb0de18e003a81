/**
 *  @file record.cpp
 *  @brief JSON into views, with failures that name the line.
 */
#include <algorithm>

#include "support/error.hpp"
#include "support/record.hpp"

namespace uform::tools {

namespace {

/** FNV-1a over 64 bits, its bits spread as SplitMix64 does: groups are told apart without a table of their names. Two of
 *  the same batch are taken for one with a probability of 2^-64. */
std::uint64_t hashed(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (unsigned char const byte : text) hash = (hash ^ byte) * 0x100000001b3u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

} // namespace

std::vector<column_t> columns_of(source_t const &source) {
    fields_t const &fields = source.fields;
    std::vector<column_t> columns = {
        {fields.query, fields.query_modality != uform_modality_text_k},
        {fields.document, fields.document_modality != uform_modality_text_k},
        {fields.group.value_or("group")},
        {fields.negatives.value_or("negatives"), fields.document_modality != uform_modality_text_k}};
    for (auto const &[field, allowed] : source.filter) columns.push_back({field});
    return columns;
}

bool allows_empty_queries(mixture_t const &mixture) noexcept {
    return mixture.late_interaction.weight == 0 || !mixture.query_prefix.empty();
}

void check_some(source_t const &source, std::size_t records) {
    if (records == 0)
        fail_at(source.path, 0, "no record {}; an empty corpus trains nothing",
                source.filter.empty() ? "is in it" : "passes the filter");
}

template <typename... arguments_>
void record_parser_t::refuse(fmt::format_string<arguments_...> format, arguments_ &&...arguments) const {
    std::string const reason = fmt::format(format, std::forward<arguments_>(arguments)...);
    if (line_) fail_at(source_.path, line_, "{}", reason);
    fail_at(source_.path, 0, "has changed while the run reads it; start again from the last save ({})", reason);
}

std::string_view record_parser_t::text(simdjson::dom::object record, std::string const &field) const {
    std::string_view found;
    if (required(record, field).get(found)) refuse("\"{}\" must be a string", field);
    return found;
}

/** What is null is not there. */
simdjson::dom::element record_parser_t::required(simdjson::dom::object record, std::string const &field) const {
    simdjson::dom::element value;
    if (record[field].get(value) || value.is_null())
        refuse("the record lacks \"{}\"; name another field in \"fields\", or remove the record", field);
    return value;
}

bool record_parser_t::passes(simdjson::dom::object record) const {
    for (auto const &[field, allowed] : source_.filter)
        if (std::find(allowed.begin(), allowed.end(), text(record, field)) == allowed.end()) return false;
    return true;
}

std::uint64_t record_parser_t::group(simdjson::dom::object record, std::size_t number) const {
    simdjson::dom::element value;
    bool const there = !record[source_.fields.group.value_or("group")].get(value) && !value.is_null();
    if (there) return hashed(simdjson::minify(value));
    if (source_.fields.group) refuse("the record lacks \"{}\"; name another group field", *source_.fields.group);
    return hashed(fmt::format("record {}", number)); // no JSON value reads so
}

/** A string, or an array of them. */
void record_parser_t::texts(simdjson::dom::element value, std::string const &field,
                            std::vector<std::string_view> &found) const {
    std::string_view one;
    simdjson::dom::array several;
    if (!value.get(one)) return found.push_back(one);
    if (value.get(several)) refuse("\"{}\" must be a string, or an array of strings", field);
    for (simdjson::dom::element const each : several) {
        if (each.get(one)) refuse("\"{}\" must hold strings alone", field);
        found.push_back(one);
    }
}

void record_parser_t::read_positives(simdjson::dom::object record) {
    std::string const &field = source_.fields.document;
    texts(required(record, field), field, record_.positives);
    if (record_.positives.empty()) refuse("\"{}\" is an empty array; a query needs an answer", field);
}

void record_parser_t::read_negatives(simdjson::dom::object record) {
    std::string const field = source_.fields.negatives.value_or("negatives");
    simdjson::dom::element value;
    if (!record[field].get(value) && !value.is_null()) return texts(value, field, record_.negatives);
    if (source_.fields.negatives) refuse("the record lacks \"{}\"; name another field of negatives", field);
}

bool record_parser_t::parse(std::string const &json, std::size_t line, std::size_t number) {
    line_ = line;
    record_.query = {}, record_.positives.clear(), record_.negatives.clear();
    if (json.find_first_not_of(" \t\r") == json.npos) return false;
    simdjson::dom::object record;
    auto const failed = parser_.parse(json).get(record);
    if (failed == simdjson::UTF8_ERROR) refuse("the line is not UTF-8; re-encode the file");
    if (failed == simdjson::NUMBER_ERROR) refuse("the line holds a number beyond 64 bits; write it as a string");
    if (failed) refuse("the line is not a JSON object; correct or remove it");
    if (!passes(record)) return false;
    if (with_queries_) record_.query = text(record, source_.fields.query);
    if (with_queries_ && !empty_queries_ && record_.query.empty())
        refuse("the query is empty, and late interaction scores its bytes; remove the record");
    read_positives(record);
    if (with_queries_) read_negatives(record);
    record_.group = group(record, number);
    return true;
}

} // namespace uform::tools
