/**
 *  @file shard_rows.hpp
 *  @brief Entries of shards as records: an object of JSON each, whose keys are extensions.
 *
 *  Of what is read, texts are in the object as they are, but for one newline at their end; of media, which stay where
 *  they are, it holds references for `media_files_t`. Shards are opened one after the other.
 */
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "support/found_files.hpp"
#include "support/shard.hpp"

namespace uform::tools {

/** A column of records: a key, which for shards may be several extensions, `jpg;png`. */
struct column_t {
    std::string name;
    bool is_media = false;
};

class shard_rows_t {
  public:
    shard_rows_t(std::string const &pattern, std::vector<column_t> columns);

    /** False once there are no more. */
    bool next(std::string &json);
    /** Of the entry given last, counted from one over all shards. */
    std::size_t number() const noexcept { return number_; }

  private:
    std::string text_of(shard_entry_t const &entry, shard_member_t const &member) const;

    std::vector<column_t> columns_;
    std::vector<found_file_t> shards_;
    std::size_t next_shard_ = 0;
    std::optional<shard_t> shard_;
    std::size_t entry_ = 0; // of `shard_`, the next
    std::size_t number_ = 0;
};

} // namespace uform::tools
