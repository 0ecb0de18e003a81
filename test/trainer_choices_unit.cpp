/**
 *  @file trainer_choices_unit.cpp
 *  @brief Choices in a run: scored as they are served, at any number of threads, beside a pool that does not see them.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <uform/encoder/model.hpp>
#include <uform/uform.h>
#include <uform/utilities/executor.hpp>

namespace {

constexpr size_t hidden_k = 128, columns_k = 48;

/** Everything the tests write, gone with the program. */
struct folder_t {
    std::filesystem::path const path =
        std::filesystem::temp_directory_path() / ("uform-choosing-" + std::to_string(::getpid()));
    folder_t() { std::filesystem::create_directories(path); }
    ~folder_t() { std::filesystem::remove_all(path); }
};
std::string temporary(char const *name) {
    static folder_t const folder;
    return (folder.path / name).string();
}
uform_bytes_view_t view(std::string const &text) {
    return {reinterpret_cast<unsigned char const *>(text.data()), text.size()};
}
std::string read_file(std::string const &path) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
}

struct question_t {
    std::string text, choices;
    std::vector<float> targets;
    uint32_t group = 0;
};

/** Two texts that choose nothing, among questions: empty, of one choice, of a row's length, one byte longer. */
std::vector<question_t> questions() {
    return {{"is it so? ", "yn", {0.75f, 0.25f}, 0},
            {"plain text", "", {}, 0},
            {"", "ab", {0.125f, 0.875f}, 1},
            {std::string(columns_k - 1, 'q'), "0123", {0.5f, 0.25f, 0.25f, 0}, 2},
            {std::string(columns_k, 'r'), "dcba", {0, 1, 0, 0}, 1},
            {"certain", "z", {1}, 2},
            {"more of it", "", {}, 0},
            {std::string("\0\xff", 2), std::string("\xff\0y", 3), {0.5f, 0.5f, 0}, 2}};
}

/** A step's arguments in storage of their own; item i attracts the one after it. */
struct batch_t {
    std::string texts, choices;
    std::vector<size_t> text_offsets {0}, choice_offsets {0}, edge_offsets {0};
    std::vector<float> targets;
    std::vector<uint32_t> groups, edges;

    explicit batch_t(std::vector<question_t> const &questions) {
        for (size_t i = 0; i < questions.size(); ++i) {
            question_t const &question = questions[i];
            texts += question.text, choices += question.choices;
            targets.insert(targets.end(), question.targets.begin(), question.targets.end());
            text_offsets.push_back(texts.size()), choice_offsets.push_back(choices.size());
            groups.push_back(question.group);
            edges.push_back(uint32_t((i + 1) % questions.size()));
            edge_offsets.push_back(edges.size());
        }
    }
    void operator()(uform_trainer_step_t &call) const {
        call.count = groups.size(), call.contents = {texts.data(), text_offsets.data(), uform_scalar_u8_k};
        call.choices = {choices.data(), choice_offsets.data(), uform_scalar_u8_k};
        call.choice_targets = {targets.data(), choice_offsets.data(), uform_scalar_f32_k};
        call.temperature_groups = groups.data();
        call.relations.attract = {edge_offsets.data(), edges.data(), nullptr};
    }
};

struct run_t {
    uform_executor_t executor = nullptr;
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome {};
    uform_trainer_step_stats_t stats {};

    explicit run_t(uform_objective_t objective, size_t threads = 1, std::string const &initial = "", size_t steps = 12,
                   uint64_t seed = 7, std::string const &resume = "") {
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = threads;
        uform_executor_for_ram(&make);
        expect_success();
        uform_trainer_init_ram_t init {};
        init.trainer = &trainer, init.executor = executor, init.outcome = &outcome, init.initial = view(initial);
        init.resume = view(resume), init.depth = 2, init.hidden = hidden_k, init.objective = objective;
        init.seed = seed, init.batch.max_rows_per_device = 256, init.batch.max_segments_per_device = 256;
        init.batch.max_columns_per_row = columns_k, init.batch.max_choices_per_item = 10;
        init.contrastive.temperature_groups = 3;
        init.choices.weight = 2, init.choices.brier_weight = 0.5f, init.choices.temperature_groups = 3;
        init.masking.token_mask_probability = 1e-30f; // so that masked runs show every byte
        init.schedule.steps = steps, init.schedule.learning_rate = 3e-3f, init.schedule.warmup_steps = 2;
        uform_trainer_init_ram(&init);
        expect_success();
    }
    ~run_t() { uform_trainer_free(trainer), uform_executor_free(executor); }

