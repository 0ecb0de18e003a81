/**
 *  @file train_init.cpp
 *  @brief Every field of `uform_trainer_init_ram` wrong in turn; meshes of one process; GPUs, which this version does without.
 */
#include <cmath>

#include "training.hpp"

namespace conformance {
namespace {

using call_t = uform_trainer_init_ram_t;
using breakages_t = std::vector<breakage_t<call_t>>;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto unsupported_k = uform_status_unsupported_k;

void expect_init_refusals(uform_objective_t objective, breakages_t const &breakages) {
    uform_trainer_t trainer = reinterpret_cast<uform_trainer_t>(0x1);
    expect_refusals<call_t>(uform_trainer_init_ram, right_init(&trainer, nullptr, objective), breakages);
    EXPECT_EQ(trainer, nullptr);
}

/** A field of floats that must lie in a range: NaN, infinity and what is below zero never do. */
void add_floats(breakages_t &breakages, char const *word, float &(*field)(call_t &),
                std::initializer_list<float> wrong) {
    for (float value : wrong) breakages.push_back({word, invalid_k, word, [=](call_t &c) { field(c) = value; }});
    for (float value : {NAN, INFINITY, -INFINITY, -1.0f})
        breakages.push_back({word, invalid_k, word, [=](call_t &c) { field(c) = value; }});
}

TEST(trainer_init, refusals_of_handles_and_sizes) {
    expect_init_refusals(
        uform_objective_contrastive_k,
        {{"no output", invalid_k, "trainer", [](call_t &c) { c.trainer = nullptr; }},
         {"a completion below", invalid_k, "completion", [](call_t &c) { c.completion = -1; }},
         {"a completion beyond", invalid_k, "completion", [](call_t &c) { c.completion = 2; }},
         {"no blocks", invalid_k, "size", [](call_t &c) { c.depth = 0; }},
         {"endless blocks", invalid_k, "size", [](call_t &c) { c.depth = 1025; }},
         {"no width", invalid_k, "size", [](call_t &c) { c.hidden = 0; }},
         {"half a width", invalid_k, "size", [](call_t &c) { c.hidden = 64; }},
         {"an odd width", invalid_k, "hidden", [](call_t &c) { c.hidden = 192; }},
         {"an endless width", invalid_k, "size", [](call_t &c) { c.hidden = SIZE_MAX / 128 * 128; }},
         {"an objective below", invalid_k, "objective", [](call_t &c) { c.objective = -1; }},
         {"an objective beyond", invalid_k, "objective", [](call_t &c) { c.objective = 3; }},
         {"no rows", invalid_k, "batch.max_rows_per_device", [](call_t &c) { c.batch.max_rows_per_device = 0; }},
         {"no items", invalid_k, "batch.max_segments_per_device",
          [](call_t &c) { c.batch.max_segments_per_device = 0; }},
         {"no tokens", invalid_k, "batch.max_columns_per_row", [](call_t &c) { c.batch.max_columns_per_row = 0; }},
         {"endless tokens", invalid_k, "size", [](call_t &c) { c.batch.max_columns_per_row = 65537; }},
         {"no steps", invalid_k, "schedule.steps", [](call_t &c) { c.schedule.steps = 0; }},
         {"a climb longer than the run", invalid_k, "schedule.warmup_steps",
          [](call_t &c) { c.schedule.warmup_steps = 21; }},
         {"a floor above the top", invalid_k, "schedule.min_learning_rate",
          [](call_t &c) { c.schedule.learning_rate = 1e-3f, c.schedule.min_learning_rate = 2e-3f; }}});
}

TEST(trainer_init, refusals_of_media) {
    for (uform_objective_t const objective : {uform_objective_joint_k, uform_objective_contrastive_k})
        expect_init_refusals(
            objective,
            {{"a patch too large", invalid_k, "size", [](call_t &c) { c.batch.image.patch_side = 65; }},
             {"an endless patch", invalid_k, "size",
              [](call_t &c) { c.batch.image.patch_side = std::size_t(1) << 32; }},
             {"two channels", invalid_k, "size",
              [](call_t &c) { c.batch.image.patch_side = 16, c.batch.image.channels = 2; }},
             {"five channels", invalid_k, "size",
              [](call_t &c) { c.batch.image.patch_side = 16, c.batch.image.channels = 5; }},
             {"a tube too wide", invalid_k, "size", [](call_t &c) { c.batch.video.patch_side = 65; }},
             {"a tube too long", invalid_k, "size",
              [](call_t &c) { c.batch.video.patch_side = 16, c.batch.video.tube_frames = 65; }},
             {"an endless stride", invalid_k, "size",
              [](call_t &c) { c.batch.video.patch_side = 16, c.batch.video.frame_stride = SIZE_MAX; }},
             {"frames of four channels", invalid_k, "batch.video.channels",
              [](call_t &c) { c.batch.video.patch_side = 16, c.batch.video.channels = 4; }},
             {"an endless chunk", invalid_k, "size", [](call_t &c) { c.batch.audio.chunk_samples = SIZE_MAX; }},
             {"a rate too slow", invalid_k, "size",
              [](call_t &c) { c.batch.audio.chunk_samples = 320, c.batch.audio.sample_rate = 999; }},
             {"a rate too fast", invalid_k, "size",
              [](call_t &c) { c.batch.audio.chunk_samples = 320, c.batch.audio.sample_rate = 768001; }}});
}

TEST(trainer_init, refusals_of_choices) {
    auto const choosing = [](call_t &c) { c.choices.weight = 1, c.batch.max_choices_per_item = 4; };
    for (uform_objective_t const objective : {uform_objective_masked_k, uform_objective_contrastive_k})
        expect_init_refusals(
            objective,
            {{"no room for a choice", invalid_k, "batch.max_choices_per_item",
              [&](call_t &c) { choosing(c), c.batch.max_choices_per_item = 0; }},
             {"a weight below zero", invalid_k, "choices.weight", [](call_t &c) { c.choices.weight = -1; }},
             {"a weight that is NaN", invalid_k, "choices.weight", [](call_t &c) { c.choices.weight = NAN; }},
             {"a Brier weight below zero", invalid_k, "choices.brier_weight",
              [&](call_t &c) { choosing(c), c.choices.brier_weight = -1; }},
             {"a Brier weight without end", invalid_k, "choices.brier_weight",
              [&](call_t &c) { choosing(c), c.choices.brier_weight = INFINITY; }},
             {"endless groups", invalid_k, "size",
              [&](call_t &c) { choosing(c), c.choices.temperature_groups = 65537; }}});
}

TEST(trainer_init, refusals_of_paths_and_prefixes) {
    folder_t const folder;
    std::string const missing = folder / "missing", directory = folder.path(), text = folder / "text";
    write_file(text, "this is no checkpoint");
    std::string const with_nul("a\0b", 3), long_prefix(32, 'q');
    for (auto [word, field] : {std::pair("resume", &call_t::resume), std::pair("initial", &call_t::initial)})
        expect_init_refusals(
            uform_objective_contrastive_k,
            {{"NULL of a length", invalid_k, word, [=](call_t &c) { (c.*field).length = 4; }},
             {"a NUL inside", invalid_k, word, [&](call_t &c) { c.*field = view(with_nul); }},
             {"longer than memory", invalid_k, word,
              [&](call_t &c) {
                  c.*field = {text.data(), SIZE_MAX};
              }},
             {"a missing file", uform_status_io_k, "", [&](call_t &c) { c.*field = view(missing); }},
             {"a folder", uform_status_io_k, "", [&](call_t &c) { c.*field = view(directory); }},
             {"no checkpoint", uform_status_malformed_k, "", [&](call_t &c) { c.*field = view(text); }}});
    expect_init_refusals(uform_objective_contrastive_k, {{"both", invalid_k, "resume", [&](call_t &c) {
                                                              c.resume = view(missing), c.initial = view(missing);
                                                          }}});
    for (auto [word, field] :
         {std::pair("query_prefix", &call_t::query_prefix), std::pair("document_prefix", &call_t::document_prefix)})
        expect_init_refusals(
            uform_objective_contrastive_k,
            {{"NULL of a length", invalid_k, word, [=](call_t &c) { (c.*field).length = 4; }},
             {"longer than memory", invalid_k, word,
              [&](call_t &c) {
                  c.*field = {text.data(), SIZE_MAX};
              }},
             {"a row and no text", invalid_k, word, [&](call_t &c) { c.*field = view(long_prefix); }}});
}

TEST(trainer_init, refusals_of_the_schedule) {
    breakages_t breakages;
    add_floats(breakages, "schedule.learning_rate", [](call_t &c) -> float & { return c.schedule.learning_rate; }, {});
    // A rate of minus infinity is below any floor as well: the rate is told first.
    add_floats(breakages, "schedule.min_learning_rate",
               [](call_t &c) -> float & { return c.schedule.min_learning_rate; }, {1.0f});
    expect_init_refusals(uform_objective_masked_k, breakages);
}

TEST(trainer_init, refusals_of_contrastive_fields) {
    static std::size_t const descending[] = {64, 32}, twice[] = {64, 64}, odd[] = {60}, zero[] = {0}, wide[] = {136},
                             many[] = {8, 16, 24, 32, 40, 48, 56, 64, 72};
    breakages_t breakages;
    auto const widths = [&](char const *what, std::size_t const *values, std::size_t count) {
        breakages.push_back({what, invalid_k, "contrastive.matryoshka_dimensions", [=](call_t &c) {
                                 c.contrastive.matryoshka_dimensions = values;
                                 c.contrastive.matryoshka_dimensions_count = count;
                             }});
    };
    widths("widths that descend", descending, 2), widths("a width twice", twice, 2), widths("an odd width", odd, 1);
    widths("no width", zero, 1), widths("more than the model's", wide, 1), widths("nine widths", many, 9);
    for (std::int32_t value : {-1, 5})
        breakages.push_back(
            {"no form", invalid_k, "contrastive.pair_loss", [=](call_t &c) { c.contrastive.pair_loss = value; }});
    for (std::int32_t value : {-1, 2})
        breakages.push_back(
            {"no negatives", invalid_k, "contrastive.negatives", [=](call_t &c) { c.contrastive.negatives = value; }});
    breakages.push_back({"endless groups", invalid_k, "", [](call_t &c) { c.contrastive.temperature_groups = 65537; }});
    for (float value : {NAN, INFINITY, -INFINITY})
        breakages.push_back({"bias", invalid_k, "contrastive.bias", [=](call_t &c) { c.contrastive.bias = value; }});
    add_floats(breakages, "contrastive.inverse_temperature",
               [](call_t &c) -> float & { return c.contrastive.inverse_temperature; }, {100.5f});
    add_floats(breakages, "contrastive.ambient_repulsion_weight",
               [](call_t &c) -> float & { return c.contrastive.ambient_repulsion_weight; }, {});
    add_floats(breakages, "regularizers.coding_rate_weight",
               [](call_t &c) -> float & { return c.regularizers.coding_rate_weight; }, {});
    add_floats(breakages, "regularizers.coding_rate_epsilon_squared",
               [](call_t &c) -> float & { return c.regularizers.coding_rate_epsilon_squared; }, {});
    add_floats(breakages, "regularizers.lipschitz_weight",
               [](call_t &c) -> float & { return c.regularizers.lipschitz_weight; }, {});
    breakages.push_back({"endless iterations", invalid_k, "regularizers.lipschitz_iterations",
                         [](call_t &c) { c.regularizers.lipschitz_iterations = 65; }});
    expect_init_refusals(uform_objective_contrastive_k, breakages);
    expect_init_refusals(uform_objective_joint_k, breakages);
}

TEST(trainer_init, refusals_of_masking_fields) {
    breakages_t breakages;
#define FIELD(name) "masking." #name, [](call_t &c) -> float & { return c.masking.name; }
    add_floats(breakages, FIELD(token_mask_probability), {1.5f});
    add_floats(breakages, FIELD(token_mean_span), {0.5f});
    add_floats(breakages, FIELD(replace_fraction), {1.5f, 1.0f}); // with the default tenth of random bytes
    breakages.push_back({"random", invalid_k, "random_fraction", [](call_t &c) { c.masking.random_fraction = 0.25f; }});
    add_floats(breakages, FIELD(image_mask_ratio), {1.5f});
    add_floats(breakages, FIELD(video_mask_ratio), {1.5f});
    add_floats(breakages, FIELD(audio_mask_ratio), {1.5f});
    add_floats(breakages, FIELD(text_weight), {});
    add_floats(breakages, FIELD(image_weight), {});
    add_floats(breakages, FIELD(video_weight), {});
    add_floats(breakages, FIELD(audio_weight), {});
#undef FIELD
    expect_init_refusals(uform_objective_masked_k, breakages);
    expect_init_refusals(uform_objective_joint_k, breakages);
}

TEST(trainer_init, refusals_of_late_interaction_fields) {
    breakages_t breakages;
    auto const add = [&](char const *word, auto const &change) {
        breakages.push_back({word, invalid_k, word, [=](call_t &c) { c.late_interaction.weight = 1, change(c); }});
    };
    for (float value : {NAN, INFINITY, -1.0f})
        add("late_interaction.weight", [=](call_t &c) { c.late_interaction.weight = value; });
    for (float value : {NAN, INFINITY, -1.0f, 100.5f})
        add("late_interaction.inverse_temperature",
            [=](call_t &c) { c.late_interaction.inverse_temperature = value; });
    for (float value : {NAN, INFINITY}) add("late_interaction.bias", [=](call_t &c) { c.late_interaction.bias = value; });
    for (std::int32_t value : {-1, 5})
        add("late_interaction.pair_loss", [=](call_t &c) { c.late_interaction.pair_loss = value; });
    add("late_interaction.width", [](call_t &c) { c.late_interaction.width = 12; });
    add("size", [](call_t &c) { c.late_interaction.width = SIZE_MAX / 8 * 8; });
    add("late_interaction.prefix_tokens", [](call_t &c) { c.late_interaction.prefix_tokens = 32; });
    expect_init_refusals(uform_objective_contrastive_k, breakages);
    expect_init_refusals(uform_objective_joint_k, breakages);
    expect_init_refusals(uform_objective_masked_k, {{"a masked run", invalid_k, "late_interaction.weight",
                                                     [](call_t &c) { c.late_interaction.weight = 1; }}});
}

TEST(trainer_init, fields_that_are_not_read_may_hold_anything) {
    trainer_t masked, contrastive;
    call_t call = right_init(masked.out(), nullptr, uform_objective_masked_k);
    call.contrastive.pair_loss = 77, call.contrastive.bias = NAN, call.regularizers.lipschitz_weight = -1;
    call.late_interaction.width = 7, call.choices.brier_weight = NAN;
    call.batch.image.channels = 9, call.batch.video.tube_frames = SIZE_MAX, call.batch.audio.sample_rate = 1;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
    call = right_init(contrastive.out(), nullptr, uform_objective_contrastive_k);
    call.masking.text_weight = NAN, call.masking.token_mean_span = -3;
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
}

TEST(trainer_init, bounds_are_allowed) {
    static std::size_t const widths[] = {8, 16, 24, 32, 40, 48, 56, 128};
    trainer_t trainer;
    call_t call = right_init(trainer.out(), nullptr, uform_objective_joint_k);
    call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 8;
    call.contrastive.inverse_temperature = 100, call.contrastive.temperature_groups = 3, call.contrastive.negatives = 1;
    call.contrastive.pair_loss = uform_pair_loss_form_softmax_k, call.regularizers.lipschitz_iterations = 64;
    call.masking.token_mask_probability = 1, call.masking.token_mean_span = 1, call.masking.replace_fraction = 0.9f;
    call.schedule.learning_rate = call.schedule.min_learning_rate = 1e-3f, call.schedule.warmup_steps = 20;
    call.batch.image = {64, 4}, call.batch.video = {1, 64, 4096, 3}, call.batch.audio = {16384, 768000};
    std::string const prefix(31, 'q');
    call.query_prefix = call.document_prefix = view(prefix);
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, call));
    EXPECT_NE(trainer, nullptr);
}

