/**
 *  @file evaluation.hpp
 *  @brief Encodes held-out pairs and scores them, for `uform_eval` and for validation while training.
 */
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/pair_store.hpp"
#include "support/retrieval.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

struct evaluation_options_t {
    std::string query_prefix;
    std::string document_prefix;
    std::size_t bytes = 192; // of an item, prefix included
    std::size_t dimensions = 0;
    std::size_t most_pairs = SIZE_MAX; // the first ones
};

/** A file that could not be encoded, and so takes no part. */
struct lost_file_t {
    std::string name, reason;
};

struct evaluation_t {
    retrieval_t retrieval;
    std::size_t truncated = 0; // texts
    std::size_t tokens = 0;
    std::vector<lost_file_t> lost;
};

/** Of texts, a query's document is the first of its record; where a side is media all documents count, so that a picture
 *  has all its captions. A record whose files are lost on a side is left out. */
evaluation_t evaluate(text_encoder_t &encoder, executor_t const &executor, pair_store_t const &pairs,
                      evaluation_options_t const &options);

/** {"queries", "documents", "forward": {"recall@1", …}, "backward": {…}} */
nlohmann::ordered_json to_json(retrieval_t const &retrieval);

} // namespace uform::tools
