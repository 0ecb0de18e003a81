/**
 *  @file corpus.cpp
 *  @brief JSONL into records, with failures that name the line.
 */
#include <algorithm>
#include <unordered_map>

#include <simdjson.h>

#include "support/corpus.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

using groups_t = std::unordered_map<std::string, std::uint32_t>;

/** Reads the lines of one file into a corpus. */
struct source_reader_t {
    source_t const &source;
    bool with_queries;
    bool empty_queries; // whether a query may be
    corpus_t &corpus;
    groups_t &groups;
    std::uint32_t &groups_count;
    std::size_t line = 0;
    std::vector<std::string_view> positives {}, negatives {}; // of one record

    std::string_view text(simdjson::dom::object record, std::string const &field) const {
        std::string_view found;
        auto const failed = record[field].get(found);
        if (failed == simdjson::NO_SUCH_FIELD)
            fail_at(source.path, line, "the record lacks \"{}\"; name another field in \"fields\"", field);
        if (failed) fail_at(source.path, line, "\"{}\" must be a string", field);
        return found;
    }

    bool passes(simdjson::dom::object record) const {
        for (auto const &[field, allowed] : source.filter)
            if (std::find(allowed.begin(), allowed.end(), text(record, field)) == allowed.end()) return false;
        return true;
    }

    /** Records that name no group make one each, so that a record met twice in a batch does not repel itself. */
    std::uint32_t group(simdjson::dom::object record) {
        simdjson::dom::element value;
        if (record[source.fields.group.value_or("group")].get(value)) {
            if (source.fields.group)
                fail_at(source.path, line, "the record lacks \"{}\"; name another group field", *source.fields.group);
            return groups_count++;
        }
        auto const [found, added] = groups.try_emplace(simdjson::minify(value), groups_count);
        if (added) ++groups_count;
        return found->second;
    }

    /** A string, or an array of them. */
    void texts(simdjson::dom::element value, std::string const &field, std::vector<std::string_view> &found) const {
        std::string_view one;
        simdjson::dom::array several;
        if (!value.get(one)) return found.push_back(one);
        if (value.get(several)) fail_at(source.path, line, "\"{}\" must be a string, or an array of strings", field);
        for (simdjson::dom::element const each : several) {
            if (each.get(one)) fail_at(source.path, line, "\"{}\" must hold strings alone", field);
            found.push_back(one);
        }
    }

    void read_positives(simdjson::dom::object record) {
        std::string const &field = source.fields.document;
        simdjson::dom::element value;
        positives.clear();
        if (record[field].get(value))
            fail_at(source.path, line, "the record lacks \"{}\"; name another field in \"fields\"", field);
        texts(value, field, positives);
        if (positives.empty()) fail_at(source.path, line, "\"{}\" is an empty array; a query needs an answer", field);
    }

    void read_negatives(simdjson::dom::object record) {
        std::string const field = source.fields.negatives.value_or("negatives");
        simdjson::dom::element value;
        negatives.clear();
        if (!record[field].get(value))
            texts(value, field, negatives);
        else if (source.fields.negatives)
            fail_at(source.path, line, "the record lacks \"{}\"; name another field of negatives", field);
    }

    void add(simdjson::dom::parser &parser, std::string const &json) {
        if (json.find_first_not_of(" \t\r") == json.npos) return;
        simdjson::dom::object record;
        auto const failed = parser.parse(json).get(record);
        if (failed == simdjson::UTF8_ERROR) fail_at(source.path, line, "the line is not UTF-8; re-encode the file");
        if (failed) fail_at(source.path, line, "the line is not a JSON object; correct or remove it");
        if (!passes(record)) return;
        std::string_view const query = with_queries ? text(record, source.fields.query) : std::string_view();
        if (with_queries && !empty_queries && query.empty())
            fail_at(source.path, line, "the query is empty, and late interaction scores its bytes; remove the record");
        read_positives(record);
        if (with_queries) read_negatives(record);
        corpus.add(query, positives, negatives, group(record));
    }

    void read() {
        line_reader_t lines(source.path);
        simdjson::dom::parser parser;
        std::size_t const before = corpus.size();
        for (std::string json; lines.next(json);) {
            line = lines.line_number();
            add(parser, json);
            if (line % 65536 == 0) leave_if_interrupted();
        }
        if (corpus.size() == before)
            fail_at(source.path, 0, "no record {}; an empty corpus trains nothing",
                    source.filter.empty() ? "is in it" : "passes the filter");
        corpus.end_source();
    }
};

} // namespace

void corpus_t::append(std::string_view text) {
    bytes_.append(text);
    text_offsets_.push_back(bytes_.size());
}

void corpus_t::add(std::string_view query, std::span<std::string_view const> positives,
                   std::span<std::string_view const> negatives, std::uint32_t group) {
    records_.push_back(
        {text_offsets_.size() - 1, std::uint32_t(positives.size()), std::uint32_t(negatives.size()), group});
    append(query);
    for (std::string_view const each : positives) append(each);
    for (std::string_view const each : negatives) append(each);
    most_positives_ = std::max(most_positives_, positives.size());
    most_negatives_ = std::max(most_negatives_, negatives.size());
}

std::size_t source_of(std::span<std::size_t const> source_offsets, std::size_t record) noexcept {
    auto const after = std::upper_bound(source_offsets.begin(), source_offsets.end(), record);
    return std::size_t(after - source_offsets.begin()) - 1;
}

corpus_t read_corpus(mixture_t const &mixture, bool with_queries) {
    corpus_t corpus;
    groups_t groups;
    std::uint32_t groups_count = 0;
    bool const empty_queries = mixture.late_interaction.weight == 0 || !mixture.query_prefix.empty();
    for (source_t const &source : mixture.sources)
        source_reader_t {source, with_queries, empty_queries, corpus, groups, groups_count}.read();
    return corpus;
}

corpus_t read_pairs(std::string const &path, fields_t const &fields) {
    mixture_t one;
    one.sources.push_back({path, fields, {}, 1, 0});
    return read_corpus(one, true);
}

} // namespace uform::tools
