/**
 *  @file corpus.cpp
 *  @brief Texts end to end; held-out pairs are read through the parser of all records.
 */
#include <algorithm>

#include "support/corpus.hpp"
#include "support/interrupt.hpp"
#include "support/record.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

void corpus_t::append(std::string_view text) {
    bytes_.append(text);
    text_offsets_.push_back(bytes_.size());
}

void corpus_t::add(std::string_view query, std::span<std::string_view const> positives,
                   std::span<std::string_view const> negatives, std::uint64_t group, std::size_t source) {
    records_.push_back(
        {text_offsets_.size() - 1, std::uint32_t(positives.size()), std::uint32_t(negatives.size()), group, source});
    append(query);
    for (std::string_view const each : positives) append(each);
    for (std::string_view const each : negatives) append(each);
}

std::size_t source_of(std::span<std::size_t const> source_offsets, std::size_t record) noexcept {
    auto const after = std::upper_bound(source_offsets.begin(), source_offsets.end(), record);
    return std::size_t(after - source_offsets.begin()) - 1;
}

held_out_t read_pairs(std::string const &path, fields_t const &fields) {
    source_t const source = {path, fields, {}, 1, 0};
    record_lines_t lines(path, columns_of(source));
    record_parser_t parser(source, true, true);
    held_out_t pairs;
    pairs.media = media_files_t(path);
    pairs.query_is_media = fields.query_modality != uform_modality_text_k;
    pairs.document_is_media = fields.document_modality != uform_modality_text_k;
    for (std::string json; lines.next(json);) {
        if (lines.number() % 65536 == 0) leave_if_interrupted();
        if (!parser.parse(json, lines.number(), pairs.size())) continue;
        record_view_t const &found = parser.record();
        pairs.add(found.query, found.positives, found.negatives, found.group);
    }
    check_some(source, pairs.size());
    return pairs;
}

} // namespace uform::tools
