/**
 *  @file mesh_verbs_unit.cpp
 *  @brief A run of several processes through the C ABI: refusals anywhere, a process killed mid-step, a link that is
 *  cut.
 */
#include <uform/uform.h>

#include "test/processes.hpp"

namespace {

using uform::testing::folder_t;
using uform::testing::processes_t;
using uform::testing::role_t;
using uform::testing::variable;

uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }
std::string text_of(uform_outcome_t const &outcome) {
    return std::string(uform_status_name(outcome.status)) + " | " + outcome.message + " | " + outcome.detail;
}

/** One process of a run over the C ABI, on an executor of one thread. */
struct member_t {
    role_t role;
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_mesh_t mesh = nullptr;
    uform_trainer_t trainer = nullptr;
    uform_trainer_step_stats_t stats {};

    member_t() {
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = 1;
        uform_executor_for_ram(&make);
        std::string const job = "verbs";
        std::size_t const deadline = uform::testing::number("UFORM_MESH_DEADLINE");
        uform_mesh_bootstrap_t join {};
        join.mesh = &mesh, join.executor = executor, join.outcome = &outcome;
        join.options.host_domain_index = role.index, join.options.host_domain_count = role.count;
        join.options.directory = view(role.folder), join.options.job = view(job);
        join.options.deadline_milliseconds = deadline ? deadline : 20000;
        uform_mesh_bootstrap(&join);
    }
    ~member_t() {
        uform_trainer_free(trainer);
        uform_mesh_free(mesh);
        uform_executor_free(executor);
    }
    template <typename change_>
    void start(change_ const &change) {
        uform_trainer_init_ram_t init {};
        init.trainer = &trainer, init.executor = executor, init.outcome = &outcome, init.mesh = mesh;
        init.depth = 2, init.hidden = 128, init.objective = uform_objective_contrastive_k, init.seed = 3;
        init.batch.max_rows_per_device = 32, init.batch.max_segments_per_device = 32;
        init.batch.max_columns_per_row = 32, init.schedule.steps = 1000000;
        change(init);
        uform_trainer_init_ram(&init);
    }
    void start() {
        start([](uform_trainer_init_ram_t &) {});
    }
    /** Two pairs of texts. */
    template <typename change_>
    void step(change_ const &change) {
        std::string const data = "one"
                                 "eins"
                                 "two"
                                 "zwei";
        std::size_t const offsets[] = {0, 3, 7, 10, 14}, edges[] = {0, 1, 2, 3, 4};
        std::uint32_t const ids[] = {1, 0, 3, 2};
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = 4, call.stats = &stats;
        call.contents.data = data.data(), call.contents.offsets = offsets;
        call.relations.attract = {edges, ids, nullptr};
        change(call);
        uform_trainer_step(&call);
    }
    void step() {
        step([](uform_trainer_step_t &) {});
    }
    void say() const { role.say(text_of(outcome)); }
};

/** Skips, by name, where this machine cannot join processes. */
std::string missing() {
    folder_t const folder;
    uform_outcome_t outcome {};
    uform_mesh_t mesh = nullptr;
    std::string const path = folder.path.string();
    uform_mesh_bootstrap_t join {};
    join.mesh = &mesh, join.outcome = &outcome, join.options.host_domain_count = 2;
    join.options.directory = view(path), join.options.deadline_milliseconds = 1;
    uform_mesh_bootstrap(&join);
    return outcome.status == uform_status_unsupported_k ? text_of(outcome) : "";
}
#define SKIP_WITHOUT_UCX()                                                                                             \
    if (std::string const why = missing(); !why.empty()) GTEST_SKIP() << why

