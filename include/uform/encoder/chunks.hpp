/**
 *  @file chunks.hpp
 *  @brief A batch of items cut into chunks of whole items, each to walk the tower together, and dealt to threads.
 *
 *  Chunks go to narrow lanes and run the whole tower without a barrier. An item too long to wait for is a chunk that the
 *  wide lane takes, its rows split within each operation. Neither changes a bit: operations split nothing they sum.
 */
#pragma once
#include <algorithm>
#include <span>

#include <uform/utilities/executor.hpp>

namespace uform {

/** Consecutive whole items that go through the tower together. */
struct chunk_t {
    std::size_t first, last;

    std::size_t count() const noexcept { return last - first; }
};

class chunks_t {
    std::size_t const *token_offsets_ = nullptr; // [items + 1]
    std::size_t items_ = 0, hidden_ = 0;
    std::size_t chunk_tokens_ = 0; // of a chunk of several items
    chunk_t *chunks_ = nullptr;
    std::size_t count_ = 0;
    std::size_t wide_ = 0; // the first so many go to the wide lane

  public:
    /** Items of a tower `hidden` wide, item i of `token_offsets[i + 1] - token_offsets[i]` tokens. */
    chunks_t(std::size_t const *token_offsets, std::size_t items, std::size_t hidden) noexcept
        : token_offsets_(token_offsets), items_(items), hidden_(hidden) {}

    std::size_t tokens(chunk_t chunk) const noexcept {
        return token_offsets_[chunk.last] - token_offsets_[chunk.first];
    }

    /** Calls `body(chunk, lane)` for every chunk, its scratch rewound after each; answers the first item's failure. */
    template <typename body_>
    failure_t run(executor_t &executor, body_ const &body) noexcept {
        return run(executor, body, [](std::span<chunk_t const>) { return failure_t {}; });
    }
    /** The same, where `prepare(chunks)` first sees what the wide lane will take; it may deal. */
    template <typename body_, typename prepare_>
    failure_t run(executor_t &executor, body_ const &body, prepare_ const &prepare) noexcept {
        if (!plan(executor)) return fail(uform_status_out_of_memory_k, "memory for the batch's plan is out");
        if (failure_t const failure = prepare(std::span<chunk_t const>(chunks_, wide_))) return failure;
        for (std::size_t i = 0; i < wide_; ++i) {
            lane_t &lane = executor.wide_lane();
            {
                scratch_scope_t const scope(lane);
                body(chunks_[i], lane);
            }
            if (lane.failed()) return lane.failure();
        }
        return executor.deal(count_ - wide_, [&](std::size_t i, lane_t &lane) { body(chunks_[wide_ + i], lane); });
    }

  private:
    bool plan(executor_t &executor) noexcept;
    bool is_wide(std::size_t chunk, std::size_t all, std::size_t threads) const noexcept;
    std::size_t end_of_chunk(std::size_t first) const noexcept;
};

} // namespace uform
