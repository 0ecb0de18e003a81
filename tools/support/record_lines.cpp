/**
 *  @file record_lines.cpp
 *  @brief The name of a file decides what is in it.
 */
#include "support/media_files.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

record_lines_t::record_lines_t(std::string const &path, std::span<column_t const> columns) {
    if (path.ends_with(".parquet")) {
        std::vector<std::string> names;
        for (column_t const &column : columns) names.push_back(column.name);
        rows_.emplace(path, names);
    } else if (names_shards(path))
        entries_.emplace(path, std::vector<column_t>(columns.begin(), columns.end()));
    else
        lines_.emplace(path);
}

bool record_lines_t::next(std::string &json) {
    return rows_ ? rows_->next(json) : entries_ ? entries_->next(json) : lines_->next(json);
}

} // namespace uform::tools
