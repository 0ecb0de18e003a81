/**
 *  @file mesh_unit.cpp
 *  @brief Processes joined over UCX: agreements, uneven gathers, ordered sums; refusals, deaths, strangers.
 *
 *  Every expectation is worked out from the ranks' numbers here, never by a mesh.
 */
#include <cmath>

#include <uform/mesh/mesh.hpp>

#include "test/processes.hpp"

namespace {

using namespace uform;
using uform::testing::folder_t;
using uform::testing::processes_t;
using uform::testing::role_t;
using uform::testing::variable;

/** Skips, by name, where UCX is neither built in nor installed. */
std::string ucx_missing() {
    transport_t transport;
    failure_t const failure = transport.open();
    return failure.status == uform_status_unsupported_k ? std::string(failure.message) + ": " + failure.detail : "";
}
#define SKIP_WITHOUT_UCX()                                                                                             \
    if (std::string const missing = ucx_missing(); !missing.empty()) GTEST_SKIP() << missing

std::string text_of(failure_t const &failure) {
    return std::string(uform_status_name(failure.status)) + " | " + failure.message + " | " + failure.detail;
}

failure_t join(mesh_t &mesh, role_t const &role) {
    mesh_options_t options;
    options.index = role.index, options.count = role.count, options.directory = role.folder, options.job = "test";
    std::size_t const deadline = uform::testing::number("UFORM_MESH_DEADLINE");
    options.deadline_milliseconds = deadline ? deadline : 20000, options.cpu_class = "serial";
    return mesh.join(options);
}

/** Values whose float sum depends on the order: rank 0's are large, the others' small. */
float value_of(std::size_t rank, std::size_t i) {
    return rank == 0 ? 16777216.0f : rank % 2 ? 1.0f : -0.5f * float(i % 3);
}

TEST(mesh_roles, DISABLED_collect) {
    role_t const role;
    mesh_t mesh;
    failure_t failure = join(mesh, role);
    ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;

    // Rank r brings r rows of three floats, so rank 0 brings none.
    statement_t statement;
    statement.moment = moment_t::planned_k, statement.step = 1, statement.sizes[2] = role.index;
    ASSERT_FALSE(mesh.agree(statement, {}));
    std::vector<std::size_t> sizes(role.count);
    std::size_t rows = 0;
    for (std::size_t rank = 0; rank < role.count; rows += rank++) {
        EXPECT_EQ(mesh.size_of(rank, 2), rank);
        sizes[rank] = rank * 3 * sizeof(float);
    }
    EXPECT_EQ(mesh.size_of_all(2), rows);
    EXPECT_EQ(mesh.size_before(2), role.index * (role.index - (role.index > 0)) / 2);
    std::vector<float> mine(role.index * 3, float(role.index)), all(rows * 3 + 1, -1);
    ASSERT_FALSE(mesh.gather(std::as_bytes(std::span(mine)), sizes.data(), reinterpret_cast<std::byte *>(all.data())));
    for (std::size_t rank = 0, at = 0; rank < role.count; ++rank)
        for (std::size_t i = 0; i < rank * 3; ++i) EXPECT_EQ(all[at++], float(rank));
    EXPECT_EQ(all.back(), -1);

    // Sizes that divide by nothing, one of more than a segment, and none at all.
    for (std::size_t const size : {std::size_t(0), std::size_t(1), std::size_t(4097), (std::size_t(1) << 20) + 3}) {
        std::vector<float> values(size);
        for (std::size_t i = 0; i < size; ++i) values[i] = value_of(role.index, i);
        ASSERT_FALSE(mesh.sum(values));
        for (std::size_t i = 0; i < size; ++i) {
            float expected = value_of(0, i);
            for (std::size_t rank = 1; rank < role.count; ++rank) expected += value_of(rank, i);
            ASSERT_EQ(values[i], expected) << i << " of " << size;
        }
    }
    role.say("epoch " + std::to_string(mesh.epoch()));
}

class mesh_sizes : public ::testing::TestWithParam<std::pair<std::size_t, char const *>> {};
TEST_P(mesh_sizes, collect_in_order) {
    SKIP_WITHOUT_UCX();
    folder_t folder;
    processes_t processes(folder.path, GetParam().first);
    processes.start_all("collect", {{"UCX_TLS", GetParam().second}});
    processes.expect_all_pass();
    for (std::size_t rank = 1; rank < GetParam().first; ++rank) EXPECT_EQ(processes.said(rank), processes.said(0));
    EXPECT_FALSE(std::filesystem::exists(folder.path / "process-0")) << "joined processes leave no files";
}
INSTANTIATE_TEST_SUITE_P(processes, mesh_sizes,
                         ::testing::Values(std::pair(2, "all"), std::pair(3, "all"), std::pair(4, "all"),
                                           std::pair(2, "tcp,self"), std::pair(4, "tcp,self"), std::pair(2, "shm,self"),
                                           std::pair(4, "shm,self")));

/** One round: an agreement and a sum of 4 MiB, as a step makes them. */
failure_t round(mesh_t &mesh, std::uint64_t step, failure_t const &mine = {}) {
    statement_t statement;
    statement.moment = moment_t::arguments_k, statement.step = step;
    if (failure_t const failure = mesh.agree(statement, mine)) return failure;
    std::vector<float> values(std::size_t(1) << 20, 1.0f);
    return mesh.sum(values);
}

TEST(mesh_roles, DISABLED_loop) {
    role_t const role;
    mesh_t mesh;
    failure_t failure = join(mesh, role);
    for (std::uint64_t step = 1; !failure; ++step) {
        failure = round(mesh, step);
        if (step == 5) role.make("ready-" + std::to_string(role.index));
    }
    role.say(text_of(failure));
    auto const again = std::chrono::steady_clock::now();
    EXPECT_EQ(text_of(round(mesh, 0)), text_of(failure)) << "a broken run stays broken";
    EXPECT_LT(std::chrono::steady_clock::now() - again, std::chrono::milliseconds(100));
}

/** How a process of a run stops answering. */
struct loss_t {
    char const *name;
    int signal;
    std::size_t count, victim;
    char const *transports;
    double limit; // seconds within which all others must have failed; the deadline is 4
};

void PrintTo(loss_t const &loss, std::ostream *out) { *out << loss.name; }

class mesh_losses : public ::testing::TestWithParam<loss_t> {};
TEST_P(mesh_losses, are_named_by_all_others) {
    SKIP_WITHOUT_UCX();
    loss_t const &loss = GetParam();
    folder_t folder;
    processes_t processes(folder.path, loss.count);
    processes.start_all("loop", {{"UCX_TLS", loss.transports}, {"UFORM_MESH_DEADLINE", "4000"}});
    for (std::size_t rank = 0; rank < loss.count; ++rank)
        ASSERT_TRUE(processes.await("ready-" + std::to_string(rank))) << processes.said(rank);
    processes.signal(loss.victim, loss.signal);
    auto const start = std::chrono::steady_clock::now();
    for (std::size_t rank = 0; rank < loss.count; ++rank) {
        if (rank == loss.victim) continue;
        EXPECT_EQ(processes.wait(rank), 0);
        std::string const said = processes.said(rank);
        EXPECT_NE(said.find("io | a process of the run failed | rank " + std::to_string(loss.victim) + ": "), said.npos)
            << "rank " << rank << " said " << said;
    }
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("all failed after %.2f s: %s", seconds, processes.said(loss.victim == 0).c_str());
    EXPECT_LT(seconds, loss.limit);
}
// A closed connection tells at once, shared memory within UCX's look at its peers, a silent process at the deadline.
INSTANTIATE_TEST_SUITE_P(processes, mesh_losses,
                         ::testing::Values(loss_t {"two, killed", SIGKILL, 2, 1, "all", 4},
                                           loss_t {"first killed", SIGKILL, 2, 0, "all", 4},
                                           loss_t {"four, killed", SIGKILL, 4, 2, "all", 4},
                                           loss_t {"four over TCP, killed", SIGKILL, 4, 3, "tcp,self", 4},
                                           loss_t {"four over shared memory, killed", SIGKILL, 4, 1, "shm,self", 4},
                                           loss_t {"two, silent", SIGSTOP, 2, 0, "all", 6},
                                           loss_t {"four, silent", SIGSTOP, 4, 1, "all", 6},
                                           loss_t {"four over TCP, silent", SIGSTOP, 4, 2, "tcp,self", 6}));

TEST(mesh_roles, DISABLED_refuse) {
    role_t const role;
    mesh_t mesh;
    ASSERT_FALSE(join(mesh, role));
    ASSERT_FALSE(round(mesh, 1));
    failure_t const refusal = fail(uform_status_invalid_argument_k, "count must not be zero", "it is %d", 0);
    failure_t const none;
    failure_t item = fail(uform_status_malformed_k, "the file is cut short"), loss = item;
    item.item = 3;
    role.say(text_of(round(mesh, 2, role.index == 1 ? refusal : none)));
    role.say(text_of(round(mesh, 2, role.index == 1 ? item : none)));
    role.say(text_of(round(mesh, 2, role.index == 1 ? loss : none)));
    role.say(text_of(round(mesh, 2))); // the run goes on
    role.say(text_of(round(mesh, role.index == 1 ? 4 : 3)));
    role.say(text_of(round(mesh, 3)));
    if (role.index == 1) return; // leaves
    role.say(text_of(round(mesh, 4)));
}

TEST(mesh, a_refusal_fails_all_and_the_run_goes_on) {
    SKIP_WITHOUT_UCX();
    folder_t folder;
    processes_t processes(folder.path, 3);
    processes.start_all("refuse");
    processes.expect_all_pass();
    std::string const went_on = "success |  | \n";
    std::string const lag =
        "config-mismatch | the processes of the run are not at the same point | step: rank 0 has 3, "
        "rank 1 has 4\n";
    std::string const cut = "malformed | the file is cut short | \n";
    EXPECT_EQ(processes.said(1),
              "invalid-argument | count must not be zero | it is 0\n" + cut + cut + went_on + lag + went_on);
    std::string const of_other = " | another process of the run refused | rank 1: ";
    for (std::size_t const rank : {0, 2})
        EXPECT_EQ(processes.said(rank), "config-mismatch" + of_other + "count must not be zero: it is 0\n" +
                                            "config-mismatch" + of_other + "the file is cut short\n" + "malformed" +
                                            of_other + "the file is cut short\n" + went_on + lag + went_on +
                                            "io | a process of the run failed | rank 1: it left the run\n");
}

TEST(mesh_roles, DISABLED_compare) {
    role_t const role;
    mesh_t mesh;
    ASSERT_FALSE(join(mesh, role));
    std::string const same = "depth 4\nseed 7\n", other = "depth 4\nseed 8\n";
    role.say(text_of(mesh.agree_on_fields(same)));
    role.say(text_of(mesh.agree_on_fields(role.index == 2 ? other : same)));
    role.say(text_of(mesh.agree_on_fields(same)));
}

TEST(mesh, a_field_that_differs_is_named_by_all) {
    SKIP_WITHOUT_UCX();
    folder_t folder;
    processes_t processes(folder.path, 4);
    processes.start_all("compare");
    processes.expect_all_pass();
    for (std::size_t rank = 0; rank < 4; ++rank)
        EXPECT_EQ(processes.said(rank),
                  "success |  | \nconfig-mismatch | the processes of the run disagree | seed: rank "
                  "0 has 7, rank 2 has 8\nsuccess |  | \n");
}

/** Three transports in this process, connected, each used by a thread of its own from then on. */
struct three_t {
    transport_t transports[3];
    failure_t failure;

