/**
 *  @file train_step.cpp
 *  @brief Every field of `uform_trainer_step` wrong in turn, and what a step says of the items it took.
 */
#include <cmath>

#include "training.hpp"

namespace conformance {
namespace {

using call_t = uform_trainer_step_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto unsupported_k = uform_status_unsupported_k;

TEST(trainer_step, refusals_of_items) {
    executor_t executor;
    make_executor(executor);
    trainer_t trainer;
    start(trainer);
    share_t const share;
    arena_t arena;
    make_arena(arena);
    static uform_rows_t embeddings {};
    static uform_rows_tape_t vectors {};
    static std::size_t const decreasing[] = {0, 4, 3, 5, 6}, seven[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static uform_modality_t const image[] = {0, 0, uform_modality_image_k, 0}, none[] = {-1, 0, 0, 0};
    static std::uint32_t const groups[] = {0, 1, 0, 0};
    expect_refusals<call_t>(
        uform_trainer_step, share.call(trainer),
        {{"no trainer", invalid_k, "trainer", [](call_t &c) { c.trainer = nullptr; }},
         {"a completion below", invalid_k, "completion", [](call_t &c) { c.completion = -1; }},
         {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
         {"another executor", invalid_k, "executor", [&](call_t &c) { c.executor = executor; }},
         {"no items", invalid_k, "count", [](call_t &c) { c.count = 0; }},
         {"no offsets", invalid_k, "contents.offsets", [](call_t &c) { c.contents.offsets = nullptr; }},
         {"offsets that decrease", invalid_k, "contents.offsets", [](call_t &c) { c.contents.offsets = decreasing; },
          1},
         {"no data", invalid_k, "contents.data", [](call_t &c) { c.contents.data = nullptr; }},
         {"contents of another scalar", invalid_k, "contents.scalar",
          [](call_t &c) { c.contents.scalar = uform_scalar_f32_k; }},
         {"more items than fit", uform_status_shape_mismatch_k, "count",
          [](call_t &c) { c.count = 7, c.contents.offsets = seven; }},
         {"an image", unsupported_k, "modalities", [](call_t &c) { c.modalities = image; }, 2},
         {"no modality", unsupported_k, "modalities", [](call_t &c) { c.modalities = none; }, 0},
         {"a group beyond", invalid_k, "temperature_groups", [](call_t &c) { c.temperature_groups = groups; }, 1},
         {"choices", unsupported_k, "choices", [](call_t &c) { c.choices.offsets = decreasing; }},
         {"targets", unsupported_k, "choices", [](call_t &c) { c.choice_targets.offsets = decreasing; }},
         {"embeddings and no arena", invalid_k, "arena", [](call_t &c) { c.embeddings = &embeddings; }},
         {"vectors without a token head", unsupported_k, "token_vectors",
          [&](call_t &c) { c.token_vectors = &vectors, c.arena = arena; }},
         {"landing as no output does", invalid_k, "outputs_scalar",
          [&](call_t &c) { c.embeddings = &embeddings, c.arena = arena, c.outputs_scalar = uform_scalar_u8_k; }},
         {"landing as nothing", invalid_k, "outputs_scalar",
          [&](call_t &c) { c.embeddings = &embeddings, c.arena = arena, c.outputs_scalar = -1; }}});
    EXPECT_EQ(embeddings.data, nullptr);
    call_t call = share.call(trainer);
    uform_trainer_step_stats_t stats;
    call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call)); // it was right but for what was broken
    EXPECT_EQ(stats.step, 1u) << "what is refused counts no step";
}

TEST(trainer_step, sides) {
    // "zwei" and "Hund" ask "two" and "dog", of three tokens each.
    static uform_late_interaction_side_t const pairs[] = {1, 2, 1, 2}, all[] = {3, 3, 3, 3}, below[] = {1, 2, -1, 2},
                                               beyond[] = {1, 2, 1, 4}, short_query[] = {1, 2, 1, 1};
    share_t const share;
    trainer_t trainer, narrow, none;
    auto init = right_init(trainer.out());
    init.late_interaction.weight = 0.5f, init.late_interaction.prefix_tokens = 3;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    expect_refusals<call_t>(
        uform_trainer_step, share.call(trainer),
        {{"a side below", invalid_k, "sides", [](call_t &c) { c.sides = below; }, 2},
         {"a side beyond", invalid_k, "sides", [](call_t &c) { c.sides = beyond; }, 3},
         {"a query of the prefix alone", invalid_k, "sides", [](call_t &c) { c.sides = short_query; }, 3}});
    call_t call = share.call(trainer);
    EXPECT_SUCCESS(answer(uform_trainer_step, call)); // no side at all
    call.sides = pairs;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));

