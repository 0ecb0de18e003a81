/**
 *  @file process.cpp
 *  @brief Which process this is: its identifier, and how many forks lie between it and the one that loaded the library.
 *
 *  The identifier alone would mistake a child that is process 1 of its own namespace for its parent, process 1 of
 *  another. The count alone would miss a child made without the C library's `fork`, which runs no handlers.
 */
#include <uform/utilities/hold.hpp>

#include <pthread.h>
#include <unistd.h>

namespace uform {
namespace {

constexpr int identifier_bits_k = 22; // Linux gives out no higher ones
std::atomic<std::uint32_t> forks {0};
int const registered = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

} // namespace

std::uint32_t this_process() noexcept {
    (void)registered; // where it was refused for lack of memory, the identifier is left
    return std::uint32_t(::getpid()) ^ forks.load(std::memory_order_relaxed) << identifier_bits_k;
}

} // namespace uform
