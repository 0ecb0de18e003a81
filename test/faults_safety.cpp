/**
 *  @file faults_safety.cpp
 *  @brief Memory that runs out at every allocation of every verb: a refusal each time, and everything as it was before.
 *
 *  A row of `verbs()` is a call with all it needs. It is made afresh for every allocation the call makes, on whichever
 *  thread, and that allocation fails: alone, with the next two, or with all that follow. The call then ends `out_of_memory` with its outputs
 *  untouched and its handles NULL, or with the answer it always gives, where it found another way. Called again with
 *  memory at hand it gives that answer, and once its handles are freed nothing it allocated is left.
 *
 *  A verb is added as a `scene_t` and a row. Under a sanitizer fewer allocations are seen: watched_allocations.hpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"
#include "watched_allocations.hpp"

namespace {

using namespace uform;
using namespace uform::test;

std::string read_file(std::filesystem::path const &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class folder_t {
    std::filesystem::path path_;

  public:
    folder_t() {
        std::string name = (std::filesystem::temp_directory_path() / "uform-faults-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        path_ = name;
    }
    ~folder_t() { std::filesystem::remove_all(path_); }
    std::string file(char const *name) const { return (path_ / name).string(); }
    /** Names and contents of all files. */
    std::map<std::string, std::string> contents() const {
        std::map<std::string, std::string> found;
        for (auto const &entry : std::filesystem::directory_iterator(path_))
            found[entry.path().filename().string()] = read_file(entry.path());
        return found;
    }
    std::string listed() const {
        std::string all;
        for (auto const &[name, bytes] : contents()) all += name + ":" + std::to_string(bytes.size()) + ":" + bytes;
        return all;
    }
};

/** Sets an output to what no verb writes, or says whether it still is. */
template <typename output_>
void poison(output_ &output) {
    std::memset(static_cast<void *>(&output), 0x5a, sizeof(output));
}
template <typename output_>
bool is_poisoned(output_ const &output) {
    output_ poisoned;
    poison(poisoned);
    return std::memcmp(&output, &poisoned, sizeof(output)) == 0;
}

/** One text that every executor takes whole, on all of its threads, and enough short ones for many chunks. */
text_tape_t mixed_texts() {
    std::vector<std::string> texts {std::string(400, 'w')};
    for (int i = 0; i < 60; ++i) texts.push_back("text number " + std::to_string(i * 7919));
    texts.emplace_back();
    return text_tape_t(texts);
}

model_options_t model_options() {
    model_options_t options;
    options.geometry = {128, 1, 512};
    options.token_width = 32;
    options.decoder = true, options.choice_groups = 2;
    return options;
}

/** What scenes share: a model on disk, in memory and loaded. */
struct world_t {
    checkpoint_fixture_t checkpoint {model_options()};
    std::string bytes = read_file(checkpoint.path());
    uform_model_t model = checkpoint.load();
    uform_model_t quantized = checkpoint.load(nullptr, 0, uform_scalar_e4m3_k);
    ~world_t() { uform_model_free(model), uform_model_free(quantized); }
};
world_t &world() {
    static world_t world;
    return world;
}

/** Calls a verb under refusals and waits for its outcome; whatever the arguments point to was made before. */
template <typename arguments_>
void invoke(void (*verb)(arguments_ *), arguments_ &call, refusals_t refusals) {
    allocations.watch(refusals, [&] { verb(&call), uform_outcome_wait(call.outcome); });
}

uform_executor_t make_executor(std::size_t threads, uform_cpu_class_t cpu_class = 0, bool placed = false) {
    static std::size_t const node[] = {0};
    uform_executor_t executor = nullptr;
    uform_outcome_t outcome;
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.outcome = &outcome, call.threads = threads, call.cpu_class = cpu_class;
    if (placed) call.memory_domains = node, call.memory_domains_count = 1;
    if (threads) uform_executor_for_ram(&call);
    return executor;
}
uform_arena_t make_arena(uform_executor_t executor) {
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome;
    uform_arena_init_t call {&arena, executor, &outcome};
    uform_arena_init(&call);
    return arena;
}

/** A verb about to be called. */
class scene_t {
  public:
    uform_outcome_t outcome {};

