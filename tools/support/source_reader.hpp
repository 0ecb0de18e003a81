/**
 *  @file source_reader.hpp
 *  @brief The objects of a mixture that name files: sources of pairs and choices, held-out pairs, and their fields.
 */
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "support/mixture.hpp"
#include "support/strict_json.hpp"

namespace uform::tools {

inline constexpr std::size_t context_limit_k = 65536; // of a model

struct source_reader_t {
    strict_json_t json;
    std::filesystem::path base; // where relative paths start

    std::string resolved(json_value_t value);
    /** A name, which is a text's, or `{"image": name}`, likewise of the other media. */
    void field(json_value_t value, std::string &name, uform_modality_t &modality);
    fields_t fields(json_value_t value);
    std::size_t count_up_to(json_value_t value, std::size_t at_least, std::size_t limit);
    /** A source of choices has neither fields nor a filter. */
    source_t source(json_value_t value, bool of_pairs);
    validation_t validation(json_value_t value);
};

} // namespace uform::tools
