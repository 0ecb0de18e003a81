/**
 *  @file shard.hpp
 *  @brief A tar archive as WebDataset lays it out: members that share a stem are one entry.
 *
 *  The stem of a member is its name up to the first dot behind the last slash, its extension what follows that dot, in
 *  lower case. Members without either are passed over, as are folders and links. Headers are read once, contents where
 *  they lie and when they are asked for, so memory holds names alone.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace uform::tools {

struct shard_member_t {
    std::string extension;
    std::uint64_t offset; // of its content in the archive
    std::uint64_t bytes;
};

struct shard_entry_t {
    std::string stem;
    std::vector<shard_member_t> members; // in the archive's order, their extensions all different

    /** The member of the first of these extensions, `jpg;jpeg;png`, that there is; none: NULL. */
    shard_member_t const *find(std::string_view extensions) const noexcept;
};

class shard_t {
  public:
    /** Reads all headers: ustar, GNU's long names, pax. One that is damaged, or that says more bytes than there are,
     *  fails with the archive's name and the member's. */
    explicit shard_t(std::string path);
    shard_t(shard_t const &) = delete;
    shard_t(shard_t &&other) noexcept;
    ~shard_t();

    std::string const &path() const noexcept { return path_; }
    std::span<shard_entry_t const> entries() const noexcept { return entries_; }
    /** How messages and rows call a member. */
    std::string name_of(shard_entry_t const &entry, shard_member_t const &member) const;
    /** The first `limit` bytes of a member; from any thread. */
    std::string read(shard_member_t const &member, std::size_t limit = SIZE_MAX) const;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::vector<shard_entry_t> entries_; // in the order of their first members
};

} // namespace uform::tools
