/**
 *  @file item_reader.hpp
 *  @brief The items that `uform_encode` is given, one by one: texts of a list, whole files, entries of shards.
 */
#pragma once
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include <simdjson.h>
#include <uform/model.h>

#include "support/encoding.hpp"
#include "support/files.hpp"
#include "support/found_files.hpp"
#include "support/shard.hpp"
#include "support/written_files.hpp"

namespace uform::tools {

struct item_t {
    std::string name; // of a text of a list, its place in it
    std::string bytes;
    uform_modality_t modality = uform_modality_text_k;
    std::string problem; // why it cannot be encoded; empty: nothing is known so far
};

class item_reader_t {
  public:
    explicit item_reader_t(encoding_options_t const &options);

    /** False once there are no more. A file that cannot be had is an item with a problem. */
    bool next(item_t &item);
    /** Whether items are files, or may be. */
    bool reads_files() const noexcept;

  private:
    enum class format_t { lines_k, jsonl_k, files_k };

    bool next_of_list(item_t &item, bool &is_text_item);
    void tidy_line();
    void find(std::string const &name);
    bool read_record();
    bool open(found_file_t const &found, item_t &item);
    void read_entry(shard_entry_t const &entry, item_t &item) const;
    shard_member_t const *member_of(shard_entry_t const &entry, std::string &problem) const;
    char const *problem_of(std::string_view head) const noexcept;
    void recognize(item_t &item) const;

    encoding_options_t const &options_;
    format_t format_;
    std::optional<uform_modality_t> modality_; // none: each file's content decides
    written_files_t written_;
    std::optional<line_reader_t> lines_; // none where the command line names files
    std::string line_;                   // without what is no part of a path or a record
    std::string text_; // of a record without paths
    simdjson::dom::parser parser_;
    std::deque<found_file_t> files_;
    std::optional<shard_t> shard_;
    std::size_t entry_ = 0;
};

} // namespace uform::tools
