/**
 *  @file terms.cpp
 *  @brief What each term of a step costs beyond its products: the terms of micro's step on 256 pairs of 128 bytes.
 *
 *  A line is one term on one thread, alone: its time, and the time that its count of operations takes at the speed that
 *  the same products reached a moment before, by the same kernel. Beside it, the time that the rows take which it must
 *  read and write, at the speed at which one row of many was added to another: a term of few operations a number cannot
 *  be faster than that. The ratio is to the larger of both: what exponentials, scans and rows that gradients add cost.
 *  The last lines are whole steps on two threads, plain and with every term, in
 *  processor time: the second beside the first and what the terms' operations predict.
 */
#include "towers.hpp"

#include <functional>

#include <uform/train/choices_head.hpp>
#include <uform/train/coding_rate.hpp>
#include <uform/train/contrastive.hpp>
#include <uform/train/late_interaction.hpp>
#include <uform/train/lipschitz.hpp>
#include <uform/train/token_head.hpp>

namespace {

using namespace bench;

constexpr std::size_t hidden_k = 256, depth_k = 6, pairs_k = 256, items_k = 2 * pairs_k, length_k = 128;
constexpr std::size_t width_k = 128, span_k = 64, legal_k = 8;

template <typename body_>
double seconds_of(body_ const &body) {
    double const start = seconds_now();
    body();
    return seconds_now() - start;
}

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
    buffer_t<float> d_weights_ = normal_values<float>(256 * hidden_k), tile_ = normal_values<float>(64 * 64);
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
    void multiply_tiles() {
        for (std::size_t tile = 0; tile < 2048; ++tile)
            kit_.gemm_wide(lane_, 64, vectors_.data() + tile % 512 * 64 * width_k, block_.packed, nullptr,
                           tile_.data());
    }
    void multiply_states(packed_t w, std::size_t rows, float *y) {
        kit_.gemm_wide(lane_, rows, states_.data(), w, nullptr, y);
    }

    std::vector<term_t> all() {
        double const items = items_k, hidden = hidden_k, tokens = items * length_k;
        double const pooled = 2 * items * items * hidden, pair = pooled + 2 * items * hidden * items;
        double const late = 2 * double(pairs_k * span_k) * double(pairs_k * length_k) * width_k;
        double const rows = 4 * items * hidden; // bytes of pooled rows, once through
        double const states = 4 * tokens * hidden, vectors = 4 * tokens * width_k;
        auto const multiply = [this] { multiply_pooled(); };
        return {
            {"contrastive", pair, pooled, 4 * rows + 6 * 4 * items * items, [this] { score_pairs({hidden_k}); },
             multiply},
            {"contrastive at 64, 128 and 256", pooled + 2 * items * items * (64 + 128 + 256), pooled,
             4 * rows + 3 * 6 * 4 * items * items,
             [this] {
                 score_pairs({64, 128, hidden_k});
             },
             multiply},
            // Upper triangle of the Gram matrix, its factors, two substitutions for each row.
            {"coding rate", items * hidden * hidden + hidden * hidden * hidden / 3 + 2 * items * hidden * hidden,
             pooled, 6 * rows,
             [this] {
                 coding_rate(lane_, coding_rate_t<float> {items_k, hidden_k, rows_.data(), 0.02f, 0}, d_rows_.data());
             },
             multiply},
            // Four iterations of two products with a vector; unit rows, scores, their gradients. Rows are read and unit
            // rows written, read once by each iteration and once for the gradients, which are added to others.
            {"Lipschitz", (4 * 4 + 12) * items * hidden, pooled, (2 + 4 + 3) * rows,
             [this] {
                 lipschitz(lane_, lipschitz_t<float> {items_k, hidden_k, rows_.data(), 0.1f, 1, 1, 4}, d_rows_.data());
             },
             multiply},
            {"late interaction", late, 2.0 * 2048 * 64 * 64 * width_k, 3 * vectors, [this] { score_token_vectors(); },
             [this] { multiply_tiles(); }},
            {"token head, there and back", 3 * 2 * tokens * hidden * width_k, 2 * tokens * hidden * width_k,
             1.5 * states + 4 * vectors, [this] { pass_token_head(); },
             [this] { multiply_states(tokens_.packed, items_k * length_k, unit_.data()); }},
            {"choices with Brier score, there and back", 3 * 2 * items * hidden * 256, 2 * items * hidden * 256,
             3 * rows, [this] { choose(); }, [this] { multiply_states(decoder_.packed, items_k, d_states_.data()); }},
        };
    }
};

