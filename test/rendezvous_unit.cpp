/**
 *  @file rendezvous_unit.cpp
 *  @brief Processes meeting through files: threads stand for them, since nothing here but files is shared.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <uform/mesh/fields.hpp>
#include <uform/mesh/rendezvous.hpp>

namespace {

using namespace uform;
namespace fs = std::filesystem;

struct directory_t {
    fs::path path;
    directory_t() {
        std::string name = (fs::temp_directory_path() / "uform-meet-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~directory_t() { fs::remove_all(path); }
    std::string text() const { return path.string(); }
    fs::path file(std::size_t index) const { return path / ("process-" + std::to_string(index)); }
};

std::string contents(fs::path const &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}
void write(fs::path const &path, std::string const &text) { std::ofstream(path) << text; }

/** One process that meets the others on a thread of its own. */
struct process_t {
    std::string directory, fields, address;
    rendezvous_t rendezvous;
    failure_t failure;
    double seconds = 0;
    std::thread thread;

    process_t(directory_t const &place, std::size_t index, std::size_t count, std::string more = "",
              std::size_t deadline = 20000, uform_progress_t progress = {})
        : directory(place.text()), fields(more.empty() ? "job run\nsize 1\n" : more),
          address("address of " + std::to_string(index)) {
        thread = std::thread([=, this] {
            auto const start = std::chrono::steady_clock::now();
            rendezvous_options_t options;
            options.directory = directory, options.index = index, options.count = count, options.fields = fields;
            options.address = std::as_bytes(std::span(address)), options.deadline_milliseconds = deadline;
            options.progress = progress;
            failure = rendezvous.join(options);
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        });
    }
    ~process_t() { finish(); }
    void finish() {
        if (thread.joinable()) thread.join();
    }
    std::string address_of(std::size_t process) const {
        auto const bytes = rendezvous.address(process);
        return {reinterpret_cast<char const *>(bytes.data()), bytes.size()};
    }
};