    virtual ~scene_t() = default;
    /** Poisons the outputs and invokes the verb. */
    virtual void call(refusals_t refusals) = 0;
    /** Whether a failed call left its outputs alone, or NULL. */
    virtual bool untouched() const = 0;
    /** What the successful call answered, as bytes. */
    virtual std::string answer() = 0;
};

/** Texts through a model. */
class encode_scene_t : public scene_t {
    text_tape_t const tape_ = mixed_texts();
    uform_executor_t executor_;
    uform_arena_t arena_ = make_arena(executor_);
    uform_model_t model_;
    text_outputs_t outputs_;
    int surfaces_;
    uform_completion_t completion_;

  public:
    explicit encode_scene_t(uform_executor_t executor, int surfaces = all_k, uform_completion_t completion = 0,
                            uform_model_t model = world().model)
        : executor_(executor), model_(model), surfaces_(surfaces), completion_(completion) {}
    ~encode_scene_t() override { uform_arena_free(arena_), uform_executor_free(executor_); }

    void call(refusals_t refusals) override {
        poison(outputs_);
        uform_text_encode_t call = outputs_.ask(model_, tape_, surfaces_);
        call.executor = executor_, call.outcome = &outcome, call.completion = completion_, call.arena = arena_;
        invoke(uform_text_encode, call, refusals);
    }
    bool untouched() const override { return is_poisoned(outputs_); }
    std::string answer() override { return std::to_string(outputs_.stats.tokens) + outputs_.bytes(surfaces_); }
};

/** A byte for each text, of up to seventy legal ones; some have none. */
class choose_scene_t : public scene_t {
    text_tape_t const texts_ = mixed_texts();
    text_tape_t choices_;
    std::vector<std::uint32_t> groups_;
    uform_executor_t executor_;
    uform_arena_t arena_ = make_arena(executor_);
    uform_rows_tape_t probabilities_;
    uform_text_choose_stats_t stats_;
    uform_completion_t completion_;

  public:
    explicit choose_scene_t(std::size_t threads, uform_completion_t completion = 0)
        : executor_(make_executor(threads)), completion_(completion) {
        for (std::size_t i = 0; i < texts_.count(); ++i) {
            std::string legal;
            for (std::size_t byte = 0; byte < i * 29 % 71; ++byte) legal.push_back(char(byte * 3 + i));
            choices_.append(legal), groups_.push_back(i % 2);
        }
    }
    ~choose_scene_t() override { uform_arena_free(arena_), uform_executor_free(executor_); }

    void call(refusals_t refusals) override {
        poison(probabilities_), poison(stats_);
        uform_text_choose_t call {};
        call.model = world().model, call.executor = executor_, call.outcome = &outcome, call.completion = completion_;
        call.texts = texts_.view(), call.choices = choices_.view(), call.temperature_groups = groups_.data();
        call.count = texts_.count(), call.probabilities = &probabilities_, call.arena = arena_, call.stats = &stats_;
        invoke(uform_text_choose, call, refusals);
    }
    bool untouched() const override { return is_poisoned(probabilities_) && is_poisoned(stats_); }
    std::string answer() override { return std::to_string(stats_.tokens) + bytes_of_rows(probabilities_); }
};

/** Documents shorter and longer than a block of staged rows, of a width that kernels stage as well. Rows are so wide that
 *  every claim of theirs opens a block of scratch of its own. */
class rerank_scene_t : public scene_t {
    static constexpr std::size_t tokens_k = 70, width_k = 521;
    uform_scalar_t scalar_;
    std::vector<std::size_t> offsets_ {0};
    std::string query_, documents_;
    uform_executor_t executor_;
    uform_arena_t arena_ = make_arena(executor_);
    uform_rows_t scores_;
    uform_completion_t completion_;

  public:
    rerank_scene_t(std::size_t threads, uform_scalar_t scalar, uform_completion_t completion = 0)
        : scalar_(scalar), query_(drawn_vectors(tokens_k * width_k, scalar)), executor_(make_executor(threads)),
          completion_(completion) {
        for (std::size_t rows : {1, 300, 7, 256, 64, 2}) offsets_.push_back(offsets_.back() + rows);
        documents_ = drawn_vectors(offsets_.back() * width_k, scalar);
    }
    ~rerank_scene_t() override { uform_arena_free(arena_), uform_executor_free(executor_); }

