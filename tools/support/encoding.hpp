/**
 *  @file encoding.hpp
 *  @brief The streaming run of `uform_encode`.
 */
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace uform::tools {

/** The flags of `uform_encode`. */
struct encoding_options_t {
    std::string checkpoint;
    std::vector<std::string> files; // names, folders, patterns; empty: what `input` lists
    std::string input = "-";
    std::string format = "lines";
    std::string field = "text";
    std::string path_field; // of a JSONL record, instead of the text
    std::string modality;   // of every file; empty: content decides
    std::string member;     // extensions of a shard's members; empty: the medium of each entry
    bool strict = false;    // the first file that cannot be encoded ends the run
    std::string output = "-";
    std::string output_format; // empty: by the output's name
    std::string side;          // empty, "query" or "document"
    std::string surface = "embeddings";
    std::string scalar = "f32";
    std::size_t dimensions = 0;
    std::size_t bytes = 0;
    std::size_t batch = 256;
    std::size_t batch_bytes = std::size_t(1) << 26; // of all files of a batch
    std::string names;                              // file that says what each row is of
    std::size_t threads = 0;
    std::string cpu_class;
    std::string log;
};

int encode_inputs(encoding_options_t const &options);

} // namespace uform::tools
