/**
 *  @file mutations_setup.cpp
 *  @brief Mutated calls of the verbs that make, describe and drain, and of training.
 */
#include "mutations.hpp"

#include "training.hpp"

namespace conformance {
namespace {

/** Classes that no build has kernels for or that every build has, and what is no class. */
std::vector<uform_cpu_class_t> const classes_k {INT32_MIN,
                                                -1,
                                                uform_cpu_class_derived_k,
                                                uform_cpu_class_serial_k,
                                                uform_cpu_class_intel_diamond_rapids_k,
                                                uform_cpu_class_wasm_simd_k,
                                                12,
                                                INT32_MAX};
std::size_t const nodes_k[] = {0, 1023, SIZE_MAX};

template <typename call_>
void add_placement(std::vector<mutation_t<call_>> &mutations) {
    mutations.push_back({"cpu_class", [](call_ &c, draw_t &d) { c.cpu_class = d.of(classes_k); }});
    mutations.push_back({"memory_domains", [](call_ &c, draw_t &d) {
                             c.memory_domains = d.of<std::size_t const *>({nullptr, nodes_k});
                             c.memory_domains_count = d.of<std::size_t>({0, 1, 2, 3});
                         }});
}

TEST(mutations, load) {
    using call_t = uform_model_load_ram_buffer_t;
    std::string const file = checkpoint_t(24, true, 3).bytes();
    executor_t executor;
    make_executor(executor);
    std::vector<mutation_t<call_t>> mutations {
        {"model", [](call_t &c, draw_t &) { c.model = nullptr; }},
        {"executor", [&](call_t &c, draw_t &) { c.executor = executor; }},
        {"completion",
         [](call_t &c, draw_t &d) {
             c.completion = d.of<std::int32_t>({-1, 1, 2});
         }},
        {"buffer.data", [](call_t &c, draw_t &) { c.buffer.data = nullptr; }},
        {"buffer.length",
         [&](call_t &c, draw_t &d) {
             c.buffer.length = d.of<std::size_t>({0, 7, 8, 9, 500, file.size() - 1});
         }},
        {"buffer.length",
         [](call_t &c, draw_t &d) {
             c.buffer.length = d.of<std::size_t>({SIZE_MAX, SIZE_MAX / 2 + 1});
         }},
        {"quantization", [](call_t &c, draw_t &d) { c.quantization = d.enumerator(); }}};
    add_placement(mutations);
    record_t record("load");
    draw_t draw(4);
    for (std::size_t round = 0; round < 400; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
        call_t call {};
        call.model = &model, call.buffer = view(file);
        outcome_t const outcome = answer_mutated(uform_model_load_ram_buffer, call, mutations, draw);
        EXPECT_EQ(model != nullptr, !call.model || outcome.status == uform_status_success_k);
        if (call.model) uform_model_free(model);
        record.add(round, "load", draw.take_trace(), outcome);
    }
    EXPECT_GE(record.counts.size(), 4u) << "success, malformed, unsupported, invalid-argument";
}

TEST(mutations, executor) {
    using call_t = uform_executor_for_ram_t;
    std::vector<mutation_t<call_t>> mutations {{"executor", [](call_t &c, draw_t &) { c.executor = nullptr; }},
                                               {"threads", [](call_t &c, draw_t &d) {
                                                    c.threads = d.size({1, 2, 4097});
                                                }}};
    add_placement(mutations);
    std::vector<mutation_t<uform_executor_drain_t>> const drains {
        {"mood", [](uform_executor_drain_t &c, draw_t &d) { c.mood = d.enumerator(); }}};
    record_t record("executor");
    draw_t draw(5);
    for (std::size_t round = 0; round < 400; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_executor_t executor = nullptr;
        call_t call {};
        call.executor = &executor, call.threads = 1;
        outcome_t const outcome = answer_mutated(uform_executor_for_ram, call, mutations, draw);
        EXPECT_EQ(executor != nullptr, outcome.status == uform_status_success_k);
        record.add(round, "executor", draw.take_trace(), outcome);
        uform_executor_drain_t drain {};
        drain.executor = executor;
        outcome_t const drained = answer_mutated(uform_executor_drain, drain, drains, draw);
        record.add(round, "drain", draw.take_trace(), drained);
        uform_executor_free(executor);
    }
    EXPECT_GE(record.counts.size(), 3u) << "success, unsupported, invalid-argument";
}

TEST(mutations, trainer) {
    using call_t = uform_trainer_init_ram_t;
    auto const wrong = [](draw_t &d) { return d.of<float>({-1.0f, -0.0f, 0.5f, 2.0f, NAN, INFINITY, -INFINITY}); };
    static std::size_t const widths[] = {64, 128}, odd[] = {12, 128}, falling[] = {128, 64};
    std::vector<mutation_t<call_t>> const mutations {
        {"trainer", [](call_t &c, draw_t &) { c.trainer = nullptr; }},
        {"completion",
         [](call_t &c, draw_t &d) {
             c.completion = d.of<std::int32_t>({-1, 1, 2});
         }},
        {"depth",
         [](call_t &c, draw_t &d) {
             c.depth = d.of<std::size_t>({0, 1, 1025, SIZE_MAX});
         }},
        {"hidden",
         [](call_t &c, draw_t &d) {
             c.hidden = d.size({0, 64, 128, 192});
         }},
        {"rows",
         [](call_t &c, draw_t &d) {
             c.batch.max_rows_per_device = d.of<std::size_t>({0, 1});
         }},
        {"segments",
         [](call_t &c, draw_t &d) {
             c.batch.max_segments_per_device = d.of<std::size_t>({0, 1});
         }},
        {"columns",
         [](call_t &c, draw_t &d) {
             c.batch.max_columns_per_row = d.of<std::size_t>({0, 1, 65537});
         }},
        {"objective", [](call_t &c, draw_t &d) { c.objective = d.enumerator(); }},
        {"image",
         [](call_t &c, draw_t &d) {
             c.batch.image = {d.of<std::size_t>({0, 16, 65, std::size_t(1) << 32}), d.of<std::size_t>({0, 2, 3, 4, 5})};
         }},
        {"video",
         [](call_t &c, draw_t &d) {
             c.batch.video = {d.of<std::size_t>({0, 8, 65}), d.of<std::size_t>({0, 2, SIZE_MAX}), 0,
                              d.of<std::size_t>({0, 3, 4})};
         }},
        {"audio",
         [](call_t &c, draw_t &d) {
             c.batch.audio = {d.of<std::size_t>({0, 320, SIZE_MAX}), d.of<std::size_t>({0, 1, 16000})};
         }},
        {"widths",
         [](call_t &c, draw_t &d) {
             c.contrastive.matryoshka_dimensions = d.of<std::size_t const *>({nullptr, widths, odd, falling});
             c.contrastive.matryoshka_dimensions_count = d.of<std::size_t>({0, 1, 2, 9, SIZE_MAX});
         }},
        {"negatives", [](call_t &c, draw_t &d) { c.contrastive.negatives = d.enumerator(); }},
        {"pair_loss", [](call_t &c, draw_t &d) { c.contrastive.pair_loss = d.enumerator(); }},
        {"inverse_temperature", [=](call_t &c, draw_t &d) { c.contrastive.inverse_temperature = wrong(d); }},
        {"bias", [=](call_t &c, draw_t &d) { c.contrastive.bias = wrong(d); }},
        {"repulsion", [=](call_t &c, draw_t &d) { c.contrastive.ambient_repulsion_weight = wrong(d); }},
        {"mask", [=](call_t &c, draw_t &d) { c.masking.token_mask_probability = wrong(d); }},
        {"span", [=](call_t &c, draw_t &d) { c.masking.token_mean_span = wrong(d); }},
        {"coding_rate", [=](call_t &c, draw_t &d) { c.regularizers.coding_rate_weight = wrong(d); }},
        {"epsilon", [=](call_t &c, draw_t &d) { c.regularizers.coding_rate_epsilon_squared = wrong(d); }},
        {"lipschitz", [=](call_t &c, draw_t &d) { c.regularizers.lipschitz_weight = wrong(d); }},
        {"rate", [=](call_t &c, draw_t &d) { c.schedule.learning_rate = wrong(d); }},
        {"floor", [=](call_t &c, draw_t &d) { c.schedule.min_learning_rate = wrong(d); }},
        {"steps", [](call_t &c, draw_t &d) { c.schedule.steps = d.of<std::size_t>({0, 1, 20}); }},
        {"warmup", [](call_t &c, draw_t &d) {
             c.schedule.warmup_steps = d.of<std::size_t>({1, 20, 21, SIZE_MAX});
         }}};
    record_t record("trainer");
    draw_t draw(6);
    for (std::size_t round = 0; round < 800; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_trainer_t trainer = nullptr;
        call_t call = right_init(&trainer);
        outcome_t const outcome = answer_mutated(uform_trainer_init_ram, call, mutations, draw);
        EXPECT_EQ(trainer != nullptr, outcome.status == uform_status_success_k);
        uform_trainer_free(trainer);
        record.add(round, "trainer", draw.take_trace(), outcome);
    }
    EXPECT_GE(record.counts.size(), 2u) << "success, invalid-argument";
}

using steps_t = std::vector<mutation_t<uform_trainer_step_t>>;

/** Edges with one thing wrong each, over four items. */
void add_edges(steps_t &mutations, uform_edges_view_t uform_relations_view_t::*set) {
    using call_t = uform_trainer_step_t;
    static std::size_t const decreasing[] = {0, 2, 1, 3, 4};
    static std::uint32_t const beyond[] = {1, 0, 4, 2}, falling[] = {3, 2, 1, 0};
    static std::size_t const crowded[] = {0, 2, 2, 3, 4};
    static float const negative[] = {1, -1, 1, 1}, nan[] = {1, 1, NAN, 1};
    mutations.push_back({"offsets", [=](call_t &c, draw_t &d) {
                             (c.relations.*set).offsets = d.of<std::size_t const *>({nullptr, decreasing, crowded});
                         }});
    mutations.push_back({"ids", [=](call_t &c, draw_t &d) {
                             (c.relations.*set).ids = d.of<std::uint32_t const *>({nullptr, beyond, falling});
                         }});
    mutations.push_back({"weights", [=](call_t &c, draw_t &d) {
                             (c.relations.*set).weights = d.of<float const *>({nullptr, negative, nan});
                         }});
}

TEST(mutations, step) {
    using call_t = uform_trainer_step_t;
    trainer_t trainer;
    start(trainer);
    executor_t executor;
    make_executor(executor);
    arena_t arena;
    make_arena(arena);
    static std::size_t const decreasing[] = {0, 4, 2, 8, 9}, beyond[] = {0, 1, 2, 3, std::size_t(1) << 63};
    static std::uint32_t const zeros[] = {0, 0, 0, 0}, ones[] = {0, 1, 0, 0};
    static uform_modality_t const pictures[] = {0, 0, 1, 0};
    static uform_late_interaction_side_t const sides[] = {0, 0, 0, 0};
    steps_t mutations {{"trainer", [](call_t &c, draw_t &) { c.trainer = nullptr; }},
                       {"executor", [&](call_t &c, draw_t &) { c.executor = executor; }},
                       {"completion",
                        [](call_t &c, draw_t &d) {
                            c.completion = d.of<std::int32_t>({-1, 1, 2});
                        }},
                       {"count",
                        [](call_t &c, draw_t &d) {
                            c.count = d.size({0, 7, 1000});
                        }},
                       {"contents.data", [](call_t &c, draw_t &) { c.contents.data = nullptr; }},
                       {"contents.scalar", [](call_t &c, draw_t &d) { c.contents.scalar = d.enumerator(); }},
                       {"contents.offsets",
                        [](call_t &c, draw_t &d) {
                            c.contents.offsets = d.of<std::size_t const *>({nullptr, decreasing, beyond});
                        }},
                       {"modalities", [](call_t &c, draw_t &) { c.modalities = pictures; }},
                       {"bags", [](call_t &c, draw_t &) { c.bags = ones; }},
                       {"temperature_groups",
                        [](call_t &c, draw_t &d) {
                            c.temperature_groups = d.of<std::uint32_t const *>({zeros, ones});
                        }},
                       {"sides", [](call_t &c, draw_t &) { c.sides = sides; }},
                       {"embeddings", [](call_t &c, draw_t &) { c.embeddings = nullptr; }},
                       {"arena", [](call_t &c, draw_t &) { c.arena = nullptr; }},
                       {"outputs_scalar", [](call_t &c, draw_t &d) { c.outputs_scalar = d.enumerator(); }}};
    add_edges(mutations, &uform_relations_view_t::attract), add_edges(mutations, &uform_relations_view_t::repel);
    share_t const share;
    record_t record("step");
    draw_t draw(7);
    for (std::size_t round = 0; round < 1500; ++round) {
        SCOPED_TRACE(testing::Message() << "round " << round);
        uform_rows_t embeddings {};
        uform_trainer_step_stats_t stats {};
        call_t call = share.call(trainer);
        call.relations.repel = {share.offsets.data(), share.ids.data(), share.weights.data()};
        call.embeddings = &embeddings, call.arena = arena, call.stats = &stats;
        outcome_t const outcome = answer_mutated(uform_trainer_step, call, mutations, draw);
        EXPECT_EQ(embeddings.data != nullptr, outcome.status == uform_status_success_k && call.embeddings);
        record.add(round, "step", draw.take_trace(), outcome, std::to_string(stats.step));
    }
    EXPECT_GE(record.counts.size(), 4u) << "success, shape-mismatch, unsupported, invalid-argument";
}

} // namespace
} // namespace conformance
