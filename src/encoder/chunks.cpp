/**
 *  @file chunks.cpp
 *  @brief How large a chunk is, and which ones are worth a barrier per operation.
 */
#include <uform/encoder/chunks.hpp>

namespace uform {
namespace {

/** Rows enough to fill the product's tiles and amortize its panels; a wider model's activations outgrow the L2 anyhow. */
constexpr std::size_t chunk_tokens_k = 512;
/** Fewer rows than this leave tiles unfilled, whatever the threads. */
constexpr std::size_t least_chunk_tokens_k = 64;
/** Chunks a thread takes in turn, so that the last one to finish is not far behind. */
constexpr std::size_t chunks_per_thread_k = 4;
/** Below so many values of x, splitting an operation's rows costs more in forks (microseconds each) than it saves. */
constexpr std::size_t wide_values_k = 1 << 14;

} // namespace

/** A chunk is as many whole items as fit; one that would keep a thread busy after the others are done goes wide. */
bool chunks_t::plan(executor_t &executor) noexcept {
    std::size_t const threads = executor.threads(), all = tokens({0, items_});
    chunk_tokens_ = std::clamp(all / (threads * chunks_per_thread_k), least_chunk_tokens_k, chunk_tokens_k);
    count_ = 0;
    for (std::size_t item = 0; item < items_; ++count_) item = end_of_chunk(item);
    chunks_ = executor.wide_lane().claim<chunk_t>(count_);
    if (!chunks_) return false;
    std::size_t placed = 0; // wide ones first; each kind in the order of its items
    for (bool const wide : {true, false}) {
        for (std::size_t item = 0; item < items_; item = end_of_chunk(item)) {
            chunk_t const chunk {item, end_of_chunk(item)};
            if (is_wide(tokens(chunk), all, threads) == wide) chunks_[placed++] = chunk;
        }
        if (wide) wide_ = placed;
    }
    return true;
}

bool chunks_t::is_wide(std::size_t chunk, std::size_t all, std::size_t threads) const noexcept {
    bool const outlasts = chunk > all / (2 * threads) && chunk > chunk_tokens_ / 2;
    return threads > 1 && outlasts && chunk * hidden_ >= wide_values_k;
}

std::size_t chunks_t::end_of_chunk(std::size_t first) const noexcept {
    std::size_t last = first + 1;
    while (last < items_ && tokens({first, last + 1}) <= chunk_tokens_) ++last;
    return last;
}

} // namespace uform