    void expect_success() { ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail; }

    template <typename change_>
    void step(change_ const &change, uform_rows_t *embeddings = nullptr, uform_arena_t arena = nullptr) {
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.stats = &stats;
        call.embeddings = embeddings, call.arena = arena;
        change(call);
        uform_trainer_step(&call);
        expect_success();
    }
    std::string save(char const *name) {
        std::string const path = temporary(name);
        uform_trainer_save_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.path = view(path);
        call.optimizer = true;
        uform_trainer_save(&call);
        expect_success();
        return path;
    }
};

/** Probabilities that a checkpoint serves, one for each choice of all questions. */
std::vector<float> served(std::string const &path, std::vector<question_t> const &questions) {
    batch_t const batch(questions);
    uform_outcome_t outcome {};
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &outcome, load.path = view(path);
    uform_model_load_ram(&load);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    uform_arena_t arena = nullptr;
    uform_arena_init_t init {&arena, nullptr, &outcome};
    uform_arena_init(&init);
    uform_rows_tape_t rows {};
    uform_text_choose_t call {};
    call.model = model, call.outcome = &outcome, call.count = questions.size(), call.probabilities = &rows;
    call.texts = {batch.texts.data(), batch.text_offsets.data(), uform_scalar_u8_k};
    call.choices = {batch.choices.data(), batch.choice_offsets.data(), uform_scalar_u8_k};
    call.temperature_groups = batch.groups.data(), call.arena = arena;
    uform_text_choose(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    float const *data = static_cast<float const *>(rows.data);
    std::vector<float> probabilities(data, data + rows.count);
    uform_arena_free(arena), uform_model_free(model);
    return probabilities;
}

/** The file with the temperatures of its three groups replaced. */
std::string with_temperatures(std::string const &path, std::vector<float> const &values) {
    std::string bytes = read_file(path);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    size_t const name = bytes.find("\"choices.inverse_temperatures\""), at = bytes.find("\"data_offsets\":[", name);
    EXPECT_LT(at, header);
    size_t const begin = 8 + header + std::stoull(bytes.substr(at + 16));
    std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(float));
    std::string const changed = temporary("tempered.safetensors");
    std::ofstream(changed, std::ios::binary) << bytes;
    return changed;
}

TEST(trainer_choices_unit, loss_is_of_what_is_served) {
    auto const asked = questions();
    std::string fresh;
    {
        run_t run(uform_objective_contrastive_k);
        fresh = run.save("fresh.safetensors");
    }
    std::string const initial = with_temperatures(fresh, {1, 0.5f, 3});
    for (uform_objective_t const objective :
         {uform_objective_t(uform_objective_contrastive_k), uform_objective_t(uform_objective_masked_k)}) {
        run_t run(objective, 2, initial);
        run.step(batch_t(asked));
        std::vector<float> const probabilities = served(initial, asked);
        double sum = 0;
        size_t at = 0;
        for (question_t const &question : asked)
            for (float const target : question.targets) {
                double const p = probabilities[at++], error = p - target;
                sum += (target ? -target * std::log(p) : 0) + 0.5 * error * error;
            }
        double const expected = sum / 6; // questions that choose
        // A float's rounding in p, in its logarithm, and of sums of ten terms.
        EXPECT_NEAR(run.stats.choices_loss, expected, 16 * 0x1p-24 * (1 + expected));
        EXPECT_NEAR(run.stats.loss, 2 * run.stats.choices_loss + run.stats.contrastive_loss, 1e-5 * run.stats.loss);
        EXPECT_EQ(run.stats.masked_text_loss, 0) << "nothing is covered";
        EXPECT_EQ(run.stats.truncated, 1u);
        EXPECT_EQ(run.stats.tokens, 11u + 10 + 1 + columns_k + columns_k + 8 + 10 + 3);
        std::string const saved = read_file(run.save("stepped.safetensors"));
        float kept[3];
        uint64_t header = 0;
        std::memcpy(&header, saved.data(), 8);
        size_t const name = saved.find("\"choices.inverse_temperatures\""), offsets = saved.find("offsets\":[", name);
        std::memcpy(kept, saved.data() + 8 + header + std::stoull(saved.substr(offsets + 10)), sizeof kept);
        std::vector<float> const held(kept, kept + 3); // for calibration to fit
        EXPECT_EQ(held, (std::vector<float> {1, 0.5f, 3}));
    }
}

