/**
 *  @file media_files.hpp
 *  @brief The files that the records of a source name: beside it on the disk, or members of its shards.
 */
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <uform/model.h>

#include "support/files.hpp"
#include "support/shard.hpp"

namespace uform::tools {

/** Whether a source is shards, one or all that a pattern matches: its name says so. */
inline bool names_shards(std::string_view path) noexcept { return is_named(path, ".tar"); }

/** How a record spells a member of a shard: where its content is, and its name. */
std::string reference_to(shard_t const &shard, shard_entry_t const &entry, shard_member_t const &member);

class media_files_t {
  public:
    media_files_t() = default;
    /** Of a source's records: paths in them start at its folder. */
    explicit media_files_t(std::string const &source);

    /** What messages call the file that a field's `value` means. */
    std::string name_of(std::string_view value) const;
    /** Tells the system that it is wanted soon. */
    void announce(std::string_view value) const noexcept;
    /** All its bytes, or a failure that begins with its name; from any thread. A file that cannot be of the modality is
     *  not read beyond its beginning; text stands for any. */
    std::string read(std::string_view value, uform_modality_t modality = uform_modality_text_k) const;

  private:
    std::filesystem::path folder_;
    bool shards_ = false;
};

} // namespace uform::tools