TEST(trainer_init, queued_and_on_an_executor) {
    executor_t executor;
    make_executor(executor);
    trainer_t trainer;
    outcome_t outcome;
    call_t call = right_init(trainer.out(), executor);
    call.outcome = &outcome, call.completion = uform_completion_queued_k;
    uform_trainer_init_ram(&call);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_success_k);
    EXPECT_NE(trainer, nullptr);
}

TEST(trainer_init, no_outcome_no_call) {
    uform_trainer_t trainer = reinterpret_cast<uform_trainer_t>(0x1);
    call_t call = right_init(&trainer);
    uform_trainer_init_ram(&call), uform_trainer_init_vram(&call);
    uform_trainer_init_ram(nullptr), uform_trainer_init_vram(nullptr);
    EXPECT_EQ(trainer, reinterpret_cast<uform_trainer_t>(0x1));
}

TEST(trainer_init, on_gpus_is_unsupported) {
    uform_trainer_t trainer = reinterpret_cast<uform_trainer_t>(0x1);
    call_t call = right_init(&trainer);
    EXPECT_STATUS(answer(uform_trainer_init_vram, call), unsupported_k);
    EXPECT_EQ(trainer, nullptr);
    call.completion = 2;
    EXPECT_STATUS(answer(uform_trainer_init_vram, call), invalid_k);
    call.completion = 0, call.trainer = nullptr;
    EXPECT_STATUS(answer(uform_trainer_init_vram, call), invalid_k);
}

