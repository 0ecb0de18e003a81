/**
 *  @file pair_store.cpp
 *  @brief One pass to find and check every record; then each is parsed again where a batch wants it.
 */
#include <algorithm>
#include <limits>
#include <numeric>

#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/pair_store.hpp"
#include "support/record.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

pair_store_t::pair_store_t(mixture_t const &mixture, bool with_queries, std::string const &copy_path)
    : sources_(mixture.sources), with_queries_(with_queries), empty_queries_(allows_empty_queries(mixture)) {
    for (source_t const &source : sources_) read(source, copy_path);
}

pair_store_t::pair_store_t(source_t source, std::string const &copy_path)
    : sources_({std::move(source)}), with_queries_(true), empty_queries_(true) {
    read(sources_[0], copy_path);
}

void pair_store_t::read(source_t const &source, std::string const &copy_path) {
    record_lines_t lines(source.path, columns_of(source));
    stored_lines_t &stored = lines_.emplace_back(source.path, copy_path);
    content_t &content = contents_.emplace_back();
    record_parser_t parser(source, with_queries_, empty_queries_);
    for (std::string json; lines.next(json);) {
        if (lines.number() % 65536 == 0) leave_if_interrupted();
        if (!parser.parse(json, lines.number(), size())) continue;
        if (json.size() > std::numeric_limits<std::uint32_t>::max())
            fail_at(source.path, lines.number(), "the line is of 4 GiB or more; cut it into records");
        places_.push_back(stored.keep(json, lines.offset())), content.add(json);
        most_positives_ = std::max(most_positives_, parser.record().positives.size());
        most_negatives_ = std::max(most_negatives_, parser.record().negatives.size());
    }
    stored.flush();
    check_some(source, size() - source_offsets_.back());
    source_offsets_.push_back(size());
}

corpus_t pair_store_t::load(std::size_t first, std::size_t count) const {
    std::vector<std::size_t> records(count);
    std::iota(records.begin(), records.end(), first);
    return load(records);
}

corpus_t pair_store_t::load(std::span<std::size_t const> records) const {
    for (std::size_t const record : records) lines_[source_of(source_offsets_, record)].announce(places_[record]);
    std::vector<record_parser_t> parsers;
    for (source_t const &source : sources_) parsers.emplace_back(source, with_queries_, empty_queries_);
    corpus_t corpus;
    std::string json;
    for (std::size_t const record : records) {
        std::size_t const source = source_of(source_offsets_, record);
        lines_[source].read(places_[record], json);
        if (!parsers[source].parse(json, 0, record))
            fail_at(sources_[source].path, 0, "has changed while the run reads it; start again from the last save");
        record_view_t const &found = parsers[source].record();
        corpus.add(found.query, found.positives, found.negatives, found.group, source);
    }
    return corpus;
}

} // namespace uform::tools
