/**
 *  @file growth_probe.hpp
 *  @brief How far a grown model is from the one it grew from, measured on what both answer.
 */
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine.hpp"
#include "support/tensor_file.hpp"

namespace uform::tools {

/** Rows of one width, end to end. */
struct probe_rows_t {
    std::vector<float> values; // [rows, columns]
    std::size_t columns = 0;
};

/** What a model answers to the probe's texts. */
struct probe_answers_t {
    probe_rows_t embeddings;    // their first columns
    probe_rows_t token_vectors; // none where the model has no such head
};

/** Sentences in several scripts, and keyed bytes of many lengths up to 512 or the context. */
std::vector<std::string> probe_texts(std::size_t context);

/** Loads a checkpoint from its bytes, through the C ABI, and encodes the probe's texts. `dimensions` columns of each
 *  embedding are kept, zero for all; `path` is what failures call the checkpoint. */
probe_answers_t probe(std::string_view bytes, std::string const &path, std::size_t dimensions,
                      executor_t const &executor);

/** The lowest cosine of a row with its counterpart: 1 where there are no rows, NaN where one is not finite. */
double lowest_cosine(probe_rows_t const &before, probe_rows_t const &after);
double lowest_cosine(probe_answers_t const &before, probe_answers_t const &after);

/** What the media entries of a checkpoint make of keyed patches, and their MASK rows, as block 0 reads them: times its
 *  `attention.norm`, the first `hidden` columns. These are computed here: the C ABI of this version encodes no media. */
probe_rows_t probe_media_entries(tensor_file_t const &file, std::size_t hidden);

} // namespace uform::tools