    auto const bounded = [&](std::size_t uform_late_interaction_t::*limit, std::size_t fits) {
        for (std::size_t room : {fits, fits - 1}) {
            trainer_t tight;
            auto init = right_init(tight.out());
            init.late_interaction.weight = 1, init.late_interaction.max_query_span = 3;
            init.late_interaction.*limit = room;
            EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
            call_t call = share.call(tight);
            call.sides = pairs;
            EXPECT_STATUS(answer(uform_trainer_step, call),
                          room == fits ? uform_status_success_k : uform_status_shape_mismatch_k);
        }
    };
    bounded(&uform_late_interaction_t::max_query_tokens_per_device, 6);
    bounded(&uform_late_interaction_t::max_documents_per_device, 2);
    bounded(&uform_late_interaction_t::max_document_tokens_per_device, 6);

    start(none);
    call = share.call(none), call.sides = beyond;
    EXPECT_SUCCESS(answer(uform_trainer_step, call)); // sides are not read without the term
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, [&] {
        auto symmetric = right_init(narrow.out());
        symmetric.late_interaction.weight = 1, symmetric.late_interaction.width = 8;
        return symmetric;
    }()));
    call = share.call(narrow), call.sides = all;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
}

TEST(trainer_step, refusals_of_relations) {
    trainer_t trainer;
    start(trainer);
    share_t const share;
    static std::size_t const decreasing[] = {0, 1, 0, 3, 4}, two[] = {0, 2, 2, 2, 2}, none[] = {2, 2, 2, 2, 2};
    static std::uint32_t const far[] = {1, 0, 4, 2}, descending[] = {2, 1}, twice[] = {1, 1};
    static float const nan[] = {1, NAN, 1, 1}, negative[] = {1, 1, 1, -1}, infinite[] = {INFINITY, 1, 1, 1};
    std::vector<breakage_t<call_t>> breakages;
    for (auto [word, field] :
         {std::pair("attract", &uform_relations_view_t::attract), std::pair("repel", &uform_relations_view_t::repel),
          std::pair("ignore", &uform_relations_view_t::ignore)}) {
        static std::vector<std::string> words; // the table keeps pointers
        words.reserve(64);
        auto const add = [&, field = field](char const *what, std::string const &name, uform_edges_view_t edges,
                                            std::size_t item) {
            words.push_back(name);
            breakages.push_back(
                {what, invalid_k, words.back().c_str(), [=](call_t &c) { c.relations.*field = edges; }, item});
        };
        std::string const set = "relations." + std::string(word);
        std::size_t const *offsets = share.offsets.data();
        std::uint32_t const *ids = share.ids.data();
        add("offsets that decrease", set + ".offsets", {decreasing, ids, nullptr}, 1);
        add("no ids", set + ".ids", {offsets, nullptr, nullptr}, SIZE_MAX);
        add("an id beyond", set + ".ids", {offsets, far, nullptr}, 2);
        add("ids that descend", set + ".ids", {two, descending, nullptr}, 0);
        add("an id twice", set + ".ids", {two, twice, nullptr}, 0);
        if (field == &uform_relations_view_t::ignore) continue; // its weights are not read
        add("a weight that is NaN", set + ".weights", {offsets, ids, nan}, 1);
        add("a weight below zero", set + ".weights", {offsets, ids, negative}, 3);
        add("a weight without end", set + ".weights", {offsets, ids, infinite}, 0);
    }
    breakages.push_back({"no attract", invalid_k, "relations.attract", [](call_t &c) { c.relations.attract = {}; }});
    breakages.push_back({"attract without an edge", invalid_k, "relations.attract",
                         [](call_t &c) { c.relations.attract.offsets = none; }});
    expect_refusals<call_t>(uform_trainer_step, share.call(trainer), breakages);
    call_t call = share.call(trainer);
    call.relations.ignore = {two, (std::uint32_t const[]) {2, 3}, nan};
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
}

