/**
 *  @file block_gradient.cpp
 *  @brief Every partial derivative of a small tower, pool and head by complex step against the backward.
 *
 *  The loss is a fixed random projection of the raw embeddings and of the states, so every tensor of the tower takes
 *  part. Both sides run the same templates, once over double and once over complex<double>.
 */
#include <gtest/gtest.h>

#include <vector>

#include <uform/encoder/packed_tower.hpp>
#include <uform/encoder/serial.hpp>

namespace {

using namespace uform;
using complex_t = std::complex<double>;

constexpr geometry_t geometry_k {128, 2, 16};
constexpr std::size_t lengths_k[] = {3, 1, 5};

double pseudo_random(std::uint64_t &state) { // splitmix64, in (-1, 1)
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull, z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

/** One flat vector holds every tensor, so a partial is an index. */
struct parameters_t {
    std::size_t used = 0;
    std::vector<std::pair<std::size_t, std::size_t>> tensors; // offset, count
    std::size_t add(std::size_t count) {
        tensors.push_back({used, count});
        return std::exchange(used, used + count);
    }
};

template <typename pointer_, typename element_>
parameters_t bind(tower_tensors_t<pointer_, pointer_> &tensors, element_ *base) {
    parameters_t p;
    std::size_t const d = geometry_k.hidden, m = geometry_k.inner();
    auto at = [&](std::size_t count) { return base + p.add(count); };
    EXPECT_TRUE(tensors.blocks.resize(geometry_k.depth));
    tensors.embedding = at(vocabulary_k * d);
    for (auto &block : tensors.blocks) {
        block.attention_norm = at(d), block.qkv = at(3 * d * d), block.output = at(d * d);
        block.mlp_norm = at(d), block.gate = at(m * d), block.up = at(m * d), block.down = at(d * m);
    }
    tensors.norm = at(d), tensors.pool_query = at(d), tensors.pool_hidden = at(d * d), tensors.pool_output = at(d * d);
    return p;
}

template <typename wide_>
struct run_t {
    using kit_t = serial::kit<wide_>;
    kit_t kit;
    lane_t lane;
    masters_t<wide_> masters;
    packed_tower_t<kit_t> tower;
    rotary_table_t<wide_> rotary;
    text_batch_t<wide_> batch;
    states_t<wide_> states;
    pool_stash_t<wide_> pool;
    residuals_t<wide_> residuals;
    std::vector<std::vector<unsigned char>> texts;
    wide_ *embeddings = nullptr;

    explicit run_t(std::vector<wide_> const &parameters) {
        bind(masters, parameters.data());
        EXPECT_FALSE(tower.lay_out(kit, geometry_k, masters, {.with_transposes = true}));
        EXPECT_TRUE(rotary.build(geometry_k.context));
        for (std::size_t length : lengths_k) {
            texts.emplace_back();
            for (std::size_t i = 0; i < length; ++i) texts.back().push_back((unsigned char)(40 * length + 7 * i));
        }
        EXPECT_TRUE(pack_texts(
            lane, rotary, texts.size(), [&](std::size_t i) { return std::span<unsigned char const>(texts[i]); },
            batch));
        std::size_t const cells = batch.items.tokens() * geometry_k.hidden;
        residuals = {lane.claim<wide_>(cells * (geometry_k.depth + 1)), cells};
        EXPECT_TRUE(states.claim(lane, geometry_k, batch.items.tokens()));
        EXPECT_TRUE(pool.claim(lane, geometry_k, batch.items));
        embeddings = lane.claim<wide_>(texts.size() * geometry_k.hidden);
    }
    void forward() {
        tower.pack_everything(kit, masters);
        tower_forward(kit, lane, tower.weights, batch, residuals, states);
        pool_forward(kit, lane, geometry_k, tower.weights.pool, batch.items, states.states, pool, embeddings);
    }
    /** The scalar everything is differentiated of. */
    wide_ loss(std::vector<double> const &projection) const {
        wide_ sum = 0;
        std::size_t const pooled = texts.size() * geometry_k.hidden, cells = batch.items.tokens() * geometry_k.hidden;
        for (std::size_t i = 0; i < pooled; ++i) sum += embeddings[i] * projection[i];
        for (std::size_t i = 0; i < cells; ++i) sum += states.states[i] * projection[pooled + i];
        return sum;
    }
};

struct problem_t {
    std::vector<double> parameters, projection, gradient;
    parameters_t layout;

    problem_t() {
        tower_tensors_t<double const *, double const *> shape;
        layout = bind(shape, static_cast<double const *>(nullptr));
        std::uint64_t state = 11;
        parameters.resize(layout.used), projection.resize(64 * geometry_k.hidden), gradient.resize(layout.used);
        for (auto &x : projection) x = pseudo_random(state);
        for (std::size_t tensor = 0; tensor < layout.tensors.size(); ++tensor)
            for (std::size_t i = 0; i < layout.tensors[tensor].second; ++i)
                parameters[layout.tensors[tensor].first + i] =
                    0.3 * pseudo_random(state) + (layout.tensors[tensor].second == geometry_k.hidden);
        backward();
    }
    void backward() {
        run_t<double> run(parameters);
        run.forward();
        tower_tensors_t<double *, double *> d;
        bind(d, gradient.data());
        tower_gradients_t<double> gradients;
        ASSERT_TRUE(gradients.blocks.resize(geometry_k.depth));
        gradients.embedding_sum = d.embedding, gradients.norm_sum = d.norm;
        for (std::size_t i = 0; i < geometry_k.depth; ++i) {
            auto const &b = d.blocks[i];
            gradients.blocks[i] = {b.attention_norm, b.qkv, b.output, b.mlp_norm, b.gate, b.down};
        }
        gradients.pool = {d.pool_query, d.pool_hidden, d.pool_output};
        std::size_t const pooled = run.texts.size() * geometry_k.hidden;
        std::vector<double> d_states(projection.begin() + pooled, projection.end());
        pool_backward(run.kit, run.lane, geometry_k, run.tower.weights.pool, gradients.pool, run.batch.items,
                      run.states.states, run.pool, projection.data(), d_states.data());
        tower_backward(run.kit, run.lane, run.tower.weights, gradients, run.batch, run.residuals, run.states,
                       d_states.data());
        ASSERT_FALSE(run.lane.failed()) << run.lane.failure().message;
    }
};

/** Perturbs `count` parameters of every tensor, evenly spread, all of the short ones. */
TEST(block_gradient, every_tensor_by_complex_step) {
    constexpr double step_k = 1e-50;
    problem_t problem;
    std::vector<complex_t> parameters(problem.parameters.begin(), problem.parameters.end());
    run_t<complex_t> run(parameters);
    std::size_t checked = 0;
    double worst = 0;
    for (auto const &[offset, count] : problem.layout.tensors) {
        std::size_t const samples = std::min<std::size_t>(count, 29); // prime: strides hit every row and column class
        for (std::size_t sample = 0; sample < samples; ++sample, ++checked) {
            std::size_t const i =
                offset + sample * (count / samples) + sample % std::max<std::size_t>(count / samples, 1);
            parameters[i].imag(step_k);
            run.forward();
            double const expected = run.loss(problem.projection).imag() / step_k;
            parameters[i].imag(0);
            worst = std::max(worst, std::abs(expected - problem.gradient[i]) / (1 + std::abs(expected)));
            ASSERT_NEAR(problem.gradient[i], expected, 1e-12 * (1 + std::abs(expected)))
                << "parameter " << i - offset << " of the tensor at " << offset;
        }
    }
    RecordProperty("checked", int(checked));
    RecordProperty("worst", std::to_string(worst));
}

/** A random direction over all of a tensor touches every one of its partials: d/dh F(x + hv) = <gradient, v>. */
TEST(block_gradient, every_partial_in_random_directions) {
    constexpr double step_k = 1e-50;
    problem_t problem;
    std::vector<complex_t> parameters(problem.parameters.begin(), problem.parameters.end());
    run_t<complex_t> run(parameters);
    std::uint64_t state = 5;
    for (auto const &[offset, count] : problem.layout.tensors)
        for (int round = 0; round < 4; ++round) {
            double expected = 0, magnitude = 0;
            for (std::size_t i = offset; i < offset + count; ++i) {
                double const direction = pseudo_random(state);
                parameters[i].imag(step_k * direction);
                expected += problem.gradient[i] * direction, magnitude += std::abs(problem.gradient[i] * direction);
            }
            run.forward();
            EXPECT_NEAR(run.loss(problem.projection).imag() / step_k, expected, 1e-12 * (1 + magnitude))
                << "the tensor at " << offset;
            for (std::size_t i = offset; i < offset + count; ++i) parameters[i].imag(0);
        }
}

} // namespace
