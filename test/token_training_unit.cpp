/**
 *  @file token_training_unit.cpp
 *  @brief Late interaction through the C ABI: what it learns, its bits on any threads, warm starts, its memory.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <uform/uform.h>
#include <uform/utilities/checkpoint.hpp>

#include "resident_peak.hpp"

namespace {

struct folder_t {
    std::filesystem::path const path =
        std::filesystem::temp_directory_path() / ("uform-tokens-" + std::to_string(::getpid()));
    folder_t() { std::filesystem::create_directories(path); }
    ~folder_t() { std::filesystem::remove_all(path); }
};
std::string temporary(char const *name) {
    static folder_t const folder;
    return (folder.path / name).string();
}
uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }
std::string bytes_of(std::string const &file) {
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return bytes.str();
}

/** Items end to end. */
struct texts_t {
    std::string data;
    std::vector<size_t> offsets {0};

    void add(std::string const &text) { data += text, offsets.push_back(data.size()); }
    size_t count() const { return offsets.size() - 1; }
    uform_tape_view_t view() const { return {data.data(), offsets.data(), uform_scalar_u8_k}; }
};

/** Queries first, then as many documents: six random words, of which the query is one in another alphabet, a fixed
 *  cipher, without which vectors of random weights would already meet. Where the word stands says nothing. */
texts_t words(size_t pairs, std::mt19937 &generator) {
    texts_t texts;
    std::vector<std::string> documents;
    for (size_t pair = 0; pair < pairs; ++pair) {
        size_t const asked = generator() % 6;
        std::string document;
        for (size_t word = 0; word < 6; ++word) {
            std::string letters;
            for (int i = 0; i < 4; ++i) letters += char('a' + generator() % 26);
            std::string asking;
            for (char const letter : letters) asking += char('A' + ((letter - 'a') * 7 + 3) % 26);
            if (word == asked) texts.add(asking);
            document += (word ? " " : "") + letters;
        }
        documents.push_back(document);
    }
    for (std::string const &document : documents) texts.add(document);
    return texts;
}

struct run_t {
    uform_executor_t executor = nullptr;
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome {};
    uform_trainer_step_stats_t stats {};

    template <typename change_>
    run_t(size_t threads, change_ const &change) {
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = threads;
        uform_executor_for_ram(&make);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
        uform_trainer_init_ram_t init {};
        init.trainer = &trainer, init.executor = executor, init.outcome = &outcome, init.seed = 7;
        init.depth = 2, init.hidden = 128, init.objective = uform_objective_contrastive_k;
        init.batch.max_rows_per_device = 512, init.batch.max_segments_per_device = 512;
        init.batch.max_columns_per_row = 64;
        init.contrastive.pair_loss = uform_pair_loss_form_softmax_k, init.contrastive.inverse_temperature = 10;
        init.late_interaction.weight = 1, init.late_interaction.inverse_temperature = 10;
        init.late_interaction.pair_loss = uform_pair_loss_form_softmax_k;
        init.schedule.steps = 300, init.schedule.learning_rate = 3e-3f, init.schedule.warmup_steps = 20;
        change(init);
        uform_trainer_init_ram(&init);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    }
    ~run_t() { uform_trainer_free(trainer), uform_executor_free(executor); }

    /** The first half asks the second, each its own; both ways attract, since pooled rows are scored both ways. */
    void step(texts_t const &texts) {
        step(texts, [](uform_trainer_step_t &) {});
    }
    template <typename change_>
    void step(texts_t const &texts, change_ const &change) {
        size_t const pairs = texts.count() / 2;
        std::vector<uint32_t> ids;
        std::vector<size_t> offsets;
        std::vector<uform_late_interaction_side_t> sides;
        for (size_t i = 0; i <= 2 * pairs; ++i) offsets.push_back(i);
        for (size_t i = 0; i < 2 * pairs; ++i) {
            ids.push_back(uint32_t(i < pairs ? i + pairs : i - pairs));
            sides.push_back(i < pairs ? uform_late_interaction_side_query_k : uform_late_interaction_side_document_k);
        }
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = texts.count();
        call.contents = texts.view(), call.sides = sides.data(), call.stats = &stats;
        call.relations.attract.offsets = offsets.data(), call.relations.attract.ids = ids.data();
        change(call);
        uform_trainer_step(&call);
        ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    }
    void steps(size_t count, size_t pairs, unsigned seed) {
        std::mt19937 generator(seed);
        for (size_t i = 0; i < count; ++i) step(words(pairs, generator));
    }
    std::string save(char const *name) {
        std::string const path = temporary(name);
        uform_trainer_save_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.path = view(path);
        call.optimizer = true;
        uform_trainer_save(&call);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
        return path;
    }
};