    void call(refusals_t refusals) override {
        poison(scores_);
        std::size_t const stride = width_k * uform_scalar_bytes(scalar_);
        uform_rerank_t call {};
        call.executor = executor_, call.outcome = &outcome, call.completion = completion_;
        call.query = {query_.data(), tokens_k, width_k, stride, scalar_};
        call.documents = {documents_.data(), offsets_.back(), width_k, stride, scalar_, offsets_.data()};
        call.count = offsets_.size() - 1, call.scores = &scores_, call.arena = arena_;
        invoke(uform_rerank, call, refusals);
    }
    bool untouched() const override { return is_poisoned(scores_); }
    std::string answer() override { return bytes_of_rows(scores_); }
};

/** What the shared model, or another, answers on an executor that is handed over. */
std::string encode_on(uform_executor_t executor, uform_model_t model = world().model) {
    encode_scene_t scene(executor, embeddings_k, uform_completion_blocking_k, model);
    scene.call({});
    EXPECT_EQ(scene.outcome.status, uform_status_success_k) << scene.outcome.message;
    return scene.answer();
}

class executor_scene_t : public scene_t {
    uform_executor_t executor_ = nullptr;
    std::size_t threads_;
    bool placed_;

  public:
    explicit executor_scene_t(std::size_t threads, bool placed = false) : threads_(threads), placed_(placed) {}
    ~executor_scene_t() override { uform_executor_free(executor_); }
    void call(refusals_t refusals) override {
        static std::size_t const node[] = {0};
        uform_executor_for_ram_t call {};
        poison(executor_);
        call.executor = &executor_, call.outcome = &outcome, call.threads = threads_;
        if (placed_) call.memory_domains = node, call.memory_domains_count = 1;
        invoke(uform_executor_for_ram, call, refusals);
    }
    bool untouched() const override { return !executor_; }
    std::string answer() override { return encode_on(std::exchange(executor_, nullptr)); }
};

class arena_scene_t : public scene_t {
    uform_arena_t arena_ = nullptr;

  public:
    ~arena_scene_t() override { uform_arena_free(arena_); }
    void call(refusals_t refusals) override {
        poison(arena_);
        uform_arena_init_t call {&arena_, nullptr, &outcome};
        invoke(uform_arena_init, call, refusals);
    }
    bool untouched() const override { return !arena_; }
    std::string answer() override { return arena_ ? "an arena" : "none"; }
};

/** A model from a file, or from bytes; `offset` moves the bytes off their alignment, so that they are copied. */
class load_scene_t : public scene_t {
    uform_executor_t executor_;
    uform_model_t model_ = nullptr;
    uform_completion_t completion_;
    uform_scalar_t quantization_;
    std::string bytes_; // empty: from the file
    std::size_t offset_ = 0;

  public:
    explicit load_scene_t(std::size_t threads, uform_completion_t completion = 0, uform_scalar_t quantization = 0)
        : executor_(make_executor(threads)), completion_(completion), quantization_(quantization) {}
    load_scene_t(std::size_t threads, std::size_t offset, uform_scalar_t quantization = 0)
        : executor_(make_executor(threads)), completion_(0), quantization_(quantization), bytes_(offset, ' '),
          offset_(offset) {
        bytes_ += world().bytes;
    }
    ~load_scene_t() override { uform_model_free(model_), uform_executor_free(executor_); }

    void call(refusals_t refusals) override {
        poison(model_);
        uform_model_load_ram_t call {};
        call.model = &model_, call.executor = executor_, call.outcome = &outcome, call.completion = completion_;
        call.path = view(world().checkpoint.path()), call.quantization = quantization_;
        uform_model_load_ram_buffer_t from_bytes {};
        from_bytes.model = &model_, from_bytes.executor = executor_, from_bytes.outcome = &outcome;
        from_bytes.quantization = quantization_;
        from_bytes.buffer = {bytes_.data() + offset_, bytes_.size() - offset_};
        if (bytes_.empty())
            invoke(uform_model_load_ram, call, refusals);
        else
            invoke(uform_model_load_ram_buffer, from_bytes, refusals);
    }
    bool untouched() const override { return !model_; }
    std::string answer() override { return encode_on(nullptr, model_); }
};

class describe_scene_t : public scene_t {
    uform_model_description_t description_;

  public:
    void call(refusals_t refusals) override {
        poison(description_);
        uform_model_describe_t call {world().model, &outcome, &description_};
        invoke(uform_model_describe, call, refusals);
    }
    bool untouched() const override { return is_poisoned(description_); }
    std::string answer() override { return std::to_string(description_.memory_usage); }
};

