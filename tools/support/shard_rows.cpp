/**
 *  @file shard_rows.cpp
 *  @brief One entry, one line.
 */
#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "support/media_files.hpp"
#include "support/shard_rows.hpp"
#include "support/signature.hpp"

namespace uform::tools {

namespace {
constexpr std::size_t text_limit_k = std::size_t(1) << 24; // no caption comes near
} // namespace

shard_rows_t::shard_rows_t(std::string const &pattern, std::vector<column_t> columns)
    : columns_(std::move(columns)), shards_(find_files(pattern, written_files_t({}))) {}

std::string shard_rows_t::text_of(shard_entry_t const &entry, shard_member_t const &member) const {
    std::string const name = shard_->name_of(entry, member);
    if (member.bytes > text_limit_k) fail_at(name, 0, "is too long for a text; name it as a medium, if it is one");
    std::string text = shard_->read(member);
    if (!is_text(text)) fail_at(name, 0, "is not text in UTF-8; re-encode it");
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

bool shard_rows_t::next(std::string &json) {
    while (!shard_ || entry_ == shard_->entries().size()) {
        if (next_shard_ == shards_.size()) return false;
        found_file_t const &found = shards_[next_shard_++];
        if (!found.problem.empty()) fail_at(found.path, 0, "{}; name a shard, or a pattern of some", found.problem);
        shard_.emplace(found.path), entry_ = 0;
    }
    shard_entry_t const &entry = shard_->entries()[entry_++];
    nlohmann::ordered_json record = nlohmann::ordered_json::object();
    for (column_t const &column : columns_)
        if (shard_member_t const *const member = entry.find(column.name))
            record[column.name] = column.is_media ? reference_to(*shard_, entry, *member) : text_of(entry, *member);
    json = record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    ++number_;
    return true;
}

} // namespace uform::tools
