/**
 *  @file media_training_unit.cpp
 *  @brief Steps of texts, pictures, clips and recordings in one batch, their values made here: what they count and
 *  report, that nothing leaks between items, threads, media or stops, and that what is hidden is learned.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include <uform/encoder/binding.hpp>
#include <uform/encoder/classes.hpp>
#include <uform/train/masking.hpp>
#include <uform/train/streams.hpp>
#include <uform/train/trainer.hpp>
#include <uform/utilities/classes.hpp>

#include "model_fixture.hpp"

namespace {

using namespace uform;

constexpr std::size_t hidden_k = 128;
constexpr double times_k[] = {0, 1.5, 3};

/** An item of any kind: a text, or a grid whose values are a function of its seed. */
struct item_t {
    uform_modality_t modality = uform_modality_text_k;
    std::string text;
    token_grid_t grid {};
    std::uint64_t seed = 0;
};
item_t text(std::string const &bytes) { return {uform_modality_text_k, bytes, {}, 0}; }
item_t picture(std::size_t rows, std::size_t columns, std::uint64_t seed) {
    return {uform_modality_image_k, "", {rows, columns}, seed};
}
item_t clip(std::size_t rows, std::size_t columns, std::size_t layers, std::uint64_t seed) {
    return {uform_modality_video_k, "", {rows, columns, layers, times_k}, seed};
}
item_t recording(std::size_t chunks, std::uint64_t seed) { return {uform_modality_audio_k, "", {1, 1, chunks}, seed}; }

/** Items laid out as a trainer takes them. Item i attracts the one after it, pair by pair. */
struct batch_t {
    std::vector<item_t> items;
    model_options_t model;
    std::size_t corrupt = SIZE_MAX; // the item whose file is damaged
    std::vector<float> rows;
    std::string data;
    std::vector<std::size_t> offsets {0}, edge_offsets {0};
    std::vector<std::uint32_t> ids;
    std::vector<uform_modality_t> modalities;
    std::vector<token_grid_t> grids;

    batch_t(std::vector<item_t> list, model_options_t const &model) : items(std::move(list)), model(model) {
        for (item_t const &item : items) {
            data += item.text, offsets.push_back(data.size());
            modalities.push_back(item.modality), grids.push_back(item.grid);
            std::size_t const other = ids.size() ^ 1;
            ids.push_back(std::uint32_t(other < items.size() ? other : ids.size() - 1));
            edge_offsets.push_back(ids.size());
        }
    }
    step_items_t given(bool contrasts) {
        step_items_t step;
        uform_tape_view_t view {};
        view.data = data.data(), view.offsets = offsets.data();
        step.texts = tape_t<unsigned char>(view, items.size());
        step.modalities = modalities, step.grids = grids;
        step.source = {[](void *self, std::size_t item, std::size_t tokens, bf16_t *values, stop_t) noexcept {
                           return static_cast<batch_t const *>(self)->fill(item, tokens, values);
                       },
                       this};
        step.relations = {items.size(), {edge_offsets, ids, {}}, {}, {}, 1};
        rows.assign(items.size() * hidden_k, 0.0f);
        if (contrasts) step.embeddings = rows.data();
        return step;
    }
    failure_t fill(std::size_t item, std::size_t tokens, bf16_t *values) const noexcept {
        if (item == corrupt) return fail(uform_status_malformed_k, "the file is damaged");
        std::uint64_t state = items[item].seed;
        std::size_t const count = tokens * model.token_values(medium_t(modalities[item] - uform_modality_image_k));
        for (std::size_t i = 0; i < count; ++i) values[i] = round_to_bf16(float(test::splitmix(state)));
        return {};
    }
};

