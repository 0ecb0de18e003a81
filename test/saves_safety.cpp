/**
 *  @file saves_safety.cpp
 *  @brief Saves that are cut short, by kill -9 at any moment or by a full disk, leave a pair of files to go on from.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <uform/uform.h>

namespace {

namespace fs = std::filesystem;

uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }

std::string read_file(fs::path const &path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
}

struct folder_t {
    fs::path const path = fs::temp_directory_path() / ("uform-saves-" + std::to_string(::getpid()));
    folder_t() { fs::create_directories(path); }
    ~folder_t() { fs::remove_all(path); }
    std::string file() const { return (path / "run.safetensors").string(); }
    fs::path moments(std::size_t step) const {
        return path / ("run." + std::to_string(step) + ".optimizer.safetensors");
    }
};

/** Of the checkpoint there, as its header says it. */
std::size_t saved_step(std::string const &path) {
    std::string const bytes = read_file(path), key = "\"step\":\"";
    std::size_t const at = bytes.find(key);
    return at == bytes.npos ? 0 : std::strtoull(bytes.c_str() + at + key.size(), nullptr, 10);
}

/** A run of the smallest model on the calling thread: it may be made on either side of a fork. */
struct run_t {
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome {};
    std::size_t step_done = 0;

    explicit run_t(std::string const &resume = "") {
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.outcome = &outcome, call.resume = view(resume), call.depth = 1, call.hidden = 128;
        call.batch.max_rows_per_device = call.batch.max_segments_per_device = 8, call.batch.max_columns_per_row = 32;
        call.objective = uform_objective_joint_k, call.schedule.steps = 100000, call.seed = 7;
        uform_trainer_init_ram(&call);
        if (!resume.empty()) step_done = saved_step(resume);
    }
    run_t(run_t const &) = delete;
    ~run_t() { uform_trainer_free(trainer); }

    /** Every step shows other numbers, so that no two states are alike. */
    bool step() {
        std::string const number = std::to_string(step_done), words[] = {"a" + number, "A" + number, "b", "B"};
        std::string data;
        std::size_t offsets[5] = {};
        for (std::size_t i = 0; i < 4; ++i) data += words[i], offsets[i + 1] = data.size();
        static std::size_t const edge_offsets[] = {0, 1, 2, 3, 4};
        static std::uint32_t const ids[] = {1, 0, 3, 2};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.outcome = &outcome, call.count = 4;
        call.contents.data = data.data(), call.contents.offsets = offsets;
        call.relations.attract.offsets = edge_offsets, call.relations.attract.ids = ids;
        uform_trainer_step(&call);
        step_done += outcome.status == uform_status_success_k;
        return outcome.status == uform_status_success_k;
    }
    bool save(std::string const &path, uform_progress_t progress = {}) {
        uform_trainer_save_t call {};
        call.trainer = trainer, call.outcome = &outcome, call.path = view(path), call.optimizer = true;
        call.progress = progress;
        uform_trainer_save(&call);
        return outcome.status == uform_status_success_k;
    }
    std::string text() const { return std::string(outcome.message) + ": " + outcome.detail; }
};

/** Goes on from the file and saves after every step, telling `told` before each save, until it is killed. */
[[noreturn]] void train_until_killed(std::string const &path, int told) {
    run_t run(path);
    if (!run.trainer) ::_exit(2);
    while (run.step()) {
        if (::write(told, "s", 1) != 1 || !run.save(path)) ::_exit(3);
    }
    ::_exit(4);
}

/** Kills such a process `delay` after one of its saves began; whether that is how it ended. */
bool kill_in_a_save(std::string const &path, std::size_t saves, std::chrono::microseconds delay) {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    pid_t const child = ::fork();
    if (child == 0) ::close(ends[0]), train_until_killed(path, ends[1]);
    ::close(ends[1]);
    char byte;
    while (saves && ::read(ends[0], &byte, 1) == 1) --saves;
    auto const until = std::chrono::steady_clock::now() + delay;
    while (std::chrono::steady_clock::now() < until) {
    }
    int state = 0;
    ::kill(child, SIGKILL), ::waitpid(child, &state, 0), ::close(ends[0]);
    return saves == 0 && WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL;
}

