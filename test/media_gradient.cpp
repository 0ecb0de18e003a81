/**
 *  @file media_gradient.cpp
 *  @brief A mixed batch of texts, pictures, clips and recordings, some of their tokens hidden: partials of every entry,
 *  reconstruction head and block by complex step against the backward.
 *
 *  The loss is what a masked step minimizes of media, plus a fixed random projection of the states, so that every token
 *  takes part. Both sides run the same templates, once over double and once over complex<double>.
 */
#include <gtest/gtest.h>

#include <vector>

#include <uform/encoder/packed_tower.hpp>
#include <uform/encoder/serial.hpp>
#include <uform/train/reconstruction.hpp>

#include "model_fixture.hpp"

namespace {

using namespace uform;
using complex_t = std::complex<double>;

constexpr geometry_t geometry_k {128, 1, 16};
constexpr std::size_t values_k[media_k] = {12, 10, 5}; // of a token
constexpr double scales_k[media_k] = {0.3, 0.7, 1.1};

/** Tokens of the batch: a text, two pictures beside one another, a text, a clip, a recording, a third picture. */
constexpr std::uint32_t offsets_k[] = {0, 3, 9, 10, 12, 20, 23, 25};
constexpr std::size_t tokens_k = 25;
constexpr double times_k[] = {0, 1.25}; // of the clip's layers
/** Hidden tokens of the batch, those of one medium beside one another; the second picture is hidden whole. */
constexpr std::uint32_t hidden_pictures_k[] = {4, 5, 9, 24}, hidden_clip_k[] = {12, 15, 16, 19},
                        hidden_recording_k[] = {21};
/** The same as rows of their medium's values. */
constexpr std::uint32_t picture_rows_k[] = {1, 2, 6, 8}, clip_rows_k[] = {0, 3, 4, 7}, recording_rows_k[] = {1};

/** Every tensor in one vector, so that a partial is an index. */
struct layout_t {
    std::size_t used = 0;
    std::vector<std::pair<std::size_t, std::size_t>> tensors; // offset, count
    std::size_t add(std::size_t count) {
        tensors.push_back({used, count});
        return std::exchange(used, used + count);
    }
};

template <typename pointer_, typename element_>
layout_t bind(tower_tensors_t<pointer_, pointer_> &tensors, element_ *base) {
    layout_t layout;
    std::size_t const d = geometry_k.hidden, m = geometry_k.inner();
    auto at = [&](std::size_t count) { return base + layout.add(count); };
    EXPECT_TRUE(tensors.blocks.resize(geometry_k.depth));
    tensors.embedding = at(vocabulary_k * d);
    for (std::size_t medium = 0; medium < media_k; ++medium) {
        auto &media = tensors.media[medium];
        media.projection = at(d * values_k[medium]), media.bias = at(d), media.mask = at(d);
        media.reconstruction = at(values_k[medium] * d), media.reconstruction_bias = at(values_k[medium]);
    }
    for (auto &block : tensors.blocks) {
        block.attention_norm = at(d), block.qkv = at(3 * d * d), block.output = at(d * d);
        block.mlp_norm = at(d), block.gate = at(m * d), block.up = at(m * d), block.down = at(d * m);
    }
    tensors.norm = at(d), tensors.pool_query = at(d), tensors.pool_hidden = at(d * d), tensors.pool_output = at(d * d);
    return layout;
}

template <typename wide_>
struct run_of_t {
    using kit_t = serial::kit<wide_>;
    kit_t kit;
    lane_t lane;
    masters_t<wide_> masters;
    packed_tower_t<kit_t> tower;
    rotary_table_t<wide_> table;
    std::vector<wide_> rotary, values[media_k];
    std::uint16_t ids[4] = {72, mask_token_k, 105, 33};
    run_t<wide_> runs[6];
    mixed_batch_t<wide_> batch;
    states_t<wide_> states;
    residuals_t<wide_> residuals;

