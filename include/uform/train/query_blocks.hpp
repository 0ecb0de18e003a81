/**
 *  @file query_blocks.hpp
 *  @brief Queries whose tokens share a product of late interaction, and what a worker needs to score them.
 */
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** An item on one side: its tokens that score, or are scored, are `[first, first + count)` of the step's. */
struct scored_item_t {
    std::uint32_t item = 0;
    std::uint32_t count = 0; // of tokens, at least one
    std::size_t first = 0;
};

/** All queries cut into blocks, in their order. */
struct query_blocks_t {
    static constexpr std::size_t tokens_k = 64; // columns of a packed panel

    /** Consecutive queries: at most `tokens_k` tokens, or one query. */
    struct block_t {
        std::uint32_t first, last, tokens;
    };
    block_t *blocks = nullptr; // [queries] at most
    std::size_t used = 0;
    std::size_t most_rows = 0, most_tokens = 0; // of any block

    void cut(std::span<scored_item_t const> queries) noexcept {
        for (std::uint32_t row = 0; row < queries.size();) {
            block_t block {row, row + 1, queries[row].count};
            while (block.last < queries.size() && block.tokens + queries[block.last].count <= tokens_k)
                block.tokens += queries[block.last++].count;
            row = block.last, blocks[used++] = block;
            most_tokens = std::max<std::size_t>(most_tokens, block.tokens);
            most_rows = std::max<std::size_t>(most_rows, block.last - block.first);
        }
    }
};

/** What a worker needs for one block. */
template <typename kit_>
struct block_scratch_t {
    using wide_t = typename kit_::wide_t;
    using stored_t = narrow_t<wide_t>;

    float *attract_row = nullptr, *repel_row = nullptr; // [items]
    float *attract = nullptr, *repel = nullptr;         // [queries of the block, documents]
    wide_t *logits = nullptr, *terms = nullptr;         // [queries of the block, documents], [2 documents]
    wide_t *best = nullptr;                             // [tokens], of one document's products
    std::uint16_t *winners = nullptr;                   // [tokens], which of its tokens they are with
    stored_t *gathered = nullptr;                       // [tokens, width]
    packed_t packed;                                    // the same as a right operand

    struct sizes_t {
        std::size_t items, documents, width;
    };
    bool claim(kit_ const &kit, lane_t &worker, sizes_t sizes, query_blocks_t const &blocks) noexcept {
        std::size_t const cells = blocks.most_rows * sizes.documents, tokens = blocks.most_tokens;
        attract_row = worker.claim<float>(sizes.items), repel_row = worker.claim<float>(sizes.items);
        attract = worker.claim<float>(cells), repel = worker.claim<float>(cells);
        logits = worker.claim<wide_t>(cells), terms = worker.claim<wide_t>(2 * sizes.documents);
        best = worker.claim<wide_t>(tokens), winners = worker.claim<std::uint16_t>(tokens);
        gathered = worker.claim<stored_t>(tokens * sizes.width);
        packed.data = worker.claim<std::byte>(kit.pack_bytes(tokens, sizes.width, uform_scalar_bf16_k));
        return !worker.failed();
    }
};

} // namespace uform
