/**
 *  @file train_save.cpp
 *  @brief Saving, what a saved run loads as, going on from it, and starting from another model's weights.
 */
#include <chrono>
#include <thread>

#include "training.hpp"

namespace conformance {
namespace {

using call_t = uform_trainer_save_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto mismatch_k = uform_status_config_mismatch_k;

TEST(trainer_save, refusals) {
    executor_t executor;
    make_executor(executor);
    trainer_t trainer;
    start(trainer);
    folder_t const folder;
    std::string const path = folder / "run.safetensors", nowhere = folder / "no/such/folder/run.safetensors";
    std::string const with_nul = path + '\0' + "x", directory = folder / "taken", endless(5000, 'p');
    std::filesystem::create_directory(directory), write_file(directory + "/full", "");
    call_t right {};
    right.trainer = trainer, right.path = view(path);
    expect_refusals<call_t>(uform_trainer_save, right,
                            {{"no trainer", invalid_k, "trainer", [](call_t &c) { c.trainer = nullptr; }},
                             {"a completion below", invalid_k, "completion", [](call_t &c) { c.completion = -1; }},
                             {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
                             {"another executor", invalid_k, "executor", [&](call_t &c) { c.executor = executor; }},
                             {"no path", invalid_k, "path", [](call_t &c) { c.path = {}; }},
                             {"NULL of a length", invalid_k, "path", [](call_t &c) { c.path.data = nullptr; }},
                             {"a NUL inside", invalid_k, "path", [&](call_t &c) { c.path = view(with_nul); }},
                             {"longer than memory", invalid_k, "path", [](call_t &c) { c.path.length = SIZE_MAX; }},
                             {"longer than paths are", invalid_k, "path", [&](call_t &c) { c.path = view(endless); }},
                             {"no such folder", uform_status_io_k, "", [&](call_t &c) { c.path = view(nowhere); }},
                             {"over a folder", uform_status_io_k, "", [&](call_t &c) { c.path = view(directory); }}});
    EXPECT_EQ(folder.names(), std::vector<std::string> {"taken"}) << "failures leave nothing behind";
}

TEST(trainer_save, no_outcome_no_call) {
    trainer_t trainer;
    start(trainer);
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    call_t call {};
    call.trainer = trainer, call.path = view(path);
    uform_trainer_save(&call), uform_trainer_save(nullptr);
    EXPECT_TRUE(folder.names().empty());
}

TEST(trainer_save, a_stop_leaves_the_old_file) {
    trainer_t trainer;
    start(trainer);
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    write_file(path, "old");
    reports_t stops, reports;
    stops.stop_at = 2;
    call_t call {};
    call.trainer = trainer, call.path = view(path), call.progress = stops.handler();
    EXPECT_STATUS(answer(uform_trainer_save, call), uform_status_cancelled_k);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(folder.names().size(), 1u);
    call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_trainer_save, call));
    EXPECT_TRUE(reports.orderly);
    EXPECT_EQ(reports.last, reports.total);
    EXPECT_EQ(reports.total, 1u + 7 + 1 + 3 + 2) << "tensors: entry, block, norm, pool, temperature and bias";
    EXPECT_EQ(folder.names().size(), 1u) << "and no temporary file";
}

uform_model_description_t described(std::string const &path) {
    model_t model;
    load(model, path);
    uform_model_description_t description {};
    uform_model_describe_t call {};
    call.model = model, call.description = &description;
    EXPECT_SUCCESS(answer(uform_model_describe, call));
    return description;
}

TEST(trainer_save, loads_as_a_model) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    for (uform_objective_t objective :
         std::initializer_list<uform_objective_t> {uform_objective_masked_k, uform_objective_contrastive_k}) {
        trainer_t trainer;
        start(trainer, nullptr, objective);
        EXPECT_SUCCESS(save(trainer, path));
        auto const description = described(path);
        EXPECT_EQ(description.dimensions, 128u);
        EXPECT_EQ(description.depth, 1u);
        EXPECT_EQ(description.context, 32u);
        EXPECT_EQ(description.token_width, 0u);
        EXPECT_EQ(description.choice_temperature_groups, objective == uform_objective_masked_k ? 1u : 0u);
    }
    model_t model;
    load(model, path);
    arena_t arena;
    make_arena(arena);
    tape_t const texts({"Hello"});
    encoded_t got;
    uform_text_encode_t call {};
    call.model = model, call.outcome = &got.outcome, call.texts = texts.view(), call.count = 1;
    call.states = &got.states, call.arena = arena;
    uform_text_encode(&call);
    EXPECT_SUCCESS(got.outcome);
    EXPECT_EQ(got.states.count, 5u);
}