void nothing(uform_trainer_init_ram_t &) {}

/** Share of queries whose own document scores highest, by pooled rows and by MaxSim. */
struct found_t {
    double pooled = 0, late = 0;
};
found_t evaluate(run_t &run, std::string const &path, texts_t const &texts, bool has_tokens) {
    uform_model_t model = nullptr;
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome {};
    uform_model_load_ram_t load {};
    load.model = &model, load.executor = run.executor, load.outcome = &outcome, load.path = view(path);
    uform_model_load_ram(&load);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    uform_arena_init_t init {&arena, run.executor, &outcome};
    uform_arena_init(&init);
    uform_rows_t pooled {};
    uform_rows_tape_t vectors {};
    uform_text_encode_t call {};
    call.model = model, call.executor = run.executor, call.outcome = &outcome, call.texts = texts.view();
    call.count = texts.count(), call.arena = arena, call.embeddings = &pooled;
    if (has_tokens) call.token_vectors = &vectors;
    uform_text_encode(&call);
    EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    auto const dot = [](size_t count, float const *a, float const *b) {
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += double(a[i]) * b[i];
        return sum;
    };
    auto const row = [](auto const &rows, size_t index) {
        return reinterpret_cast<float const *>(static_cast<char const *>(rows.data) + index * rows.stride);
    };
    size_t const pairs = texts.count() / 2;
    auto const pooled_score = [&](size_t q, size_t d) {
        return dot(pooled.columns, row(pooled, q), row(pooled, pairs + d));
    };
    auto const late_score = [&](size_t q, size_t d) {
        double sum = 0;
        for (size_t t = vectors.offsets[q]; t < vectors.offsets[q + 1]; ++t) {
            double largest = -2;
            for (size_t s = vectors.offsets[pairs + d]; s < vectors.offsets[pairs + d + 1]; ++s)
                largest = std::max(largest, dot(vectors.columns, row(vectors, t), row(vectors, s)));
            sum += largest;
        }
        return sum;
    };
    auto const recall = [&](auto const &score) {
        size_t hits = 0;
        for (size_t q = 0; q < pairs; ++q) {
            bool first = true;
            for (size_t d = 0; d < pairs && first; ++d) first = d == q || score(q, d) < score(q, q);
            hits += first;
        }
        return double(hits) / double(pairs);
    };
    found_t const found {recall(pooled_score), has_tokens ? recall(late_score) : 0};
    uform_arena_free(arena), uform_model_free(model);
    return found;
}

class token_training_seeds : public testing::TestWithParam<unsigned> {};

TEST_P(token_training_seeds, late_interaction_beats_pooled_where_one_span_matters) {
    constexpr size_t steps = 80, pairs = 32, held_out = 128;
    run_t pooled(1, [](uform_trainer_init_ram_t &init) { init.seed = GetParam(), init.late_interaction.weight = 0; });
    run_t late(1, [](uform_trainer_init_ram_t &init) { init.seed = GetParam(); });
    pooled.steps(steps, pairs, GetParam()), late.steps(steps, pairs, GetParam());
    std::mt19937 generator(99);
    texts_t const texts = words(held_out, generator);
    found_t const alone = evaluate(pooled, pooled.save("pooled.safetensors"), texts, false);
    found_t const both = evaluate(late, late.save("late.safetensors"), texts, true);
    std::printf("R@1 of %zu: %.3f pooled, trained alone; %.3f pooled, %.3f late, trained together\n", held_out,
                alone.pooled, both.pooled, both.late);
    EXPECT_GT(both.late, 0.9);
    EXPECT_GT(both.late, alone.pooled + 0.3);
    EXPECT_GT(both.late, both.pooled + 0.3);
}

INSTANTIATE_TEST_SUITE_P(seeds, token_training_seeds, testing::Values(1, 2, 3));

