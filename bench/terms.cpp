/**
 *  @file terms.cpp
 *  @brief What each term of a step costs beyond its operations: the terms of micro's step on 256 pairs of 128 bytes.
 *
 *  A line is one term on one thread, alone: its time, and the time that its operations take: what the formulas of
 *  docs/DESIGN.md ask for (`all` below counts them), at the speed that the same products reached a moment before by the
 *  same kernel, and exponentials at the speed of a loop of nothing else. Beside it, the time that the rows take which it
 *  must read and write, at the speed at which one row of many was added to another. The ratio is to the larger of both.
 *  The last lines are whole steps on two threads, plain and with every term, in processor time: the second beside the
 *  first and what the terms' operations predict.
 */
#include "terms_step.hpp"

#include <functional>

#include <uform/train/choices_head.hpp>
#include <uform/train/coding_rate.hpp>
#include <uform/train/contrastive.hpp>
#include <uform/train/late_interaction.hpp>
#include <uform/train/lipschitz.hpp>
#include <uform/train/token_head.hpp>

namespace {

using namespace bench;

constexpr std::size_t width_k = 128, span_k = 64, tile_rows_k = 64;

/** A matrix packed as a right operand. */
struct operand_t {
    buffer_t<std::byte> memory;
    packed_t packed;
    operand_t(kit_table_t const &kit, std::size_t outputs, std::size_t inputs) : packed {nullptr, outputs, inputs} {
        buffer_t<bf16_t> const rows = normal_values<bf16_t>(outputs * inputs, 0.06f);
        if (!memory.resize(kit.pack_bytes(outputs, inputs, packed.scalar))) std::exit(2);
        packed.data = memory.data();
        kit.pack(rows.data(), 0, outputs, packed);
    }
};

/** What a term is measured by: itself, and products of its own kernel with their count of operations. */
struct term_t {
    char const *name;
    double flops;         // of the term
    double exponentials;  // beside them
    double product_flops; // of one call of `products`
    double bytes;         // that must be moved
    std::function<void()> term, products;
};

class terms_t {
    kit_table_t const &kit_;
    lane_t lane_;
    buffer_t<float> rows_ = normal_values<float>(items_k * hidden_k),
                    d_rows_ = normal_values<float>(items_k * hidden_k);
    buffer_t<float> square_ = normal_values<float>(items_k * items_k);
    std::vector<std::size_t> offsets_ {0};
    std::vector<std::uint32_t> ids_;
    float theta_ = 2.3f, bias_ = 0, d_theta_ = 0, d_bias_ = 0;

    // Token vectors: the first half of the items asks the second.
    buffer_t<bf16_t> vectors_ = normal_values<bf16_t>(items_k * length_k * width_k, 0.09f);
    buffer_t<bf16_t> states_ = normal_values<bf16_t>(items_k * length_k * hidden_k);
    buffer_t<float> unit_ = normal_values<float>(items_k * length_k * width_k, 0.09f);
    buffer_t<float> d_vectors_ = normal_values<float>(items_k * length_k * width_k);
    buffer_t<float> d_states_ = normal_values<float>(items_k * length_k * hidden_k);
    buffer_t<float> norms_ = normal_values<float>(items_k * length_k);
    buffer_t<float> d_weights_ = normal_values<float>(256 * hidden_k), tile_ = normal_values<float>(tile_rows_k * 64);
    operand_t tokens_ {kit_, width_k, hidden_k}, tokens_back_ {kit_, hidden_k, width_k}, block_ {kit_, 64, width_k};
    operand_t decoder_ {kit_, 256, hidden_k}, decoder_back_ {kit_, hidden_k, 256};
    buffer_t<bf16_t> decoder_bias_ = normal_values<bf16_t>(256);
    buffer_t<float> d_decoder_bias_ = normal_values<float>(256);
    std::vector<scored_item_t> queries_, documents_;
    std::vector<std::uint32_t> asking_, choice_offsets_ {0};
    std::vector<std::uint8_t> legal_;
    std::vector<float> targets_, scales_;

