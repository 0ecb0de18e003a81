/**
 *  @file cores.hpp
 *  @brief How many cores this process may use, and which ones: affinity, NUMA nodes, and the quotas of control groups.
 *
 *  Asked once per executor. Where the system is not Linux, only the count of online cores is known. Paths below `root`
 *  are the kernel's own (`/proc`, `/sys`); tests put a folder there.
 */
#pragma once
#include <cstddef>
#include <cstdint>

namespace uform {

/** A set of logical cores by the system's numbers. */
struct core_set_t {
    static constexpr std::size_t capacity_k = 4096;
    std::uint64_t words[capacity_k / 64] = {};

    bool has(std::size_t core) const noexcept { return core < capacity_k && (words[core / 64] >> (core % 64) & 1); }
    void add(std::size_t core) noexcept {
        if (core < capacity_k) words[core / 64] |= std::uint64_t(1) << (core % 64);
    }
    std::size_t count() const noexcept;
    void keep(core_set_t const &other) noexcept;
    void remove(core_set_t const &other) noexcept;
};

/** Reads "0-3,8,10-11" as the kernel writes it; false on anything else. */
bool parse_core_list(char const *text, core_set_t &cores) noexcept;
/** Cores the calling thread may run on; all online ones where the system does not say. */
core_set_t affinity_cores() noexcept;
/** The core the calling thread is on; `core_set_t::capacity_k` where the system does not say. */
std::size_t current_core() noexcept;
/** Moves the calling thread to some core of those it may run on that is none of `taken`, where there is one. It is not
 *  bound to it. */
void step_aside(core_set_t const &taken) noexcept;
/** Adds the cores of a NUMA node; false where there is no such node. */
bool add_domain_cores(std::size_t domain, core_set_t &cores, char const *root = "") noexcept;
/** Whole cores that the strictest quota around this process pays for, at least one; SIZE_MAX without a quota. */
std::size_t quota_cores(char const *root = "") noexcept;
/** Bytes of second-level cache that one core has to itself: a cache that cores share is divided among them. One mebibyte
 *  where the system does not say. */
std::size_t second_level_bytes(char const *root = "") noexcept;
/** Seven eighths of the cores, to the nearest, at least one. */
inline std::size_t default_threads(std::size_t cores) noexcept { return cores ? (cores * 7 + 4) / 8 : 1; }

} // namespace uform
