/**
 *  @file evaluation.hpp
 *  @brief Encodes held-out pairs and scores them, for `uform_eval` and for validation while training.
 */
#pragma once
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
};

struct evaluation_t {
    retrieval_t retrieval;
    std::size_t truncated = 0;
    std::size_t tokens = 0;
};

evaluation_t evaluate(text_encoder_t &encoder, pair_store_t const &pairs, evaluation_options_t const &options);

/** {"queries", "documents", "forward": {"recall@1", …}, "backward": {…}} */
nlohmann::ordered_json to_json(retrieval_t const &retrieval);

} // namespace uform::tools