  public:
    explicit terms_t(kit_table_t const &kit) : kit_(kit) {
        for (std::uint32_t i = 0; i < items_k; ++i) {
            ids_.push_back((i + pairs_k) % items_k), offsets_.push_back(ids_.size());
            std::size_t const first = i * length_k;
            if (i < pairs_k)
                queries_.push_back({i, span_k, first});
            else
                documents_.push_back({i, length_k, first});
            asking_.push_back(std::uint32_t(first)), scales_.push_back(1);
            for (std::size_t choice = 0; choice < legal_k; ++choice)
                legal_.push_back(std::uint8_t(choice * 11)), targets_.push_back(1 / float(legal_k));
            choice_offsets_.push_back(std::uint32_t(legal_.size()));
        }
    }

    void score_pairs(std::vector<std::size_t> const &widths) {
        contrastive_t<float> in;
        in.relations.items = items_k, in.relations.attract = {offsets_, ids_, {}}, in.relations.ambient = 1;
        in.form = pair_loss_t::softmax_k, in.hidden = hidden_k, in.widths = widths, in.embeddings = rows_.data();
        in.theta = &theta_, in.bias = &bias_;
        contrastive(lane_, in, contrastive_gradient_t<float> {d_rows_.data(), &d_theta_, &d_bias_});
    }
    void score_token_vectors() {
        late_interaction_t<float> in;
        in.relations.items = items_k, in.relations.attract = {offsets_, ids_, {}}, in.relations.ambient = 1;
        in.form = pair_loss_t::softmax_k, in.width = width_k, in.vectors = vectors_.data();
        in.queries = queries_, in.documents = documents_, in.theta = &theta_, in.bias = &bias_;
        late_interaction(kit_, lane_, in, {d_vectors_.data(), &d_theta_, &d_bias_});
    }
    void pass_token_head() {
        std::size_t const tokens = items_k * length_k;
        token_vectors_forward(kit_, lane_, tokens_.packed, tokens, states_.data(), unit_.data(), norms_.data());
        token_head_backward_t<float> io;
        io.tokens = tokens, io.hidden = hidden_k, io.projection_transposed = tokens_back_.packed;
        io.states = states_.data(), io.vectors = unit_.data(), io.inverse_norms = norms_.data();
        io.d_vectors = d_vectors_.data(), io.projection_sum = d_weights_.data(), io.d_states_sum = d_states_.data();
        token_vectors_backward(kit_, lane_, io);
    }
    void choose() {
        choosing_t<float> choosing;
        choosing.decoded = {items_k, asking_.data(), states_.data(), hidden_k};
        choosing.choices = {{choice_offsets_}, legal_.data(), targets_.data(), scales_.data(), 0.5f, 1};
        choices_head(kit_, lane_, {decoder_.packed, decoder_back_.packed, decoder_bias_.data()},
                     {d_weights_.data(), d_decoder_bias_.data()}, choosing, d_states_.data());
    }
    /** Pooled rows added to others, 12 bytes a number: as fast as rows of this size can be passed through. */
    void add_rows() {
        for (std::size_t i = 0; i < items_k * hidden_k; ++i) d_rows_[i] += 0.5f * rows_[i];
    }
    static constexpr double added_bytes_k = 12.0 * items_k * hidden_k;

    /** The float32 product of the pooled losses. */
    void multiply_pooled() {
        product_sum(product_t<float> {items_k,
                                      hidden_k,
                                      items_k,
                                      {square_.data(), items_k, 1},
                                      rows_.data(),
                                      hidden_k,
                                      1.0f,
                                      d_rows_.data(),
                                      hidden_k});
    }
    /** Tokens of documents by a panel of queries', 64 rows at a time: with 96 or 128 their sums leave the first cache. */
    void multiply_tiles() {
        for (std::size_t tile = 0; tile < tiles_k; ++tile)
            kit_.gemm_wide(lane_, tile_rows_k, vectors_.data() + tile % items_k * tile_rows_k * width_k, block_.packed,
                           nullptr, tile_.data());
    }
    static constexpr std::size_t tiles_k = 2048;
    static constexpr double tiles_flops_k = 2.0 * tiles_k * tile_rows_k * query_blocks_t::tokens_k * width_k;

    void take_exponentials() {
        for (std::size_t row = 0; row < items_k; ++row) {
            float const *const from = rows_.data() + row % hidden_k * items_k;
            float *const to = square_.data() + row * items_k;
            for (std::size_t i = 0; i < items_k; ++i) to[i] = exponential(from[i]);
        }
    }
    static constexpr double exponentials_k = double(items_k) * items_k;
    void multiply_states(packed_t w, std::size_t rows, float *y) {
        kit_.gemm_wide(lane_, rows, states_.data(), w, nullptr, y);
    }

