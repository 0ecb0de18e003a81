/**
 *  @file retrieval.cpp
 *  @brief Inner products in blocks, each summed in the order of its columns, so that equal rows tie to the bit.
 */
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "support/retrieval.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t block_k = 256; // candidates scored at a time: columns * block fits L2 up to a width of 1,024

/** How the match of one anchor stands among the candidates. */
struct standing_t {
    float match = 0;
    std::size_t better = 0;
    std::size_t equal = 0; // of others, and the match itself

    double expected_rank() const noexcept { return 1.0 + double(better) + (double(equal) - 1.0) / 2.0; }
};

/** A block of candidates turned on its side, so that the inner loop runs over candidates. */
void transpose(std::span<float const> rows, std::size_t columns, std::vector<float> &transposed) {
    std::size_t const count = rows.size() / columns;
    transposed.assign(columns * block_k, 0.0f);
    for (std::size_t row = 0; row < count; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            transposed[column * block_k + row] = rows[row * columns + column];
}

void dots(float const *anchor, float const *transposed, std::size_t columns, float *scores) {
    std::fill_n(scores, block_k, 0.0f);
    for (std::size_t column = 0; column < columns; ++column) {
        float const factor = anchor[column];
        float const *candidates = transposed + column * block_k;
        for (std::size_t i = 0; i < block_k; ++i) scores[i] += factor * candidates[i];
    }
}

recall_t summarize(std::span<standing_t const> standings) {
    recall_t recall;
    for (standing_t const &standing : standings) {
        if (std::isnan(standing.match)) continue;
        double const rank = standing.expected_rank();
        recall.at_1 += rank <= 1, recall.at_5 += rank <= 5, recall.at_10 += rank <= 10;
        recall.mean_reciprocal_rank += 1 / rank;
    }
    double const count = double(std::max<std::size_t>(standings.size(), 1));
    recall.at_1 /= count, recall.at_5 /= count, recall.at_10 /= count, recall.mean_reciprocal_rank /= count;
    return recall;
}

float match_score(float const *anchor, float const *candidate, std::size_t columns) {
    float sum = 0;
    for (std::size_t column = 0; column < columns; ++column) sum += anchor[column] * candidate[column];
    return sum;
}

/** Candidates that match an anchor, next to each other. */
struct own_t {
    std::size_t begin, end;
};

/** Adds how candidates `first` on, `count` of them, compare with the match. */
void compare(float const *scores, std::size_t count, standing_t &standing) {
    for (std::size_t j = 0; j < count; ++j)
        standing.better += scores[j] > standing.match, standing.equal += scores[j] == standing.match;
}

recall_t one_direction(std::span<float const> anchors, std::span<float const> candidates, std::size_t columns,
                       std::span<own_t const> owns) {
    std::vector<standing_t> standings(owns.size());
    for (std::size_t i = 0; i < owns.size(); ++i) {
        float best = std::numeric_limits<float>::quiet_NaN(); // of a number and NaN, `fmax` takes the number
        for (std::size_t own = owns[i].begin; own < owns[i].end; ++own)
            best = std::fmax(best, match_score(&anchors[i * columns], &candidates[own * columns], columns));
        standings[i].match = best, standings[i].equal = 1;
    }
    std::vector<float> transposed;
    float scores[block_k];
    std::size_t const count = candidates.size() / columns;
    for (std::size_t first = 0; first < count; first += block_k) {
        std::size_t const width = std::min(block_k, count - first);
        transpose(candidates.subspan(first * columns, width * columns), columns, transposed);
        for (std::size_t i = 0; i < owns.size(); ++i) {
            dots(&anchors[i * columns], transposed.data(), columns, scores);
            std::size_t const begin = std::clamp(owns[i].begin, first, first + width) - first;
            std::size_t const end = std::clamp(owns[i].end, first, first + width) - first;
            compare(scores, begin, standings[i]);
            compare(scores + end, width - end, standings[i]);
        }
    }
    return summarize(standings);
}

} // namespace

retrieval_t score_retrieval(std::span<float const> queries, std::span<float const> documents, std::size_t columns,
                            std::span<std::size_t const> document_offsets) {
    retrieval_t retrieval;
    retrieval.count = queries.size() / columns, retrieval.documents = documents.size() / columns;
    std::vector<own_t> of_queries, of_documents;
    for (std::size_t query = 0; query < retrieval.count; ++query) {
        of_queries.push_back({document_offsets[query], document_offsets[query + 1]});
        of_documents.resize(document_offsets[query + 1], {query, query + 1});
    }
    retrieval.forward = one_direction(queries, documents, columns, of_queries);
    retrieval.backward = one_direction(documents, queries, columns, of_documents);
    return retrieval;
}

retrieval_t score_retrieval(std::span<float const> queries, std::span<float const> documents, std::size_t columns) {
    std::vector<std::size_t> one_each(queries.size() / columns + 1);
    std::iota(one_each.begin(), one_each.end(), std::size_t(0));
    return score_retrieval(queries, documents, columns, one_each);
}

} // namespace uform::tools
