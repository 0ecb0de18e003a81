/**
 *  @file winner_sums.hpp
 *  @brief The gradients of MaxSim's token vectors: sums over the pairs of tokens that won, a row of sums at a time.
 *
 *  With f the force on S(q, d), divided by the tokens of q, and w(q, d, t) the document's token that won over the query's
 *  token t:
 *      d_v of a query's token t      sum over documents of f v[w(q, d, t)]                the order of the documents
 *      d_v of a document's token s   sum over queries and their t that it won of f v[t]   the order of the queries
 *  A sum stays in registers while the rows it gains are called, which is what this costs: so they are those of a block of
 *  items of the other side that half a core's second-level cache holds, and every item of a worker passes that block
 *  before the next. Where a block ends changes no sum's order. A document's tokens find who they won by counting.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/encoder/kit.hpp>
#include <uform/train/normalize.hpp>
#include <uform/train/query_blocks.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** What the scores leave of every pair of a query and a document. */
template <typename wide_>
struct won_pairs_t {
    std::span<scored_item_t const> queries, documents;
    std::size_t const *starts = nullptr;    // [queries + 1], where each query's winners start
    std::uint16_t const *winners = nullptr; // per query: [documents, tokens of the query]
    wide_ const *forces = nullptr;          // [queries, documents], d loss / d S, unscaled
    real_t<wide_> scale = 0;                // of the forces

    std::uint16_t const *winners_of(std::size_t row, std::size_t column) const noexcept {
        return winners + starts[row] + queries[row].count * column;
    }
    /** What each token of a query passes on, or zero where the pair has no winners. */
    wide_ force_of(std::size_t row, std::size_t column) const noexcept {
        wide_ const force = forces[row * documents.size() + column];
        return force == wide_(0) ? force : force * wide_(scale / real_t<wide_>(queries[row].count));
    }
};

template <typename kit_>
class winner_sums_t {
  public:
    using wide_t = typename kit_::wide_t;

    /** `d_vectors_sum` starts at token `first_token`, `vectors` at the step's first. */
    winner_sums_t(kit_ const &kit, won_pairs_t<wide_t> const &won, std::size_t width, narrow_t<wide_t> const *vectors,
                  wide_t *d_vectors_sum, std::size_t first_token) noexcept
        : kernels_(kit), won_(won), width_(width), vectors_(vectors), d_vectors_sum_(d_vectors_sum),
          first_token_(first_token) {}

    /** Queries `[first, last)` gain from all documents. */
    void to_queries(lane_t &worker, std::size_t first, std::size_t last) const noexcept {
        std::size_t const columns = won_.documents.size();
        scratch_scope_t scope(worker);
        auto *const winners = worker.claim<std::uint16_t const *>(columns);
        auto *const firsts = worker.claim<std::uint32_t>(columns);
        lists_t const lists = claim(worker, columns);
        if (worker.failed()) return;
        for (std::size_t start = 0, end = 0; start < columns; start = end) {
            end = block_end(worker, won_.documents, start);
            for (std::size_t row = first; row < last; ++row) {
                std::size_t count = 0;
                for (std::size_t column = start; column < end; ++column) {
                    wide_t const force = won_.force_of(row, column);
                    if (force == wide_t(0)) continue;
                    winners[count] = won_.winners_of(row, column), lists.factors[count] = force;
                    firsts[count++] = std::uint32_t(won_.documents[column].first);
                }
                for (std::size_t token = 0; count && token < won_.queries[row].count; ++token) {
                    for (std::size_t i = 0; i < count; ++i) lists.rows[i] = firsts[i] + winners[i][token];
                    sum(worker, won_.queries[row].first + token, count, lists.rows, lists.factors);
                }
            }
        }
    }

    /** Documents `[first, last)` gain from all queries. */
    void to_documents(lane_t &worker, std::size_t first, std::size_t last) const noexcept {
        std::size_t const rows = won_.queries.size();
        std::size_t longest = 0, most = block_tokens(worker);
        for (std::size_t column = first; column < last; ++column)
            longest = std::max<std::size_t>(longest, won_.documents[column].count);
        for (scored_item_t const &query : won_.queries) most = std::max<std::size_t>(most, query.count);
        scratch_scope_t scope(worker);
        std::uint32_t *const ends = worker.claim<std::uint32_t>(longest + 1);
        lists_t const lists = claim(worker, most);
        if (worker.failed()) return;
        for (std::size_t start = 0, end = 0; start < rows; start = end) {
            end = block_end(worker, won_.queries, start);
            for (std::size_t column = first; column < last; ++column) {
                sort_by_winner(column, start, end, ends, lists);
                std::size_t listed = 0;
                for (std::size_t token = 0; token < won_.documents[column].count; listed = ends[token++])
                    if (ends[token] > listed)
                        sum(worker, won_.documents[column].first + token, ends[token] - listed, lists.rows + listed,
                            lists.factors + listed);
            }
        }
    }

  private:
    struct lists_t {
        std::uint32_t *rows;
        wide_t *factors;
    };
    static lists_t claim(lane_t &worker, std::size_t count) noexcept {
        return {worker.claim<std::uint32_t>(count), worker.claim<wide_t>(count)};
    }

    std::size_t block_tokens(lane_t const &worker) const noexcept {
        return std::max<std::size_t>(1, worker.cache_bytes() / 2 / (width_ * sizeof(narrow_t<wide_t>)));
    }
    std::size_t block_end(lane_t const &worker, std::span<scored_item_t const> items,
                          std::size_t start) const noexcept {
        std::size_t const most = block_tokens(worker);
        std::size_t end = start + 1, tokens = items[start].count;
        while (end < items.size() && tokens + items[end].count <= most) tokens += items[end++].count;
        return end;
    }

    /** Tokens of queries `[start, end)` by the token of the document that won over them; of equals in their order. */
    void sort_by_winner(std::size_t column, std::size_t start, std::size_t end, std::uint32_t *ends,
                        lists_t lists) const noexcept {
        std::uint32_t const tokens = won_.documents[column].count;
        std::fill_n(ends, tokens + 1, 0u);
        for (std::size_t row = start; row < end; ++row) {
            if (won_.force_of(row, column) == wide_t(0)) continue;
            std::uint16_t const *const winners = won_.winners_of(row, column);
            for (std::size_t token = 0; token < won_.queries[row].count; ++token) ++ends[winners[token] + 1];
        }
        for (std::uint32_t token = 0; token < tokens; ++token) ends[token + 1] += ends[token];
        for (std::size_t row = start; row < end; ++row) { // a start moves on to the end
            wide_t const force = won_.force_of(row, column);
            if (force == wide_t(0)) continue;
            std::uint16_t const *const winners = won_.winners_of(row, column);
            for (std::size_t token = 0; token < won_.queries[row].count; ++token) {
                std::uint32_t const place = ends[winners[token]]++;
                lists.rows[place] = std::uint32_t(won_.queries[row].first + token), lists.factors[place] = force;
            }
        }
    }

    void sum(lane_t &worker, std::size_t token, std::size_t count, std::uint32_t const *rows,
             wide_t const *factors) const noexcept {
        kernels_.gather_rows_sum(worker, width_,
                                 {count, rows, factors, vectors_, d_vectors_sum_ + (token - first_token_) * width_});
    }

    kit_ const &kernels_;
    won_pairs_t<wide_t> won_;
    std::size_t width_;
    narrow_t<wide_t> const *vectors_; // [tokens, width]
    wide_t *d_vectors_sum_;           // [tokens of the share, width]
    std::size_t first_token_;
};

} // namespace uform
