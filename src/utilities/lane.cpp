/**
 *  @file lane.cpp
 *  @brief Scratch memory of a lane.
 */
#include <uform/utilities/lane.hpp>

#include <cstdint>

namespace uform {

void *scratch_t::claim_bytes(std::size_t bytes) noexcept {
    // At least one line: no bytes at all can always be had, so an empty claim would retry forever without memory.
    std::size_t const rounded = std::max<std::size_t>((bytes + 63) / 64 * 64, 64);
    while (block_ < blocks_k) {
        if (blocks_[block_].size() >= used_ + rounded && blocks_[block_].size()) {
            void *memory = blocks_[block_].data() + used_;
            used_ += rounded;
            return memory;
        }
        bool const last_opened = block_ + 1 >= blocks_k || blocks_[block_ + 1].size() == 0;
        if (blocks_[block_].size() && block_ + 1 >= blocks_k) return nullptr;
        if (blocks_[block_].size()) { // full: go on in the next block
            ++block_, used_ = 0;
            if (!last_opened) continue;
        }
        std::size_t const grown = std::max<std::size_t>(std::max(rounded, capacity()), std::size_t(64) << 10);
        if (!blocks_[block_].resize(grown, domains_) && !blocks_[block_].resize(rounded, domains_)) return nullptr;
    }
    return nullptr;
}

std::size_t scratch_t::capacity() const noexcept {
    std::size_t total = 0;
    for (auto const &block : blocks_) total += block.size();
    return total;
}

bool scratch_t::holds(void const *data, std::size_t bytes) const noexcept {
    auto const first = reinterpret_cast<std::uintptr_t>(data);
    for (auto const &block : blocks_) {
        auto const begin = reinterpret_cast<std::uintptr_t>(block.data());
        if (bytes && block.size() && first < begin + block.size() && begin < first + bytes) return true;
    }
    return false;
}

void scratch_t::reset(std::size_t least) noexcept {
    block_ = 0, used_ = 0;
    std::size_t const total = std::max(capacity(), least);
    if (blocks_[0].size() == total) return;
    for (auto &block : blocks_) block.reset();
    (void)blocks_[0].resize(total, domains_); // should it fail, the next claim tries a smaller block
}

} // namespace uform