trainer_options_t options_of(uform_objective_t objective, std::size_t context = 64) {
    trainer_options_t options;
    options.model.geometry = {hidden_k, 2, context};
    options.model.image = {4, 3}, options.model.video = {2, 2, 1}, options.model.audio = {20, 16000};
    options.objective = objective, options.masking = derive_masking({}), options.seed = 11;
    options.model.decoder = options.masks();
    for (bool &reconstructs : options.model.reconstructs) reconstructs = options.masks();
    options.model.contrastive_groups = options.contrasts() ? 1 : 0;
    options.batch.max_rows_per_device = 64, options.batch.max_segments_per_device = 128;
    options.batch.max_columns_per_row = context;
    options.contrastive.pair_loss = uform_pair_loss_form_softmax_k, options.contrastive.inverse_temperature = 10;
    options.contrastive.temperature_groups = 1, options.contrastive.matryoshka_dimensions_count = 1;
    options.widths[0] = hidden_k;
    options.schedule = derive_schedule({3e-3f, 0, 2, 40});
    return options;
}

struct run_t {
    executor_t executor;
    trainer_t trainer;
    uform_trainer_step_stats_t stats {};

    explicit run_t(trainer_options_t const &options, std::size_t threads = 1, std::string const &resume = "") {
        uform_cpu_class_t fastest;
        EXPECT_FALSE(resolve_class(uform_cpu_class_derived_k, has_kernels, fastest));
        EXPECT_TRUE(threads == 1 || !executor.start(threads, fastest, nullptr));
        EXPECT_FALSE(trainer.start(options, fastest, executor));
        if (resume.empty()) return;
        failure_t const failure = trainer.resume(resume, {});
        EXPECT_FALSE(failure) << failure.message << ": " << failure.detail;
    }
    failure_t step(batch_t &batch) {
        executor.reset_lanes();
        step_items_t const items = batch.given(trainer.options().contrasts());
        return trainer.step(items, executor, &stats);
    }
    void take(batch_t &batch) {
        failure_t const failure = step(batch);
        ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
    }
    std::string weights(std::string_view without = "none") const {
        std::string bytes;
        for (tensor_spec_t const &spec : trainer.parameters().specs()) {
            auto const master = trainer.parameters().master_bytes(spec.index);
            if (!spec.name().starts_with(without))
                bytes.append(reinterpret_cast<char const *>(master.data()), master.size());
        }
        return bytes;
    }
    std::string tensor(std::string_view name) const {
        auto const bytes = trainer.parameters().master_bytes(trainer.parameters().find(name));
        return {reinterpret_cast<char const *>(bytes.data()), bytes.size()};
    }
};

std::vector<item_t> mixed_items() {
    return {text("a red square"), picture(5, 6, 1),   text("two tones"), recording(9, 2), clip(2, 3, 3, 3),
            text("it moves"),     picture(8, 8, 4),   picture(1, 1, 5),  text(""),        recording(0, 6),
            clip(1, 1, 1, 7),     text("third, long")};
}

TEST(media_training, counts_and_reports_every_medium) {
    run_t run(options_of(uform_objective_joint_k));
    batch_t batch(mixed_items(), run.trainer.options().model);
    batch.grids[6].is_cut = true; // of what the picture held, its grid had no room for some
    run.take(batch);
    EXPECT_EQ(run.stats.tokens, 12u + 30 + 9 + 9 + 18 + 8 + 64 + 1 + 1 + 1 + 1 + 11); // none is a PAD
    EXPECT_EQ(run.stats.truncated, 1u);
    for (float const loss : {run.stats.masked_image_loss, run.stats.masked_video_loss, run.stats.masked_audio_loss})
        EXPECT_TRUE(loss > 1 && loss < 4) << loss; // one of the target, and what a drawn head adds
    float const sum = run.stats.contrastive_loss + run.stats.masked_text_loss + run.stats.masked_image_loss +
                      run.stats.masked_video_loss + run.stats.masked_audio_loss;
    EXPECT_NEAR(run.stats.loss, sum, 1e-5 * sum);
    for (char const *name : {"image", "video", "audio"})
        for (char const *field :
             {".projection.weight", ".projection.bias", ".mask", ".reconstruction.weight", ".reconstruction.bias"}) {
            auto const &parameters = run.trainer.parameters();
            std::size_t const tensor = parameters.find(std::string(name) + field);
            float const *const gradient = parameters.gradient(tensor);
            EXPECT_TRUE(
                std::any_of(gradient, gradient + parameters.specs()[tensor].elements(), [](float x) { return x != 0; }))
                << name << field;
        }
}

