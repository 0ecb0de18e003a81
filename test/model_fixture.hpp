/**
 *  @file model_fixture.hpp
 *  @brief Small models for tests: weights from splitmix64, as test/golden/make_tower.py draws them, bound to a kit.
 *
 *  It needs no test framework, so that test/emulated can compile it for other processors.
 */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <uform/encoder/packed_tower.hpp>
#include <uform/encoder/serial.hpp>

namespace uform::test {

inline double splitmix(std::uint64_t &state) { // in [-1, 1)
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull, z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

/** Ends the program where a model could not even be made: nothing that follows would mean anything. */
inline void require(bool condition) {
    if (condition) return;
    std::fputs("a test model could not be made\n", stderr);
    std::exit(3);
}

/** A tower with owned masters; tensor i, counted in checkpoint order, draws from seed i. */
template <typename kit_>
struct model_fixture_t {
    using wide_t = typename kit_::wide_t;
    using narrow_t = typename kit_::narrow_t;

    kit_ const &kit;
    geometry_t geometry;
    std::size_t token_width;
    std::vector<std::vector<narrow_t>> matrices;
    std::vector<std::vector<wide_t>> scales;
    masters_t<wide_t> masters;
    packed_tower_t<kit_> tower;
    rotary_table_t<wide_t> rotary;

    model_fixture_t(kit_ const &kit, geometry_t geometry, std::size_t token_width,
                    uform_scalar_t block_scalar = uform_scalar_bf16_k)
        : kit(kit), geometry(geometry), token_width(token_width) {
        std::size_t const d = geometry.hidden, m = geometry.inner();
        std::uint64_t tensor = 0;
        require(masters.blocks.resize(geometry.depth));
        masters.embedding = matrix(tensor++, vocabulary_k * d);
        for (auto &block : masters.blocks) {
            block.attention_norm = scale(tensor++, d), block.qkv = matrix(tensor++, 3 * d * d);
            block.output = matrix(tensor++, d * d), block.mlp_norm = scale(tensor++, d);
            block.gate = matrix(tensor++, m * d), block.up = matrix(tensor++, m * d);
            block.down = matrix(tensor++, d * m);
        }
        masters.norm = scale(tensor++, d), masters.pool_query = matrix(tensor++, d);
        masters.pool_hidden = matrix(tensor++, d * d), masters.pool_output = matrix(tensor++, d * d);
        masters.tokens_projection = matrix(tensor++, token_width * d);
        require(!tower.lay_out(kit, geometry, masters, {.token_width = token_width, .block_scalar = block_scalar}));
        tower.pack_everything(kit, masters);
        require(rotary.build(geometry.context));
    }

    struct answers_t {
        std::vector<std::uint32_t> offsets;
        std::vector<wide_t> embeddings; // [items, hidden], unit rows
        std::vector<narrow_t> states;   // [tokens, hidden]
        std::vector<wide_t> vectors;    // [tokens, token_width]
    };
    answers_t encode(lane_t &lane, std::vector<std::string> const &texts) const {
        lane.scratch.reset();
        text_batch_t<wide_t> batch;
        auto text_of = [&](std::size_t i) {
            return std::span<unsigned char const>((unsigned char const *)texts[i].data(), texts[i].size());
        };
        require(pack_texts(lane, rotary, texts.size(), text_of, batch));
        std::size_t const tokens = batch.items.tokens(), d = geometry.hidden, items = texts.size();
        states_t<wide_t> states;
        pool_stash_t<wide_t> pool;
        require(states.claim(lane, geometry, tokens) && pool.claim(lane, geometry, batch.items));
        residuals_t<wide_t> residuals {lane.claim<wide_t>(tokens * d), 0};
        answers_t out;
        out.embeddings.resize(items * d), out.vectors.resize(tokens * token_width);
        std::vector<wide_t> norms(std::max(tokens, items));
        tower_forward(kit, lane, tower.weights, batch, residuals, states);
        pool_forward(kit, lane, geometry, tower.weights.pool, batch.items, states.states, pool, out.embeddings.data());
        kit.normalize_rows(lane, items, d, d, out.embeddings.data(), out.embeddings.data(), norms.data());
        token_vectors_forward(kit, lane, tower.weights.tokens_projection, tokens, states.states, out.vectors.data(),
                              norms.data());
        require(!lane.failed());
        out.states.assign(states.states, states.states + tokens * d);
        out.offsets.assign(batch.items.offsets.begin(), batch.items.offsets.end());
        return out;
    }

  private:
    narrow_t const *matrix(std::uint64_t state, std::size_t count) {
        auto &values = matrices.emplace_back(count);
        for (auto &x : values) x = narrow<wide_t>(wide_t(0.25 * splitmix(state)));
        return values.data();
    }
    wide_t const *scale(std::uint64_t state, std::size_t count) {
        auto &values = scales.emplace_back(count);
        for (auto &x : values) x = wide_t(1 + 0.25 * splitmix(state));
        return values.data();
    }
};

/** FNV-1a over every bit that a batch answers. */
template <typename answers_>
std::uint64_t hash_of(answers_ const &answers) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    auto absorb = [&](auto const &values) {
        auto const *bytes = reinterpret_cast<unsigned char const *>(values.data());
        for (std::size_t i = 0; i < values.size() * sizeof(values[0]); ++i)
            hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    };
    absorb(answers.embeddings), absorb(answers.states), absorb(answers.vectors);
    return hash;
}

/** What the serial class answers to `serial_texts` with a model of 128 x 2, wherever it runs. */
inline constexpr std::uint64_t serial_hash_k = 0x25ec925e9310b856ull;
inline std::vector<std::string> serial_texts() {
    return {"Hello, world", "a", "", "\u00fcber \u65e5\u672c\u8a9e", "0123456789abcdefghijklmnopqrstuvwxyz"};
}

} // namespace uform::test