TEST(saves, two_hundred_kills_leave_a_pair_of_one_step) {
    folder_t const folder;
    std::string const path = folder.file(), twin = (folder.path / "twin.safetensors").string();
    run_t whole; // never stopped: what every pair must equal, bit for bit
    ASSERT_TRUE(whole.step() && whole.save(path)) << whole.text();
    auto const started = std::chrono::steady_clock::now();
    ASSERT_TRUE(whole.save(path)) << whole.text();
    auto const spent =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);

    std::minstd_rand random(1);
    std::size_t cut = 0; // kills that left something unfinished
    std::set<std::string> leftovers;
    for (std::size_t round = 0; round < 200; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        std::chrono::microseconds const delay(random() % (spent.count() + 1));
        ASSERT_TRUE(kill_in_a_save(path, 1 + random() % 2, delay)) << "the run ended by itself";
        std::size_t const step = saved_step(path);
        ASSERT_TRUE(step >= whole.step_done);
        while (whole.step_done < step) ASSERT_TRUE(whole.step()) << whole.text();
        ASSERT_TRUE(whole.save(twin)) << whole.text();
        ASSERT_TRUE(read_file(path) == read_file(twin));
        ASSERT_TRUE(fs::exists(folder.moments(step)));
        ASSERT_TRUE(read_file(folder.moments(step)) ==
                    read_file(folder.path / ("twin." + std::to_string(step) + ".optimizer.safetensors")));
        bool is_cut = false;
        for (fs::directory_entry const &entry : fs::directory_iterator(folder.path)) {
            std::string const name = entry.path().filename();
            if (name.starts_with("twin.") || name == "run.safetensors" || entry.path() == folder.moments(step))
                continue;
            is_cut |= leftovers.insert(name).second; // they stay, and must confuse nobody
        }
        cut += is_cut;
    }
    RecordProperty("cut", int(cut));
    auto const files_of_run = [&] {
        std::set<std::string> names;
        for (fs::directory_entry const &entry : fs::directory_iterator(folder.path))
            if (std::string const name = entry.path().filename(); !name.starts_with("twin.")) names.insert(name);
        return names;
    };
    EXPECT_GT(leftovers.size(), 2u);
    {
        run_t next(path);
        ASSERT_TRUE(next.trainer && next.step() && next.save(path)) << next.text();
    }
    EXPECT_EQ(files_of_run(), (std::set<std::string> {"run.safetensors", folder.moments(saved_step(path)).filename()}))
        << "the next save takes away what dead processes left";
    EXPECT_GE(cut, 20u) << "too few kills came inside a save to prove anything"; // 97 to 173 on a busy machine
    run_t last(path);
    ASSERT_TRUE(last.trainer && last.step()) << last.text();
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &last.outcome, load.path = view(path);
    uform_model_load_ram(&load);
    EXPECT_TRUE(model) << last.text();
    uform_model_free(model);
}

/** Bytes under a name that a writer of this test's own has, locked while it lives, as an engine's is. */
std::string under_construction(folder_t const &folder, std::string const &name) {
    std::string const path = (folder.path / name).string();
    std::ofstream(path) << "half";
    return path;
}

