/**
 *  @file encoding.hpp
 *  @brief The streaming run of `uform_encode`.
 */
#pragma once
#include <cstddef>
#include <string>

namespace uform::tools {

/** The flags of `uform_encode`. */
struct encoding_options_t {
    std::string checkpoint;
    std::string input = "-";
    std::string format = "lines";
    std::string field = "text";
    std::string output = "-";
    std::string output_format; // empty: by the output's name
    std::string side;          // empty, "query" or "document"
    std::string surface = "embeddings";
    std::string scalar = "f32";
    std::size_t dimensions = 0;
    std::size_t bytes = 0;
    std::size_t batch = 256;
    std::size_t threads = 0;
    std::string cpu_class;
    std::string log;
};

int encode_texts(encoding_options_t const &options);

} // namespace uform::tools