    explicit run_of_t(std::vector<wide_> const &parameters) : rotary(tokens_k * head_width_k) {
        bind(masters, parameters.data());
        tower_layout_t const layout {.token_values = {values_k[0], values_k[1], values_k[2]}, .with_transposes = true};
        EXPECT_FALSE(tower.lay_out(kit, geometry_k, masters, layout));
        EXPECT_TRUE(table.build(geometry_k.context));
        std::size_t const tokens[media_k] = {9, 8, 3};
        std::uint64_t state = 21;
        for (std::size_t medium = 0; medium < media_k; ++medium)
            for (std::size_t i = 0; i < tokens[medium] * values_k[medium]; ++i)
                values[medium].push_back(test::splitmix(state));
        lay_runs(), turn();
        batch = {items_t {offsets_k}, rotary.data(), runs};
        std::size_t const cells = tokens_k * geometry_k.hidden;
        residuals = {lane.claim<wide_>(cells * (geometry_k.depth + 1)), cells};
        EXPECT_TRUE(states.claim(lane, geometry_k, tokens_k));
    }
    void lay_runs() {
        using enum medium_t;
        auto const tail = [](auto const &list, std::size_t first, std::size_t last) {
            return std::span<std::uint32_t const>(list).subspan(first, last - first);
        };
        runs[0] = {0, 3, ids, nullptr, image_k, {}};
        runs[1] = {3, 7, nullptr, values[0].data(), image_k, tail(hidden_pictures_k, 0, 3)};
        runs[2] = {10, 2, ids + 2, nullptr, image_k, {}};
        runs[3] = {12, 8, nullptr, values[1].data(), video_k, hidden_clip_k};
        runs[4] = {20, 3, nullptr, values[2].data(), audio_k, hidden_recording_k};
        runs[5] = {23, 2, nullptr, values[0].data() + 7 * values_k[0], image_k, tail(hidden_pictures_k, 3, 4)};
    }
    void turn() {
        auto const row = [&](std::size_t token) { return rotary.data() + token * head_width_k; };
        for (std::size_t text : {0, 10, 20}) turn_sequence(table, text == 0 ? 3 : text == 10 ? 2 : 3, row(text));
        turn_grid(table, token_grid_t {2, 3}, 6, row(3)), turn_grid(table, token_grid_t {1, 1}, 1, row(9));
        turn_grid(table, token_grid_t {2, 2, 2, times_k}, 8, row(12)),
            turn_grid(table, token_grid_t {1, 2}, 2, row(23));
    }

    decoded_t<wide_> decoded(std::size_t medium) const {
        std::span<std::uint32_t const> const lists[] = {hidden_pictures_k, hidden_clip_k, hidden_recording_k};
        return {lists[medium].size(), lists[medium].data(), states.states, geometry_k.hidden};
    }
    reconstruction_t<wide_> reconstruction(std::size_t medium) const {
        std::uint32_t const *const rows[] = {picture_rows_k, clip_rows_k, recording_rows_k};
        return {decoded(medium).count, values_k[medium], rows[medium], values[medium].data(), scales_k[medium]};
    }
    /** The loss and, of double alone, its gradient. */
    wide_ loss(std::vector<double> const &projection, tower_gradients_t<wide_> const &gradients) {
        tower.pack_everything(kit, masters);
        tower_forward(kit, lane, tower.weights, batch, residuals, states);
        std::size_t const cells = tokens_k * geometry_k.hidden;
        std::vector<wide_> d_states(projection.begin(), projection.begin() + cells);
        wide_ sum = 0;
        for (std::size_t i = 0; i < cells; ++i) sum += states.states[i] * projection[i];
        for (std::size_t medium = 0; medium < media_k; ++medium) {
            media_weights_t<wide_> const &weights = tower.weights.media[medium];
            media_tensors_t<wide_ *> const &sums = gradients.media_sum[medium];
            sum +=
                scales_k[medium] *
                reconstruction_head(kit, lane,
                                    decoder_weights_t<wide_> {weights.reconstruction, weights.reconstruction_transposed,
                                                              weights.reconstruction_bias},
                                    decoder_gradients_t<wide_> {sums.reconstruction, sums.reconstruction_bias},
                                    decoded(medium), reconstruction(medium), d_states.data());
        }
        if constexpr (std::is_same_v<wide_, double>)
            tower_backward(kit, lane, tower.weights, gradients, batch, residuals, states, d_states.data());
        EXPECT_FALSE(lane.failed()) << lane.failure().message;
        return sum;
    }
};

/** Gradients of every tensor, in the order of `bind`. */
template <typename wide_>
struct gradient_t {
    std::vector<wide_> flat;
    tower_gradients_t<wide_> tower;