TEST(meshes, of_one_process_train) {
    uform_mesh_t mesh = reinterpret_cast<uform_mesh_t>(0x1);
    uform_mesh_bootstrap_t call {};
    call.mesh = &mesh;
    EXPECT_SUCCESS(answer(uform_mesh_bootstrap, call));
    uform_mesh_description_t description {7, 7, 7, 7, 7};
    uform_mesh_describe_t describe {};
    describe.mesh = mesh, describe.description = &description;
    EXPECT_SUCCESS(answer(uform_mesh_describe, describe));
    EXPECT_EQ(description.host_domain_index, 0u);
    EXPECT_EQ(description.host_domain_count, 1u);
    EXPECT_EQ(description.devices, 1u);
    EXPECT_EQ(description.multimem_tier, uform_multimem_tier_none_k);
    EXPECT_EQ(description.gpu_class, uform_gpu_class_unknown_k);
    {
        trainer_t trainer;
        call_t init = right_init(trainer.out());
        init.mesh = mesh;
        EXPECT_SUCCESS(answer(uform_trainer_init_ram, init));
        EXPECT_SUCCESS(answer(uform_trainer_step, share_t().call(trainer)));
        uform_trainer_step_t empty = share_t().call(trainer);
        empty.count = 0;
        EXPECT_STATUS(answer(uform_trainer_step, empty), invalid_k);
    }
    executor_t executor;
    make_executor(executor, 1);
    trainer_t trainer;
    call_t init = right_init(trainer.out(), executor);
    init.mesh = mesh;
    EXPECT_STATUS(answer(uform_trainer_init_ram, init), invalid_k); // the mesh was made for another
    describe.description = nullptr;
    EXPECT_STATUS(answer(uform_mesh_describe, describe), invalid_k);
    uform_mesh_free(mesh);
}

