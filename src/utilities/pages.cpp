/**
 *  @file pages.cpp
 *  @brief Large pages through madvise(2), where the system has them.
 */
#include <uform/utilities/pages.hpp>

#include <cstdint>

#include <sys/mman.h>

namespace uform {

void prefer_large_pages([[maybe_unused]] void *memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t page = std::uintptr_t(2) << 20; // of x86-64, and of AArch64 with pages of 4 KiB
    constexpr std::size_t least = 8 * page;                  // of small pages more than a core remembers: thousands
    if (bytes < least) return;
    std::uintptr_t const first = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    std::uintptr_t const last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
    (void)::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
#endif
}

} // namespace uform