TEST(token_training_unit, threads_change_no_bit) {
    std::string saved[4];
    float losses[4];
    size_t const threads[] = {1, 2, 3, 9}; // nine are more than slabs: one chunk at a time then goes over all of them
    for (int i = 0; i < 4; ++i) {
        run_t run(threads[i], [](uform_trainer_init_ram_t &init) { init.objective = uform_objective_joint_k; });
        run.steps(3, 40, 3);
        saved[i] = bytes_of(run.save("threads.safetensors")), losses[i] = run.stats.late_interaction_loss;
        ASSERT_FALSE(saved[i].empty());
    }
    EXPECT_GT(losses[0], 0);
    for (int i = 1; i < 4; ++i) {
        EXPECT_TRUE(saved[i] == saved[0]) << threads[i];
        EXPECT_EQ(losses[i], losses[0]) << threads[i];
    }
}

/** Every second length asks yes or no, by what the text is, wherever it stands. */
struct asked_t {
    std::string legal;
    std::vector<float> targets;
    std::vector<size_t> offsets {0};

    explicit asked_t(texts_t const &texts) {
        for (size_t i = 0; i < texts.count(); ++i) {
            if ((texts.offsets[i + 1] - texts.offsets[i]) % 2)
                legal += "yn", targets.insert(targets.end(), {0.75f, 0.25f});
            offsets.push_back(legal.size());
        }
    }
    void add_to(uform_trainer_step_t &call) const {
        call.choices = {legal.data(), offsets.data(), uform_scalar_u8_k};
        call.choice_targets = {targets.data(), offsets.data(), uform_scalar_f32_k};
    }
};

/**
 *  Chunks of 1,024 tokens fall elsewhere when items come in another order; the sums change in their last bits alone.
 *  Where items ask as well, what late interaction reads of a chunk is not where the chunk's own tokens are.
 */
TEST(token_training_unit, where_a_chunk_begins_changes_no_gradient) {
    std::mt19937 generator(2);
    std::vector<std::string> items;
    constexpr size_t pairs = 40;
    for (size_t i = 0; i < 2 * pairs; ++i) {
        std::string text;
        for (size_t byte = 20 + generator() % 44; byte > 0; --byte) text += char('a' + generator() % 26);
        items.push_back(text);
    }
    for (bool const asking : {false, true}) {
        texts_t texts[2];
        float losses[2], norms[2];
        for (size_t order = 0; order < 2; ++order) {
            // Backwards within each half, so that every query keeps its document.
            for (size_t i = 0; i < 2 * pairs; ++i)
                texts[order].add(items[order ? (i < pairs ? pairs - 1 - i : 3 * pairs - 1 - i) : i]);
            run_t run(1, [&](uform_trainer_init_ram_t &init) {
                init.late_interaction.weight = 50;
                if (asking) init.choices.weight = 1, init.batch.max_choices_per_item = 2;
            });
            asked_t const asked(texts[order]);
            run.step(texts[order], [&](uform_trainer_step_t &call) {
                if (asking) asked.add_to(call);
            });
            losses[order] = run.stats.late_interaction_loss, norms[order] = run.stats.gradient_norm;
        }
        EXPECT_GT(texts[0].data.size(), 3 * 1024u);
        // A sum of 3,000 tokens' gradients in another order, each rounded to eight bits on its way as it was before.
        EXPECT_NEAR(losses[1], losses[0], 80 * 0x1p-24 * losses[0]);
        EXPECT_NEAR(norms[1], norms[0], 3000 * 0x1p-24 * norms[0]);
    }
}