/** Two pairs of which the first text and the last choose. */
struct choosing_share_t : share_t {
    tape_t legal {{"yn", "", "", "abcd"}};
    std::vector<std::size_t> target_offsets {0, 2, 2, 2, 6};
    std::vector<float> targets {0.75f, 0.25f, 0, 0, 0.5f, 0.5f};

    call_t call(uform_trainer_t trainer) const {
        call_t call = share_t::call(trainer);
        call.choices = legal.view();
        call.choice_targets = {targets.data(), target_offsets.data(), uform_scalar_f32_k};
        return call;
    }
};

void start_choosing(trainer_t &trainer, uform_objective_t objective) {
    auto init = right_init(trainer.out(), nullptr, objective);
    init.choices.weight = 1, init.choices.temperature_groups = 2, init.batch.max_choices_per_item = 4;
    init.contrastive.temperature_groups = 3;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
}

TEST(trainer_step, refusals_of_choices) {
    trainer_t trainer;
    start_choosing(trainer, uform_objective_joint_k);
    choosing_share_t const share;
    static std::size_t const decreasing[] = {0, 4, 3, 5, 6}, shifted[] = {0, 1, 2, 2, 6}, fewer[] = {0, 2, 2, 2, 5};
    static float const nan[] = {0.75f, 0.25f, NAN, 0, 0.5f, 0.5f}, negative[] = {1.25f, -0.25f, 0, 0, 0.5f, 0.5f},
                       infinite[] = {0.75f, 0.25f, 0, 0, INFINITY, 0}, less[] = {0.75f, 0.245f, 0, 0, 0.5f, 0.5f},
                       more[] = {0.75f, 0.25f, 0, 0.005f, 0.5f, 0.5f}, none[6] = {};
    static std::uint32_t const groups[] = {1, 2, 2, 2};
    tape_t const twice {{"yn", "", "", "abca"}}, many {{"yn", "", "", "abcde"}};
    static std::size_t const five[] = {0, 2, 2, 2, 7};
    static float const of_five[] = {0.75f, 0.25f, 0, 0, 0.5f, 0.5f, 0};
    expect_refusals<call_t>(
        uform_trainer_step, share.call(trainer),
        {{"targets alone", invalid_k, "choices.offsets", [](call_t &c) { c.choices = {}; }},
         {"choices alone", invalid_k, "choice_targets.offsets", [](call_t &c) { c.choice_targets = {}; }},
         {"choices that decrease", invalid_k, "choices.offsets", [](call_t &c) { c.choices.offsets = decreasing; }, 1},
         {"targets that decrease", invalid_k, "choice_targets.offsets",
          [](call_t &c) { c.choice_targets.offsets = decreasing; }, 1},
         {"choices of another scalar", invalid_k, "choices.scalar",
          [](call_t &c) { c.choices.scalar = uform_scalar_f32_k; }},
         {"targets of another scalar", invalid_k, "choice_targets.scalar",
          [](call_t &c) { c.choice_targets.scalar = uform_scalar_bf16_k; }},
         {"choices without data", invalid_k, "choices.data", [](call_t &c) { c.choices.data = nullptr; }},
         {"targets without data", invalid_k, "choice_targets.data", [](call_t &c) { c.choice_targets.data = nullptr; }},
         {"a target for what is not legal", invalid_k, "choice_targets",
          [](call_t &c) { c.choice_targets.offsets = shifted; }, 0},
         {"a choice without a target", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.offsets = fewer; },
          3},
         {"a choice twice", invalid_k, "choices", [&](call_t &c) { c.choices = twice.view(); }, 3},
         {"more choices than fit", uform_status_shape_mismatch_k, "max_choices_per_item",
          [&](call_t &c) {
              c.choices = many.view(), c.choice_targets = {of_five, five, uform_scalar_f32_k};
          },
          3},
         {"a target that is NaN", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = nan; }, 3},
         {"a target below zero", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = negative; }, 0},
         {"a target without end", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = infinite; }, 3},
         {"a sum below one", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = less; }, 0},
         {"a sum above one", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = more; }, 3},
         {"a sum of zero", invalid_k, "choice_targets", [](call_t &c) { c.choice_targets.data = none; }, 0},
         {"a question's group beyond", invalid_k, "choices.temperature_groups",
          [](call_t &c) { c.temperature_groups = groups; }, 3}});
    call_t call = share.call(trainer);
    uform_trainer_step_stats_t stats;
    call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.step, 1u);
    EXPECT_EQ(stats.tokens, 4u + 3 + 4 + 3 + 2) << "two MASKs";
}

