/**
 *  @file placement.hpp
 *  @brief Which NUMA nodes memory should come from, and memory that comes from there.
 *
 *  A preference, never a demand: one node is preferred, several are interleaved page by page, and where a node is full
 *  or the system refuses the policy (containers often do), memory comes from where it is. An empty set leaves pages to
 *  the thread that first touches them. It knows nothing of what the memory holds.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <uform/utilities/status.hpp>

namespace uform {

/** A set of NUMA nodes by the system's numbers. */
struct domains_t {
    static constexpr std::size_t capacity_k = 1024;
    std::uint64_t words[capacity_k / 64] = {};

    void add(std::size_t node) noexcept { words[node / 64] |= std::uint64_t(1) << (node % 64); }
    std::size_t count() const noexcept;
};

/** Owned bytes, 64-byte aligned and uninitialized, whose allocation can fail. */
class placed_t {
    std::byte *data_ = nullptr;
    std::size_t size_ = 0;
    bool mapped_ = false;

  public:
    placed_t() noexcept = default;
    placed_t(placed_t &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), mapped_(other.mapped_) {}
    placed_t &operator=(placed_t &&other) noexcept {
        std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(mapped_, other.mapped_);
        return *this;
    }
    ~placed_t() noexcept { reset(); }

    /** Replaces the contents by `bytes` from the allocator or, where `domains` names any, by pages from there; false
     *  when memory is out, nothing being owned then. */
    [[nodiscard]] bool resize(std::size_t bytes, domains_t const &domains) noexcept;
    /** The same, by pages in any case: untouched ones, which cost nothing yet and go where they are first written. */
    [[nodiscard]] bool map(std::size_t bytes, domains_t const &domains) noexcept;
    void reset() noexcept;

    std::byte *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
};

/** Reads `memory_domains` of a verb; refuses a list that is not there and nodes this machine lacks. */
failure_t read_domains(std::size_t const *nodes, std::size_t count, domains_t &domains) noexcept;

} // namespace uform
