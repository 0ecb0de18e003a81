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

/** Every term switched on, and the widths it names. */
uform_trainer_init_ram_t whole_init(uform_trainer_t *trainer) {
    static size_t const widths[] = {64, 128};
    auto call = right_init(trainer, nullptr, uform_objective_joint_k);
    call.batch.max_choices_per_item = 4, call.choices.weight = 1, call.late_interaction.weight = 1;
    call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 2;
    call.regularizers.coding_rate_weight = 0.02f, call.regularizers.lipschitz_weight = 0.01f;
    return call;
}

TEST(trainer_resume, refuses_another_run) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer, resumed;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, whole_init(trainer.out())));
    EXPECT_SUCCESS(save(trainer, path));
    using init_t = uform_trainer_init_ram_t;
    auto const again = [&](std::function<void(init_t &)> const &change) {
        auto call = whole_init(resumed.out());
        call.resume = view(path);
        change(call);
        return answer(uform_trainer_init_ram, call);
    };
    constexpr auto named_k = uform_negatives_named_k;
    std::pair<char const *, std::function<void(init_t &)>> const changes[] = {
        {"hidden: saved 128, asked 256", [](init_t &c) { c.hidden = 256; }},
        {"depth: saved 1, asked 2", [](init_t &c) { c.depth = 2; }},
        {"context: saved 32, asked 33", [](init_t &c) { c.batch.max_columns_per_row = 33; }},
        {"seed: saved 7, asked 8", [](init_t &c) { c.seed = 8; }},
        {"objective: saved joint, asked contrastive", [](init_t &c) { c.objective = uform_objective_contrastive_k; }},
        {"schedule.steps: saved 20, asked 21", [](init_t &c) { c.schedule.steps = 21; }},
        {"schedule.warmup_steps: saved 2, asked 3", [](init_t &c) { c.schedule.warmup_steps = 3; }},
        {"schedule.learning_rate: saved 0.00050000", [](init_t &c) { c.schedule.learning_rate = 1e-3f; }},
        {"schedule.min_learning_rate: saved ", [](init_t &c) { c.schedule.min_learning_rate = 2e-5f; }},
        {"masking.token_mask_probability: saved 0.15", [](init_t &c) { c.masking.token_mask_probability = 0.25f; }},
        {"masking.token_mean_span: saved 16, asked 8", [](init_t &c) { c.masking.token_mean_span = 8; }},
        {"masking.replace_fraction: saved 0.8", [](init_t &c) { c.masking.replace_fraction = 0.5f; }},
        {"masking.random_fraction: saved 0.1", [](init_t &c) { c.masking.random_fraction = 0.125f; }},
        {"masking.text_weight: saved 1, asked 2", [](init_t &c) { c.masking.text_weight = 2; }},
        {"contrastive.matryoshka_dimensions: saved 64,128, asked 64",
         [](init_t &c) { c.contrastive.matryoshka_dimensions_count = 1; }},
        {"contrastive.matryoshka_dimensions: saved 64,128, asked 128",
         [](init_t &c) { c.contrastive.matryoshka_dimensions = nullptr; }},
        {"contrastive.pair_loss: saved sigmoid, asked softmax",
         [](init_t &c) { c.contrastive.pair_loss = uform_pair_loss_form_softmax_k; }},
        {"contrastive.negatives: saved ambient, asked named", [](init_t &c) { c.contrastive.negatives = named_k; }},
        {"contrastive.ambient_repulsion_weight: saved 1, asked 0.5",
         [](init_t &c) { c.contrastive.ambient_repulsion_weight = 0.5f; }},
        {"contrastive.temperature_groups: saved 1, asked 2", [](init_t &c) { c.contrastive.temperature_groups = 2; }},
        {"regularizers.coding_rate_weight: saved 0.01999", [](init_t &c) { c.regularizers.coding_rate_weight = 0; }},
        {"regularizers.coding_rate_epsilon_squared: saved 0.5, asked 0.25",
         [](init_t &c) { c.regularizers.coding_rate_epsilon_squared = 0.25f; }},
        {"regularizers.lipschitz_weight: saved 0.0099", [](init_t &c) { c.regularizers.lipschitz_weight = 1; }},
        {"regularizers.lipschitz_iterations: saved 4, asked 5",
         [](init_t &c) { c.regularizers.lipschitz_iterations = 5; }},
        {"late_interaction.weight: saved 1, asked 0", [](init_t &c) { c.late_interaction.weight = 0; }},
        {"late_interaction.pair_loss: saved ranked, asked balanced",
         [](init_t &c) { c.late_interaction.pair_loss = uform_pair_loss_form_balanced_k; }},
        {"late_interaction.max_query_span: saved 64, asked 8",
         [](init_t &c) { c.late_interaction.max_query_span = 8; }},
        {"late_interaction.prefix_tokens: saved 0, asked 3", [](init_t &c) { c.late_interaction.prefix_tokens = 3; }},
        {"late_interaction.width: saved 128, asked 64", [](init_t &c) { c.late_interaction.width = 64; }},
        {"choices.weight: saved 1, asked 0", [](init_t &c) { c.choices.weight = 0; }},
        {"choices.brier_weight: saved 0, asked 1", [](init_t &c) { c.choices.brier_weight = 1; }},
        {"choices.temperature_groups: saved 1, asked 2", [](init_t &c) { c.choices.temperature_groups = 2; }}};
    for (auto const &[detail, change] : changes) {
        SCOPED_TRACE(detail);
        tell_row(detail, mismatch_k, detail);
        auto const outcome = again(change);
        EXPECT_STATUS(outcome, mismatch_k);
        EXPECT_EQ(std::string(outcome.detail).rfind(detail, 0), 0u) << outcome.detail;
        EXPECT_EQ(resumed, nullptr);
    }
}