TEST(token_training_unit, dropped_items_leave_no_trace) {
    // Two rows of 64: the first two texts fill one each but for four bytes, the third finds no room, the last one does.
    std::string saved[2];
    for (bool const given : {true, false}) {
        texts_t texts;
        for (char const letter : {'a', 'b', 'c'})
            if (given || letter != 'c') texts.add(std::string(60, letter));
        texts.add("dddd");
        std::vector<size_t> const offsets =
            given ? std::vector<size_t> {0, 2, 3, 4, 6} : std::vector<size_t> {0, 1, 2, 3};
        std::vector<uint32_t> const ids =
            given ? std::vector<uint32_t> {1, 2, 3, 0, 0, 2} : std::vector<uint32_t> {1, 2, 0};
        std::vector<uform_late_interaction_side_t> const sides =
            given ? std::vector<uform_late_interaction_side_t> {3, 2, 3, 3}
                  : std::vector<uform_late_interaction_side_t> {3, 2, 3};
        run_t run(1, [](uform_trainer_init_ram_t &init) { init.batch.max_rows_per_device = 2; });
        run.step(texts, [&](uform_trainer_step_t &call) {
            call.count = texts.count(), call.sides = sides.data();
            call.relations.attract = {offsets.data(), ids.data(), nullptr};
        });
        EXPECT_EQ(run.stats.dropped, given ? 1u : 0u);
        EXPECT_GT(run.stats.late_interaction_loss, 0);
        saved[given] = bytes_of(run.save("dropped.safetensors"));
    }
    EXPECT_TRUE(saved[0] == saved[1]);
}

TEST(token_training_unit, a_resumed_run_equals_one_that_never_stopped) {
    run_t whole(1, nothing);
    whole.steps(2, 8, 5);
    std::string const middle = whole.save("middle.safetensors");
    whole.steps(2, 8, 6);
    run_t resumed(2, [&](uform_trainer_init_ram_t &init) { init.resume = view(middle); });
    resumed.steps(2, 8, 6);
    EXPECT_EQ(whole.stats.late_interaction_loss, resumed.stats.late_interaction_loss);
    EXPECT_TRUE(bytes_of(whole.save("whole.safetensors")) == bytes_of(resumed.save("resumed.safetensors")));
}

TEST(token_training_unit, a_run_resumes_with_the_head_it_had) {
    run_t run(1, nothing);
    std::string const path = run.save("headed.safetensors");
    auto const resume = [&](float weight, size_t width) {
        uform_trainer_t trainer = nullptr;
        uform_outcome_t outcome {};
        uform_trainer_init_ram_t init {};
        init.trainer = &trainer, init.outcome = &outcome, init.resume = view(path), init.seed = 7;
        init.depth = 2, init.hidden = 128, init.objective = uform_objective_contrastive_k;
        init.batch.max_rows_per_device = init.batch.max_segments_per_device = 2, init.batch.max_columns_per_row = 64;
        init.late_interaction.weight = weight, init.late_interaction.width = width;
        init.contrastive.pair_loss = init.late_interaction.pair_loss = uform_pair_loss_form_softmax_k;
        init.schedule.steps = 300, init.schedule.learning_rate = 3e-3f, init.schedule.warmup_steps = 20;
        uform_trainer_init_ram(&init);
        uform_trainer_free(trainer);
        EXPECT_EQ(trainer != nullptr, outcome.status == uform_status_success_k);
        return outcome.status == uform_status_config_mismatch_k ? std::string(outcome.detail) : std::string();
    };
    EXPECT_EQ(resume(1, 0), "");
    EXPECT_EQ(resume(1, 64), "late_interaction.width: saved 128, asked 64");
    EXPECT_EQ(resume(0, 0), "late_interaction.weight: saved 1, asked 0");
}

TEST(token_training_unit, a_head_that_initial_lacks_is_drawn_from_the_seed) {
    std::string source, target, drawn;
    {
        run_t run(1, [](uform_trainer_init_ram_t &init) { init.late_interaction.weight = 0, init.seed = 1; });
        source = run.save("source.safetensors");
    }
    auto const biased = [](uform_trainer_init_ram_t &init) {
        init.late_interaction.bias = -0.5f, init.contrastive.temperature_groups = 1;
    };
    {
        run_t run(1, [&](uform_trainer_init_ram_t &init) { biased(init), init.initial = view(source); });
        target = run.save("target.safetensors");
    }
    {
        run_t run(1, biased);
        drawn = run.save("drawn.safetensors");
    }
    uform::checkpoint_t a, b, c;
    ASSERT_FALSE(a.open(source) || b.open(target) || c.open(drawn));
    for (char const *head :
         {"tokens.projection", "late_interaction.log_inverse_temperature", "late_interaction.bias"}) {
        EXPECT_EQ(a.find(head), nullptr);
        ASSERT_TRUE(b.find(head) && c.find(head)) << head;
        EXPECT_TRUE(std::ranges::equal(b.find(head)->data, c.find(head)->data)) << head;
    }
    EXPECT_TRUE(std::ranges::equal(b.find("text.embedding")->data, a.find("text.embedding")->data));
    EXPECT_FALSE(std::ranges::equal(b.find("text.embedding")->data, c.find("text.embedding")->data));
    EXPECT_EQ(b.find("late_interaction.bias")->f32()[0], -0.5f);
    EXPECT_EQ(b.find("late_interaction.log_inverse_temperature")->f32()[0], std::log(10.0f));
    EXPECT_EQ(b.metadata("token_width"), "128");
}