TEST(trainer_step, choices_beside_every_objective) {
    static std::uint32_t const groups[] = {1, 2, 2, 0}; // items that do not choose are held to contrastive's count
    static float const nearly[] = {0.75f, 0.2475f, 0, 0, 0.5f, 0.5f};
    for (uform_objective_t objective : std::initializer_list<uform_objective_t> {
             uform_objective_masked_k, uform_objective_contrastive_k, uform_objective_joint_k}) {
        trainer_t trainer;
        start_choosing(trainer, objective);
        choosing_share_t const share;
        call_t call = share.call(trainer);
        uform_trainer_step_stats_t stats;
        call.stats = &stats, call.temperature_groups = groups, call.choice_targets.data = nearly;
        EXPECT_SUCCESS(answer(uform_trainer_step, call)); // sums within 1/256 of one
        EXPECT_EQ(stats.truncated, 0u);
        call.choices = call.choice_targets = {};
        EXPECT_SUCCESS(answer(uform_trainer_step, call)); // though nothing chooses
        EXPECT_EQ(stats.choices_loss, 0);
    }
}

TEST(trainer_step, a_question_gives_up_one_token_of_its_row) {
    trainer_t trainer;
    start_choosing(trainer, uform_objective_masked_k);
    tape_t const texts({std::string(31, 'a'), std::string(32, 'b'), std::string(32, 'c'), ""});
    tape_t const legal({"yn", "yn", "", "yn"});
    static std::size_t const offsets[] = {0, 2, 4, 4, 6};
    static float const targets[] = {1, 0, 0, 1, 0.5f, 0.5f};
    call_t call {};
    uform_trainer_step_stats_t stats;
    call.trainer = trainer, call.count = 4, call.contents = texts.view(), call.choices = legal.view();
    call.choice_targets = {targets, offsets, uform_scalar_f32_k}, call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.truncated, 1u) << "32 bytes and a MASK in a row of 32";
    EXPECT_EQ(stats.tokens, 32u * 3 + 1);
}

TEST(trainer_step, more_edges_than_the_run_allows) {
    trainer_t trainer;
    auto init = right_init(trainer.out());
    init.contrastive.max_edges_per_device = 3;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    share_t const share;
    call_t call = share.call(trainer);
    EXPECT_STATUS(answer(uform_trainer_step, call), uform_status_shape_mismatch_k);
    static std::size_t const three[] = {0, 1, 2, 3, 3};
    call.relations.attract.offsets = three;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    call.relations.ignore = {share.offsets.data(), share.ids.data(), nullptr};
    EXPECT_STATUS(answer(uform_trainer_step, call), uform_status_shape_mismatch_k);
}

TEST(trainer_step, masked_runs_read_no_relations_and_score_no_embeddings) {
    trainer_t trainer;
    start(trainer, nullptr, uform_objective_masked_k);
    share_t const share;
    arena_t arena;
    make_arena(arena);
    static std::uint32_t const groups[] = {9, 9, 9, 9};
    call_t call = share.call(trainer);
    call.relations.attract = {nullptr, nullptr, nullptr}, call.temperature_groups = groups;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    uform_rows_t embeddings {};
    call.embeddings = &embeddings, call.arena = arena;
    EXPECT_STATUS(answer(uform_trainer_step, call), unsupported_k);
    EXPECT_EQ(embeddings.data, nullptr);
}

void expect_finite(uform_trainer_step_stats_t const &stats) {
    for (float value :
         {stats.learning_rate, stats.loss, stats.contrastive_loss, stats.masked_text_loss, stats.masked_image_loss,
          stats.masked_video_loss, stats.masked_audio_loss, stats.late_interaction_loss, stats.choices_loss,
          stats.gradient_norm, stats.coding_rate, stats.lipschitz, stats.effective_rank})
        EXPECT_TRUE(std::isfinite(value));
}