/** Means of states without the MASK, by hand: a fresh pool weighs tokens alike, and its output starts at zero. */
std::vector<std::vector<double>> pooled_by_hand(std::string const &path, std::vector<question_t> const &asked) {
    using namespace uform;
    executor_t executor;
    checkpoint_t checkpoint;
    model_t model;
    lane_t lane;
    EXPECT_FALSE(executor.start(1, uform_cpu_class_serial_k, nullptr));
    EXPECT_FALSE(checkpoint.open(path));
    EXPECT_FALSE(model.load(checkpoint, {.cpu_class = uform_cpu_class_serial_k, .domains = {}}, executor, {}));
    std::vector<std::vector<double>> rows;
    for (question_t const &question : asked) {
        lane.scratch.reset();
        std::span<unsigned char const> const text {(unsigned char const *)question.text.data(), question.text.size()};
        text_batch_t<float> batch;
        states_t<float> states;
        auto const text_of = [&](std::size_t) { return text; };
        bool const asks = !question.choices.empty();
        EXPECT_TRUE(asks ? pack_questions(lane, model.rotary, 1, text_of, batch)
                         : pack_texts(lane, model.rotary, 1, text_of, batch));
        std::size_t const tokens = batch.items.tokens();
        EXPECT_TRUE(states.claim(lane, model.options.geometry, tokens));
        float *const x = lane.claim<float>(tokens * hidden_k);
        tower_forward(*model.kit, lane, model.tower.weights, batch, residuals_t<float> {x, 0}, states);
        std::vector<double> row(hidden_k);
        double squares = 0;
        std::size_t const read = std::max<std::size_t>(tokens - asks, 1);
        for (std::size_t token = 0; token < read; ++token)
            for (std::size_t j = 0; j < hidden_k; ++j) row[j] += widen(states.states[token * hidden_k + j]);
        for (double const value : row) squares += value * value;
        for (double &value : row) value /= std::sqrt(squares);
        rows.push_back(row);
    }
    return rows;
}

TEST(trainer_choices_unit, the_pool_does_not_see_the_mask) {
    auto const asked = questions();
    run_t run(uform_objective_contrastive_k);
    std::string const fresh = run.save("pooled.safetensors");
    uform_arena_t arena = nullptr;
    uform_arena_init_t init {&arena, run.executor, &run.outcome};
    uform_arena_init(&init);
    uform_rows_t rows {};
    run.step(batch_t(asked), &rows, arena);
    auto const expected = pooled_by_hand(fresh, asked);
    ASSERT_EQ(rows.count, asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
        float const *row = static_cast<float const *>(rows.data) + i * hidden_k;
        double cosine = 0;
        for (size_t j = 0; j < hidden_k; ++j) cosine += row[j] * expected[i][j];
        // States of two classes differ by BFloat16 roundings, 2^-9 of each, through two blocks; a MASK read as well
        // would be one state in a few, of another direction.
        EXPECT_GT(cosine, 1 - 0x1p-12) << i << ", " << asked[i].text;
    }
    uform_arena_free(arena);
}