TEST(mesh_verbs_roles, DISABLED_refuse) {
    member_t member;
    ASSERT_EQ(member.outcome.status, uform_status_success_k) << text_of(member.outcome);
    bool const odd = member.role.index == 1;
    uform_mesh_description_t description {};
    uform_mesh_describe_t describe {};
    describe.mesh = member.mesh, describe.outcome = &member.outcome, describe.description = &description;
    uform_mesh_describe(&describe);
    EXPECT_EQ(description.host_domain_index, member.role.index);
    EXPECT_EQ(description.host_domain_count, member.role.count);
    EXPECT_EQ(description.devices, member.role.count);

    member.start([&](uform_trainer_init_ram_t &init) { init.depth = odd ? 0 : 2; });
    member.say();
    EXPECT_EQ(member.trainer, nullptr);
    member.start([&](uform_trainer_init_ram_t &init) { init.seed = odd ? 4 : 3; });
    member.say();
    EXPECT_EQ(member.trainer, nullptr);
    member.start([&](uform_trainer_init_ram_t &init) {
        init.late_interaction.weight = 1, init.late_interaction.prefix_tokens = odd ? 3 : 2;
    });
    member.say();
    EXPECT_EQ(member.trainer, nullptr);
    std::string const long_prefix = std::string(30, '\n') + (odd ? "b" : "a"), prefix = odd ? "B: " : "A: ";
    member.start([&](uform_trainer_init_ram_t &init) { init.query_prefix = view(prefix); });
    member.say();
    member.start([&](uform_trainer_init_ram_t &init) {
        init.document_prefix = view(long_prefix), init.batch.max_columns_per_row = 64;
    });
    std::string const said = text_of(member.outcome), first = "document_prefix: rank 0 has ", second = ", rank 1 has ";
    std::size_t const a = said.find(first), b = said.find(second);
    ASSERT_TRUE(a != said.npos && b != said.npos) << said;
    EXPECT_NE(said.substr(a + first.size(), 60), said.substr(b + second.size(), 60)) << "too long to be shown whole";
    member.start([&](uform_trainer_init_ram_t &init) { init.contrastive.bias = odd ? -3.0f : -2.0f; });
    member.say();
    member.start([&](uform_trainer_init_ram_t &init) {
        init.batch.max_choices_per_item = 4, init.choices.weight = odd ? 2.0f : 1.0f;
    });
    member.say();
    EXPECT_EQ(member.trainer, nullptr);
    member.start();
    ASSERT_EQ(member.outcome.status, uform_status_success_k) << text_of(member.outcome);

    std::uint32_t const far[] = {0, 0, 9, 0};
    member.step([&](uform_trainer_step_t &call) { call.temperature_groups = odd ? far : nullptr; });
    member.say();
    EXPECT_EQ(member.outcome.item, odd ? 2 : SIZE_MAX);
    // Nobody names an edge; then one process alone does, and another brings no items at all.
    auto const without_edges = [](uform_trainer_step_t &call) { call.relations.attract.offsets = nullptr; };
    member.step(without_edges);
    member.say();
    if (odd)
        member.step();
    else if (member.role.index == 0)
        member.step([](uform_trainer_step_t &call) { call.count = 0; });
    else
        member.step(without_edges);
    member.role.say(text_of(member.outcome) + " step " + std::to_string(member.stats.step) + " tokens " +
                    std::to_string(member.stats.tokens));
    member.step([](uform_trainer_step_t &call) { call.count = 0; });
    member.say();

    // What would read the arena it lands in is refused in its own process, before the others hear of a step.
    uform_arena_t arena = nullptr;
    uform_arena_init_t make {};
    make.arena = &arena, make.outcome = &member.outcome;
    uform_arena_init(&make);
    uform_rows_t rows {};
    auto const land = [&](uform_trainer_step_t &call) { call.arena = arena, call.embeddings = &rows; };
    member.step(land);
    ASSERT_EQ(member.outcome.status, uform_status_success_k) << text_of(member.outcome);
    if (odd) {
        member.step([&](uform_trainer_step_t &call) { land(call), call.contents.data = rows.data; });
        EXPECT_EQ(text_of(member.outcome), "invalid-argument | arena holds what the call reads | contents.data");
    }
    member.step(land);
    EXPECT_EQ(member.outcome.status, uform_status_success_k) << text_of(member.outcome);
    uform_arena_free(arena);

    std::string const path = member.role.folder + "/saved-" + std::to_string(member.role.index);
    uform_trainer_save_t save {};
    save.trainer = member.trainer, save.executor = member.executor, save.outcome = &member.outcome;
    save.path = view(path);
    uform_trainer_save(&save);
    EXPECT_EQ(member.outcome.status, uform_status_success_k);
    EXPECT_EQ(std::filesystem::exists(path), member.role.index == 0);
}

TEST(mesh_verbs, a_refusal_in_one_process_fails_the_call_in_all) {
    SKIP_WITHOUT_UCX();
    folder_t folder;
    processes_t processes(folder.path, 3);
    processes.start_all("refuse");
    processes.expect_all_pass();
    std::string const apart = "config-mismatch | the processes of the run disagree | ",
                      seed = apart + "seed: rank 0 has 3, rank 1 has 4\n",
                      late = apart + "late_interaction.prefix_tokens: rank 0 has 2, rank 1 has 3\n",
                      prefix = apart + "query_prefix: rank 0 has A: , rank 1 has B: \n",
                      bias = apart + "contrastive.bias: rank 0 has -2, rank 1 has -3\n",
                      choices = apart + "choices.weight: rank 0 has 1, rank 1 has 2\n";
    std::string const groups = "temperature_groups must be below contrastive.temperature_groups";
    std::string const edges = "invalid-argument | relations.attract must name an edge in a contrastive step | \n";
    std::string const stepped = "success |  |  step 1 tokens 28\n",
                      empty = "invalid-argument | count must not be zero | \n";
    for (std::size_t rank = 0; rank < 3; ++rank) {
        std::string const said = processes.said(rank);
        std::string const refused = "config-mismatch | another process of the run refused | rank 1: " + groups + "\n";
        std::string const tail =
            seed + late + prefix + bias + choices + (rank == 1 ? "invalid-argument | " + groups + " | \n" : refused) + edges + stepped + empty;
        EXPECT_NE(said.find(rank == 1 ? "depth" : "refused | rank 1: "), said.npos) << said;
        EXPECT_EQ(said.substr(said.find('\n') + 1), tail) << "rank " << rank;
    }
}

