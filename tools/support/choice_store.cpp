/**
 *  @file choice_store.cpp
 *  @brief One pass to find and check every choice; then each is parsed again where a call wants it.
 */
#include <algorithm>
#include <limits>

#include "support/choice_store.hpp"
#include "support/corpus.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

choice_store_t::choice_store_t(std::vector<source_t> sources, std::string const &copy_path)
    : sources_(std::move(sources)) {
    for (source_t const &source : sources_) read(source, copy_path);
}

void choice_store_t::read(source_t const &source, std::string const &copy_path) {
    column_t const columns[] = {{"text"}, {"choices"}, {"answer"}, {"targets"}, {"group"}};
    record_lines_t lines(source.path, columns);
    stored_lines_t &stored = lines_.emplace_back(source.path, copy_path);
    content_t &content = contents_.emplace_back();
    choice_parser_t parser(source.path, source.temperature_group);
    for (std::string json; lines.next(json);) {
        if (lines.number() % 65536 == 0) leave_if_interrupted();
        choices_t found;
        if (!parser.append(json, lines.number(), found)) continue;
        if (json.size() > std::numeric_limits<std::uint32_t>::max())
            fail_at(source.path, lines.number(), "the line is of 4 GiB or more; cut it into records");
        places_.push_back(stored.keep(json, lines.offset())), content.add(json);
        most_legal_ = std::max(most_legal_, found.legal.size());
        groups_count_ = std::max(groups_count_, found.groups_count());
    }
    stored.flush();
    if (size() == source_offsets_.back()) fail_at(source.path, 0, "no record is in it; there is nothing to choose");
    source_offsets_.push_back(size());
}

choices_t choice_store_t::load(std::span<std::size_t const> records) const {
    for (std::size_t const record : records) lines_[source_of(source_offsets_, record)].announce(places_[record]);
    std::vector<choice_parser_t> parsers;
    for (source_t const &source : sources_) parsers.emplace_back(source.path, source.temperature_group);
    choices_t choices;
    std::string json;
    for (std::size_t const record : records) {
        std::size_t const source = source_of(source_offsets_, record);
        lines_[source].read(places_[record], json);
        if (!parsers[source].append(json, 0, choices))
            fail_at(sources_[source].path, 0, "has changed while the run reads it; start again from the last save");
    }
    return choices;
}

} // namespace uform::tools