TEST(trainer_step, stats) {
    for (uform_objective_t objective : std::initializer_list<uform_objective_t> {
             uform_objective_masked_k, uform_objective_contrastive_k, uform_objective_joint_k}) {
        trainer_t trainer;
        start(trainer, nullptr, objective);
        share_t const share;
        for (std::size_t step = 1; step <= 3; ++step) {
            uform_trainer_step_stats_t stats;
            std::memset(&stats, 0xff, sizeof(stats));
            call_t call = share.call(trainer);
            call.stats = &stats;
            EXPECT_SUCCESS(answer(uform_trainer_step, call));
            EXPECT_EQ(stats.step, step);
            EXPECT_EQ(stats.tokens, 4u + 3 + 4 + 3);
            EXPECT_EQ(stats.truncated, 0u);
            EXPECT_EQ(stats.dropped, 0u);
            // Of 20 steps 2 are the climb to 5e-4; after it half a cosine to 1e-5, of which step 3 is a 36th part.
            float const rates[] = {2.5e-4f, 5e-4f, float(1e-5 + 4.9e-4 * 0.5 * (1 + std::cos(std::acos(-1.0) / 18)))};
            EXPECT_NEAR(stats.learning_rate, rates[step - 1], 1e-9f);
            EXPECT_EQ(stats.masked_image_loss, 0);
            EXPECT_EQ(stats.late_interaction_loss, 0);
            EXPECT_EQ(stats.choices_loss, 0);
            EXPECT_EQ(stats.coding_rate, 0) << "off";
            EXPECT_EQ(stats.lipschitz, 0) << "off";
            expect_finite(stats);
        }
    }
}

TEST(trainer_step, what_is_cut_and_what_is_dropped) {
    trainer_t trainer;
    auto init = right_init(trainer.out());
    init.batch.max_rows_per_device = 2;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    // Rows of 32: a 40 is cut to one whole row, a 30 takes the other, which leaves room for two of one, not for a 5.
    tape_t const texts({std::string(30, 'a'), std::string(40, 'b'), "cccccc", "d", ""});
    std::vector<std::size_t> const offsets {0, 1, 2, 2, 2, 2};
    std::vector<std::uint32_t> const ids {1, 0};
    arena_t arena;
    make_arena(arena);
    uform_rows_t embeddings {};
    uform_trainer_step_stats_t stats;
    call_t call {};
    call.trainer = trainer, call.count = 5, call.contents = texts.view();
    call.relations.attract = {offsets.data(), ids.data(), nullptr};
    EXPECT_SUCCESS(answer(uform_trainer_step, call)); // its dropped item is told with the next stats
    call.embeddings = &embeddings, call.arena = arena, call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.step, 2u);
    EXPECT_EQ(stats.truncated, 1u);
    EXPECT_EQ(stats.tokens, 30u + 32 + 1 + 1);
    EXPECT_EQ(stats.dropped, 2u) << "one in each of two steps";
    landed_t const rows(embeddings);
    EXPECT_EQ(rows.rows[2], std::vector<float>(128, 0.0f)) << "a dropped item's row is zeros";
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.dropped, 1u);
}

TEST(trainer_step, bags_beyond_the_limit_are_dropped_whole) {
    trainer_t trainer;
    auto init = right_init(trainer.out());
    init.batch.max_bags_per_device = 2;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    share_t const share;
    static std::uint32_t const bags[] = {9, 9, 3, 1}; // the third in the order of first mention is 1
    uform_trainer_step_stats_t stats;
    call_t call = share.call(trainer);
    call.bags = bags, call.stats = &stats;
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.dropped, 1u);
    EXPECT_EQ(stats.tokens, 4u + 3 + 4);
}