void await(fs::path const &path) {
    for (int i = 0; i < 4000 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_TRUE(fs::exists(path)) << path;
}

/** The file of a process that then died without removing it. */
std::string file_of_the_dead(directory_t const &place, std::size_t index, std::size_t count, std::string fields = "") {
    process_t dead(place, index, count, fields, 100);
    await(place.file(index));
    std::string const text = contents(place.file(index));
    dead.finish();
    write(place.file(index), text);
    return text;
}

TEST(rendezvous, all_meet_and_leave_nothing) {
    directory_t place;
    {
        process_t a(place, 0, 3), b(place, 1, 3), c(place, 2, 3);
        for (process_t *process : {&a, &b, &c}) {
            process->finish();
            ASSERT_FALSE(process->failure) << process->failure.message << ": " << process->failure.detail;
            EXPECT_EQ(process->rendezvous.run(), a.rendezvous.run());
            for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(process->address_of(i), "address of " + std::to_string(i));
        }
        EXPECT_NE(a.rendezvous.run(), 0u);
    }
    EXPECT_TRUE(fs::is_empty(place.path));
}

TEST(rendezvous, a_dead_run_is_not_taken) {
    directory_t place;
    file_of_the_dead(place, 0, 2), file_of_the_dead(place, 1, 2);
    process_t a(place, 0, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(a.thread.joinable());
    EXPECT_NE(contents(place.file(0)).find("refusal \n"), std::string::npos);
    process_t b(place, 1, 2);
    a.finish(), b.finish();
    EXPECT_FALSE(a.failure) << a.failure.detail;
    EXPECT_FALSE(b.failure) << b.failure.detail;
    EXPECT_GE(a.seconds, 0.3) << "it took a dead process for a living one";
}

TEST(rendezvous, a_dead_run_that_was_another_is_passed_over) {
    directory_t place;
    file_of_the_dead(place, 1, 2, "job run\nsize 7\n"); // only another job's directory is refused
    process_t a(place, 0, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    process_t b(place, 1, 2);
    a.finish(), b.finish();
    EXPECT_FALSE(a.failure) << a.failure.detail;
    EXPECT_FALSE(b.failure) << b.failure.detail;
}

TEST(rendezvous, who_does_not_come_is_named_at_the_deadline) {
    directory_t place;
    file_of_the_dead(place, 2, 3);
    process_t a(place, 0, 3, "", 300);
    a.finish();
    EXPECT_EQ(a.failure.status, uform_status_io_k);
    EXPECT_STREQ(a.failure.detail, "rank 1 of 3 did not come within 300 ms; 2 in all are missing");
    EXPECT_FALSE(fs::exists(place.file(0)));
    process_t b(place, 0, 2, "", 300), c(place, 1, 2, "", 300);
    b.finish(), c.finish();
    EXPECT_FALSE(b.failure) << b.failure.detail;
    process_t d(place, 1, 3, "", 300);
    write(place.file(0), "nothing that a process wrote");
    d.finish();
    EXPECT_STREQ(d.failure.detail, "rank 0 of 3 left a file that cannot be read within 300 ms; 2 in all are missing");
}

TEST(rendezvous, a_field_that_differs_is_named_with_both_values) {
    directory_t place;
    process_t a(place, 0, 2, "job run\nsize 1\nclass x\n"), b(place, 1, 2, "job run\nsize 2\nclass x\n");
    a.finish(), b.finish();
    EXPECT_EQ(a.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(a.failure.detail, "size: rank 0 has 1, rank 1 has 2");
    EXPECT_EQ(b.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(b.failure.detail, "size: rank 1 has 2, rank 0 has 1");
    EXPECT_LT(a.seconds + b.seconds, 5) << "it waited for the deadline";
}

TEST(rendezvous, a_third_process_hears_of_a_refusal) {
    directory_t place;
    process_t a(place, 0, 3), c(place, 2, 3), b(place, 1, 3, "job run\nsize 2\n");
    for (process_t *process : {&a, &b, &c}) {
        process->finish();
        EXPECT_EQ(process->failure.status, uform_status_config_mismatch_k);
        EXPECT_NE(std::string(process->failure.detail).find("size: rank"), std::string::npos)
            << process->failure.detail;
        EXPECT_LT(process->seconds, 5);
    }
}

std::string hexadecimal(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
    return text;
}

/** The rest of a line of a file. */
std::string line_of(std::string const &text, std::string const &name) {
    std::size_t const at = text.find("\n" + name + " ") + name.size() + 2;
    return text.substr(at, text.find('\n', at) - at);
}

/** A file as a process writes it that draws `nonce` and has read `seen`; its address and its fields are `like`'s. */
std::string file_listing(std::string const &like, std::string const &nonce, std::string const &seen) {
    std::string text = like;
    auto const replace = [&text](std::string const &name, std::string const &value) {
        std::size_t const at = text.find("\n" + name + " ") + name.size() + 2;
        text.replace(at, text.find('\n', at) - at, value);
    };
    replace("nonce", nonce), replace("seen", seen);
    text.resize(text.rfind("end "));
    std::uint64_t checksum = 14695981039346656037u; // FNV-1a
    for (char const byte : text) checksum = (checksum ^ std::uint8_t(byte)) * 1099511628211u;
    return text + "end " + hexadecimal(checksum) + "\n";
}
void replace_file(directory_t const &place, std::size_t index, std::string const &text) {
    write(place.path / "new", text);
    fs::rename(place.path / "new", place.file(index));
}

/**
 *  Process 1 listed a process 2 that was replaced, and died; the new process 2 lists that dead process 1. In the look
 *  that finds the new one, process 1's list was right when it was read and no longer is: it must be read again.
 */
TEST(rendezvous, who_lists_a_process_that_was_replaced_is_not_taken_for_one_that_lists_the_new_one) {
    directory_t place;
    std::string const one = file_of_the_dead(place, 1, 3), two = file_of_the_dead(place, 2, 3);
    std::string const nonce_of_one = line_of(one, "nonce"), nonce_of_two = line_of(two, "nonce");
    process_t a(place, 0, 3, "", 1500);
    await(place.file(0));
    std::string const nonce = line_of(contents(place.file(0)), "nonce"), newer = hexadecimal(0x1234);
    replace_file(place, 1, file_listing(one, nonce_of_one, nonce + " " + nonce_of_one + " " + nonce_of_two));
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // it has read all of that
    EXPECT_EQ(line_of(contents(place.file(0)), "seen"), nonce + " " + nonce_of_one + " " + nonce_of_two);
    replace_file(place, 2, file_listing(two, newer, nonce + " " + nonce_of_one + " " + newer));
    a.finish();
    EXPECT_EQ(a.failure.status, uform_status_io_k) << "it joined a dead process";
    EXPECT_STREQ(a.failure.detail, "rank 1 of 3 still waits for others within 1500 ms; 1 in all are missing");
}

/** Process 1 answers process 0 alone and then dies, so that process 2 can only hear from process 0 what was wrong. */
TEST(rendezvous, a_refusal_is_read_by_those_who_see_nothing_wrong) {
    directory_t place;
    std::string const dead = file_of_the_dead(place, 1, 3, "job run\nsize 2\n");
    fs::remove(place.file(1));
    process_t a(place, 0, 3), c(place, 2, 3);
    await(place.file(0)), await(place.file(2));
    std::string const nonce = line_of(contents(place.file(0)), "nonce"), none(16, '0');
    std::string const nonce_of_c = line_of(contents(place.file(2)), "nonce"), own = line_of(dead, "nonce");
    for (int i = 0; i < 2000 && line_of(contents(place.file(0)), "seen").find(nonce_of_c) == std::string::npos; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // process 0 answers process 2 first
    replace_file(place, 1, file_listing(dead, own, nonce + " " + own + " " + none));
    a.finish(), c.finish();
    EXPECT_STREQ(a.failure.detail, "size: rank 0 has 1, rank 1 has 2");
    EXPECT_EQ(c.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(c.failure.detail, "rank 0: size: rank 0 has 1, rank 1 has 2");
    EXPECT_LT(c.seconds, 10);
}

TEST(rendezvous, counts_that_differ_are_named_at_the_deadline_at_the_latest) {
    directory_t place;
    process_t a(place, 0, 2, "job run\ncount 2\n", 2000), d(place, 3, 4, "job run\ncount 4\n", 2000);
    a.finish(), d.finish();
    EXPECT_EQ(d.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(d.failure.detail, "count: rank 3 has 4, rank 0 has 2");
}

TEST(rendezvous, a_directory_left_by_another_job_is_refused_at_once) {
    directory_t place;
    file_of_the_dead(place, 1, 2, "job yesterday\nsize 1\n");
    process_t a(place, 0, 2);
    a.finish();
    EXPECT_EQ(a.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(a.failure.detail, "job: rank 0 has run, rank 1 has yesterday");
    EXPECT_LT(a.seconds, 5);
}

TEST(rendezvous, two_processes_of_one_index_both_fail) {
    directory_t place;
    process_t a(place, 0, 2);
    await(place.file(0));
    process_t b(place, 0, 2);
    a.finish(), b.finish();
    EXPECT_EQ(a.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(a.failure.detail, "host_domain_index: 0 in this process and in one that came after");
    EXPECT_EQ(b.failure.status, uform_status_config_mismatch_k);
    EXPECT_STREQ(b.failure.detail, "host_domain_index: 0 in this process and in one that came before");
    EXPECT_LT(a.seconds + b.seconds, 5);
}

TEST(rendezvous, a_directory_that_is_not_there_is_named) {
    directory_t place;
    rendezvous_t rendezvous;
    rendezvous_options_t options;
    std::string const path = (place.path / "no").string();
    options.directory = path, options.count = 2, options.fields = "job run\n";
    failure_t const failure = rendezvous.join(options);
    EXPECT_EQ(failure.status, uform_status_io_k);
    EXPECT_NE(std::string(failure.detail).find("no/process-0"), std::string::npos) << failure.detail;
}

TEST(rendezvous, progress_counts_who_came_and_stops) {
    directory_t place;
    std::vector<std::size_t> seen;
    uform_progress_t progress {};
    progress.context = &seen, progress.callback = [](std::size_t done, std::size_t total, void *context) {
        static_cast<std::vector<std::size_t> *>(context)->push_back(done * 10 + total);
        return true;
    };
    process_t a(place, 0, 2, "", 20000, progress), b(place, 1, 2);
    a.finish(), b.finish();
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end()); // a handler is asked at every look
    EXPECT_EQ(seen, (std::vector<std::size_t> {12, 22}));
    progress.callback = [](std::size_t, std::size_t, void *) { return false; };
    process_t c(place, 0, 2, "", 20000, progress);
    c.finish();
    EXPECT_EQ(c.failure.status, uform_status_cancelled_k);
    seen.clear();
    progress.callback = [](std::size_t, std::size_t, void *context) {
        auto &asked = *static_cast<std::vector<std::size_t> *>(context);
        asked.push_back(0);
        return asked.size() < 5;
    };
    process_t lonely(place, 0, 2, "", 20000, progress);
    lonely.finish();
    EXPECT_EQ(lonely.failure.status, uform_status_cancelled_k) << "while nobody came";
    EXPECT_LT(lonely.seconds, 5);
    EXPECT_FALSE(fs::exists(place.file(0)));
}

/** Whatever is in a file, reading it is safe, and what was cut or changed is not taken. */
TEST(rendezvous, files_that_were_cut_or_changed_are_not_read) {
    directory_t place;
    std::string const whole = file_of_the_dead(place, 1, 2);
    ASSERT_GT(whole.size(), 100u);
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        std::string changed = whole;
        changed[i] = char(changed[i] ^ 1);
        for (std::string const &text : {whole.substr(0, i), changed}) {
            write(place.file(1), text);
            process_t a(place, 0, 2, "", 1);
            a.finish();
            ASSERT_EQ(a.failure.status, uform_status_io_k);
            ASSERT_NE(std::string(a.failure.detail).find("cannot be read"), std::string::npos) << i << a.failure.detail;
        }
    }
}

TEST(fields, the_first_difference_is_named) {
    fields_t a, b;
    a.add("name", "one"), b.add("name", "one");
    a.add("rate", 0.1f), b.add("rate", 0.1f);
    EXPECT_EQ(a.text(), "name one\nrate 0.100000001\n");
    EXPECT_FALSE(compare_fields({0, a.text()}, {1, b.text()}));
    a.add("count", std::uint64_t(3)), b.add("count", std::uint64_t(18446744073709551615u));
    EXPECT_STREQ(compare_fields({0, a.text()}, {1, b.text()}).detail,
                 "count: rank 0 has 3, rank 1 has 18446744073709551615");
    EXPECT_TRUE(compare_fields({0, a.text()}, {1, "name one\n"})) << "a field that is missing differs";
    for (int i = 0; i < 1000; ++i) a.add("more", "0123456789");
    EXPECT_FALSE(a.complete());
}

} // namespace