TEST(media_training, rows_of_one_item_ignore_the_others) {
    trainer_options_t const options = options_of(uform_objective_contrastive_k);
    run_t together(options);
    batch_t all(mixed_items(), options.model);
    together.take(all);
    for (std::size_t i = 0; i < all.items.size(); ++i) {
        run_t alone(options);
        batch_t pair({all.items[i], text("another")}, options.model);
        alone.take(pair);
        EXPECT_EQ(0, std::memcmp(pair.rows.data(), all.rows.data() + i * hidden_k, hidden_k * sizeof(float))) << i;
    }
}

TEST(media_training, threads_change_no_bit) {
    std::string expected;
    for (std::size_t const threads : {1, 2, 3, 9}) { // nine are more than slabs
        run_t run(options_of(uform_objective_joint_k), threads);
        batch_t batch(mixed_items(), run.trainer.options().model);
        for (int step = 0; step < 3; ++step) run.take(batch);
        if (expected.empty()) expected = run.weights();
        EXPECT_TRUE(run.weights() == expected) << threads;
    }
}

/** Weights of all else are those of a run that never knew the medium; its own feel the update of a gradient of zero. */
TEST(media_training, a_batch_without_a_medium_trains_as_if_it_were_absent) {
    std::vector<item_t> const items {text("one"), recording(5, 1), text("two"), recording(7, 2)};
    trainer_options_t with = options_of(uform_objective_joint_k), without = with;
    without.model.image = {}, without.model.reconstructs[0] = false;
    run_t has(with), has_not(without);
    batch_t a(items, with.model), b(items, without.model);
    std::string const bias = has.tensor("image.projection.bias");
    for (int step = 0; step < 3; ++step) has.take(a), has_not.take(b);
    EXPECT_TRUE(has.weights("image.") == has_not.weights("image."));
    EXPECT_EQ(has.stats.masked_image_loss, 0);
    EXPECT_EQ(has.stats.loss, has_not.stats.loss);
    EXPECT_TRUE(has.tensor("image.projection.bias") == bias) << "no decay of vectors, no gradient";
}

TEST(media_training, nothing_hidden_is_a_loss_of_zero) {
    trainer_options_t options = options_of(uform_objective_masked_k);
    options.masking.image_mask_ratio = options.masking.video_mask_ratio = options.masking.audio_mask_ratio = 1e-9f;
    options.masking.token_mask_probability = 1e-9f;
    run_t run(options);
    batch_t batch({picture(3, 3, 1), clip(2, 2, 2, 2), recording(4, 3)}, options.model);
    run.take(batch);
    EXPECT_EQ(run.stats.loss, 0);
    EXPECT_EQ(run.stats.masked_image_loss, 0);
    EXPECT_EQ(run.stats.gradient_norm, 0);
}

TEST(media_training, a_damaged_file_changes_nothing) {
    for (std::size_t const threads : {1, 3}) {
        run_t run(options_of(uform_objective_joint_k), threads);
        batch_t batch(mixed_items(), run.trainer.options().model);
        run.take(batch);
        std::string const before = run.weights();
        batch.corrupt = 6;
        failure_t const failure = run.step(batch);
        EXPECT_EQ(failure.status, uform_status_malformed_k);
        EXPECT_EQ(failure.item, 6u);
        EXPECT_EQ(run.trainer.steps_done(), 1u);
        EXPECT_TRUE(run.weights() == before);
        batch.corrupt = SIZE_MAX;
        run.take(batch);
        EXPECT_EQ(run.stats.step, 2u);
    }
}