    /**
     *  N items, hidden H, T tokens of width W; a multiply-add is two operations.
     *  - contrastive: the triangle of D, N^2 H, and N rows of gradients, 2 N^2 H, whose sums widths share. Every cell, for
     *    each width: a logit 3, its shift, weight, sum and derivative 4, the temperature's derivative 3 and factor 1,
     *    both ways and both norms 3, the pull along the row 2; and an exponential;
     *  - coding rate: the triangle of the Gram matrix N H^2, its factor H^3 / 3, two substitutions a row 2 N H^2;
     *  - Lipschitz: four iterations of two products with a vector, 4 (2 + 2) N H; unit rows 3, scores 2, gradients 4;
     *  - late interaction: every token of a query by every token of a document, 2 W; the row of each that won by the other,
     *    both ways, 2 * 2 W; softmax over documents alone is nothing beside it, but its exponentials are counted;
     *  - token head and choices: a product, and two of its size on the way back. Of choices that is the byte decoder's, all
     *    256 rows of it: only legal ones, a 32nd here, would do without packed weights, and save 1 ms in 8 s.
     *  Bytes: a row that is read or written counts 4 a number, a token's vector that a product or a gradient reads 2.
     */
    std::vector<term_t> all() {
        double const items = items_k, hidden = hidden_k, tokens = items * length_k, square = items * items;
        double const pooled = 2 * square * hidden, pairs = double(pairs_k) * pairs_k, won = pairs * span_k;
        double const rows = 4 * items * hidden; // bytes of pooled rows, once through
        double const states = 4 * tokens * hidden, vectors = 4 * tokens * width_k;
        auto const multiply = [this] { multiply_pooled(); };
        auto const contrast = [&](char const *name, std::vector<std::size_t> widths) {
            double const scored = double(widths.size()) * square;
            return term_t {name,    1.5 * pooled + 16 * scored, scored,
                           pooled,  4 * rows + 4 * 4 * scored,  [this, widths] { score_pairs(widths); },
                           multiply};
        };
        return {
            contrast("contrastive", {hidden_k}),
            contrast("contrastive at 64, 128 and 256", {64, 128, hidden_k}),
            {"coding rate", 3 * items * hidden * hidden + hidden * hidden * hidden / 3, 0, pooled, 6 * rows,
             [this] {
                 coding_rate(lane_, coding_rate_t<float> {items_k, hidden_k, rows_.data(), 0.02f, 0}, d_rows_.data());
             },
             multiply},
            {"Lipschitz", (4 * 4 + 9) * items * hidden, 0, pooled, (2 + 4 + 3) * rows,
             [this] {
                 lipschitz(lane_, lipschitz_t<float> {items_k, hidden_k, rows_.data(), 0.1f, 1, 1, 4}, d_rows_.data());
             },
             multiply},
            {"late interaction", 2 * won * length_k * width_k + 4 * won * width_k, pairs, tiles_flops_k,
             0.5 * vectors + 2 * vectors + 2 * 2 * won * width_k, [this] { score_token_vectors(); },
             [this] { multiply_tiles(); }},
            {"token head, there and back", 3 * 2 * tokens * hidden * width_k, 0, 2 * tokens * hidden * width_k,
             1.5 * states + 4 * vectors, [this] { pass_token_head(); },
             [this] { multiply_states(tokens_.packed, items_k * length_k, unit_.data()); }},
            {"choices with Brier score, there and back", 3 * 2 * items * hidden * 256, items * legal_k,
             2 * items * hidden * 256, 3 * rows, [this] { choose(); },
             [this] { multiply_states(decoder_.packed, items_k, d_states_.data()); }},
        };
    }
};

/** What the operations of all terms take beyond the plain step's, whose contrastive term is the first. */
double measure_terms(kit_table_t const &kit, std::size_t rounds) {
    terms_t terms(kit);
    double sum = 0;
    std::printf("%-44s %12s %12s %12s %8s\n", "a term, one thread", "milliseconds", "operations", "bytes", "ratio");
    std::vector<term_t> const all = terms.all();
    for (term_t const &term : all) {
        std::vector<double> spent, predicted, moved, ratios;
        for (std::size_t round = 0; round <= rounds; ++round) {
            double const product = seconds_of(term.products), stream = seconds_of([&] { terms.add_rows(); }),
                         exponentials = seconds_of([&] { terms.take_exponentials(); }), taken = seconds_of(term.term);
            double const expected = product * term.flops / term.product_flops +
                                    exponentials * term.exponentials / terms_t::exponentials_k,
                         least = stream * term.bytes / terms_t::added_bytes_k;
            if (round == 0) continue; // warms caches and scratch
            spent.push_back(taken), predicted.push_back(expected), moved.push_back(least);
            ratios.push_back(taken / std::max(expected, least));
        }
        std::printf("%-44s %12.3f %12.3f %12.3f %8.2f\n", term.name, 1e3 * median(spent), 1e3 * median(predicted),
                    1e3 * median(moved), median(ratios));
        std::fflush(stdout);
        sum += &term == &all.front() ? -median(predicted) : median(predicted);
    }
    return sum;
}

void demand_near(char const *what, double narrow, double wide) {
    if (std::fabs(narrow - wide) <= 1e-4 * (1 + std::fabs(wide))) return;
    std::fprintf(stderr, "%s is wrong: %.9g in float, %.9g in double\n", what, narrow, wide);
    std::exit(1);
}

/** Of forty rows, each of which attracts the one that comes next. */
template <typename scalar_, typename rows_>
double contrast_of(lane_t &lane, rows_ const &rows, std::vector<scalar_> &d_rows) {
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < 40; ++i) ids.push_back((i + 1) % 40), offsets.push_back(ids.size());
    std::size_t const widths[] = {16, 64};
    scalar_ const theta = 2, bias = 0;
    scalar_ d_theta = 0, d_bias = 0;
    contrastive_t<scalar_> in;
    in.relations.items = 40, in.relations.attract = {offsets, ids, {}}, in.form = pair_loss_t::softmax_k;
    in.hidden = 64, in.widths = widths, in.embeddings = rows.data(), in.theta = &theta, in.bias = &bias;
    return contrastive(lane, in, contrastive_gradient_t<scalar_> {d_rows.data(), &d_theta, &d_bias});
}

