/**
 *  @file placement.cpp
 *  @brief Pages from the system, with the memory policy of mbind(2) where there is one.
 */
#include <uform/utilities/placement.hpp>

#include <bit>
#include <new>

#include <sys/mman.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <uform/utilities/cores.hpp>
#include <uform/utilities/pages.hpp>

namespace uform {
namespace {

constexpr std::size_t alignment_k = 64; // a cache line, one AVX-512 register
// Of linux/mempolicy.h, which not every system with mbind installs.
constexpr int policy_preferred_k = 1, policy_interleave_k = 3;

std::size_t whole_pages(std::size_t bytes) noexcept {
    std::size_t const page = std::size_t(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

void place(void *memory, std::size_t bytes, domains_t const &domains) noexcept {
#if defined(SYS_mbind)
    std::size_t const count = domains.count();
    if (count == 0) return;
    int const policy = count == 1 ? policy_preferred_k : policy_interleave_k;
    (void)::syscall(SYS_mbind, memory, bytes, policy, domains.words, domains_t::capacity_k + 1, 0);
#else
    (void)memory, (void)bytes, (void)domains;
#endif
}

} // namespace

std::size_t domains_t::count() const noexcept {
    std::size_t total = 0;
    for (std::uint64_t const word : words) total += std::size_t(std::popcount(word));
    return total;
}

bool placed_t::resize(std::size_t bytes, domains_t const &domains) noexcept {
    if (domains.count()) return map(bytes, domains);
    reset();
    if (bytes == 0) return true;
    data_ = static_cast<std::byte *>(::operator new(bytes, std::align_val_t(alignment_k), std::nothrow));
    size_ = data_ ? bytes : 0;
    prefer_large_pages(data_, size_);
    return data_ != nullptr;
}

bool placed_t::map(std::size_t bytes, domains_t const &domains) noexcept {
    reset();
    if (bytes == 0) return true;
    if (bytes > PTRDIFF_MAX) return false;
    void *const memory =
        ::mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    place(memory, whole_pages(bytes), domains);
    prefer_large_pages(memory, bytes);
    data_ = static_cast<std::byte *>(memory), size_ = bytes, mapped_ = true;
    return true;
}

void placed_t::reset() noexcept {
    if (data_ && mapped_) (void)::munmap(data_, whole_pages(size_));
    if (data_ && !mapped_) ::operator delete(data_, std::align_val_t(alignment_k));
    data_ = nullptr, size_ = 0, mapped_ = false;
}

failure_t read_domains(std::size_t const *nodes, std::size_t count, domains_t &domains) noexcept {
    if (count && !nodes) return fail(uform_status_invalid_argument_k, "memory_domains must not be NULL");
    for (std::size_t i = 0; i < count; ++i) {
        core_set_t cores;
        if (nodes[i] >= domains_t::capacity_k || !add_domain_cores(nodes[i], cores))
            return fail(uform_status_invalid_argument_k, "memory_domains names a node this machine lacks",
                        "memory_domains[%zu] is %zu", i, nodes[i]);
        domains.add(nodes[i]);
    }
    return {};
}

} // namespace uform