TEST(media_training, resuming_equals_never_stopping) {
    std::string const path =
        (std::filesystem::temp_directory_path() / ("uform-media-" + std::to_string(::getpid()) + ".safetensors"))
            .string();
    trainer_options_t const options = options_of(uform_objective_joint_k);
    batch_t batch(mixed_items(), options.model);
    run_t whole(options);
    for (int step = 0; step < 4; ++step) whole.take(batch);
    run_t half(options);
    for (int step = 0; step < 2; ++step) half.take(batch);
    ASSERT_FALSE(half.trainer.save(path, true, {}));
    run_t rest(options, 2, path);
    for (int step = 0; step < 2; ++step) rest.take(batch);
    EXPECT_TRUE(rest.weights() == whole.weights());
    trainer_options_t other = options;
    other.masking.image_mask_ratio = 0.5f;
    trainer_t refused;
    ASSERT_FALSE(refused.start(other, uform_cpu_class_serial_k, rest.executor));
    EXPECT_STREQ(refused.resume(path, {}).detail, "masking.image_mask_ratio: saved 0.75, asked 0.5");
    other = options, other.model.audio.chunk_samples = 40;
    ASSERT_FALSE(refused.start(other, uform_cpu_class_serial_k, rest.executor));
    EXPECT_STREQ(refused.resume(path, {}).detail, "audio.chunk_samples: saved 20, asked 40");
    std::filesystem::remove(path),
        std::filesystem::remove(path.substr(0, path.size() - 12) + ".2.optimizer.safetensors");
}

/** A run's weights in double, for a tower of the serial kit that knows nothing of runs, chunks or trainers. */
struct definition_t {
    model_options_t model;
    serial::kit<double> kit;
    packed_tower_t<serial::kit<double>> tower;
    tower_tensors_t<double const *, double const *> masters;
    std::vector<std::vector<double>> tensors;
    rotary_table_t<double> table;

    explicit definition_t(trainer_t const &trainer) : model(trainer.options().model) {
        EXPECT_TRUE(masters.blocks.resize(model.geometry.depth) && table.build(model.geometry.context));
        for (tensor_spec_t const &spec : trainer.parameters().specs()) {
            auto &wide = tensors.emplace_back(spec.elements());
            for (std::size_t i = 0; i < wide.size(); ++i)
                wide[i] = spec.is_f32() ? double(trainer.parameters().wide(spec.index)[i])
                                        : double(widen(trainer.parameters().narrow(spec.index)[i]));
            bind_tensor<double const *, double const *>(masters, spec, wide.data(), wide.data());
        }
        EXPECT_FALSE(tower.lay_out(kit, model.geometry, masters, {.token_values = {48, 24, 20}}));
        tower.pack_everything(kit, masters);
    }
    /** Hidden tokens of an item alone: patches, chunks, or columns of a clip through all its layers. */
    static std::vector<bool> hidden_of(item_t const &item, std::size_t index) {
        std::size_t const tokens = item.grid.tokens(), layer = item.grid.rows * item.grid.columns;
        bool const clip = item.modality == uform_modality_video_k;
        std::uint32_t const streams[] = {streams::image_masks_k, streams::video_masks_k, streams::audio_masks_k};
        std::vector<std::uint32_t> units(tokens);
        units.resize(
            choose_masked(0.75f, streams[item.modality - 1], {11, 1, index}, clip ? layer : tokens, units.data()));
        std::vector<bool> hidden(tokens);
        for (std::size_t token = 0; token < tokens; ++token)
            hidden[token] = std::count(units.begin(), units.end(), clip ? token % layer : token);
        return hidden;
    }
    /** States of an item whose hidden tokens enter as its medium's MASK row. */
    std::vector<double> states(item_t const &item, std::vector<bool> const &hidden, std::vector<double> const &values) {
        auto const &media = masters.media[item.modality - 1];
        std::size_t const tokens = hidden.size(), width = values.size() / tokens;
        std::vector<double> x(tokens * hidden_k), rotary(tokens * 64), states(x.size()), inverse(tokens);
        for (std::size_t token = 0; token < tokens; ++token)
            for (std::size_t i = 0; i < hidden_k; ++i) {
                double sum = hidden[token] ? media.mask[i] : media.bias[i];
                for (std::size_t j = 0; j < width && !hidden[token]; ++j)
                    sum += media.projection[i * width + j] * values[token * width + j];
                x[token * hidden_k + i] = sum;
            }
        if (item.modality == uform_modality_audio_k)
            turn_sequence(table, tokens, rotary.data());
        else
            turn_grid(table, item.grid, tokens, rotary.data());
        std::uint32_t const offsets[] = {0, std::uint32_t(tokens)};
        lane_t lane;
        block_stash_t<double> stash;
        EXPECT_TRUE(stash.claim(lane, model.geometry, tokens));
        for (auto const &block : tower.weights.blocks) {
            stash.middle = x.data();
            block_forward(kit, lane, model.geometry, block, block_items_t<double> {{offsets}, rotary.data()}, x.data(),
                          x.data(), stash);
        }
        kit.rmsnorm(lane, tokens, hidden_k, x.data(), tower.weights.norm, states.data(), inverse.data());
        return states;
    }
    /** The mean squared error of one token. */
    double error(item_t const &item, double const *state, std::span<double const> target) const {
        auto const &media = masters.media[item.modality - 1];
        double mean = 0, variance = 0, sum = 0, count = double(target.size());
        for (double const value : target) mean += value / count;
        for (double const value : target) variance += (value - mean) * (value - mean) / count;
        for (std::size_t i = 0; i < target.size(); ++i) {
            double error = media.reconstruction_bias[i] - (target[i] - mean) / std::sqrt(variance + 1e-6);
            for (std::size_t j = 0; j < hidden_k; ++j) error += media.reconstruction[i * hidden_k + j] * state[j];
            sum += error * error / count;
        }
        return sum;
    }
};

