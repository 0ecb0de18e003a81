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
    corpus_t &corpus;
    groups_t &groups;
    std::uint32_t &groups_count;
    std::size_t line = 0;

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

    void add(simdjson::dom::parser &parser, std::string_view json) {
        if (json.find_first_not_of(" \t\r") == json.npos) return;
        simdjson::dom::object record;
        auto const failed = parser.parse(json.data(), json.size(), false).get(record);
        if (failed == simdjson::UTF8_ERROR) fail_at(source.path, line, "the line is not UTF-8; re-encode the file");
        if (failed) fail_at(source.path, line, "the line is not a JSON object; correct or remove it");
        if (!passes(record)) return;
        std::string_view const query = with_queries ? text(record, source.fields.query) : std::string_view();
        corpus.add(query, text(record, source.fields.document), group(record));
    }

    void read() {
        simdjson::padded_string const padded(read_file(source.path));
        std::string_view rest(padded.data(), padded.size());
        simdjson::dom::parser parser;
        std::size_t const before = corpus.size();
        while (!rest.empty()) {
            std::size_t const end = std::min(rest.find('\n'), rest.size());
            ++line;
            add(parser, rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (line % 65536 == 0) leave_if_interrupted();
        }
        if (corpus.size() == before)
            fail_at(source.path, 0, "no record {}; an empty corpus trains nothing",
                    source.filter.empty() ? "is in it" : "passes the filter");
        corpus.end_source();
    }
};

} // namespace

void corpus_t::add(std::string_view query, std::string_view document, std::uint32_t group) {
    std::size_t const query_offset = bytes_.size();
    bytes_.append(query).append(document);
    records_.push_back({query_offset, query_offset + query.size(), std::uint32_t(query.size()),
                        std::uint32_t(document.size()), group});
}

corpus_t read_corpus(mixture_t const &mixture, bool with_queries) {
    corpus_t corpus;
    groups_t groups;
    std::uint32_t groups_count = 0;
    for (source_t const &source : mixture.sources)
        source_reader_t {source, with_queries, corpus, groups, groups_count}.read();
    return corpus;
}

corpus_t read_pairs(std::string const &path, fields_t const &fields) {
    mixture_t one;
    one.sources.push_back({path, fields, {}, 1});
    return read_corpus(one, true);
}

} // namespace uform::tools
