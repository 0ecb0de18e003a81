/**
 *  @file retrieval.cpp
 *  @brief Inner products in blocks, each summed in the order of its columns, so that equal rows tie to the bit.
 */
#include <algorithm>
#include <cmath>
#include <vector>

#include "support/retrieval.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t block_k = 256; // candidates scored at a time: columns * block fits L2 up to a width of 1,024

/** How the match of one anchor stands among the candidates. */
struct standing_t {
    float match = 0;
    std::size_t better = 0;
    std::size_t equal = 0; // the match itself included

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

recall_t one_direction(std::span<float const> anchors, std::span<float const> candidates, std::size_t columns) {
    std::size_t const count = anchors.size() / columns;
    std::vector<standing_t> standings(count);
    for (std::size_t i = 0; i < count; ++i)
        standings[i].match = match_score(&anchors[i * columns], &candidates[i * columns], columns);
    std::vector<float> transposed;
    float scores[block_k];
    for (std::size_t first = 0; first < count; first += block_k) {
        std::size_t const width = std::min(block_k, count - first);
        transpose(candidates.subspan(first * columns, width * columns), columns, transposed);
        for (std::size_t i = 0; i < count; ++i) {
            dots(&anchors[i * columns], transposed.data(), columns, scores);
            for (std::size_t j = 0; j < width; ++j)
                standings[i].better += scores[j] > standings[i].match, standings[i].equal += scores[j] == standings[i].match;
        }
    }
    return summarize(standings);
}

} // namespace

retrieval_t score_retrieval(std::span<float const> queries, std::span<float const> documents, std::size_t columns) {
    retrieval_t retrieval;
    retrieval.count = queries.size() / columns;
    retrieval.forward = one_direction(queries, documents, columns);
    retrieval.backward = one_direction(documents, queries, columns);
    return retrieval;
}

} // namespace uform::tools
