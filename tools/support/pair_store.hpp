/**
 *  @file pair_store.hpp
 *  @brief The records of a mixture's sources, on the disk: an index is in memory, texts as long as a batch needs them.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/content.hpp"
#include "support/corpus.hpp"
#include "support/mixture.hpp"
#include "support/stored_lines.hpp"

namespace uform::tools {

/** Records of all sources end to end, as in `corpus_t`; 16 bytes of memory each. */
class pair_store_t {
  public:
    /** Reads every source once, from front to back, and refuses what a batch could not be made of. `with_queries` is
     *  false where the objective sees documents alone. What has to be unpacked is, beside `copy_path`. */
    pair_store_t(mixture_t const &mixture, bool with_queries, std::string const &copy_path);
    /** Of one file; queries may be empty. */
    pair_store_t(source_t source, std::string const &copy_path);

    std::size_t size() const noexcept { return places_.size(); }
    source_t const &source(std::size_t index) const noexcept { return sources_[index]; }
    std::vector<std::size_t> const &source_offsets() const noexcept { return source_offsets_; }
    /** Of a source: equal where all its records are. */
    std::uint64_t content(std::size_t source) const noexcept { return contents_[source].value(); }
    /** The most of any record. */
    std::size_t most_positives() const noexcept { return most_positives_; }
    std::size_t most_negatives() const noexcept { return most_negatives_; }
    /** The records named, in their order, as records 0, 1, … of a corpus. Any thread may, at any time. */
    corpus_t load(std::span<std::size_t const> records) const;
    /** The same of records one after the other. */
    corpus_t load(std::size_t first, std::size_t count) const;

  private:
    void read(source_t const &source, std::string const &copy_path);

    std::vector<source_t> sources_;
    bool with_queries_;
    bool empty_queries_;                // whether a query may be
    std::vector<stored_lines_t> lines_; // of each source
    std::vector<place_t> places_;
    std::vector<content_t> contents_; // of each source
    std::vector<std::size_t> source_offsets_ {0};
    std::size_t most_positives_ = 0;
    std::size_t most_negatives_ = 0;
};

} // namespace uform::tools
