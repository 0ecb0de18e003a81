/**
 *  @file corpus.cpp
 *  @brief Texts end to end.
 */
#include <algorithm>

#include "support/corpus.hpp"

namespace uform::tools {

void corpus_t::append(std::string_view text) {
    bytes_.append(text);
    text_offsets_.push_back(bytes_.size());
}

void corpus_t::add(std::string_view query, std::span<std::string_view const> positives,
                   std::span<std::string_view const> negatives, std::uint64_t group, std::size_t source) {
    records_.push_back(
        {text_offsets_.size() - 1, std::uint32_t(positives.size()), std::uint32_t(negatives.size()), group, source});
    append(query);
    for (std::string_view const each : positives) append(each);
    for (std::string_view const each : negatives) append(each);
}

std::size_t source_of(std::span<std::size_t const> source_offsets, std::size_t record) noexcept {
    auto const after = std::upper_bound(source_offsets.begin(), source_offsets.end(), record);
    return std::size_t(after - source_offsets.begin()) - 1;
}

} // namespace uform::tools