/** The forward that trains is the forward that serves: a step's rows are those of the weights it started from. */
TEST(token_training_unit, scored_rows_are_what_encoding_answers) {
    run_t run(2, nothing);
    run.steps(2, 8, 5);
    std::string const path = run.save("scored.safetensors");
    std::mt19937 generator(4);
    texts_t const texts = words(30, generator);
    uform_arena_t arenas[2];
    uform_outcome_t outcome {};
    for (uform_arena_t &arena : arenas) {
        uform_arena_init_t init {&arena, run.executor, &outcome};
        uform_arena_init(&init);
    }
    uform_rows_t scored {}, encoded {};
    uform_rows_tape_t scored_vectors {}, encoded_vectors {};
    run.step(texts, [&](uform_trainer_step_t &call) {
        call.embeddings = &scored, call.token_vectors = &scored_vectors, call.arena = arenas[0];
    });
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.executor = run.executor, load.outcome = &outcome, load.path = view(path);
    uform_model_load_ram(&load);
    uform_text_encode_t call {};
    call.model = model, call.executor = run.executor, call.outcome = &outcome, call.texts = texts.view();
    call.count = texts.count(), call.arena = arenas[1];
    call.embeddings = &encoded, call.token_vectors = &encoded_vectors;
    uform_text_encode(&call);
    ASSERT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    auto const bytes = [](auto const &rows) {
        std::string all;
        for (size_t i = 0; i < rows.count; ++i)
            all.append(static_cast<char const *>(rows.data) + i * rows.stride, rows.columns * sizeof(float));
        return all;
    };
    EXPECT_EQ(bytes(scored_vectors).size(), texts.data.size() * 128 * sizeof(float));
    EXPECT_TRUE(bytes(scored_vectors) == bytes(encoded_vectors));
    EXPECT_TRUE(
        std::equal(scored_vectors.offsets, scored_vectors.offsets + texts.count() + 1, encoded_vectors.offsets));
    // Unit length by another sum: pooled rows agree to its rounding.
    for (size_t i = 0; i < texts.count() * 128; ++i)
        ASSERT_NEAR(static_cast<float const *>(scored.data)[i], static_cast<float const *>(encoded.data)[i],
                    128 * 0x1p-24);
    uform_model_free(model);
    for (uform_arena_t const arena : arenas) uform_arena_free(arena);
}

/** The most memory that steps of `pairs` pairs of `tokens` tokens each have resident, in bytes. */
size_t peak_of(float weight, size_t pairs, size_t tokens) {
    return uform::test::resident_peak_of([=] {
        run_t run(1, [&](uform_trainer_init_ram_t &init) {
            init.depth = 1, init.late_interaction.weight = weight, init.late_interaction.max_query_span = tokens;
            init.batch.max_columns_per_row = tokens;
        });
        std::mt19937 generator(1);
        texts_t texts;
        for (size_t i = 0; i < 2 * pairs; ++i) {
            std::string text;
            for (size_t byte = 0; byte < tokens; ++byte) text += char('a' + generator() % 26);
            texts.add(text);
        }
        run.step(texts);
        return run.outcome.status == uform_status_success_k && (run.stats.late_interaction_loss > 0) == (weight > 0);
    });
}

/** 128 queries and 128 documents of 256 tokens: 2^30 token pairs, whose products alone would be 4 GiB. */
TEST(token_training_unit, memory_does_not_grow_with_token_pairs) {
    size_t const without = peak_of(0, 128, 256), with = peak_of(1, 128, 256);
    ASSERT_TRUE(without && with);
    std::printf("a step's peak: %.1f MiB without late interaction, %.1f MiB with it\n", without / 0x1p20,
                with / 0x1p20);
    EXPECT_LT(with - std::min(with, without), size_t(256) << 20);
}

} // namespace
