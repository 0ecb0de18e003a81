/**
 *  @file cores.cpp
 *  @brief Reading affinity, NUMA nodes and CPU quotas from Linux.
 *
 *  A quota may sit on any ancestor of the process's group, so each level up to the root is read and the strictest wins.
 *  Version 2 writes `cpu.max` as "quota period"; version 1 writes two files, the quota being -1 where there is none.
 */
#include <uform/utilities/cores.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sched.h>
#endif
#include <fcntl.h>
#include <unistd.h>

namespace uform {

namespace {

constexpr std::size_t path_capacity_k = 4096;

/** Reads a small file of the kernel's as a string; false where it is not there or does not fit. */
bool read_text(char const *path, char *text, std::size_t capacity) noexcept {
    int const file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    std::size_t used = 0;
    ssize_t got = 0;
    while (used < capacity && (got = ::read(file, text + used, capacity - used)) > 0) used += std::size_t(got);
    ::close(file);
    if (got < 0 || used == capacity) return false;
    text[used] = 0;
    return true;
}

bool parse_number(char const *&text, std::size_t &number) noexcept {
    if (*text < '0' || *text > '9') return false;
    number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        if (number > SIZE_MAX / 16) return false;
        number = number * 10 + std::size_t(*text - '0');
    }
    return true;
}

std::size_t whole_cores(long long quota, long long period) noexcept {
    if (quota <= 0 || period <= 0) return SIZE_MAX;
    return std::size_t(std::max<long long>(1, quota / period));
}

std::size_t quota_v2(char const *folder) noexcept {
    char path[path_capacity_k + 16], text[64];
    std::snprintf(path, sizeof(path), "%s/cpu.max", folder);
    long long quota = 0, period = 0;
    if (!read_text(path, text, sizeof(text)) || std::sscanf(text, "%lld %lld", &quota, &period) != 2) return SIZE_MAX;
    return whole_cores(quota, period);
}

std::size_t quota_v1(char const *folder) noexcept {
    char path[path_capacity_k + 32], quota[32], period[32];
    std::snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, quota, sizeof(quota))) return SIZE_MAX;
    std::snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, period, sizeof(period))) return SIZE_MAX;
    return whole_cores(std::atoll(quota), std::atoll(period));
}

/** The strictest quota from a group up to its controller's root. */
std::size_t quota_upwards(char const *mount, char const *group, std::size_t (*read)(char const *) noexcept) noexcept {
    char folder[path_capacity_k];
    int const length = std::snprintf(folder, sizeof(folder), "%s%s", mount, group);
    if (length < 0 || std::size_t(length) >= sizeof(folder)) return SIZE_MAX;
    std::size_t const root = std::strlen(mount);
    std::size_t strictest = SIZE_MAX;
    for (std::size_t end = std::size_t(length);;) {
        folder[end] = 0;
        strictest = std::min(strictest, read(folder));
        if (end <= root) return strictest;
        while (end > root && folder[--end] != '/') {}
    }
}

/** True where a comma-separated list of controllers holds "cpu". */
bool lists_cpu(char const *first, char const *last) noexcept {
    while (first < last) {
        char const *const end = std::find(first, last, ',');
        if (end - first == 3 && std::memcmp(first, "cpu", 3) == 0) return true;
        first = end == last ? last : end + 1;
    }
    return false;
}

/** One line of /proc/self/cgroup: "hierarchy:controllers:path"; version 2's lists no controllers. */
std::size_t quota_of_line(char const *root, char const *line) noexcept {
    char const *const controllers = std::strchr(line, ':');
    char const *const group = controllers ? std::strchr(controllers + 1, ':') : nullptr;
    if (!group) return SIZE_MAX;
    char mount[path_capacity_k];
    int const listed = int(group - controllers - 1);
    if (listed == 0) {
        std::snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        return quota_upwards(mount, group + 1, quota_v2);
    }
    if (!lists_cpu(controllers + 1, group)) return SIZE_MAX;
    std::snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%.*s", root, listed, controllers + 1);
    std::size_t const listed_quota = quota_upwards(mount, group + 1, quota_v1);
    std::snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/cpu", root);
    return std::min(listed_quota, quota_upwards(mount, group + 1, quota_v1));
}