TEST(trainer_save, the_same_run_saves_the_same_bytes) {
    folder_t const folder;
    trainer_t first, second;
    start(first), start(second);
    EXPECT_SUCCESS(save(first, folder / "a"));
    EXPECT_SUCCESS(save(second, folder / "b"));
    EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
}

/** Resumes `path` with one field changed. */
outcome_t resume(std::string const &path, trainer_t &trainer,
                 std::function<void(uform_trainer_init_ram_t &)> const &change = {}) {
    auto call = right_init(trainer.out());
    call.resume = view(path);
    if (change) change(call);
    return answer(uform_trainer_init_ram, call);
}

TEST(trainer_resume, goes_on_at_its_step) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    share_t const share;
    uform_trainer_step_stats_t stats;
    trainer_t first, second;
    start(first);
    auto step = share.call(first);
    step.stats = &stats;
    for (int i = 0; i < 3; ++i) EXPECT_SUCCESS(answer(uform_trainer_step, step));
    call_t save {};
    save.trainer = first, save.path = view(path), save.optimizer = true;
    EXPECT_SUCCESS(answer(uform_trainer_save, save));
    first.reset();
    EXPECT_SUCCESS(resume(path, second));
    step.trainer = second;
    EXPECT_SUCCESS(answer(uform_trainer_step, step));
    EXPECT_EQ(stats.step, 4u);
}

TEST(trainer_resume, refuses_another_run) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors", masked = folder / "masked.safetensors";
    trainer_t trainer, other, resumed;
    start(trainer), start(other, nullptr, uform_objective_masked_k);
    EXPECT_SUCCESS(save(trainer, path));
    EXPECT_SUCCESS(save(other, masked));
    EXPECT_SUCCESS(resume(path, resumed));
    resumed.reset();
    using init_t = uform_trainer_init_ram_t;
    std::pair<char const *, std::function<void(init_t &)>> const changes[] = {
        {"width", [](init_t &c) { c.hidden = 256; }},
        {"depth", [](init_t &c) { c.depth = 2; }},
        {"context", [](init_t &c) { c.batch.max_columns_per_row = 33; }},
        {"seed", [](init_t &c) { c.seed = 8; }},
        {"objective", [](init_t &c) { c.objective = uform_objective_joint_k; }},
        {"steps", [](init_t &c) { c.schedule.steps = 21; }},
        {"climb", [](init_t &c) { c.schedule.warmup_steps = 3; }},
        {"rate", [](init_t &c) { c.schedule.learning_rate = 1e-3f; }},
        {"floor", [](init_t &c) { c.schedule.min_learning_rate = 2e-5f; }},
        {"groups", [](init_t &c) { c.contrastive.temperature_groups = 2; }}};
    for (auto const &[what, change] : changes) {
        SCOPED_TRACE(what);
        EXPECT_STATUS(resume(path, resumed, change), mismatch_k);
        EXPECT_EQ(resumed, nullptr);
    }
    EXPECT_STATUS(resume(masked, resumed), mismatch_k);
    EXPECT_SUCCESS(
        resume(path, resumed, [](init_t &c) { c.batch.max_segments_per_device = 5; })); // is no part of the run
}

TEST(trainer_resume, reads_files_as_loads_do) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer, resumed;
    start(trainer);
    EXPECT_SUCCESS(save(trainer, path));
    std::string const bytes = read_file(path);
    write_file(path, bytes.substr(0, bytes.size() - 1));
    EXPECT_STATUS(resume(path, resumed), uform_status_malformed_k);
    std::string spoiled = bytes; // the last tensor of the file is a bias in f32
    spoiled.replace(spoiled.size() - 4, 4, std::string("\0\0\x80\x7f", 4));
    write_file(path, spoiled);
    EXPECT_STATUS(resume(path, resumed), uform_status_malformed_k);
    write_file(path, checkpoint_t().bytes());
    EXPECT_STATUS(resume(path, resumed), mismatch_k); // a model that no run saved
    write_file(path, bytes);
    write_file(folder / "run.0.optimizer.safetensors", "moments that are none");
    EXPECT_STATUS(resume(path, resumed), uform_status_malformed_k);
}