TEST(trainer_resume, takes_what_is_no_part_of_a_run) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, whole_init(trainer.out())));
    EXPECT_SUCCESS(save(trainer, path));
    using init_t = uform_trainer_init_ram_t;
    static size_t const widths[] = {64, 128, 0};
    std::pair<char const *, std::function<void(init_t &)>> const changes[] = {
        {"nothing", [](init_t &) {}},
        {"room", [](init_t &c) { c.batch.max_rows_per_device = c.batch.max_segments_per_device = 5; }},
        {"bags", [](init_t &c) { c.batch.max_bags_per_device = 5; }},
        {"choices", [](init_t &c) { c.batch.max_choices_per_item = 5; }},
        {"edges", [](init_t &c) { c.contrastive.max_edges_per_device = 50; }},
        {"documents", [](init_t &c) { c.late_interaction.max_documents_per_device = 5; }},
        {"temperature", [](init_t &c) { c.contrastive.inverse_temperature = 5; }},
        {"bias", [](init_t &c) { c.contrastive.bias = c.late_interaction.bias = -1; }},
        {"the same widths elsewhere", [](init_t &c) { c.contrastive.matryoshka_dimensions = widths; }},
        {"defaults by name", [](init_t &c) {
             c.contrastive.pair_loss = uform_pair_loss_form_sigmoid_k;
             c.late_interaction.pair_loss = uform_pair_loss_form_ranked_k;
             c.regularizers.coding_rate_epsilon_squared = 0.5f, c.regularizers.lipschitz_iterations = 4;
             c.masking.token_mean_span = 16, c.schedule.warmup_steps = 2, c.late_interaction.width = 128;
         }}};
    for (auto const &[what, change] : changes) {
        SCOPED_TRACE(what);
        tell_row(what, uform_status_success_k, "");
        trainer_t resumed;
        auto call = whole_init(resumed.out());
        call.resume = view(path);
        change(call);
        EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
    }
}

/** A file of this name with other bytes of the same length, so that a checkpoint keeps its offsets. */
void write_over(std::string const &path, std::string const &from, std::string const &to) {
    std::string bytes = read_file(path);
    std::size_t const at = bytes.find(from);
    ASSERT_NE(at, bytes.npos) << from;
    ASSERT_EQ(from.size(), to.size());
    write_file(path, bytes.replace(at, from.size(), to));
}

TEST(trainer_resume, holds_no_file_to_what_it_does_not_say) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer, resumed;
    start(trainer);
    EXPECT_SUCCESS(save(trainer, path));
    auto const other = [](auto &c) { c.contrastive.pair_loss = uform_pair_loss_form_softmax_k; };
    EXPECT_STATUS(resume(path, resumed, other), mismatch_k);
    write_over(path, "\"contrastive.pair_loss\"", "\"contrastive.PAIR_LOSS\""); // as a build would that lacks it
    EXPECT_SUCCESS(resume(path, resumed, other));
}

TEST(trainer_resume, reads_no_terms_that_are_off) {
    folder_t const folder;
    std::string const path = folder / "run.safetensors";
    trainer_t trainer, resumed;
    start(trainer);
    EXPECT_SUCCESS(save(trainer, path));
    EXPECT_SUCCESS(resume(path, resumed, [](auto &c) {
        c.masking.token_mask_probability = 0.5f, c.regularizers.coding_rate_epsilon_squared = 2;
        c.regularizers.lipschitz_iterations = 9, c.choices.brier_weight = 1, c.late_interaction.width = 64;
    }));
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