    explicit three_t(std::size_t deadline) {
        for (transport_t &transport : transports)
            if ((failure = transport.open())) return;
        auto const address_of = [](void const *self, std::size_t process) {
            return static_cast<three_t const *>(self)->transports[process].address();
        };
        for (std::size_t rank = 0; rank < 3; ++rank)
            if ((failure = transports[rank].connect(rank, 3, deadline, address_of, this))) return;
    }
    /** Bytes to or from a peer. */
    failure_t pass(std::size_t rank, direction_t direction, std::size_t peer, std::uint64_t tag,
                   std::size_t bytes = 1) {
        std::vector<char> memory(bytes, 1);
        transfer_t const transfer {direction, peer, tag, memory.data(), bytes};
        return transports[rank].exchange({&transfer, 1});
    }
};

/** Rank 2 leaves rank 1 waiting, so rank 1 gives up; rank 0, which waits for rank 1 alone, must not blame that one. */
TEST(transport, who_gives_up_names_the_cause_to_those_who_wait_for_it) {
    SKIP_WITHOUT_UCX();
    three_t three(20000);
    ASSERT_FALSE(three.failure) << three.failure.detail;
    failure_t first, second;
    std::thread zero([&] { first = three.pass(0, direction_t::receive_k, 1, 1); });
    std::thread one([&] { second = three.pass(1, direction_t::receive_k, 2, 1); });
    std::thread two([&] {
        EXPECT_FALSE(three.pass(2, direction_t::send_k, 1, 9)); // of another tag: nobody waits for it
        three.transports[2].close();
    });
    zero.join(), one.join(), two.join();
    EXPECT_STREQ(second.detail, "rank 2: it left the run");
    EXPECT_STREQ(first.detail, "rank 2: it left the run");
}

/** Rank 1 is alive though it has nothing to send for longer than the deadline: it waits for rank 2 itself. */
TEST(transport, a_process_that_waits_itself_is_not_taken_for_dead) {
    SKIP_WITHOUT_UCX();
    three_t three(2000);
    ASSERT_FALSE(three.failure) << three.failure.detail;
    failure_t first;
    auto const start = std::chrono::steady_clock::now();
    std::thread zero([&] { first = three.pass(0, direction_t::receive_k, 1, 1); });
    std::thread one([&] {
        EXPECT_FALSE(three.pass(1, direction_t::receive_k, 2, 1));
        EXPECT_FALSE(three.pass(1, direction_t::receive_k, 2, 2));
        EXPECT_FALSE(three.pass(1, direction_t::send_k, 0, 1));
    });
    std::thread two([&] {
        for (std::uint64_t const tag : {1, 2}) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1400));
            EXPECT_FALSE(three.pass(2, direction_t::send_k, 1, tag));
        }
    });
    zero.join(), one.join(), two.join();
    EXPECT_FALSE(first) << first.detail;
    EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2500));
}