/** One line of a cache's folder; false where it is not there. */
bool read_cache_line(char const *root, std::size_t index, char const *name, char (&text)[256]) noexcept {
    char path[path_capacity_k];
    std::snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu0/cache/index%zu/%s", root, index, name);
    return read_text(path, text, sizeof(text));
}

/** "1024K" or "2M" in bytes; zero for anything else. */
std::size_t parse_cache_size(char const *text) noexcept {
    std::size_t size = 0;
    if (!parse_number(text, size)) return 0;
    return *text == 'K' ? size << 10 : *text == 'M' ? size << 20 : 0;
}

} // namespace

std::size_t core_set_t::count() const noexcept {
    std::size_t total = 0;
    for (std::uint64_t const word : words) total += std::size_t(std::popcount(word));
    return total;
}

void core_set_t::keep(core_set_t const &other) noexcept {
    for (std::size_t i = 0; i < capacity_k / 64; ++i) words[i] &= other.words[i];
}

void core_set_t::remove(core_set_t const &other) noexcept {
    for (std::size_t i = 0; i < capacity_k / 64; ++i) words[i] &= ~other.words[i];
}

bool parse_core_list(char const *text, core_set_t &cores) noexcept {
    while (*text && *text != '\n') {
        std::size_t first = 0, last = 0;
        if (!parse_number(text, first)) return false;
        last = first;
        if (*text == '-' && (++text, !parse_number(text, last))) return false;
        if (last < first || last >= core_set_t::capacity_k) return false;
        for (std::size_t core = first; core <= last; ++core) cores.add(core);
        if (*text == ',') ++text;
        else if (*text && *text != '\n') return false;
    }
    return true;
}

core_set_t affinity_cores() noexcept {
    core_set_t cores;
#if defined(__linux__)
    if (::sched_getaffinity(0, sizeof(cores.words), reinterpret_cast<cpu_set_t *>(cores.words)) >= 0 && cores.count())
        return cores;
#endif
    long const online = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (long core = 0; core < std::max(1l, online); ++core) cores.add(std::size_t(core));
    return cores;
}

std::size_t current_core() noexcept {
#if defined(__linux__)
    if (int const core = ::sched_getcpu(); core >= 0) return std::size_t(core);
#endif
    return core_set_t::capacity_k;
}

void step_aside(core_set_t const &taken) noexcept {
    core_set_t const allowed = affinity_cores();
    core_set_t others = allowed;
    others.remove(taken);
    if (!others.count()) return;
#if defined(__linux__)
    // Where the system refuses either, the thread stays where it is.
    if (::sched_setaffinity(0, sizeof(others.words), reinterpret_cast<cpu_set_t const *>(others.words)) == 0)
        (void)::sched_setaffinity(0, sizeof(allowed.words), reinterpret_cast<cpu_set_t const *>(allowed.words));
#endif
}

bool add_domain_cores(std::size_t domain, core_set_t &cores, char const *root) noexcept {
    char path[path_capacity_k], text[4096];
    std::snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%zu/cpulist", root, domain);
    return read_text(path, text, sizeof(text)) && parse_core_list(text, cores);
}

std::size_t second_level_bytes(char const *root) noexcept {
    char text[256];
    for (std::size_t index = 0; read_cache_line(root, index, "level", text); ++index) {
        if (text[0] != '2' || !read_cache_line(root, index, "type", text) || text[0] == 'I') continue;
        std::size_t const bytes = read_cache_line(root, index, "size", text) ? parse_cache_size(text) : 0;
        core_set_t sharing;
        bool const counts = read_cache_line(root, index, "shared_cpu_list", text) && parse_core_list(text, sharing);
        if (bytes) return bytes / std::max<std::size_t>(counts ? sharing.count() : 1, 1);
    }
    return std::size_t(1) << 20;
}

std::size_t quota_cores(char const *root) noexcept {
    char path[path_capacity_k], text[16384];
    std::snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof(text))) return SIZE_MAX;
    std::size_t strictest = SIZE_MAX;
    for (char *line = text; *line;) {
        char *const end = line + std::strcspn(line, "\n");
        char *const next = *end ? end + 1 : end;
        *end = 0;
        strictest = std::min(strictest, quota_of_line(root, line));
        line = next;
    }
    return strictest;
}

} // namespace uform