TEST(saves, what_is_not_a_dead_writer_s_of_this_run_stays) {
    folder_t const folder;
    std::string const path = folder.file();
    run_t run;
    ASSERT_TRUE(run.step() && run.save(path)) << run.text();
    // Of other names, of another run's seed, of nobody's making, and of a writer that lives.
    fs::copy_file(folder.moments(1), folder.path / "other.1.optimizer.safetensors");
    fs::copy_file(folder.moments(1), folder.path / "run.2x.optimizer.safetensors");
    std::ofstream(folder.moments(77)) << "none of ours";
    std::string bytes = read_file(folder.moments(1));
    bytes.replace(bytes.find("\"seed\":\"7\""), 10, "\"seed\":\"8\"");
    bytes.replace(bytes.find("\"step\":\"1\""), 10, "\"step\":\"5\"");
    std::ofstream(folder.moments(5)) << bytes;
    under_construction(folder, "run.safetensors.tmp.77"), under_construction(folder, "run2.safetensors.1.2.tmp");
    std::string const living = under_construction(folder, "run.safetensors.1.3.tmp");
    int const descriptor = ::open(living.c_str(), O_RDWR);
    ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
    std::set<std::string> expected;
    for (fs::directory_entry const &entry : fs::directory_iterator(folder.path))
        expected.insert(entry.path().filename());
    expected.erase("run.1.optimizer.safetensors"), expected.insert("run.2.optimizer.safetensors");
    // And what a dead one of this run left, which goes: files under construction, and moments of another step.
    fs::copy_file(folder.moments(1), folder.path / "first");
    under_construction(folder, "run.safetensors.1.4.tmp");
    under_construction(folder, "run.9.optimizer.safetensors.1.5.tmp");
    ASSERT_TRUE(run.step()) << run.text();
    fs::rename(folder.path / "first", folder.moments(1));
    ASSERT_TRUE(run.save(path)) << run.text();
    std::set<std::string> found;
    for (fs::directory_entry const &entry : fs::directory_iterator(folder.path)) found.insert(entry.path().filename());
    EXPECT_EQ(found, expected);
    ::close(descriptor);
    ASSERT_TRUE(run.save(path)) << run.text();
    EXPECT_FALSE(fs::exists(living)) << "once its writer is dead";
}

/** A save of the next step, killed before its system call of this number; false where it came to its end. */
bool kill_before_call(std::string const &path, std::size_t number, bool &may_trace) {
    pid_t const child = ::fork();
    if (child == 0) {
        run_t run(path);
        if (!run.trainer || !run.step()) ::_exit(2);
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
        ::raise(SIGSTOP);
        bool const saved = run.save(path);
        ::_exit(saved ? 0 : 3);
    }
    int state = 0;
    auto const stopped = [&] { return ::waitpid(child, &state, 0) == child && WIFSTOPPED(state); };
    // A call stops twice, before and after; the first stop is of our own signal.
    for (std::size_t stops = 0; stopped(); ++stops) {
        if (stops + 1 == 2 * number) return ::kill(child, SIGKILL), ::waitpid(child, &state, 0), true;
        ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    }
    may_trace = !(WIFEXITED(state) && WEXITSTATUS(state) == 77);
    EXPECT_TRUE(!may_trace || (WIFEXITED(state) && WEXITSTATUS(state) == 0));
    return false;
}

TEST(saves, a_kill_before_any_system_call_leaves_a_pair_of_one_step) {
    folder_t const folder;
    std::string const path = folder.file();
    std::string pairs[2]; // of step 1 and of step 2
    auto const pair_of = [&](std::size_t step) { return read_file(path) + read_file(folder.moments(step)); };
    auto const start_over = [&] {
        for (fs::directory_entry const &entry : fs::directory_iterator(folder.path)) fs::remove(entry.path());
        run_t run;
        ASSERT_TRUE(run.step() && run.save(path)) << run.text();
        pairs[0] = pair_of(1);
        if (!pairs[1].empty()) return;
        ASSERT_TRUE(run.step() && run.save(path)) << run.text();
        pairs[1] = pair_of(2);
    };
    start_over();
    start_over();
    std::size_t number = 1, found[2] = {};
    bool may_trace = true;
    for (; kill_before_call(path, number, may_trace); ++number) {
        std::size_t const step = saved_step(path);
        ASSERT_TRUE(step == 1 || step == 2) << number;
        ASSERT_TRUE(pair_of(step) == pairs[step - 1]) << "before call " << number;
        ++found[step - 1];
        start_over();
    }
    if (!may_trace) GTEST_SKIP() << "SKIPPED: this process may not trace its child";
    EXPECT_GT(found[0], 20u) << "calls before the checkpoint takes its place";
    EXPECT_GT(found[1], 2u) << "and after: flushing, and removing the older moments";
}

/** Every file's name and bytes. */
std::string everything_in(fs::path const &folder) {
    std::set<std::string> files;
    for (fs::directory_entry const &entry : fs::directory_iterator(folder))
        if (entry.path().filename() != "filler")
            files.insert(entry.path().filename().string() + read_file(entry.path()));
    std::string all;
    for (std::string const &file : files) all += file;
    return all;
}