TEST(trainer_step, scored_embeddings_land_as_every_scalar) {
    share_t const share;
    arena_t arena;
    make_arena(arena);
    for (uform_scalar_t scalar : std::initializer_list<uform_scalar_t> {0, uform_scalar_f32_k, uform_scalar_bf16_k,
                                                                        uform_scalar_f16_k, uform_scalar_i8_k}) {
        trainer_t trainer;
        start(trainer);
        uform_rows_t embeddings {};
        call_t call = share.call(trainer);
        call.embeddings = &embeddings, call.arena = arena, call.outputs_scalar = scalar;
        EXPECT_SUCCESS(answer(uform_trainer_step, call));
        EXPECT_EQ(embeddings.scalar, scalar ? scalar : uform_scalar_f32_k);
        EXPECT_EQ(embeddings.count, 4u);
        EXPECT_EQ(embeddings.columns, 128u);
        // The coarsest lands in steps of 1/127: half a step in each of 128 columns, whose absolute sum is below 12.
        double const tolerance = 2 * 0.5 / 127 * 12 + 128 * 0.25 / 127 / 127;
        for (auto const &row : landed_t(embeddings).rows) expect_unit(row, tolerance);
    }
}

TEST(trainer_step, scored_token_vectors_land_without_those_of_dropped_items) {
    trainer_t trainer;
    auto init = right_init(trainer.out());
    init.batch.max_rows_per_device = 2, init.late_interaction.weight = 1, init.late_interaction.width = 16;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
    // As above: a 40 is cut to 32, a 30 and two of one fill the other row, the 6 finds no room.
    tape_t const texts({std::string(30, 'a'), std::string(40, 'b'), "cccccc", "d", ""});
    std::vector<std::size_t> const offsets {0, 1, 2, 2, 2, 2};
    std::vector<std::uint32_t> const ids {1, 0};
    static uform_late_interaction_side_t const sides[] = {3, 3, 1, 2, 2};
    arena_t arena;
    make_arena(arena);
    for (uform_scalar_t scalar : std::initializer_list<uform_scalar_t> {uform_scalar_f32_k, uform_scalar_bf16_k}) {
        uform_rows_tape_t vectors {};
        uform_rows_t embeddings {};
        call_t call {};
        call.trainer = trainer, call.count = 5, call.contents = texts.view(), call.sides = sides;
        call.relations.attract = {offsets.data(), ids.data(), nullptr};
        call.token_vectors = &vectors, call.outputs_scalar = scalar;
        EXPECT_STATUS(answer(uform_trainer_step, call), invalid_k); // no arena
        EXPECT_EQ(vectors.data, nullptr);
        call.arena = arena, call.embeddings = &embeddings;
        EXPECT_SUCCESS(answer(uform_trainer_step, call));
        std::vector<std::size_t> const expected {0, 30, 62, 62, 63, 64};
        EXPECT_EQ(std::vector<std::size_t>(vectors.offsets, vectors.offsets + 6), expected);
        EXPECT_EQ(vectors.count, 64u);
        EXPECT_EQ(vectors.columns, 16u);
        EXPECT_EQ(vectors.scalar, scalar);
        EXPECT_EQ(embeddings.count, 5u);
        for (auto const &row : landed_t(vectors).rows) expect_unit(row, 0x1p-7);
    }
}

TEST(trainer_step, queued_or_blocking_on_its_executor) {
    executor_t executor;
    make_executor(executor);
    trainer_t trainer;
    start(trainer, executor);
    share_t const share;
    uform_trainer_step_stats_t stats;
    outcome_t outcome;
    call_t call = share.call(trainer, executor);
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    call.outcome = &outcome, call.completion = uform_completion_queued_k, call.stats = &stats;
    uform_trainer_step(&call);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_success_k);
    EXPECT_EQ(stats.step, 2u);
    call.executor = nullptr;
    EXPECT_STATUS(answer(uform_trainer_step, call), invalid_k);
}

TEST(trainer_step, no_outcome_no_call) {
    trainer_t trainer;
    start(trainer);
    share_t const share;
    uform_trainer_step_stats_t stats {};
    call_t call = share.call(trainer);
    call.stats = &stats;
    uform_trainer_step(&call), uform_trainer_step(nullptr);
    EXPECT_EQ(stats.step, 0u);
    EXPECT_SUCCESS(answer(uform_trainer_step, call));
    EXPECT_EQ(stats.step, 1u);
}

} // namespace
} // namespace conformance