TEST(mesh_verbs_roles, DISABLED_train) {
    member_t member;
    ASSERT_EQ(member.outcome.status, uform_status_success_k) << text_of(member.outcome);
    member.start();
    while (member.outcome.status == uform_status_success_k) {
        member.step();
        if (member.stats.step == 3) member.role.make("ready-" + std::to_string(member.role.index));
    }
    member.say();
}

void expect_named(processes_t &processes, std::size_t rank, std::size_t culprit) {
    EXPECT_EQ(processes.wait(rank), 0);
    std::string const named = "io | a process of the run failed | rank " + std::to_string(culprit) + ": ";
    EXPECT_EQ(processes.said(rank).substr(0, named.size()), named) << processes.said(rank);
}

TEST(mesh_verbs, a_process_killed_mid_step_is_named_by_all_others) {
    SKIP_WITHOUT_UCX();
    folder_t folder;
    processes_t processes(folder.path, 4);
    processes.start_all("train", {{"UFORM_MESH_DEADLINE", "5000"}});
    for (std::size_t rank = 0; rank < 4; ++rank)
        ASSERT_TRUE(processes.await("ready-" + std::to_string(rank))) << processes.said(rank);
    auto const start = std::chrono::steady_clock::now();
    processes.signal(2, SIGKILL);
    for (std::size_t const rank : {0, 1, 3}) expect_named(processes, rank, 2);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

/** Two hosts as network namespaces with a cable between them; gone with the object. */
class cable_t {
    std::string const mark_ = std::to_string(::getpid() % 100000);
    static int run(std::string const &command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

  public:
    std::string host(std::size_t index) const { return "uform-" + mark_ + "-" + std::to_string(index); }
    bool lay() const {
        if (run("ip netns add " + host(0)) || run("ip netns add " + host(1))) return false;
        std::string const ends[] = {"uf" + mark_ + "a", "uf" + mark_ + "b"};
        if (run("ip link add " + ends[0] + " type veth peer name " + ends[1])) return false;
        for (std::size_t index = 0; index < 2; ++index) {
            std::string const in = "ip -n " + host(index) + " ";
            if (run("ip link set " + ends[index] + " netns " + host(index)) ||
                run(in + "addr add 10.177.0." + std::to_string(index + 1) + "/24 dev " + ends[index]) ||
                run(in + "link set " + ends[index] + " up") || run(in + "link set lo up"))
                return false;
        }
        return true;
    }
    void cut() const { EXPECT_EQ(run("ip -n " + host(0) + " link set uf" + mark_ + "a down"), 0); }
    ~cable_t() { run("ip netns del " + host(0)), run("ip netns del " + host(1)); }
};

TEST(mesh_verbs, a_cut_link_between_hosts_is_noticed_on_both_sides) {
    SKIP_WITHOUT_UCX();
    cable_t const cable;
    if (!cable.lay()) GTEST_SKIP() << "network namespaces are not permitted here: ip netns, as root";
    folder_t folder;
    processes_t processes(folder.path, 2);
    for (std::size_t rank = 0; rank < 2; ++rank)
        processes.start(rank, "train", {{"UFORM_MESH_DEADLINE", "3000"}, {"UCX_TLS", "tcp"}},
                        {"ip", "netns", "exec", cable.host(rank)});
    for (std::size_t rank = 0; rank < 2; ++rank)
        ASSERT_TRUE(processes.await("ready-" + std::to_string(rank), 20)) << processes.said(rank);
    auto const start = std::chrono::steady_clock::now();
    cable.cut();
    for (std::size_t rank = 0; rank < 2; ++rank) expect_named(processes, rank, 1 - rank);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("both failed after %.2f s: %s", seconds, processes.said(0).c_str());
    EXPECT_LT(seconds, 4.5) << "the deadline is 3 s";
}

} // namespace
