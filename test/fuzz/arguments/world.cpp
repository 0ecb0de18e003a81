/**
 *  @file world.cpp
 *  @brief Making the shared objects, and the probe that they still answer.
 */
#include "world.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include <uform/encoder/initialize.hpp>

namespace uform_fuzz {
namespace {

uform_bytes_view_t view_of(std::string const &text) { return {text.data(), text.size()}; }

/** A model with every head, drawn from a seed. */
void write_model(std::string const &path) {
    uform::model_options_t options;
    options.geometry = {hidden_k, 1, context_k};
    options.token_width = token_width_k, options.decoder = true, options.choice_groups = choice_groups_k;
    uform::checkpoint_writer_t writer;
    uform::model_notes_t notes;
    notes.objective = "joint";
    require(!begin_model(writer, path, options, notes), "the world's checkpoint is begun");
    uform::initialization_t const initialization {};
    auto const append = [&](uform::tensor_spec_t const &spec, auto element) {
        std::vector<decltype(element)> values(spec.elements());
        initialize_rows(spec, initialization, options, {0, spec.rows}, values.data());
        require(!writer.append(std::as_bytes(std::span(values))), "the world's checkpoint is written");
    };
    for_each_tensor(options, [&](uform::tensor_spec_t const &spec) {
        spec.is_f32() ? append(spec, float()) : append(spec, uform::bf16_t());
    });
    require(!writer.commit(), "the world's checkpoint is kept");
}

/** Steps so small that a run of hours leaves the weights finite, whatever its losses are. */
uform_trainer_t start_run(run_t const &run, bool regularized) {
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome;
    uform_trainer_init_ram_t call {};
    call.trainer = &trainer, call.outcome = &outcome, call.executor = run.executor, call.objective = run.objective;
    call.depth = 1, call.hidden = hidden_k;
    call.batch.max_rows_per_device = 3, call.batch.max_segments_per_device = segments_k;
    call.batch.max_columns_per_row = context_k, call.batch.max_bags_per_device = 2;
    call.contrastive.temperature_groups = pair_groups_k, call.contrastive.max_edges_per_device = edges_k;
    if (regularized) {
        call.contrastive.pair_loss = uform_pair_loss_form_softmax_k;
        call.contrastive.negatives = uform_negatives_named_k;
        call.regularizers.coding_rate_weight = 0.5f, call.regularizers.lipschitz_weight = 0.5f;
    }
    if (run.interacts) call.late_interaction.weight = 1, call.late_interaction.width = 8;
    call.schedule.steps = std::size_t(1) << 40, call.schedule.learning_rate = 1e-9f;
    call.schedule.min_learning_rate = 1e-10f;
    uform_trainer_init_ram(&call);
    require(outcome.status == uform_status_success_k, outcome.message);
    return trainer;
}

} // namespace

world_t::world_t() {
    std::string pattern = (std::filesystem::temp_directory_path() / "uform_fuzz_XXXXXX").string();
    require(::mkdtemp(pattern.data()), "a temporary folder is to be had");
    folder = pattern, checkpoint_path = folder + "/model.safetensors";
    write_model(checkpoint_path);
    std::ifstream file(checkpoint_path, std::ios::binary);
    checkpoint.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());

    uform_outcome_t outcome;
    auto const succeeded = [&] { require(outcome.status == uform_status_success_k, outcome.message); };
    uform_executor_for_ram_t start {};
    start.executor = &executor, start.outcome = &outcome, start.threads = 2;
    uform_executor_for_ram(&start), succeeded();
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &outcome, load.path = view_of(checkpoint_path);
    uform_model_load_ram(&load), succeeded();
    for (uform_arena_t &arena : arenas) {
        uform_arena_init_t init {};
        init.arena = &arena, init.outcome = &outcome, init.executor = &arena == arenas ? executor : nullptr;
        uform_arena_init(&init), succeeded();
    }
    runs[0].objective = uform_objective_contrastive_k, runs[1].objective = uform_objective_masked_k;
    runs[2].objective = uform_objective_joint_k, runs[2].executor = executor, runs[2].interacts = true;
    for (run_t &run : runs) run.trainer = start_run(run, &run == runs);
    answer = encode_probe(true);
}