/** The sum of the products' times, so that a whole step can be predicted. */
double measure_terms(kit_table_t const &kit, std::size_t rounds) {
    terms_t terms(kit);
    double sum = 0;
    std::printf("%-44s %12s %12s %12s %8s\n", "a term, one thread", "milliseconds", "operations", "bytes", "ratio");
    for (term_t const &term : terms.all()) {
        std::vector<double> spent, predicted, moved, ratios;
        for (std::size_t round = 0; round <= rounds; ++round) {
            double const product = seconds_of(term.products), stream = seconds_of([&] { terms.add_rows(); }),
                         taken = seconds_of(term.term);
            double const expected = product * term.flops / term.product_flops,
                         least = stream * term.bytes / terms_t::added_bytes_k;
            if (round == 0) continue; // warms caches and scratch
            spent.push_back(taken), predicted.push_back(expected), moved.push_back(least);
            ratios.push_back(taken / std::max(expected, least));
        }
        std::printf("%-44s %12.3f %12.3f %12.3f %8.2f\n", term.name, 1e3 * median(spent), 1e3 * median(predicted),
                    1e3 * median(moved), median(ratios));
        std::fflush(stdout);
        sum += median(predicted);
    }
    return sum;
}

/** Steps through the C ABI, plain or with every term. */
struct steps_t {
    bool every;
    uform_executor_t executor = executor_of(2);
    uform_trainer_t trainer = nullptr;
    texts_t texts = items_of(length_k, items_k *length_k);
    std::vector<std::size_t> offsets {0}, choice_offsets {0};
    std::vector<std::uint32_t> ids;
    std::vector<uform_late_interaction_side_t> sides;
    std::string legal;
    std::vector<float> targets;

    explicit steps_t(bool every) : every(every) {
        static std::size_t const widths[] = {64, 128, hidden_k};
        uform_outcome_t outcome;
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.hidden = hidden_k;
        call.depth = depth_k, call.objective = uform_objective_contrastive_k, call.schedule.steps = 1000;
        call.batch.max_rows_per_device = call.batch.max_segments_per_device = 1024;
        call.batch.max_columns_per_row = length_k + 1, call.batch.max_choices_per_item = legal_k;
        call.contrastive.pair_loss = call.late_interaction.pair_loss = uform_pair_loss_form_softmax_k;
        call.contrastive.inverse_temperature = call.late_interaction.inverse_temperature = 10;
        if (every) {
            call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 3;
            call.regularizers.coding_rate_weight = 0.02f, call.regularizers.lipschitz_weight = 0.1f;
            call.late_interaction.weight = 1, call.choices.weight = call.choices.brier_weight = 1;
        }
        uform_trainer_init_ram(&call);
        demand(outcome, "uform_trainer_init_ram");
        for (std::size_t i = 0; i < items_k; ++i) {
            ids.push_back(std::uint32_t((i + pairs_k) % items_k)), offsets.push_back(ids.size());
            sides.push_back(i < pairs_k ? uform_late_interaction_side_query_k : uform_late_interaction_side_document_k);
            for (std::size_t choice = 0; choice < legal_k; ++choice)
                legal += char('a' + choice), targets.push_back(1 / float(legal_k));
            choice_offsets.push_back(legal.size());
        }
    }
    ~steps_t() { uform_trainer_free(trainer), uform_executor_free(executor); }
    void take() const {
        uform_outcome_t outcome;
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = items_k;
        call.contents.data = texts.data.data(), call.contents.offsets = texts.offsets.data();
        call.relations.attract.offsets = offsets.data(), call.relations.attract.ids = ids.data();
        if (every) {
            call.sides = sides.data();
            call.choices.data = legal.data(), call.choices.offsets = choice_offsets.data();
            call.choice_targets.data = targets.data(), call.choice_targets.offsets = choice_offsets.data();
        }
        uform_trainer_step(&call);
        demand(outcome, "uform_trainer_step");
    }
};

void measure_steps(double predicted, std::size_t rounds) {
    steps_t const plain(false), every(true);
    std::vector<double> alone, together, ratios;
    for (std::size_t round = 0; round <= rounds; ++round) {
        double const start = process_seconds();
        plain.take();
        double const middle = process_seconds();
        every.take();
        double const end = process_seconds();
        if (round == 0) continue;
        // A text that asks is a token longer.
        double const expected = (middle - start) * double(length_k + 1) / double(length_k) + predicted;
        alone.push_back(middle - start), together.push_back(end - middle), ratios.push_back((end - middle) / expected);
    }
    std::printf(
        "a step of two threads, processor time: plain %.1f ms, with every term %.1f ms, %.3f of the prediction\n",
        1e3 * median(alone), 1e3 * median(together), median(ratios));
}

void demand_near(char const *what, double narrow, double wide) {
    if (std::fabs(narrow - wide) <= 1e-4 * (1 + std::fabs(wide))) return;
    std::fprintf(stderr, "%s is wrong: %.9g in float, %.9g in double\n", what, narrow, wide);
    std::exit(1);
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
