/**
 *  @file cores_unit.cpp
 *  @brief Core lists, and CPU quotas of both versions of control groups, read from a made-up `/proc` and `/sys`.
 */
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <uform/utilities/cores.hpp>

namespace {

using namespace uform;

/** A folder that stands for the root of a file system, gone with the test. */
struct fake_root_t {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("uform_cores_" + std::to_string(::getpid()));
    fake_root_t() { std::filesystem::remove_all(path); }
    ~fake_root_t() { std::filesystem::remove_all(path); }
    fake_root_t &write(std::string const &name, std::string const &text) {
        std::filesystem::create_directories((path / name).parent_path());
        std::ofstream(path / name) << text;
        return *this;
    }
    std::size_t quota() const { return quota_cores(path.c_str()); }
};

TEST(cores, lists_parse_as_the_kernel_writes_them) {
    core_set_t cores;
    EXPECT_TRUE(parse_core_list("0-3,8,10-11\n", cores));
    EXPECT_EQ(cores.count(), 7u);
    for (std::size_t core : {0, 3, 8, 10, 11}) EXPECT_TRUE(cores.has(core)) << core;
    for (std::size_t core : {4, 9, 12}) EXPECT_FALSE(cores.has(core)) << core;
    core_set_t none;
    EXPECT_TRUE(parse_core_list("\n", none));
    EXPECT_EQ(none.count(), 0u);
    for (char const *text : {"a", "3-1", "1-", "-1", "1;2", "99999", "0-4096", "18446744073709551616", "1 2"})
        EXPECT_FALSE(parse_core_list(text, none)) << text;
    core_set_t other;
    EXPECT_TRUE(parse_core_list("3-8", other));
    cores.keep(other);
    EXPECT_EQ(cores.count(), 2u);
}

TEST(cores, no_groups_no_quota) {
    fake_root_t root;
    EXPECT_EQ(root.quota(), SIZE_MAX);
    root.write("proc/self/cgroup", "0::/\n");
    EXPECT_EQ(root.quota(), SIZE_MAX);
    root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
    EXPECT_EQ(root.quota(), SIZE_MAX);
    root.write("proc/self/cgroup", "nonsense\n::\n");
    EXPECT_EQ(root.quota(), SIZE_MAX);
}

TEST(cores, version_two_takes_the_strictest_ancestor) {
    fake_root_t root;
    root.write("proc/self/cgroup", "0::/a/b/c\n").write("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    EXPECT_EQ(root.quota(), 8u);
    root.write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    EXPECT_EQ(root.quota(), 2u);
    root.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    EXPECT_EQ(root.quota(), 1u) << "half a core is one thread";
}

TEST(cores, version_one_reads_the_cpu_controller) {
    fake_root_t root;
    root.write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/job\n3:cpuset:/x\n0::/\n");
    EXPECT_EQ(root.quota(), SIZE_MAX);
    root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n")
        .write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(root.quota(), SIZE_MAX);
    root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
    EXPECT_EQ(root.quota(), 3u);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n")
        .write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(root.quota(), 2u) << "in a container the group's path may not exist, the controller's root does";
}

TEST(cores, domains_add_their_cores) {
    fake_root_t root;
    root.write("sys/devices/system/node/node1/cpulist", "4-7\n");
    core_set_t cores;
    EXPECT_TRUE(add_domain_cores(1, cores, root.path.c_str()));
    EXPECT_EQ(cores.count(), 4u);
    EXPECT_FALSE(add_domain_cores(0, cores, root.path.c_str()));
}

TEST(cores, seven_eighths_at_least_one) {
    std::size_t const expected[][2] = {{0, 1}, {1, 1}, {2, 2}, {3, 3},   {4, 4},
                                       {5, 4}, {6, 5}, {8, 7}, {16, 14}, {64, 56}};
    for (auto const &[cores, threads] : expected) EXPECT_EQ(default_threads(cores), threads) << cores;
}

TEST(cores, this_process_has_some) { EXPECT_GE(affinity_cores().count(), 1u); }

TEST(cores, a_thread_steps_aside_and_stays_free) {
    core_set_t const before = affinity_cores();
    if (current_core() == core_set_t::capacity_k || before.count() < 2) GTEST_SKIP() << "one core, or none known";
    int moved = 0; // of 20: the system may always move it back
    for (int time = 0; time < 20; ++time) {
        core_set_t taken;
        std::size_t const core = current_core();
        taken.add(core);
        step_aside(taken);
        moved += current_core() != core;
        core_set_t const after = affinity_cores();
        EXPECT_TRUE(std::equal(std::begin(after.words), std::end(after.words), before.words));
    }
    EXPECT_GT(moved, 10);
}

TEST(cores, a_thread_stays_where_all_cores_are_taken) {
    core_set_t const all = affinity_cores();
    step_aside(all);
    core_set_t const after = affinity_cores();
    EXPECT_TRUE(std::equal(std::begin(after.words), std::end(after.words), all.words));
}

TEST(cores, the_second_level_is_what_one_core_has_of_it) {
    fake_root_t root;
    std::string const cache = "sys/devices/system/cpu/cpu0/cache/index";
    auto const level = [&](int index, char const *number, char const *type, char const *size, char const *cores) {
        std::string const folder = cache + std::to_string(index) + "/";
        root.write(folder + "level", number).write(folder + "type", type).write(folder + "size", size);
        root.write(folder + "shared_cpu_list", cores);
    };
    EXPECT_EQ(second_level_bytes(root.path.c_str()), 1u << 20); // nobody says
    level(0, "1\n", "Data\n", "32K\n", "0\n");
    EXPECT_EQ(second_level_bytes(root.path.c_str()), 1u << 20);
    level(1, "2\n", "Instruction\n", "256K\n", "0\n");
    level(2, "2\n", "Unified\n", "2048K\n", "0\n");
    EXPECT_EQ(second_level_bytes(root.path.c_str()), 2u << 20);
    level(2, "2\n", "Unified\n", "2M\n", "0-3\n");
    EXPECT_EQ(second_level_bytes(root.path.c_str()), 1u << 19);
    level(2, "2\n", "Unified\n", "huge\n", "0-3\n");
    EXPECT_EQ(second_level_bytes(root.path.c_str()), 1u << 20);
}

} // namespace
