/**
 *  @file growing.hpp
 *  @brief A run of `uform_grow`: read, grow, compare, and only then write.
 */
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace uform::tools {

struct growing_options_t {
    std::string source, target;
    std::optional<std::size_t> depth, hidden; // what to reach, one of them; zero: twice the source's
    std::size_t threads = 0;
    std::string cpu_class;
};

int grow(growing_options_t const &options);

} // namespace uform::tools