    gradient_t() {
        tower_tensors_t<wide_ *, wide_ *> d;
        flat.resize(bind(d, static_cast<wide_ *>(nullptr)).used);
        bind(d, flat.data());
        EXPECT_TRUE(tower.blocks.resize(geometry_k.depth));
        tower.embedding_sum = d.embedding, tower.norm_sum = d.norm;
        std::copy(std::begin(d.media), std::end(d.media), std::begin(tower.media_sum));
        for (std::size_t i = 0; i < geometry_k.depth; ++i) {
            auto const &b = d.blocks[i];
            tower.blocks[i] = {b.attention_norm, b.qkv, b.output, b.mlp_norm, b.gate, b.down};
        }
    }
};

struct problem_t {
    std::vector<double> parameters, projection;
    layout_t layout;

    problem_t() {
        tower_tensors_t<double const *, double const *> shape;
        layout = bind(shape, static_cast<double const *>(nullptr));
        std::uint64_t state = 11;
        parameters.resize(layout.used), projection.resize(tokens_k * geometry_k.hidden);
        for (double &x : projection) x = test::splitmix(state);
        for (auto const &[offset, count] : layout.tensors)
            for (std::size_t i = offset; i < offset + count; ++i)
                parameters[i] = 0.3 * test::splitmix(state) + (count == geometry_k.hidden); // scales near one
    }
};

TEST(media_gradient, every_tensor_by_complex_step) {
    constexpr double step_k = 1e-50;
    problem_t const problem;
    gradient_t<double> gradient;
    gradient_t<complex_t> ignored;
    run_of_t<double>(problem.parameters).loss(problem.projection, gradient.tower);
    std::vector<complex_t> parameters(problem.parameters.begin(), problem.parameters.end());
    run_of_t<complex_t> run(parameters);
    std::size_t moved = 0;
    for (auto const &[offset, count] : problem.layout.tensors) {
        std::size_t const samples = std::min<std::size_t>(count, 5);
        for (std::size_t sample = 0; sample < samples; ++sample) {
            std::size_t const i =
                offset + sample * (count / samples) + sample % std::max<std::size_t>(count / samples, 1);
            parameters[i].imag(step_k);
            double const expected = run.loss(problem.projection, ignored.tower).imag() / step_k;
            parameters[i].imag(0);
            moved += expected != 0;
            ASSERT_NEAR(gradient.flat[i], expected, 1e-12 * (1 + std::abs(expected)))
                << "parameter " << i - offset << " of the tensor at " << offset;
        }
    }
    EXPECT_GT(moved, 110u) << "most tensors take part";
}

/** A random direction over all of a tensor touches every one of its partials: d/dh F(x + hv) = <gradient, v>. */
TEST(media_gradient, every_partial_in_random_directions) {
    constexpr double step_k = 1e-50;
    problem_t const problem;
    gradient_t<double> gradient;
    gradient_t<complex_t> ignored;
    run_of_t<double>(problem.parameters).loss(problem.projection, gradient.tower);
    std::vector<complex_t> parameters(problem.parameters.begin(), problem.parameters.end());
    run_of_t<complex_t> run(parameters);
    std::uint64_t state = 5;
    for (auto const &[offset, count] : problem.layout.tensors)
        for (int round = 0; round < 2; ++round) {
            double expected = 0, magnitude = 0;
            for (std::size_t i = offset; i < offset + count; ++i) {
                double const direction = test::splitmix(state);
                parameters[i].imag(step_k * direction);
                expected += gradient.flat[i] * direction, magnitude += std::abs(gradient.flat[i] * direction);
            }
            EXPECT_NEAR(run.loss(problem.projection, ignored.tower).imag() / step_k, expected, 1e-12 * (1 + magnitude))
                << "the tensor at " << offset;
            for (std::size_t i = offset; i < offset + count; ++i) parameters[i].imag(0);
        }
}

} // namespace
