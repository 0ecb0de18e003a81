/**
 *  @file record_lines.cpp
 *  @brief The name of a file decides what is in it.
 */
#include "support/error.hpp"
#include "support/media_files.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

record_lines_t::record_lines_t(std::string const &path, std::span<column_t const> columns) {
    if (is_named(path, ".parquet")) {
        std::vector<std::string> names;
        for (column_t const &column : columns) names.push_back(column.name);
        rows_.emplace(path, names);
    } else if (names_shards(path))
        entries_.emplace(path, std::vector<column_t>(columns.begin(), columns.end()));
    else
        lines_.emplace(path);
}

bool record_lines_t::next(std::string &json) {
    constexpr std::string_view mark_k = "\xef\xbb\xbf"; // of UTF-8, as some editors begin a file
    if (rows_) return rows_->next(json);
    if (entries_) return entries_->next(json);
    mark_bytes_ = 0;
    if (!lines_->next(json)) return false;
    if (lines_->line_number() > 1) return true;
    if (json.starts_with(mark_k)) json.erase(0, mark_bytes_ = mark_k.size());
    if (json.starts_with("\xff\xfe") || json.starts_with("\xfe\xff"))
        fail_at(lines_->path(), 1, "is UTF-16; save the file as UTF-8");
    return true;
}

} // namespace uform::tools