TEST(trainer_resume, leaves_room_for_the_name_beside) {
    folder_t const folder;
    std::string around = folder.path() + "/";
    while (around.size() < 4080) around += "./"; // a path the system takes, to a file that is there
    around += "run";
    trainer_t trainer, resumed;
    start(trainer);
    EXPECT_SUCCESS(save(trainer, folder / "run"));
    EXPECT_STATUS(resume(around, resumed), invalid_k);
    EXPECT_EQ(resumed, nullptr);
    EXPECT_STATUS(save(trainer, around), invalid_k);
}

TEST(trainer_resume, keeps_prefixes) {
    folder_t const folder;
    std::string const first = folder / "first", second = folder / "second", third = folder / "third";
    std::string const query("q\\: \x01\xff", 6), document = "d: ";
    trainer_t trainer, resumed, renamed;
    auto init = right_init(trainer.out());
    init.query_prefix = view(query), init.document_prefix = view(document);
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    EXPECT_SUCCESS(save(trainer, first));
    EXPECT_NE(read_file(first).find("\"prefix.query\":\"q\\\\\\\\: \\\\x01\\\\xff\""), std::string::npos);
    EXPECT_NE(read_file(first).find("\"prefix.document\":\"d: \""), std::string::npos);
    EXPECT_SUCCESS(resume(first, resumed));
    EXPECT_SUCCESS(save(resumed, second));
    EXPECT_EQ(read_file(first), read_file(second));
    EXPECT_SUCCESS(resume(first, renamed, [&](auto &c) { c.query_prefix = view(document); }));
    EXPECT_SUCCESS(save(renamed, third));
    EXPECT_NE(read_file(third).find("\"prefix.query\":\"d: \""), std::string::npos);
}

TEST(trainer_initial, takes_what_matches) {
    folder_t const folder;
    std::string const path = folder / "model.safetensors", saved = folder / "saved.safetensors";
    checkpoint_t const drawn;
    write_file(path, drawn.bytes());
    trainer_t trainer, none, stopped;
    reports_t reports, stops;
    auto call = right_init(trainer.out());
    call.initial = view(path), call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
    EXPECT_TRUE(reports.orderly);
    EXPECT_EQ(reports.last, reports.total);
    EXPECT_SUCCESS(save(trainer, saved));
    std::string const tensors = drawn.drawn();
    EXPECT_NE(read_file(saved).find(tensors), std::string::npos) << "all of its tensors, in the order of both files";
    call = right_init(none.out()), call.initial = view(path), call.hidden = 256;
    EXPECT_STATUS(answer(uform_trainer_init_ram, call), mismatch_k);
    EXPECT_EQ(none, nullptr);
    stops.stop_at = 2, call = right_init(stopped.out()), call.initial = view(path), call.progress = stops.handler();
    EXPECT_STATUS(answer(uform_trainer_init_ram, call), uform_status_cancelled_k);
    EXPECT_EQ(stopped, nullptr);
}

TEST(trainer_contention, one_call_at_a_time) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    share_t const share;
    trainer_t trainer; // on the calling thread: only the trainer itself can be contended
    start(trainer);
    gate_t gate;
    outcome_t outcome;
    call_t held {};
    held.trainer = trainer, held.path = view(path), held.progress = gate.handler(), held.outcome = &outcome;
    std::thread saving([&] { uform_trainer_save(&held); });
    gate.wait_inside();
    arena_t arena;
    make_arena(arena);
    uform_rows_t embeddings {};
    auto step = share.call(trainer);
    step.embeddings = &embeddings, step.arena = arena;
    EXPECT_STATUS(answer(uform_trainer_step, step), uform_status_contended_k);
    EXPECT_STATUS(save(trainer, folder / "other"), uform_status_contended_k);
    step.count = 0;
    EXPECT_STATUS(answer(uform_trainer_step, step), invalid_k); // arguments are refused first
    std::atomic<bool> freed {false};
    std::thread freeing([&] { trainer.reset(), freed = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(freed) << "it must wait for the save";
    gate.open();
    saving.join(), freeing.join();
    EXPECT_SUCCESS(outcome);
    encoding_t const encoding; // the arena was let go when the trainer was contended
    encoded_t got;
    auto encode = encoding.call(got);
    encode.arena = arena;
    EXPECT_SUCCESS(answer(uform_text_encode, encode));
}

} // namespace
} // namespace conformance