class file_size_limit_t {
    rlimit before_ {};
    void (*handler_)(int);

  public:
    file_size_limit_t() : handler_(std::signal(SIGXFSZ, SIG_IGN)) { ::getrlimit(RLIMIT_FSIZE, &before_); }
    ~file_size_limit_t() { ::setrlimit(RLIMIT_FSIZE, &before_), std::signal(SIGXFSZ, handler_); }
    void set(rlim_t bytes) const {
        rlimit const limit {bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
};

TEST(saves, files_that_may_not_grow_leave_the_pair_before) {
    folder_t const folder;
    std::string const path = folder.file();
    run_t run;
    ASSERT_TRUE(run.step() && run.save(path)) << run.text();
    std::string const before = everything_in(folder.path);
    ASSERT_TRUE(run.step()) << run.text();
    struct limit_t {
        file_size_limit_t limit;
        std::size_t at; // the tensor of the weights after which nothing may grow; by then the moments are written
    };
    for (std::size_t const at : {1, 2, 5, 9}) {
        limit_t limit {{}, at};
        auto const lower = [](std::size_t done, std::size_t, void *context) {
            limit_t const &limit = *static_cast<limit_t *>(context);
            if (done == limit.at) limit.limit.set(1);
            return true;
        };
        EXPECT_FALSE(run.save(path, {lower, &limit}));
        EXPECT_EQ(run.outcome.status, uform_status_io_k) << run.text();
        EXPECT_TRUE(everything_in(folder.path) == before) << at;
    }
    for (rlim_t const bytes : {0, 1, 4096, 65536, 262144}) { // all below the moments
        file_size_limit_t const limit;
        limit.set(bytes);
        EXPECT_FALSE(run.save(path));
        EXPECT_EQ(run.outcome.status, uform_status_io_k) << run.text();
        EXPECT_TRUE(everything_in(folder.path) == before) << bytes;
    }
    run_t resumed(path);
    EXPECT_TRUE(resumed.trainer) << resumed.text();
    EXPECT_TRUE(run.save(path)) << run.text();
    EXPECT_EQ(saved_step(path), 2u);
}

/** Saves again and again over a file system that has a little more room each time, until one succeeds. */
void save_into_little_room(folder_t const &folder) {
    std::string const path = folder.file();
    run_t run;
    ASSERT_TRUE(run.step() && run.save(path)) << run.text();
    std::string const before = everything_in(folder.path);
    ASSERT_TRUE(run.step()) << run.text();
    std::size_t failures = 0;
    constexpr std::size_t grain = 65536;
    for (std::size_t room = 0;; room += grain, ++failures) {
        fs::path const filler = folder.path / "filler";
        std::ofstream(filler).close();
        fs::resize_file(filler, 0);
        std::size_t const free = fs::space(folder.path).available;
        if (room > free) break;
        std::ofstream(filler, std::ios::binary) << std::string(free - room, 'f');
        if (run.save(path)) break;
        ASSERT_EQ(run.outcome.status, uform_status_io_k) << run.text();
        ASSERT_NE(std::string(run.outcome.detail).find("No space left"), std::string::npos) << run.text();
        ASSERT_TRUE(everything_in(folder.path) == before) << room;
    }
    EXPECT_GE(failures * grain, before.size() - grain) << "room for a second pair is what a save takes";
    EXPECT_EQ(saved_step(path), 2u);
    run_t resumed(path);
    EXPECT_TRUE(resumed.trainer && resumed.step()) << resumed.text();
}

TEST(saves, a_full_disk_leaves_the_pair_before) {
    folder_t const folder;
    pid_t const child = ::fork(); // whose mounts are its own
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", folder.path.c_str(), "tmpfs", 0, "size=8m") != 0)
            ::_exit(77);
        save_into_little_room(folder);
        std::fflush(stdout), ::_exit(testing::Test::HasFailure());
    }
    int state = 0;
    ::waitpid(child, &state, 0);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 77)
        GTEST_SKIP() << "SKIPPED: this user may not mount a small file system";
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

} // namespace