/** Sets a variable of UCX for transports that are opened in this process. */
struct variable_t {
    std::string name, before;
    variable_t(char const *name, char const *value) : name(name), before(variable(name)) { ::setenv(name, value, 1); }
    ~variable_t() { before.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), before.c_str(), 1); }
};

class farewells : public ::testing::TestWithParam<char const *> {};
/** Rank 0 has all it waits for and leaves; rank 1 was not scheduled since, and reads only later what rank 0 sent last. */
TEST_P(farewells, leave_what_was_sent_to_those_who_are_late) {
    SKIP_WITHOUT_UCX();
    variable_t const transports("UCX_TLS", GetParam());
    for (std::size_t const bytes : {1, 60000, 4000000}) {
        three_t three(20000);
        ASSERT_FALSE(three.failure) << three.failure.detail;
        failure_t late;
        std::thread zero([&] {
            EXPECT_FALSE(three.pass(0, direction_t::receive_k, 1, 1));
            EXPECT_FALSE(three.pass(0, direction_t::send_k, 1, 2, bytes));
            three.transports[0].close();
        });
        std::thread one([&] {
            EXPECT_FALSE(three.pass(1, direction_t::send_k, 0, 1));
            std::this_thread::sleep_for(std::chrono::milliseconds(400));
            // A word to who has left, before what it said is read: were it gone, its system would answer with a reset.
            (void)three.pass(1, direction_t::send_k, 0, 3);
            late = three.pass(1, direction_t::receive_k, 0, 2, bytes);
            three.transports[1].close();
        });
        three.transports[2].close();
        zero.join(), one.join();
        EXPECT_FALSE(late) << bytes << " bytes: " << late.detail;
    }
}
INSTANTIATE_TEST_SUITE_P(transports, farewells, ::testing::Values("all", "tcp,self", "shm,self"));