TEST(media_training, losses_are_their_definition_in_double) {
    run_t run(options_of(uform_objective_masked_k));
    batch_t batch({picture(4, 5, 42), text("a text between"), clip(2, 3, 3, 43), picture(3, 3, 44), recording(9, 45),
                   picture(2, 7, 46), clip(1, 2, 2, 47)},
                  run.trainer.options().model);
    definition_t definition(run.trainer);
    double sums[media_k] = {}, counts[media_k] = {};
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
        item_t const &item = batch.items[i];
        if (item.modality == uform_modality_text_k) continue;
        std::size_t const medium = std::size_t(item.modality - 1), tokens = item.grid.tokens(),
                          width = definition.model.token_values(medium_t(medium));
        std::vector<bf16_t> narrow(tokens * width);
        ASSERT_FALSE(batch.fill(i, tokens, narrow.data()));
        std::vector<double> values;
        for (bf16_t const value : narrow) values.push_back(widen(value));
        std::vector<bool> const hidden = definition_t::hidden_of(item, i);
        std::vector<double> const states = definition.states(item, hidden, values);
        for (std::size_t token = 0; token < tokens; ++token) {
            if (!hidden[token]) continue;
            std::span<double const> const target(values.data() + token * width, width);
            sums[medium] += definition.error(item, states.data() + token * hidden_k, target), counts[medium] += 1;
        }
    }
    run.take(batch);
    // BFloat16 rounds what passes between a block's steps, about eight times a block, to 2^-9 each; two blocks: sixteen
    // that know nothing of each other, four in the mean. Squares feel them twice; a loss is its hidden tokens' mean.
    auto const tolerance = [&](std::size_t medium) { return 8 * 0x1p-9 / std::sqrt(counts[medium]); };
    EXPECT_EQ(counts[0], 15 + 7 + 11); // 0.75 of 20, of 9, of 14, rounded to nearest, halves up
    EXPECT_EQ(counts[1], 5 * 3 + 2 * 2);
    EXPECT_EQ(counts[2], 7);
    EXPECT_NEAR(run.stats.masked_image_loss / (sums[0] / counts[0]), 1, tolerance(0));
    EXPECT_NEAR(run.stats.masked_video_loss / (sums[1] / counts[1]), 1, tolerance(1));
    EXPECT_NEAR(run.stats.masked_audio_loss / (sums[2] / counts[2]), 1, tolerance(2));
    std::printf("off by %.2g, %.2g, %.2g of their definition\n", run.stats.masked_image_loss / sums[0] * counts[0] - 1,
                run.stats.masked_video_loss / sums[1] * counts[1] - 1,
                run.stats.masked_audio_loss / sums[2] * counts[2] - 1);
}