class drain_scene_t : public scene_t {
    uform_executor_t executor_ = make_executor(2);

  public:
    ~drain_scene_t() override { uform_executor_free(executor_); }
    void call(refusals_t refusals) override {
        uform_executor_drain_t call {executor_, &outcome, uform_mood_parked_k};
        invoke(uform_executor_drain, call, refusals);
    }
    bool untouched() const override { return true; }
    std::string answer() override { return "drained"; }
};

/** What a run is made of; `resume` and `initial` may be empty. */
struct run_t {
    uform_executor_t executor;
    uform_objective_t objective;
    uform_trainer_t trainer = nullptr;
    text_tape_t contents {{"one", "two", "three", "a text that is cut, being longer than a row of the batch", "five",
                           "six", "uno", "dos", "tres", "cuatro", "cinco", "seis"}};
    uform_rows_tape_t token_vectors {}; // of joint steps, which train by late interaction too

    explicit run_t(std::size_t threads, uform_objective_t objective = uform_objective_joint_k,
                   uform_cpu_class_t cpu_class = 0)
        : executor(make_executor(threads, cpu_class)), objective(objective) {}
    ~run_t() { uform_trainer_free(trainer), uform_executor_free(executor); }

    void init(uform_outcome_t &outcome, refusals_t refusals = {}, std::string const &resume = "",
              std::string const &initial = "") {
        static std::size_t const widths[] = {64, 128};
        poison(trainer);
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.resume = view(resume);
        call.initial = view(initial), call.depth = 1, call.hidden = 128, call.objective = objective, call.seed = 7;
        call.batch.max_segments_per_device = 16, call.batch.max_columns_per_row = 32;
        call.batch.max_rows_per_device = 2; // some items are dropped
        call.contrastive.pair_loss = uform_pair_loss_form_softmax_k;
        call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 2;
        call.regularizers.coding_rate_weight = 0.02f, call.regularizers.lipschitz_weight = 0.01f;
        call.choices.weight = 0.5f, call.choices.brier_weight = 1, call.batch.max_choices_per_item = 2;
        if (objective == uform_objective_joint_k) call.late_interaction.weight = 0.5f;
        call.schedule.steps = 8;
        std::string const query = "query: ", document = "document: ";
        call.query_prefix = view(query), call.document_prefix = view(document);
        invoke(uform_trainer_init_ram, call, refusals);
    }
    /** Pairs attract, each item's neighbour repels it, one pair of items is left out, and every third item chooses. */
    void step(uform_outcome_t &outcome, refusals_t refusals = {}, uform_rows_t *embeddings = nullptr,
              uform_arena_t arena = nullptr, uform_trainer_step_stats_t *stats = nullptr,
              uform_completion_t completion = 0) {
        std::size_t const count = contents.count();
        std::vector<std::size_t> offsets, ignore_offsets(count + 1, 1);
        std::vector<std::uint32_t> attract, repel, bags;
        std::vector<uform_late_interaction_side_t> sides;
        ignore_offsets[0] = 0;
        std::uint32_t const ignored[] = {5};
        for (std::uint32_t i = 0; i < count; ++i) {
            attract.push_back(std::uint32_t((i + count / 2) % count)), repel.push_back(std::uint32_t((i + 1) % count));
            offsets.push_back(i), bags.push_back(i / 2), sides.push_back(std::int32_t(i % 4));
        }
        offsets.push_back(count);
        std::vector<std::size_t> choice_offsets {0};
        for (std::size_t i = 0; i < count; ++i) choice_offsets.push_back(choice_offsets[i] + (i % 3 ? 0 : 2));
        std::string legal;
        std::vector<float> targets;
        for (std::size_t i = 0; i < count; i += 3) legal += "yn", targets.insert(targets.end(), {0.25f, 0.75f});
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.completion = completion;
        call.choices = {legal.data(), choice_offsets.data(), uform_scalar_u8_k};
        call.choice_targets = {targets.data(), choice_offsets.data(), uform_scalar_f32_k};
        call.count = count, call.contents = contents.view(), call.bags = bags.data();
        call.relations.attract = {offsets.data(), attract.data(), nullptr};
        call.relations.repel = {offsets.data(), repel.data(), nullptr};
        call.relations.ignore = {ignore_offsets.data(), ignored, nullptr};
        call.embeddings = embeddings, call.arena = arena, call.stats = stats, call.sides = sides.data();
        if (objective == uform_objective_joint_k && embeddings) call.token_vectors = &token_vectors;
        invoke(uform_trainer_step, call, refusals);
    }
    void save(uform_outcome_t &outcome, std::string const &path, bool moments = true, refusals_t refusals = {}) {
        uform_trainer_save_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.path = view(path);
        call.optimizer = moments;
        invoke(uform_trainer_save, call, refusals);
    }
    /** Weights and moments as they are written. */
    std::string saved() {
        folder_t folder;
        uform_outcome_t outcome;
        save(outcome, folder.file("run.safetensors"));
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
        return folder.listed();
    }
};