/** Over TCP more may be under way than the late one's window takes: the rest is still with the system of rank 0, which
 *  throws it away where a word of rank 1 comes after rank 0 closed. */
TEST(transport, who_leaves_waits_for_what_its_system_still_holds) {
    SKIP_WITHOUT_UCX();
    constexpr std::size_t bytes_k = 8000; // which goes at once, without asking the receiver
    variable_t const transports("UCX_TLS", "tcp,self");
    for (std::size_t const messages : {40, 60, 80, 100}) {
        three_t three(20000);
        ASSERT_FALSE(three.failure) << three.failure.detail;
        failure_t late;
        std::thread zero([&] {
            EXPECT_FALSE(three.pass(0, direction_t::receive_k, 1, 1));
            for (std::size_t i = 0; i < messages; ++i) EXPECT_FALSE(three.pass(0, direction_t::send_k, 1, 10 + i, bytes_k));
            three.transports[0].close();
        });
        std::thread one([&] {
            EXPECT_FALSE(three.pass(1, direction_t::send_k, 0, 1));
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            (void)three.pass(1, direction_t::send_k, 0, 3);
            for (std::size_t i = 0; i < messages && !late; ++i)
                late = three.pass(1, direction_t::receive_k, 0, 10 + i, bytes_k);
            three.transports[1].close();
        });
        three.transports[2].close();
        zero.join(), one.join();
        EXPECT_FALSE(late) << messages << " messages: " << late.detail;
    }
}

TEST(mesh, one_process_needs_nobody) {
    mesh_t mesh;
    mesh_options_t options;
    ASSERT_FALSE(mesh.join(options));
    statement_t statement;
    statement.sizes[1] = 5;
    EXPECT_FALSE(mesh.agree(statement, {}));
    EXPECT_EQ(mesh.size_of_all(1), 5u);
    EXPECT_EQ(mesh.size_before(1), 0u);
    failure_t const refusal = fail(uform_status_shape_mismatch_k, "too many");
    EXPECT_EQ(mesh.agree(statement, refusal).status, uform_status_shape_mismatch_k);
    float values[2] = {3, 4}, all[2] = {};
    std::size_t const size = sizeof(values);
    EXPECT_FALSE(mesh.gather(std::as_bytes(std::span(values)), &size, reinterpret_cast<std::byte *>(all)));
    EXPECT_EQ(all[1], 4);
    EXPECT_FALSE(mesh.sum(values));
    EXPECT_EQ(values[0], 3);
}

} // namespace
