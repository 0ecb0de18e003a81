/**
 *  @file record_lines.cpp
 *  @brief The name of a file decides what is in it.
 */
#include "support/record_lines.hpp"

namespace uform::tools {

record_lines_t::record_lines_t(std::string const &path, std::span<std::string const> columns) {
    if (path.ends_with(".parquet"))
        rows_.emplace(path, columns);
    else
        lines_.emplace(path);
}

bool record_lines_t::next(std::string &json) { return rows_ ? rows_->next(json) : lines_->next(json); }

} // namespace uform::tools
