/**
 *  @file corpus.hpp
 *  @brief The records of a mixture's sources, wholly in memory.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/mixture.hpp"

namespace uform::tools {

/** One line of a source: a query, documents that answer it, and documents that look as if they did. */
struct record_t {
    std::size_t first_text; // the query; its positives and its negatives follow
    std::uint32_t positives;
    std::uint32_t negatives;
    std::uint32_t group; // equal where records may not repel each other
};

/** Records of all sources end to end: source i owns `[source_offsets[i], source_offsets[i + 1])`. */
class corpus_t {
  public:
    std::size_t size() const noexcept { return records_.size(); }
    record_t const &record(std::size_t record) const noexcept { return records_[record]; }
    std::string_view query(std::size_t record) const noexcept { return text(records_[record].first_text); }
    std::string_view document(std::size_t record) const noexcept { return positive(record, 0); }
    std::string_view positive(std::size_t record, std::size_t index) const noexcept {
        return text(records_[record].first_text + 1 + index);
    }
    std::string_view negative(std::size_t record, std::size_t index) const noexcept {
        return positive(record, records_[record].positives + index);
    }
    std::uint32_t group(std::size_t record) const noexcept { return records_[record].group; }
    std::vector<std::size_t> const &source_offsets() const noexcept { return source_offsets_; }
    /** The most of any record. */
    std::size_t most_positives() const noexcept { return most_positives_; }
    std::size_t most_negatives() const noexcept { return most_negatives_; }

    void add(std::string_view query, std::string_view document, std::uint32_t group) {
        add(query, std::span(&document, 1), {}, group);
    }
    void add(std::string_view query, std::span<std::string_view const> positives,
             std::span<std::string_view const> negatives, std::uint32_t group);
    void end_source() { source_offsets_.push_back(records_.size()); }

  private:
    std::string_view text(std::size_t index) const noexcept {
        return std::string_view(bytes_).substr(text_offsets_[index], text_offsets_[index + 1] - text_offsets_[index]);
    }
    void append(std::string_view text);

    std::string bytes_;
    std::vector<std::size_t> text_offsets_ {0};
    std::vector<record_t> records_;
    std::vector<std::size_t> source_offsets_ {0};
    std::size_t most_positives_ = 0;
    std::size_t most_negatives_ = 0;
};

/** The source a record or a choice is of, by `source_offsets` as above. */
std::size_t source_of(std::span<std::size_t const> source_offsets, std::size_t record) noexcept;

/** Reads every source; `with_queries` is false where the objective sees documents alone. */
corpus_t read_corpus(mixture_t const &mixture, bool with_queries);

/** Reads held-out pairs, as a corpus of one source. */
corpus_t read_pairs(std::string const &path, fields_t const &fields);

} // namespace uform::tools