TEST(trainer_choices_unit, threads_change_no_bit) {
    std::string saved[4];
    size_t const threads[] = {1, 2, 3, 9};
    auto const asked = questions();
    std::vector<question_t> many;
    for (size_t i = 0; i < 96; ++i) many.push_back(asked[i * 5 % asked.size()]); // several chunks, several slabs
    for (int i = 0; i < 4; ++i) {
        run_t run(uform_objective_joint_k, threads[i]);
        for (int step = 0; step < 3; ++step) run.step(batch_t(many));
        saved[i] = read_file(run.save("threads.safetensors"));
        ASSERT_FALSE(saved[i].empty());
    }
    EXPECT_TRUE(saved[0] == saved[1]);
    EXPECT_TRUE(saved[0] == saved[2]);
    EXPECT_TRUE(saved[0] == saved[3]);
}

TEST(trainer_choices_unit, resume_equals_never_stopping) {
    batch_t const batch(questions());
    run_t whole(uform_objective_joint_k), half(uform_objective_joint_k);
    for (int step = 0; step < 4; ++step) whole.step(batch);
    for (int step = 0; step < 2; ++step) half.step(batch);
    run_t rest(uform_objective_joint_k, 2, "", 12, 7, half.save("half.safetensors"));
    for (int step = 2; step < 4; ++step) rest.step(batch);
    EXPECT_TRUE(read_file(whole.save("whole.safetensors")) == read_file(rest.save("rest.safetensors")));
}

/** The same items in another order, edges with them: what goes back to a MASK's neighbours must not depend on place. */
TEST(trainer_choices_unit, order_of_items_changes_roundings_alone) {
    auto const asked = questions();
    std::vector<question_t> const turned(asked.rbegin(), asked.rend());
    batch_t const given(asked);
    batch_t other(turned);
    size_t const count = asked.size();
    for (size_t i = 0; i < count; ++i) other.edges[i] = uint32_t((i + count - 1) % count);
    run_t first(uform_objective_contrastive_k), second(uform_objective_contrastive_k);
    first.step(given), second.step(other);
    // As training.md asks of the same batch in another split: 1e-5 of the norm, and of each loss.
    EXPECT_NEAR(first.stats.choices_loss, second.stats.choices_loss, 1e-5 * first.stats.choices_loss);
    EXPECT_NEAR(first.stats.contrastive_loss, second.stats.contrastive_loss, 1e-5 * first.stats.contrastive_loss);
    EXPECT_NEAR(first.stats.gradient_norm, second.stats.gradient_norm, 1e-5 * first.stats.gradient_norm);
}

/** A coin that the text names: a letter and a digit d show 'h' with probability (d + 1) / 11. */
question_t coin(uint64_t &state, char first, char last, bool tossed) {
    auto const draw = [&] {
        return state = state * 6364136223846793005u + 1442695040888963407u, double(state >> 11) * 0x1p-53;
    };
    int const digit = int(draw() * 10);
    char const letter = char(first + int(draw() * (last - first + 1)));
    float const heads = float(digit + 1) / 11, shown = tossed ? float(draw() < heads) : heads;
    return {std::string {letter, char('0' + digit)}, digit % 2 ? "ht" : "th",
            digit % 2 ? std::vector<float> {shown, 1 - shown} : std::vector<float> {1 - shown, shown}};
}

TEST(trainer_choices_unit, tossed_coins_teach_their_odds) {
    for (uint64_t const seed : {1, 2, 3}) {
        run_t run(uform_objective_masked_k, 2, "", 120, seed);
        uint64_t state = seed;
        for (int step = 0; step < 120; ++step) {
            std::vector<question_t> tosses;
            for (int i = 0; i < 128; ++i) tosses.push_back(coin(state, 'a', 'm', true));
            run.step(batch_t(tosses));
        }
        std::vector<question_t> held; // letters never seen
        for (int i = 0; i < 200; ++i) held.push_back(coin(state, 'n', 'z', false));
        std::vector<float> const probabilities = served(run.save("coins.safetensors"), held);
        double error = 0;
        for (size_t i = 0; i < held.size(); ++i) {
            size_t const top = 2 * i + (probabilities[2 * i + 1] > probabilities[2 * i]);
            error += std::fabs(probabilities[top] - held[i].targets[top - 2 * i]) / double(held.size());
        }
        EXPECT_LT(error, 0.05) << "seed " << seed; // of the top choice's probability, no bins to cancel in
    }
}

} // namespace