enum class start_t { fresh_k, warm_k, resume_k };

/** A run of one step on disk, with its moments; made once. */
std::string earlier_run() {
    static folder_t const folder;
    static std::string const path = [] {
        run_t run(0);
        uform_outcome_t outcome;
        std::string const path = folder.file("earlier.safetensors");
        run.init(outcome), run.step(outcome), run.save(outcome, path);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
        return path;
    }();
    return path;
}

class init_scene_t : public scene_t {
    run_t run_;
    std::string resume_, initial_;

  public:
    init_scene_t(std::size_t threads, start_t start) : run_(threads) {
        if (start == start_t::resume_k) resume_ = earlier_run();
        if (start == start_t::warm_k) initial_ = earlier_run();
    }
    void call(refusals_t refusals) override { run_.init(outcome, refusals, resume_, initial_); }
    bool untouched() const override { return !run_.trainer; }
    std::string answer() override { return run_.saved(); }
};

class step_scene_t : public scene_t {
    run_t run_;
    uform_arena_t arena_;
    uform_rows_t embeddings_;
    uform_trainer_step_stats_t stats_;
    uform_completion_t completion_;

  public:
    step_scene_t(std::size_t threads, uform_objective_t objective, uform_cpu_class_t cpu_class = 0,
                 uform_completion_t completion = 0)
        : run_(threads, objective, cpu_class), arena_(make_arena(run_.executor)), completion_(completion) {
        run_.init(outcome);
    }
    ~step_scene_t() override { uform_arena_free(arena_); }
    void call(refusals_t refusals) override {
        poison(embeddings_), poison(stats_), poison(run_.token_vectors);
        run_.step(outcome, refusals, run_.objective == uform_objective_masked_k ? nullptr : &embeddings_, arena_,
                  &stats_, completion_);
    }
    bool untouched() const override {
        return is_poisoned(embeddings_) && is_poisoned(stats_) && is_poisoned(run_.token_vectors);
    }
    std::string answer() override {
        std::string bytes(reinterpret_cast<char const *>(&stats_), sizeof(stats_));
        if (run_.objective != uform_objective_masked_k) bytes += bytes_of_rows(embeddings_);
        if (run_.objective == uform_objective_joint_k)
            bytes.append((char const *)run_.token_vectors.data, run_.token_vectors.count * run_.token_vectors.stride);
        return bytes + run_.saved();
    }
};

enum class previous_t { none_k, older_k, same_step_k };

class save_scene_t : public scene_t {
    folder_t folder_;
    run_t run_ {2};
    bool moments_;
    std::string before_;

  public:
    save_scene_t(bool moments, previous_t previous) : moments_(moments) {
        run_.init(outcome), run_.step(outcome);
        if (previous != previous_t::none_k) run_.save(outcome, path());
        if (previous == previous_t::older_k) run_.step(outcome);
        before_ = folder_.listed();
    }
    std::string path() const { return folder_.file("run.safetensors"); }
    void call(refusals_t refusals) override { run_.save(outcome, path(), moments_, refusals); }
    bool untouched() const override { return folder_.listed() == before_; }
    std::string answer() override { return folder_.listed(); }
};

struct verb_t {
    std::string name;
    std::function<std::unique_ptr<scene_t>()> make;
    bool allocates = true;
};

template <typename scene_, typename... arguments_>
verb_t row(std::string name, arguments_... arguments) {
    return {std::move(name), [=] { return std::make_unique<scene_>(arguments...); }};
}
verb_t encode_row(std::string name, std::size_t threads, int surfaces, uform_completion_t completion = 0,
                  uform_cpu_class_t cpu_class = 0, bool placed = false) {
    return {std::move(name), [=] {
                return std::make_unique<encode_scene_t>(make_executor(threads, cpu_class, placed), surfaces,
                                                        completion);
            }};
}