/** The kernels that products are timed by against the serial class, and the pooled terms against double. */
void verify(kit_table_t const &kit) {
    lane_t lane;
    buffer_t<bf16_t> const x = normal_values<bf16_t>(32 * 128), rows = normal_values<bf16_t>(64 * 128);
    buffer_t<float> answers[2];
    kit_table_t const *const kits[] = {&kit, &serial_table()};
    for (int i = 0; i < 2; ++i) {
        buffer_t<std::byte> memory;
        packed_t packed {nullptr, 64, 128};
        if (!answers[i].resize(32 * 64) || !memory.resize(kits[i]->pack_bytes(64, 128, packed.scalar))) std::exit(2);
        packed.data = memory.data();
        kits[i]->pack(rows.data(), 0, 64, packed);
        kits[i]->gemm_wide(lane, 32, x.data(), packed, nullptr, answers[i].data());
    }
    demand_equal("a product", answers[0], answers[1], 128 * 0x1p-24);
    buffer_t<float> const narrow = normal_values<float>(40 * 64);
    std::vector<double> wide(narrow.begin(), narrow.end()), d_wide(wide.size());
    std::vector<float> d_narrow(wide.size());
    demand_near("contrastive", contrast_of<float>(lane, narrow, d_narrow), contrast_of<double>(lane, wide, d_wide));
    demand_near("coding rate", coding_rate(lane, coding_rate_t<float> {40, 64, narrow.data(), 1, 0}, d_narrow.data()),
                coding_rate(lane, coding_rate_t<double> {40, 64, wide.data(), 1, 0}, d_wide.data()));
    demand_near("Lipschitz", lipschitz(lane, lipschitz_t<float> {40, 64, narrow.data(), 1, 1, 1, 4}, d_narrow.data()),
                lipschitz(lane, lipschitz_t<double> {40, 64, wide.data(), 1, 1, 1, 4}, d_wide.data()));
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    verify(each.table);
    double const predicted = measure_terms(each.table, arguments.rounds);
    if (arguments.only != "terms") measure_steps(predicted, std::max<std::size_t>(1, arguments.rounds / 2));
}
