/**
 *  @file mesh_late_interaction_unit.cpp
 *  @brief Late interaction over several processes against direct loops over its formulas and the world's items.
 *
 *  Nothing of the expectation is scored by the trainer's code: scores, losses, winners and gradients are double loops
 *  over the token vectors that the processes answered, put together here by rank. States come from the model as saved
 *  before the step. Gradients are those of the loss's temperatures, and of the token head, which nothing else moves.
 */
#include <cmath>
#include <map>
#include <random>

#include <uform/encoder/classes.hpp>
#include <uform/train/trainer.hpp>
#include <uform/uform.h>
#include <uform/utilities/classes.hpp>

#include "test/pair_loss_oracle.hpp"
#include "test/processes.hpp"
#include "test/random_step.hpp"

namespace {

using namespace uform;
using uform::testing::edge_map_t;
using uform::testing::folder_t;
using uform::testing::force_t;
using uform::testing::processes_t;
using uform::testing::role_t;

constexpr std::size_t hidden_k = 128, width_k = 32, prefix_k = 2, span_k = 6, context_k = 32;
constexpr float weight_k = 0.75f, ambient_k = 0.5f, temperature_k = 5, bias_k = -1;
constexpr pair_loss_t forms_k[] = {pair_loss_t::balanced_k, pair_loss_t::ranked_k, pair_loss_t::sigmoid_k,
                                   pair_loss_t::softmax_k};

/** How many items a process brings, and which sides they may take: 1 queries, 2 documents, 3 any. */
struct bring_t {
    std::size_t items;
    int sides;
};
/** A process without queries, one without items, one with most of all, one without documents; then two uneven ones. */
std::vector<std::vector<bring_t>> const worlds_k {{{5, 2}, {0, 3}, {14, 3}, {6, 1}}, {{7, 3}, {24, 3}}};

/** One process's items, a function of its place alone. */
struct share_t {
    std::string data;
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> groups;
    std::vector<uform_late_interaction_side_t> sides;
    edge_map_t attract, repel, ignore;