TEST(meshes, refusals) {
    uform_mesh_t mesh = reinterpret_cast<uform_mesh_t>(0x1);
    auto const expect = [&](uform_status_t status, char const *named, auto const &change) {
        tell_row(named, status, named);
        uform_mesh_bootstrap_t call {};
        call.mesh = &mesh, mesh = reinterpret_cast<uform_mesh_t>(0x1);
        change(call.options);
        outcome_t const outcome = answer(uform_mesh_bootstrap, call);
        EXPECT_EQ(outcome.status, status) << named;
        EXPECT_NE(std::string(outcome.message).find(named), std::string::npos) << outcome.message;
        EXPECT_EQ(mesh, nullptr);
    };
    using options_t = uform_mesh_options_t;
    std::string const nul("a\0b", 3), broken = "\xff", line = "a\nb", far(129, 'x');
    expect(invalid_k, "options.host_domain_index", [](options_t &o) { o.host_domain_index = 1; });
    expect(invalid_k, "options.host_domain_index", [](options_t &o) { o.host_domain_index = o.host_domain_count = 2; });
    expect(invalid_k, "options.host_domain_count", [](options_t &o) { o.host_domain_count = SIZE_MAX; });
    expect(invalid_k, "options.directory", [](options_t &o) { o.host_domain_count = 2; });
    expect(invalid_k, "options.directory", [&](options_t &o) { o.directory = view(nul); });
    for (std::string const *job : {&broken, &line, &far})
        expect(invalid_k, "options.job", [&](options_t &o) { o.job = view(*job); });
    expect(uform_status_cancelled_k, "progress", [](options_t &o) {
        o.progress.callback = [](std::size_t, std::size_t, void *) { return false; };
    });
    uform_mesh_bootstrap_t call {};
    call.mesh = &mesh, call.completion = -1;
    EXPECT_STATUS(answer(uform_mesh_bootstrap, call), invalid_k);
    call.completion = 0, call.mesh = nullptr;
    EXPECT_STATUS(answer(uform_mesh_bootstrap, call), invalid_k);
    uform_mesh_describe_t describe {};
    EXPECT_STATUS(answer(uform_mesh_describe, describe), invalid_k);
    uform_mesh_bootstrap(nullptr), uform_mesh_describe(nullptr);
    call.outcome = nullptr, describe.outcome = nullptr;
    uform_mesh_bootstrap(&call), uform_mesh_describe(&describe);
}

} // namespace
} // namespace conformance