bool can_place() {
    uform_executor_t const executor = make_executor(1, 0, true);
    uform_executor_free(executor);
    return executor;
}

std::vector<verb_t> verbs() {
    constexpr uform_completion_t queued = uform_completion_queued_k;
    constexpr uform_scalar_t e4m3 = uform_scalar_e4m3_k;
    std::vector<verb_t> rows {
        row<executor_scene_t>("executor_for_ram_1", std::size_t(1)),
        row<executor_scene_t>("executor_for_ram_3", std::size_t(3)),
        row<arena_scene_t>("arena_init"),
        row<load_scene_t>("model_load_ram", std::size_t(0)),
        row<load_scene_t>("model_load_ram_3_queued", std::size_t(3), queued),
        row<load_scene_t>("model_load_ram_buffer", std::size_t(2), std::size_t(32)),
        row<load_scene_t>("model_load_ram_buffer_unaligned", std::size_t(0), std::size_t(33)),
        row<load_scene_t>("model_load_ram_e4m3", std::size_t(0), 0, e4m3),
        row<load_scene_t>("model_load_ram_e4m3_3_queued", std::size_t(3), queued, e4m3),
        row<load_scene_t>("model_load_ram_buffer_e4m3", std::size_t(2), std::size_t(32), e4m3),
        row<load_scene_t>("model_load_ram_buffer_e4m3_unaligned", std::size_t(0), std::size_t(33), e4m3),
        encode_row("text_encode_embeddings", 0, embeddings_k),
        encode_row("text_encode_states", 0, states_k),
        encode_row("text_encode_token_vectors", 0, vectors_k),
        encode_row("text_encode_all_1", 1, all_k),
        encode_row("text_encode_all_1_queued", 1, all_k, queued),
        encode_row("text_encode_all_3", 3, all_k),
        encode_row("text_encode_all_3_queued", 3, all_k, queued),
        {"text_encode_e4m3",
         [] { return std::make_unique<encode_scene_t>(make_executor(2), all_k, 0, world().quantized); }},
        row<choose_scene_t>("text_choose_alone", std::size_t(0)),
        row<choose_scene_t>("text_choose_3", std::size_t(3)),
        row<choose_scene_t>("text_choose_3_queued", std::size_t(3), queued),
        row<init_scene_t>("trainer_init_ram_fresh", std::size_t(2), start_t::fresh_k),
        row<init_scene_t>("trainer_init_ram_warm", std::size_t(0), start_t::warm_k),
        row<init_scene_t>("trainer_init_ram_resume", std::size_t(0), start_t::resume_k),
        row<step_scene_t>("trainer_step_contrastive", std::size_t(2), uform_objective_contrastive_k),
        row<step_scene_t>("trainer_step_masked", std::size_t(2), uform_objective_masked_k),
        row<step_scene_t>("trainer_step_joint_alone", std::size_t(0), uform_objective_joint_k),
        // More threads than the model has slabs of gradients: operations are split, not chunks dealt.
        row<step_scene_t>("trainer_step_joint_wide", std::size_t(9), uform_objective_joint_k, 0, queued),
        row<step_scene_t>("trainer_step_joint_serial", std::size_t(2), uform_objective_joint_k,
                          uform_cpu_class_serial_k),
        row<save_scene_t>("trainer_save_first", true, previous_t::none_k),
        row<save_scene_t>("trainer_save_over_older", true, previous_t::older_k),
        row<save_scene_t>("trainer_save_same_step", true, previous_t::same_step_k),
        row<save_scene_t>("trainer_save_weights_alone", false, previous_t::older_k),
        row<describe_scene_t>("model_describe"),
        row<drain_scene_t>("executor_drain"),
    };
    rows[rows.size() - 1].allocates = rows[rows.size() - 2].allocates = false;
    for (uform_scalar_t scalar : {uform_scalar_f32_k, uform_scalar_f16_k, uform_scalar_bf16_k, uform_scalar_i8_k}) {
        std::string const name = std::string("rerank_") + uform_scalar_name(scalar);
        rows.push_back(row<rerank_scene_t>(name + "_alone", std::size_t(0), scalar));
        rows.push_back(row<rerank_scene_t>(name + "_3", std::size_t(3), scalar));
        rows.push_back(row<rerank_scene_t>(name + "_3_queued", std::size_t(3), scalar, queued));
    }
    for (uform_cpu_class_t cpu_class = 1; cpu_class < 64; ++cpu_class)
        if (uform_capabilities().cpu_classes >> cpu_class & 1) {
            std::string name = std::string("text_encode_") + uform_cpu_class_name(cpu_class);
            std::replace(name.begin(), name.end(), '-', '_');
            rows.push_back(encode_row(name, 2, all_k, 0, cpu_class));
        }
    if (can_place()) {
        rows.push_back(row<executor_scene_t>("executor_for_ram_placed", std::size_t(2), true));
        rows.push_back(encode_row("text_encode_placed", 2, all_k, 0, 0, true));
    }
    return rows;
}