    share_t(std::size_t world, std::size_t rank) {
        std::mt19937 generator(unsigned(world * 16 + rank + 1));
        bring_t const bring = worlds_k[world][rank];
        std::uniform_real_distribution<float> uniform(0.1f, 2.0f);
        for (std::uint32_t i = 0; i < bring.items; ++i) {
            for (std::size_t left = prefix_k + 1 + generator() % 20; left > 0; --left)
                data += char('a' + generator() % 26);
            offsets.push_back(data.size()), groups.push_back(generator() % 2);
            sides.push_back(std::int32_t(bring.sides == 3 ? generator() % 4 : unsigned(bring.sides)));
            for (std::uint32_t j = 0; j < bring.items; ++j) {
                if (i != j && generator() % 4 == 0) attract.edges[{i, j}] = uniform(generator);
                if (i != j && generator() % 3 == 0) repel.edges[{i, j}] = uniform(generator);
                if (i != j && generator() % 6 == 0) ignore.edges[{i, j}] = 1.0f;
            }
        }
    }
    std::size_t count() const { return groups.size(); }
};

trainer_options_t options_of(pair_loss_t form) {
    trainer_options_t options;
    options.model.geometry = {hidden_k, 1, context_k};
    options.model.contrastive_groups = options.model.late_interaction_groups = 2, options.model.token_width = width_k;
    options.batch.max_rows_per_device = options.batch.max_segments_per_device = 32;
    options.batch.max_columns_per_row = context_k;
    options.objective = uform_objective_contrastive_k, options.seed = 5;
    options.contrastive.pair_loss = uform_pair_loss_form_softmax_k, options.contrastive.inverse_temperature = 10;
    options.contrastive.temperature_groups = 2;
    options.schedule = derive_schedule({1e-3f, 0, 2, 10});
    uform_late_interaction_t &late = options.late_interaction;
    late.weight = weight_k, late.pair_loss = uform_pair_loss_form_t(form), late.inverse_temperature = temperature_k;
    late.bias = bias_k, late.prefix_tokens = prefix_k, late.max_query_span = span_k, late.width = width_k;
    return options;
}

void write_floats(std::filesystem::path const &path, float const *values, std::size_t count) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<char const *>(values), std::streamsize(count * 4));
}
std::vector<float> read_floats(std::filesystem::path const &path) {
    std::string const bytes = uform::testing::contents(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

constexpr char const *tensors_k[] = {"late_interaction.log_inverse_temperature", "late_interaction.bias",
                                     "tokens.projection"};

TEST(mesh_late_interaction_roles, DISABLED_step) {
    role_t const role;
    std::filesystem::path const folder = role.folder;
    mesh_options_t join;
    join.index = role.index, join.count = role.count, join.directory = role.folder, join.job = "late";
    mesh_t mesh;
    ASSERT_FALSE(mesh.join(join));
    executor_t executor;
    trainer_t trainer;
    uform_cpu_class_t fastest;
    ASSERT_FALSE(resolve_class(uform_cpu_class_derived_k, has_kernels, fastest));
    ASSERT_FALSE(trainer.start(options_of(pair_loss_t(uform::testing::number("UFORM_MESH_FORM"))), fastest, executor));
    ASSERT_FALSE(trainer.meet(mesh));
    if (role.index == 0) {
        ASSERT_FALSE(trainer.save((folder / "model").string(), false, {}));
    }

    share_t share(uform::testing::number("UFORM_MESH_WORLD"), role.index);
    std::vector<float> rows(share.count() * hidden_k + 1), vectors(share.data.size() * width_k + 1);
    std::vector<std::size_t> token_offsets(share.count() + 1);
    step_items_t items;
    uform_tape_view_t view {};
    view.data = share.data.data(), view.offsets = share.offsets.data();
    items.texts = tape_t<unsigned char>(view, share.count());
    items.temperature_groups = share.groups, items.sides = share.sides;
    items.relations = {share.count(), share.attract.view(share.count()), share.repel.view(share.count()),
                       share.ignore.view(share.count()), ambient_k};
    items.embeddings = rows.data(), items.token_vectors = vectors.data(), items.token_offsets = token_offsets.data();
    uform_trainer_step_stats_t stats {};
    failure_t const failure = trainer.step(items, executor, &stats);
    ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
    ASSERT_EQ(token_offsets.back(), share.data.size()) << "an item was dropped";

    std::string const rank = std::to_string(role.index);
    write_floats(folder / ("loss-" + rank), &stats.late_interaction_loss, 1);
    write_floats(folder / ("vectors-" + rank), vectors.data(), token_offsets.back() * width_k);
    for (char const *const name : tensors_k) {
        std::size_t const tensor = trainer.parameters().find(name);
        write_floats(folder / std::string(name).append("-").append(rank), trainer.parameters().gradient(tensor),
                     trainer.parameters().specs()[tensor].elements());
    }
}

/** An item of the world, its tokens `[first, first + count)` of the world's. */
struct item_t {
    std::size_t rank, place, group, first, count;
    uform_late_interaction_side_t side;
};

/** Everything the processes brought, by rank, and the definition over it. */
struct world_t {
    std::vector<share_t> shares;
    std::vector<item_t> items;
    std::string data;
    std::vector<std::size_t> offsets {0};
    std::vector<double> unit, vectors; // [tokens, width], as they were before they were rounded, and as they are scored
    double loss = 0, d_theta[2] = {}, d_bias[2] = {};
    std::vector<double> d_vectors; // [tokens, width]
    std::size_t anchors = 0, anchored_elsewhere = 0;

    world_t(std::size_t world, std::filesystem::path const &folder) {
        for (std::size_t rank = 0; rank < worlds_k[world].size(); ++rank) {
            share_t const &share = shares.emplace_back(world, rank);
            for (std::size_t i = 0; i < share.count(); ++i) {
                std::size_t const bytes = share.offsets[i + 1] - share.offsets[i];
                items.push_back({rank, i, share.groups[i], data.size(), bytes, share.sides[i]});
                data += share.data.substr(share.offsets[i], bytes), offsets.push_back(data.size());
            }
            for (float const x : read_floats(folder / ("vectors-" + std::to_string(rank))))
                unit.push_back(x), vectors.push_back(widen(round_to_bf16(x)));
        }
        d_vectors.resize(vectors.size());
    }
    /** Pairs of two processes are ambient: relations name items of the own one. */
    force_t force(item_t const &a, item_t const &b) const {
        if (a.rank != b.rank) return {0, ambient_k};
        struct {
            edge_map_t const &attract, &repel, &ignore;
            double ambient;
        } const step {shares[a.rank].attract, shares[a.rank].repel, shares[a.rank].ignore, ambient_k};
        return uform::testing::force_of(step, std::uint32_t(a.place), std::uint32_t(b.place));
    }
    /** Per token of the query that scores, the first of the document's tokens with the largest product. */
    double score(item_t const &query, item_t const &document, std::vector<std::size_t> &winners) const {
        std::size_t const last = query.first + std::min(query.count, prefix_k + span_k);
        double sum = 0;
        for (std::size_t t = query.first + prefix_k; t < last; ++t) {
            double largest = -INFINITY;
            winners.push_back(0);
            for (std::size_t s = document.first; s < document.first + document.count; ++s) {
                double product = 0;
                for (std::size_t i = 0; i < width_k; ++i)
                    product += vectors[t * width_k + i] * vectors[s * width_k + i];
                if (product > largest) largest = product, winners.back() = s;
            }
            sum += largest;
        }
        return sum / double(last - query.first - prefix_k);
    }
    void score_all(pair_loss_t form) {
        for (bool const counting : {true, false})
            for (item_t const &query : items)
                if (query.side & uform_late_interaction_side_query_k) score_row(form, query, counting);
        loss *= weight_k / double(anchors);
    }
    void score_row(pair_loss_t form, item_t const &query, bool counting) {
        std::vector<double> z, s;
        std::vector<force_t> w;
        std::vector<std::vector<std::size_t>> winners;
        std::vector<item_t const *> documents;
        double attract = 0;
        for (item_t const &document : items) {
            if (!(document.side & uform_late_interaction_side_document_k)) continue;
            documents.push_back(&document), w.push_back(force(query, document)), attract += w.back().attract;
            s.push_back(score(query, document, winners.emplace_back()));
            z.push_back(double(temperature_k) * s.back() + bias_k);
        }
        if (!(attract > 0)) return;
        if (counting) return void(++anchors);
        loss += uform::testing::row_loss(form, z, w);
        for (std::size_t j = 0; j < z.size(); ++j) {
            constexpr double h = 1e-5; // the central difference is off by h^2 and by 2^-53 / h
            std::vector<double> above = z, below = z;
            above[j] += h, below[j] -= h;
            double const d_z = weight_k / double(anchors) *
                               (uform::testing::row_loss(form, above, w) - uform::testing::row_loss(form, below, w)) /
                               (2 * h);
            d_theta[query.group] += d_z * double(temperature_k) * s[j], d_bias[query.group] += d_z;
            anchored_elsewhere += query.rank != documents[j]->rank && d_z != 0;
            double const share = d_z * double(temperature_k) / double(winners[j].size());
            for (std::size_t token = 0; token < winners[j].size(); ++token) {
                std::size_t const t = query.first + prefix_k + token, won = winners[j][token];
                for (std::size_t i = 0; i < width_k; ++i) {
                    d_vectors[t * width_k + i] += share * vectors[won * width_k + i];
                    d_vectors[won * width_k + i] += share * vectors[t * width_k + i];
                }
            }
        }
    }
};

/** The states of the world's tokens, and the norms of P s, from the model as it was before the step. */
struct heads_t {
    uform_arena_t arena = nullptr;
    uform_model_t model = nullptr;
    uform_rows_tape_t states {};
    uform_outcome_t outcome {};

    heads_t(std::string const &path, world_t const &world) {
        uform_arena_init_t make {};
        make.arena = &arena, make.outcome = &outcome;
        uform_arena_init(&make);
        uform_model_load_ram_t load {};
        load.model = &model, load.outcome = &outcome, load.path = {path.data(), path.size()};
        uform_model_load_ram(&load);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
        uform_text_encode_t call {};
        call.model = model, call.outcome = &outcome, call.arena = arena, call.count = world.items.size();
        call.texts = {world.data.data(), world.offsets.data(), uform_scalar_u8_k}, call.states = &states;
        uform_text_encode(&call);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << outcome.detail;
    }
    ~heads_t() { uform_model_free(model), uform_arena_free(arena); }
    double state(std::size_t token, std::size_t i) const {
        return reinterpret_cast<float const *>(static_cast<char const *>(states.data) + token * states.stride)[i];
    }
};

/** d P = sum over tokens of d raw s^T, where v = P s / |P s| and d raw = (d v - (d v . v) v) / |P s|. */
std::vector<double> projection_gradient(world_t const &world, heads_t const &heads,
                                        std::vector<double> const &projection) {
    std::vector<double> sum(width_k * hidden_k);
    for (std::size_t token = 0; token < world.data.size(); ++token) {
        double const *const v = &world.unit[token * width_k], *const d = &world.d_vectors[token * width_k];
        double square = 0, along = 0;
        for (std::size_t i = 0; i < width_k; ++i) {
            double raw = 0;
            for (std::size_t j = 0; j < hidden_k; ++j) raw += projection[i * hidden_k + j] * heads.state(token, j);
            square += raw * raw, along += d[i] * v[i];
        }
        for (std::size_t i = 0; i < width_k; ++i)
            for (std::size_t j = 0; j < hidden_k; ++j)
                sum[i * hidden_k + j] += (d[i] - along * v[i]) / std::sqrt(square) * heads.state(token, j);
    }
    return sum;
}

/** The token head as it was drawn: a run of the same seed holds it. */
std::vector<double> drawn_projection() {
    executor_t executor;
    trainer_t trainer;
    std::vector<double> values;
    EXPECT_FALSE(trainer.start(options_of(pair_loss_t::softmax_k), uform_cpu_class_serial_k, executor));
    auto const bytes = trainer.parameters().master_bytes(trainer.parameters().find(tensors_k[2]));
    for (std::size_t i = 0; i < bytes.size() / sizeof(bf16_t); ++i)
        values.push_back(widen(reinterpret_cast<bf16_t const *>(bytes.data())[i]));
    EXPECT_EQ(values.size(), width_k * hidden_k);
    return values;
}

/** Relative in the L2 norm. */
void expect_close(std::vector<float> const &got, std::vector<double> const &expected, double tolerance,
                  std::string const &what) {
    double difference = 0, norm = 0;
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
        difference += (got[i] - expected[i]) * (got[i] - expected[i]), norm += expected[i] * expected[i];
    EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(norm))
        << what << ", off by " << std::sqrt(difference / norm);
}

class mesh_late_interaction : public ::testing::TestWithParam<std::tuple<std::size_t, pair_loss_t>> {};
TEST_P(mesh_late_interaction, agrees_with_direct_loops_over_the_world) {
    if (transport_t().open().status == uform_status_unsupported_k) GTEST_SKIP() << "UCX is not there: libucx-dev";
    auto const [number, form] = GetParam();
    folder_t folder;
    std::size_t const count = worlds_k[number].size();
    processes_t processes(folder.path, count);
    processes.start_all("step",
                        {{"UFORM_MESH_WORLD", std::to_string(number)}, {"UFORM_MESH_FORM", std::to_string(int(form))}});
    processes.expect_all_pass();
    world_t world(number, folder.path);
    ASSERT_EQ(world.vectors.size(), world.data.size() * width_k);
    world.score_all(form);
    EXPECT_GT(world.anchors, 3u);
    EXPECT_GT(world.anchored_elsewhere, 10u) << "pairs of two processes must matter";
    heads_t const heads((folder.path / "model").string(), world);
    std::vector<double> const d_projection = projection_gradient(world, heads, drawn_projection());
    // A score is off by sums of `width` products and `span` maxima below one, a row's loss by its terms.
    double const rounding = temperature_k * double(width_k + span_k + world.items.size()) * 0x1p-24;
    for (std::size_t rank = 0; rank < count; ++rank) {
        std::string const mark = std::string("-").append(std::to_string(rank)); // by +, GCC 12 warns of nothing
        EXPECT_NEAR(read_floats(folder.path / ("loss" + mark)).at(0), world.loss, rounding * (1 + world.loss)) << mark;
        std::vector<double> const d_theta(world.d_theta, world.d_theta + 2), d_bias(world.d_bias, world.d_bias + 2);
        // Derivatives of a row may cancel to a tenth of their size.
        expect_close(read_floats(folder.path / (tensors_k[0] + mark)), d_theta, 10 * rounding, tensors_k[0] + mark);
        if (!bias_cancels(form))
            expect_close(read_floats(folder.path / (tensors_k[1] + mark)), d_bias, 10 * rounding, tensors_k[1] + mark);
        // Rows of d raw are rounded to BFloat16 before the product.
        expect_close(read_floats(folder.path / (tensors_k[2] + mark)), d_projection, 0x1p-8, tensors_k[2] + mark);
    }
}
INSTANTIATE_TEST_SUITE_P(worlds, mesh_late_interaction,
                         ::testing::Combine(::testing::Values(0, 1), ::testing::ValuesIn(forms_k)));

} // namespace
