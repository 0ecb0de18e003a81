/**
 *  @file corpus.hpp
 *  @brief Records whose texts are in memory: those of one batch, or of one call.
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
    std::uint64_t group; // equal where records may not repel each other
    std::size_t source;  // of the mixture
};

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
    std::uint64_t group(std::size_t record) const noexcept { return records_[record].group; }

    void add(std::string_view query, std::string_view document, std::uint64_t group) {
        add(query, std::span(&document, 1), {}, group);
    }
    void add(std::string_view query, std::span<std::string_view const> positives,
             std::span<std::string_view const> negatives, std::uint64_t group, std::size_t source = 0);

  private:
    std::string_view text(std::size_t index) const noexcept {
        return std::string_view(bytes_).substr(text_offsets_[index], text_offsets_[index + 1] - text_offsets_[index]);
    }
    void append(std::string_view text);

    std::string bytes_;
    std::vector<std::size_t> text_offsets_ {0};
    std::vector<record_t> records_;
};

/** The source of a record or a choice, where source i owns `[source_offsets[i], source_offsets[i + 1])` of them. */
std::size_t source_of(std::span<std::size_t const> source_offsets, std::size_t record) noexcept;

} // namespace uform::tools
