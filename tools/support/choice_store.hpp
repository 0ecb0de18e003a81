/**
 *  @file choice_store.hpp
 *  @brief The choices of a mixture, or held-out ones, on the disk: an index is in memory, texts as long as a call needs
 *  them.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/choices.hpp"
#include "support/content.hpp"
#include "support/mixture.hpp"
#include "support/stored_lines.hpp"

namespace uform::tools {

/** Records of all sources end to end; 16 bytes of memory each. */
class choice_store_t {
  public:
    /** Reads every source once, and refuses what nobody could choose by. What has to be unpacked is, beside `copy_path`. */
    choice_store_t(std::vector<source_t> sources, std::string const &copy_path);

    std::size_t size() const noexcept { return places_.size(); }
    std::vector<std::size_t> const &source_offsets() const noexcept { return source_offsets_; }
    /** Of a source: equal where all its records are. */
    std::uint64_t content(std::size_t source) const noexcept { return contents_[source].value(); }
    /** Legal bytes of any record, at most. */
    std::size_t most_legal() const noexcept { return most_legal_; }
    /** One beyond the highest group. */
    std::size_t groups_count() const noexcept { return groups_count_; }
    /** The records named, in their order. Any thread may, at any time. */
    choices_t load(std::span<std::size_t const> records) const;

  private:
    void read(source_t const &source, std::string const &copy_path);

    std::vector<source_t> sources_;
    std::vector<stored_lines_t> lines_; // of each source
    std::vector<content_t> contents_;   // likewise
    std::vector<place_t> places_;
    std::vector<std::size_t> source_offsets_ {0};
    std::size_t most_legal_ = 0;
    std::size_t groups_count_ = 0;
};

} // namespace uform::tools