/** Pictures of slow waves of light: what a patch shows follows from those beside it. */
struct waves_t {
    batch_t batch;

    explicit waves_t(std::size_t step) : batch({}, model()) {
        std::vector<item_t> items;
        for (std::size_t i = 0; i < 24; ++i) items.push_back(picture(6, 6, step * 24 + i));
        batch = batch_t(std::move(items), model());
    }
    static model_options_t model() { return options_of(uform_objective_masked_k).model; }
    static double light(std::uint64_t seed, std::size_t c, double y, double x) {
        std::uint64_t state = seed * 31 + 7;
        double const angle = std::numbers::pi * test::splitmix(state), phase = std::numbers::pi * test::splitmix(state);
        return 0.8 * std::sin((std::cos(angle) * y + std::sin(angle) * x) * 0.3 + phase + 0.5 * double(c));
    }
    static failure_t fill(void *self, std::size_t item, std::size_t tokens, bf16_t *values, stop_t) noexcept {
        batch_t const &batch = *static_cast<batch_t const *>(self);
        for (std::size_t i = 0; i < tokens * 48; ++i) {
            std::size_t const token = i / 48, c = i / 16 % 3, y = token / 6 * 4 + i / 4 % 4, x = token % 6 * 4 + i % 4;
            values[i] = round_to_bf16(float(light(batch.items[item].seed, c, double(y), double(x))));
        }
        return {};
    }
};

TEST(media_training, hidden_patches_are_learned_from_those_that_show) {
    trainer_options_t options = options_of(uform_objective_masked_k);
    options.schedule = derive_schedule({4e-3f, 0, 10, 90});
    run_t run(options, 2);
    float last = 0, first = 0;
    std::vector<double> mean(48), square(48);
    std::size_t patches = 0;
    for (std::size_t step = 0; step < 90; ++step) {
        waves_t waves(step);
        step_items_t items = waves.batch.given(false);
        items.source = {waves_t::fill, &waves.batch};
        run.executor.reset_lanes();
        failure_t const failure = run.trainer.step(items, run.executor, &run.stats);
        ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
        if (step == 0) first = run.stats.masked_image_loss;
        if (step >= 80) last += run.stats.masked_image_loss / 10;
        if (step % 16) continue;
        std::vector<bf16_t> values(36 * 48);
        double target[48];
        (void)waves_t::fill(&waves.batch, 0, 36, values.data(), {});
        for (std::size_t token = 0; token < 36; ++token, ++patches) {
            double wide[48];
            for (std::size_t i = 0; i < 48; ++i) wide[i] = widen(values[token * 48 + i]);
            double average = 0, variance = 0;
            for (double x : wide) average += x / 48;
            for (double x : wide) variance += (x - average) * (x - average) / 48;
            for (std::size_t i = 0; i < 48; ++i) {
                target[i] = (wide[i] - average) / std::sqrt(variance + 1e-6);
                mean[i] += target[i], square[i] += target[i] * target[i];
            }
        }
    }
    // What the best answer errs by that knows no picture: the mean patch.
    double baseline = 0;
    for (std::size_t i = 0; i < 48; ++i)
        baseline += (square[i] / double(patches) - mean[i] / double(patches) * mean[i] / double(patches)) / 48;
    std::printf("masked image loss %.3f, then %.3f; of the mean patch %.3f\n", first, last, baseline);
    EXPECT_GT(baseline, 0.8);
    EXPECT_LT(last, 0.6 * baseline);
}

} // namespace