world_t::~world_t() {
    for (run_t const &run : runs) uform_trainer_free(run.trainer);
    for (uform_arena_t const arena : arenas) uform_arena_free(arena);
    uform_model_free(model), uform_executor_free(executor);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

std::vector<float> world_t::encode_probe(bool on_executor) const {
    std::size_t const offsets[] = {0, 5, 8};
    uform_outcome_t outcome;
    uform_rows_t rows {};
    uform_text_encode_t call {};
    call.model = model, call.executor = on_executor ? executor : nullptr, call.outcome = &outcome;
    call.texts = {"probeits", offsets, 0};
    call.count = 2, call.embeddings = &rows, call.arena = arenas[0];
    uform_text_encode(&call);
    require(outcome.status == uform_status_success_k, outcome.message);
    float const *const values = static_cast<float const *>(rows.data);
    return {values, values + rows.count * rows.columns};
}

void world_t::probe() const {
    require(encode_probe(used_executor) == answer, "after any call a model answers the same bits");
}

bool items_t::rises() const noexcept { return std::is_sorted(offsets.begin(), offsets.end()); }

void items_t::draw(cursor_t &cursor, std::size_t most, std::size_t longest) {
    count = cursor.below(most + 1);
    offsets.assign(1, cursor.below(4));
    for (std::size_t i = 0; i < count; ++i) offsets.push_back(offsets.back() + cursor.below(longest + 1));
    constexpr unsigned char strides[] = {1, 0, 7, 64};
    unsigned char value = cursor.byte();
    unsigned char const stride = strides[cursor.below(std::size(strides))];
    data.resize(offsets.back());
    for (unsigned char &byte : data) byte = value, value = static_cast<unsigned char>(value + stride);
}

/** Anything, but for what a caller alone can know: that offsets which rise and could be held end within the data. */
void items_t::spoil_offset(cursor_t &cursor, std::size_t bytes) {
    std::size_t &offset = offsets[cursor.below(offsets.size())];
    offset = cursor.coin() ? cursor.below(32) : cursor.size(SIZE_MAX);
    if (rises() && offsets.back() > data.size() && offsets.back() <= PTRDIFF_MAX / bytes) offsets.back() = SIZE_MAX;
}

uform_tape_view_t items_t::view(cursor_t &cursor, uform_scalar_t scalar, rules_t &rules) {
    std::size_t const bytes = uform_scalar_bytes(scalar);
    if (bytes > 1) data.resize(data.size() * bytes);
    if (cursor.hostile()) spoil_offset(cursor, bytes);
    uform_tape_view_t view {data.data(), offsets.data(), cursor.coin() ? scalar : uform_scalar_default_k};
    if (cursor.hostile()) view.data = nullptr;
    if (cursor.hostile()) view.offsets = nullptr;
    if (cursor.hostile()) view.scalar = cursor.enumerator(uform_scalar_u64_k);
    rules.refuse_if(view.scalar != uform_scalar_default_k && view.scalar != scalar);
    if (count == 0) return view;
    rules.refuse_if(!view.offsets || !rises() || offsets.back() > PTRDIFF_MAX / bytes);
    rules.refuse_if(!view.data && offsets.back() != offsets.front());
    return view;
}

uform_bytes_view_t path_t::view(cursor_t &cursor, world_t const &world, rules_t &rules, bool optional) {
    std::string const paths[] = {optional ? "" : world.checkpoint_path,
                                 world.checkpoint_path,
                                 world.folder,
                                 world.folder + "/absent/file",
                                 world.folder + "/" + std::string(5000, 'x'),
                                 world.checkpoint_path + std::string(1, '\0'),
                                 std::string("\0", 1),
                                 ""};
    std::size_t const kind = cursor.below(std::size(paths));
    text = paths[kind];
    bool const good = text.empty() ? optional : text == world.checkpoint_path;
    rules.refuse_if(text.find('\0') != std::string::npos || (text.empty() && !optional));
    rules.open_if(!good);
    uform_bytes_view_t view {text.data(), text.size()};
    if (!cursor.hostile()) return view;
    view.data = nullptr; // or a length beyond any memory
    if (cursor.coin()) view.data = text.data(), view.length = SIZE_MAX - cursor.byte();
    rules.refuse_if(view.length != 0);
    rules.open_if(true);
    return view;
}

std::size_t const *nodes_t::draw(cursor_t &cursor, std::size_t &count, rules_t &rules) {
    constexpr std::size_t choices[] = {0, 1, 63, 64, 1023, 1024, SIZE_MAX, std::size_t(PTRDIFF_MAX)};
    std::size_t const drawn = cursor.below(4);
    for (std::size_t i = 0; i < drawn; ++i) nodes.push_back(choices[cursor.below(std::size(choices))]);
    count = drawn;
    rules.open_if(drawn); // which nodes there are is the machine's to say
    rules.refuse_if(std::count_if(nodes.begin(), nodes.end(), [](std::size_t node) { return node > 1 << 20; }));
    if (drawn && !cursor.hostile()) return nodes.data();
    if (drawn == 0 && cursor.hostile()) count = cursor.size(1);
    rules.refuse_if(count);
    return nullptr;
}

} // namespace uform_fuzz
