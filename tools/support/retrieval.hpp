/**
 *  @file retrieval.hpp
 *  @brief Recall and mean reciprocal rank of rows that should find each other.
 *
 *  A document answers one query and no other, whatever the texts; a query may have several, and stands where the best
 *  of them stands among those of others. Ties count at their expected rank, so a model that gives every text one vector
 *  scores as chance does; a row with NaN finds nothing and is not found.
 */
#pragma once
#include <cstddef>
#include <span>

namespace uform::tools {

struct recall_t {
    double at_1 = 0;
    double at_5 = 0;
    double at_10 = 0;
    double mean_reciprocal_rank = 0;
};

struct retrieval_t {
    std::size_t count = 0; // queries
    std::size_t documents = 0;
    recall_t forward;  // queries find documents
    recall_t backward; // documents find queries
};

/** Both sides are [count, columns], f32, scored by inner product; query i's document is document i. */
retrieval_t score_retrieval(std::span<float const> queries, std::span<float const> documents, std::size_t columns);

/** Query i's documents are `document_offsets[i]` up to `document_offsets[i + 1]`, at least one of them. */
retrieval_t score_retrieval(std::span<float const> queries, std::span<float const> documents, std::size_t columns,
                            std::span<std::size_t const> document_offsets);

} // namespace uform::tools