/**
 *  What fails from the n-th allocation on. Scratch asks twice, at first for more than it needs, and the exception that a
 *  refused operator new throws within the C++ library is an allocation in between: three refusals fail one claim alone.
 */
struct pattern_t {
    char const *name;
    refusals_t (*refusals)(std::size_t);
};
constexpr pattern_t patterns_k[] = {
#if UFORM_TEST_OWNS_MALLOC // sanitizers are slow, and the others find what one refusal does
    {"alone",
     [](std::size_t number) {
         return refusals_t {number, number};
     }},
#endif
    {"three_in_a_row",
     [](std::size_t number) {
         return refusals_t {number, number + 2};
     }},
    {"all_from",
     [](std::size_t number) {
         return refusals_t {number, SIZE_MAX};
     }},
};

class faults_safety : public testing::TestWithParam<verb_t> {
  protected:
    std::string expected_;

    /** Calls with memory at hand and checks the answer. */
    void expect_answer(scene_t &scene) {
        scene.call({});
        ASSERT_EQ(scene.outcome.status, uform_status_success_k) << scene.outcome.message << scene.outcome.detail;
        std::string const answer = scene.answer();
        if (expected_.empty()) expected_ = answer;
        EXPECT_TRUE(answer == expected_) << "another answer than ever";
    }
    /** Calls under refusals; false where the call allocated too little to meet one. */
    bool fault(refusals_t refusals) {
        std::unique_ptr<scene_t> scene = GetParam().make();
        scene->call(refusals);
        bool const met = allocations.refused() != 0;
        uform_outcome_t const &outcome = scene->outcome;
        if (outcome.status == uform_status_success_k)
            EXPECT_TRUE(scene->answer() == expected_) << "success, with another answer than ever";
        else {
            EXPECT_TRUE(met) << "fails though nothing was refused: " << outcome.message;
            EXPECT_EQ(outcome.status, uform_status_out_of_memory_k) << outcome.message << ": " << outcome.detail;
            EXPECT_TRUE(std::strstr(outcome.message, "memory") || std::strstr(outcome.message, "thread"))
                << outcome.message;
            EXPECT_TRUE(scene->untouched());
            ++refused_;
            expect_answer(*scene);
        }
        scene.reset();
        EXPECT_EQ(allocations.live(), 0u) << "blocks are left behind";
        return met;
    }
    std::size_t refused_ = 0; // calls
};

TEST_P(faults_safety, every_allocation) {
    {
        std::unique_ptr<scene_t> const scene = GetParam().make();
        ASSERT_NO_FATAL_FAILURE(expect_answer(*scene));
    }
    ASSERT_EQ(allocations.live(), 0u);
    std::size_t calls_refused = 0;
    for (pattern_t const &pattern : patterns_k) {
        refused_ = 0;
        std::size_t number = 1;
        for (bool met = true; met; ++number) {
            SCOPED_TRACE(testing::Message() << pattern.name << " " << number);
            met = fault(pattern.refusals(number));
            if (HasFailure()) return;
        }
        RecordProperty(pattern.name, std::to_string(refused_) + " calls of " + std::to_string(number - 2) + " failed");
        calls_refused += refused_;
    }
    EXPECT_EQ(calls_refused != 0, GetParam().allocates);
}

INSTANTIATE_TEST_SUITE_P(verbs, faults_safety, testing::ValuesIn(verbs()),
                         [](auto const &info) { return info.param.name; });

} // namespace
