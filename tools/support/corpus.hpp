/**
 *  @file corpus.hpp
 *  @brief The records of a mixture's sources, wholly in memory.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/mixture.hpp"

namespace uform::tools {

/** One line of a source. Spans lie in the corpus's bytes. */
struct record_t {
    std::size_t query_offset;
    std::size_t document_offset;
    std::uint32_t query_length;
    std::uint32_t document_length;
    std::uint32_t group; // equal where records may not repel each other
};

/** Records of all sources end to end: source i owns `[source_offsets[i], source_offsets[i + 1])`. */
class corpus_t {
  public:
    std::size_t size() const noexcept { return records_.size(); }
    std::string_view query(std::size_t record) const noexcept {
        return {bytes_.data() + records_[record].query_offset, records_[record].query_length};
    }
    std::string_view document(std::size_t record) const noexcept {
        return {bytes_.data() + records_[record].document_offset, records_[record].document_length};
    }
    std::uint32_t group(std::size_t record) const noexcept { return records_[record].group; }
    std::vector<std::size_t> const &source_offsets() const noexcept { return source_offsets_; }

    void add(std::string_view query, std::string_view document, std::uint32_t group);
    void end_source() { source_offsets_.push_back(records_.size()); }

  private:
    std::string bytes_;
    std::vector<record_t> records_;
    std::vector<std::size_t> source_offsets_ {0};
};

/** Reads every source; `with_queries` is false where the objective sees documents alone. */
corpus_t read_corpus(mixture_t const &mixture, bool with_queries);

/** Reads held-out pairs, as a corpus of one source. */
corpus_t read_pairs(std::string const &path, fields_t const &fields);

} // namespace uform::tools
