/**
 *  @file tools_unit.cpp
 *  @brief Recall with ties, the stream of batches, relations, mixtures and lines, against literals worked out by hand.
 */
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "support/batch.hpp"
#include "support/batch_queue.hpp"
#include "support/calibration.hpp"
#include "support/checkpoint_header.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/item_reader.hpp"
#include "support/live_view.hpp"
#include "support/mixture.hpp"
#include "support/pair_store.hpp"
#include "support/retrieval.hpp"
#include "support/run_card.hpp"
#include "support/sampler.hpp"

using namespace uform::tools;

namespace {

/** A file that lives for one test. */
class scratch_file_t {
  public:
    explicit scratch_file_t(std::string_view bytes)
        : path_(std::filesystem::temp_directory_path() / ("uform_tools_unit." + std::to_string(::getpid()))) {
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    ~scratch_file_t() { std::filesystem::remove(path_); }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

std::string complaint_about(std::string_view mixture) {
    scratch_file_t const file(mixture);
    try {
        read_mixture(file.path(), "");
        return "accepted";
    } catch (tool_error_t const &error) {
        return std::string(error.what()).substr(file.path().size());
    }
}

corpus_t three_records() {
    corpus_t corpus;
    corpus.add("a", "A", 7), corpus.add("bb", "BB", 8), corpus.add("ccc", "CCC", 7);
    return corpus;
}

using ids_t = std::vector<std::uint32_t>;

ids_t row(edges_t const &edges, std::size_t item) {
    return ids_t(edges.ids.begin() + std::ptrdiff_t(edges.offsets[item]),
                 edges.ids.begin() + std::ptrdiff_t(edges.offsets[item + 1]));
}

} // namespace

TEST(PairStore, ReadsLinesWhereTheyLie) {
    // A blank line, a carriage return, a record that the filter holds back, a last line without its newline.
    scratch_file_t const file(
        "{\"query\": \"a\", \"document\": [\"A\", \"AA\"], \"lang\": \"de\", \"group\": 7}\n\n"
        "{\"query\": \"x\", \"document\": \"X\", \"lang\": \"fr\"}\n"
        "{\"query\": \"\\u00e4\", \"document\": \"B\", \"lang\": \"de\", \"negatives\": [\"n\"]}\r\n"
        "{\"query\": \"c\", \"document\": \"C\", \"lang\": \"de\", \"group\": 7}");
    mixture_t mixture;
    mixture.sources.resize(2), mixture.sources[0].path = mixture.sources[1].path = file.path();
    mixture.sources[0].filter["lang"] = {"de"};
    pair_store_t const store(mixture, true, file.path() + ".copy");
    EXPECT_EQ(store.source_offsets(), (std::vector<std::size_t> {0, 3, 7}));
    EXPECT_EQ(store.most_positives(), 2u);
    EXPECT_EQ(store.most_negatives(), 1u);
    std::size_t const asked[] = {2, 0, 1, 4, 1};
    corpus_t const corpus = store.load(asked);
    char const *const queries[] = {"c", "a", "\u00e4", "x", "\u00e4"};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(corpus.query(i), queries[i]);
    EXPECT_EQ(corpus.positive(1, 1), "AA");
    EXPECT_EQ(corpus.negative(2, 0), "n");
    EXPECT_EQ(corpus.record(3).source, 1u);
    EXPECT_EQ(corpus.group(0), corpus.group(1)); // both name 7
    EXPECT_EQ(corpus.group(2), corpus.group(4)); // one record, twice
    EXPECT_NE(corpus.group(2), corpus.group(3)); // records that name none
    EXPECT_NE(corpus.group(2), corpus.group(0));
}

TEST(Retrieval, PerfectRowsAreFoundFirst) {
    float const rows[] = {1, 0, 0, 1, -1, 0};
    retrieval_t const found = score_retrieval(rows, rows, 2);
    EXPECT_EQ(found.count, 3u);
    EXPECT_EQ(found.forward.at_1, 1.0);
    EXPECT_EQ(found.backward.mean_reciprocal_rank, 1.0);
}

TEST(Retrieval, DirectionsDiffer) {
    // Scores [query, document]: (1, 2), (0, 3). Query 0 prefers document 1; both documents prefer their own query.
    float const queries[] = {1, 0, 0, 1}, documents[] = {1, 0, 2, 3};
    retrieval_t const found = score_retrieval(queries, documents, 2);
    EXPECT_EQ(found.forward.at_1, 0.5);
    EXPECT_EQ(found.forward.at_5, 1.0);
    EXPECT_EQ(found.forward.mean_reciprocal_rank, 0.75);
    EXPECT_EQ(found.backward.at_1, 1.0);
}

TEST(Retrieval, TiesCountAtTheirExpectedRank) {
    // Twelve equal rows: the match is expected at rank 1 + 11 / 2 = 6.5, found within ten and not within five.
    std::vector<float> const rows(12 * 4, 0.5f);
    retrieval_t const found = score_retrieval(rows, rows, 4);
    EXPECT_EQ(found.forward.at_1, 0.0);
    EXPECT_EQ(found.forward.at_5, 0.0);
    EXPECT_EQ(found.forward.at_10, 1.0);
    EXPECT_DOUBLE_EQ(found.forward.mean_reciprocal_rank, 1 / 6.5);
}

TEST(Retrieval, RowsWithNanAreMisses) {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    float const queries[] = {nan, 0, 0, 1}, documents[] = {1, 0, 0, 1};
    retrieval_t const found = score_retrieval(queries, documents, 2);
    EXPECT_EQ(found.forward.at_10, 0.5);
    EXPECT_EQ(found.forward.at_1, 0.5);
    EXPECT_EQ(found.backward.at_10, 0.5);
}

TEST(Retrieval, AQueryStandsWhereItsBestDocumentStands) {
    // Scores [query, document]: documents 0, 1 are query 0's, 2, 3, 4 query 1's.
    //   query 0:  1  5  4  5  0    its best, 5, ties with one of others: rank 1.5; its own do not count against it
    //   query 1:  2  6  3  3  9    its best is first
    float const queries[] = {1, 0, 0, 1}, documents[] = {1, 2, 5, 6, 4, 3, 5, 3, 0, 9};
    std::size_t const offsets[] = {0, 2, 5};
    retrieval_t const found = score_retrieval(queries, documents, 2, offsets);
    EXPECT_EQ(found.count, 2u);
    EXPECT_EQ(found.documents, 5u);
    EXPECT_EQ(found.forward.at_1, 0.5);
    EXPECT_DOUBLE_EQ(found.forward.mean_reciprocal_rank, (1 / 1.5 + 1) / 2);
    // Document 0 and 1 like query 1 better, and so do 2 and 3 query 0; document 4 its own.
    EXPECT_EQ(found.backward.at_1, 0.2);
    EXPECT_EQ(found.backward.mean_reciprocal_rank, (4 * 0.5 + 1) / 5);
}

TEST(Retrieval, OwnDocumentsMayBeInSeveralBlocks) {
    // One document each but for the last query's 600, all equal: each finds its own, which come over three blocks.
    std::vector<float> queries, documents;
    std::vector<std::size_t> offsets {0};
    for (int i = 0; i < 40; ++i) {
        float const row[] = {std::cos(0.07f * float(i)), std::sin(0.07f * float(i))};
        queries.insert(queries.end(), row, row + 2);
        for (int copy = 0; copy < (i == 39 ? 600 : 1); ++copy) documents.insert(documents.end(), row, row + 2);
        offsets.push_back(documents.size() / 2);
    }
    retrieval_t const found = score_retrieval(queries, documents, 2, offsets);
    EXPECT_EQ(found.forward.at_1, 1.0);
    EXPECT_EQ(found.backward.at_1, 1.0);
}

TEST(Retrieval, ManyRowsCrossBlocks) {
    // Rows on a half circle are each nearest to themselves; 600 rows are more than two blocks.
    std::vector<float> rows;
    for (int i = 0; i < 600; ++i) rows.push_back(std::cos(0.005f * float(i))), rows.push_back(std::sin(0.005f * float(i)));
    EXPECT_GE(score_retrieval(rows, rows, 2).forward.at_5, 0.99);
}

TEST(Sampler, EveryEpochShowsEveryRecordOnce) {
    sampler_t sampler({0, 4, 10}, {1, 1}, 3);
    std::vector<std::size_t> draws(30);
    sampler.draw(0, draws);
    std::vector<std::vector<std::size_t>> epochs;
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
        epochs.emplace_back(draws.begin() + std::ptrdiff_t(epoch * 10), draws.begin() + std::ptrdiff_t(epoch * 10 + 10));
        EXPECT_EQ(std::set<std::size_t>(epochs.back().begin(), epochs.back().end()).size(), 10u);
    }
    EXPECT_NE(epochs[0], epochs[1]);
    EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Sampler, DrawsDependOnSeedAndPositionAlone) {
    sampler_t straight({0, 5, 12}, {0.6, 1.5}, 11), jumping({0, 5, 12}, {0.6, 1.5}, 11), other({0, 5, 12}, {0.6, 1.5}, 12);
    std::vector<std::size_t> all(100), part(7), different(100);
    straight.draw(0, all), other.draw(0, different);
    EXPECT_NE(all, different);
    for (std::size_t first : {90u, 0u, 41u, 13u}) {
        jumping.draw(first, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + std::ptrdiff_t(first))) << first;
    }
}

TEST(Sampler, WeightsMultiplyHowOftenRecordsAreDrawn) {
    sampler_t sampler({0, 4, 8}, {0.5, 2}, 1);
    EXPECT_EQ(sampler.epoch_draws(), 2u + 8u);
    std::vector<std::size_t> draws(20), counts(8);
    sampler.draw(0, draws);
    for (std::size_t const record : draws) ++counts[record];
    EXPECT_EQ(counts, (std::vector<std::size_t> {1, 1, 1, 1, 4, 4, 4, 4}));
}

TEST(Batch, QueriesThenDocumentsCutWithTheirPrefix) {
    mixture_t mixture;
    mixture.query_prefix = "q:", mixture.query_bytes = 4, mixture.document_bytes = 2;
    batch_t const batch = make_pairs_batch(mixture, three_records(), {}, {{2, 0}, {}, 0});
    EXPECT_EQ(batch.bytes, "q:ccq:aCCA");
    EXPECT_EQ(batch.offsets, (std::vector<std::size_t> {0, 4, 7, 9, 10}));
    EXPECT_EQ(batch.count, 4u);
}

TEST(Batch, RelationsAcrossSides) {
    // Records 0 and 2 share a group. Items: queries 0, 1, 2, documents 3, 4, 5.
    batch_t const batch = make_pairs_batch(mixture_t(), three_records(), {}, {{0, 1, 2}, {}, 0});
    EXPECT_EQ(row(batch.attract, 0), ids_t {3});
    EXPECT_EQ(row(batch.attract, 5), ids_t {2});
    EXPECT_EQ(row(batch.ignore, 0), (ids_t {1, 2, 5}));
    EXPECT_EQ(row(batch.ignore, 1), (ids_t {0, 2}));
    EXPECT_EQ(row(batch.ignore, 3), (ids_t {2, 4, 5}));
}

TEST(Batch, RelationsWhereAllRepel) {
    mixture_t mixture;
    mixture.ambient = ambient_t::all_k, mixture.symmetric = false;
    batch_t const batch = make_pairs_batch(mixture, three_records(), {}, {{0, 1, 2}, {}, 0});
    EXPECT_EQ(row(batch.ignore, 0), (ids_t {2, 5}));
    EXPECT_TRUE(row(batch.ignore, 1).empty());
    EXPECT_TRUE(row(batch.attract, 3).empty());
    EXPECT_TRUE(row(batch.ignore, 3).empty());
}

/** Record 0 has two answers and a decoy, record 1 one answer and three decoys; no record shares a group. */
corpus_t records_with_decoys() {
    corpus_t corpus;
    std::string_view const answers[] = {"A", "a"}, decoy[] = {"x"}, answer[] = {"B"}, decoys[] = {"1", "2", "3"};
    corpus.add("q", answers, decoy, 0), corpus.add("r", answer, decoys, 1);
    return corpus;
}

choices_t two_questions() {
    choices_t choices;
    choices.texts = "hot?cold?", choices.text_offsets = {0, 4, 9};
    choices.legal = "ynABC", choices.legal_offsets = {0, 2, 5};
    choices.targets = {1, 0, 0.25, 0.25, 0.5}, choices.groups = {0, 2};
    return choices;
}

TEST(Batch, AnswersAttractAndDecoysRepel) {
    // Items: queries 0 and 1; of record 0 answers 2 and 3, decoy 4; of record 1 answer 5, decoys 6 and 7 of three.
    mixture_t mixture;
    mixture.negatives = 2;
    batch_t const batch = make_pairs_batch(mixture, records_with_decoys(), {}, {{0, 1}, {}, 0});
    EXPECT_EQ(batch.bytes, "qrAaxB12");
    EXPECT_EQ(row(batch.attract, 0), (ids_t {2, 3}));
    EXPECT_EQ(row(batch.repel, 0), ids_t {4});
    EXPECT_EQ(row(batch.ignore, 0), ids_t {1});
    EXPECT_EQ(row(batch.attract, 1), ids_t {5});
    EXPECT_EQ(row(batch.repel, 1), (ids_t {6, 7}));
    EXPECT_EQ(row(batch.attract, 3), ids_t {0});
    EXPECT_EQ(row(batch.ignore, 3), (ids_t {2, 4, 5, 6, 7}));
    for (std::size_t const decoy : {4u, 6u, 7u}) EXPECT_TRUE(row(batch.attract, decoy).empty()) << decoy;
    EXPECT_EQ(batch.sides[1], uform_late_interaction_side_query_k);
    EXPECT_EQ(batch.sides[7], uform_late_interaction_side_document_k);
    mixture.ambient = ambient_t::all_k; // now an answer repels its record's decoys, and other records' documents ambiently
    batch_t const all = make_pairs_batch(mixture, records_with_decoys(), {}, {{0, 1}, {}, 0});
    EXPECT_EQ(row(all.repel, 3), ids_t {4});
    EXPECT_EQ(row(all.ignore, 3), ids_t {2});
}

TEST(Batch, TurnsShowDocumentsInARing) {
    mixture_t mixture;
    mixture.positives = 1, mixture.negatives = 2;
    corpus_t const corpus = records_with_decoys();
    EXPECT_EQ(make_pairs_batch(mixture, corpus, {}, {{0, 1}, {}, 1}).bytes, "qraxB31");
    EXPECT_EQ(make_pairs_batch(mixture, corpus, {}, {{0, 1}, {}, 2}).bytes, "qrAxB23");
    EXPECT_EQ(make_texts_batch(mixture, corpus, {}, {{0, 1}, {}, 1}).bytes, "aB");
}

TEST(Batch, ChoosersStandApart) {
    mixture_t mixture;
    mixture.choices.emplace().bytes = 3;
    mixture.sources.resize(1), mixture.sources[0].temperature_group = 1;
    batch_t const batch = make_pairs_batch(mixture, three_records(), two_questions(), {{0}, {1, 0}, 0});
    EXPECT_EQ(batch.bytes, "aAcolhot");
    EXPECT_EQ(batch.temperature_groups, (ids_t {1, 1, 2, 0}));
    EXPECT_EQ(batch.legal, "ABCyn");
    EXPECT_EQ(batch.targets, (std::vector<float> {0.25f, 0.25f, 0.5f, 1, 0}));
    EXPECT_EQ(batch.choice_offsets, (std::vector<std::size_t> {0, 0, 0, 3, 5}));
    EXPECT_EQ(row(batch.ignore, 0), (ids_t {2, 3}));
    EXPECT_EQ(row(batch.ignore, 1), (ids_t {2, 3}));
    EXPECT_TRUE(row(batch.ignore, 2).empty());
    EXPECT_EQ(batch.sides[2], uform_late_interaction_side_none_k);
    EXPECT_EQ(make_texts_batch(mixture, three_records(), two_questions(), {{2}, {0}, 0}).bytes, "CCChot");
}

TEST(BatchQueue, StartsAnywhereAndRepeatsTheBatches) {
    scratch_file_t const file("{\"query\": \"a\", \"document\": [\"A\", \"AA\"]}\n{\"query\": \"b\", \"document\": \"B\"}\n"
                              "{\"query\": \"c\", \"document\": \"C\", \"negatives\": [\"x\", \"y\"]}\n");
    plan_t plan;
    plan.mixture.batch_pairs = 2, plan.seed = 5, plan.mixture.negatives = 1;
    plan.mixture.sources.resize(1), plan.mixture.sources[0].path = file.path();
    material_t direct(plan), queued(plan);
    EXPECT_EQ(plan.positives, 2u);
    EXPECT_EQ(plan.negatives, 1u);
    EXPECT_EQ(plan.items(), 2u * (1 + 2 + 1));
    for (std::size_t const first : {0u, 3u, 17u}) {
        batch_queue_t queue(queued, first, first + 8);
        for (std::size_t step = first; step < first + 8; ++step) {
            prepared_t const prepared = queue.take();
            drawn_t const drawn = direct.draw(step);
            EXPECT_EQ(prepared.drawn.records, drawn.records) << step;
            EXPECT_EQ(prepared.batch.bytes, direct.batch(drawn).bytes) << step;
        }
    }
    for (int i = 0; i < 20; ++i) batch_queue_t(queued, 0, 1000).take(); // left while it builds
    drawn_t const drawn {{0, 2, 1}, {}, 4};
    EXPECT_EQ(direct.part_of(drawn, 0).records, drawn.records);
    EXPECT_EQ(direct.records_of(0), 3u);
}

TEST(RunCard, QuotesForAShell) {
    char const *const words[] = {"uform_base", "--output", "it's a/", "", "$x", "a=b"};
    EXPECT_EQ(shell_quoted(6, words), "uform_base --output 'it'\\''s a/' '' '$x' a=b");
    EXPECT_EQ(card_path("run/model.safetensors", true), "run/README.md");
    EXPECT_EQ(card_path("m.safetensors", false), "m.README.md");
}

TEST(LiveView, NamesTheTermsThatAreThere) {
    plan_t plan;
    plan.hidden = 128, plan.depth = 1; // 258 * 128 + 16 * 128^2 + 2 * 128 + 2 * 128 + 2 * 128^2 parameters: 328448
    plan.mixture.coding_rate_weight = 0.5f;
    uform_trainer_step_stats_t stats = {};
    stats.loss = 1.25f, stats.contrastive_loss = 2.25f, stats.coding_rate = 2, stats.effective_rank = 17;
    EXPECT_EQ(live_view(plan, stats, {1000, 2e9, 0}),
              "loss 1.2500 (contrastive 2.250, rate -1.000) | rank 17 | 1000 tokens/s, 0.002 TFLOP/s");
    EXPECT_TRUE(live_view(plan, stats, {1000, 2e11, 0.254}).ends_with("0.200 TFLOP/s, 25 % of peak"));
    // Two texts of 3 and 4 bytes: 16 * 128^2 weights a block meet 7 tokens, scores and sums 3^2 + 4^2 pairs; thrice.
    plan.hidden = 128, plan.depth = 2;
    EXPECT_EQ(plan.operations(7, 25), 3 * (2 * 2 * 16 * 128 * 128 * 7.0 + 4 * 25 * 128 * 2.0));
}

TEST(Corpus, SourcesOfRecords) {
    std::size_t const offsets[] = {0, 2, 3};
    EXPECT_EQ(source_of(offsets, 0), 0u);
    EXPECT_EQ(source_of(offsets, 1), 0u);
    EXPECT_EQ(source_of(offsets, 2), 1u);
}

TEST(Mixture, ReadsWhatItSays) {
    scratch_file_t const file(R"({"name": "m", "sources": [{"path": "a.jsonl", "format": "jsonl", "weight": 2,
        "fields": {"query": "q", "document": "d", "group": "g"}, "filter": {"lang": ["de", "ja"]}}, {"path": "/b"}],
        "prefixes": {"query": "Q "}, "query_bytes": 64, "batch_pairs": 32, "objective": "contrastive", "bias": 0,
        "ambient": "all", "matryoshka": [64, 128], "learning_rate": 3e-3, "warmup_steps": 20, "symmetric": false,
        "validation": {"path": "t.jsonl", "evaluation_bytes": 100}})");
    mixture_t const mixture = read_mixture(file.path(), "/data");
    ASSERT_EQ(mixture.sources.size(), 2u);
    EXPECT_EQ(mixture.sources[0].path, "/data/a.jsonl");
    EXPECT_EQ(mixture.sources[0].fields.query, "q");
    EXPECT_EQ(mixture.sources[0].filter.at("lang"), (std::vector<std::string> {"de", "ja"}));
    EXPECT_EQ(mixture.sources[0].weight, 2.0);
    EXPECT_EQ(mixture.sources[1].path, "/b");
    EXPECT_EQ(mixture.query_prefix, "Q ");
    EXPECT_EQ(mixture.query_bytes, 64u);
    EXPECT_EQ(mixture.document_bytes, 128u);
    EXPECT_EQ(mixture.ambient, ambient_t::all_k);
    EXPECT_FALSE(mixture.symmetric);
    EXPECT_EQ(mixture.bias, 0.0f);
    EXPECT_EQ(mixture.validation->evaluation_bytes, 100u);
}

TEST(Mixture, ReadsTermsAndChoices) {
    scratch_file_t const file(R"({"sources": [{"path": "/a", "temperature_group": 3, "fields": {"negatives": "wrong"}}],
        "ambient": "none", "positives": 2, "negatives": 0, "lipschitz_weight": 0.5,
        "late_interaction": {"weight": 0.25, "width": 64, "query_span": 32, "pair_loss": "softmax", "bias": -1},
        "choices": {"sources": [{"path": "/c", "weight": 2, "temperature_group": 1}], "weight": 0.125, "brier_weight": 4,
                    "batch_items": 7, "bytes": 90}})");
    mixture_t const mixture = read_mixture(file.path(), "");
    EXPECT_EQ(mixture.sources[0].temperature_group, 3u);
    EXPECT_EQ(mixture.sources[0].fields.negatives, "wrong");
    EXPECT_EQ(mixture.ambient, ambient_t::none_k);
    EXPECT_EQ(mixture.positives, 2u);
    EXPECT_EQ(mixture.negatives, 0u);
    EXPECT_EQ(mixture.lipschitz_weight, 0.5f);
    EXPECT_EQ(mixture.late_interaction.weight, 0.25f);
    EXPECT_EQ(mixture.late_interaction.width, 64u);
    EXPECT_EQ(mixture.late_interaction.query_span, 32u);
    EXPECT_EQ(mixture.late_interaction.pair_loss, uform_pair_loss_form_softmax_k);
    EXPECT_EQ(mixture.late_interaction.inverse_temperature, 1.0f);
    EXPECT_EQ(mixture.late_interaction.bias, -1.0f);
    ASSERT_TRUE(mixture.choices);
    EXPECT_EQ(mixture.choices->sources[0].path, "/c");
    EXPECT_EQ(mixture.choices->sources[0].weight, 2.0);
    EXPECT_EQ(mixture.choices->sources[0].temperature_group, 1u);
    EXPECT_EQ(mixture.choices->weight, 0.125f);
    EXPECT_EQ(mixture.choices->brier_weight, 4.0f);
    EXPECT_EQ(mixture.choices->batch_items, 7u);
    EXPECT_EQ(mixture.choices->bytes, 90u);
}

TEST(Mixture, MediaHaveTheirOwnSizes) {
    scratch_file_t const file(R"({"sources": [{"path": "/a"}], "image": {"patch_side": 8, "channels": 3},
        "video": {"frame_stride": 5, "tube_frames": 3, "patch_side": 32}, "audio": {"chunk_samples": 80, "sample_rate": 8000}})");
    geometry_t const geometry = read_mixture(file.path(), "").geometry;
    EXPECT_EQ(geometry.image.patch_side, 8u);
    EXPECT_EQ(geometry.image.channels, 3u);
    EXPECT_EQ(geometry.video.patch_side, 32u);
    EXPECT_EQ(geometry.video.tube_frames, 3u);
    EXPECT_EQ(geometry.video.frame_stride, 5u);
    EXPECT_EQ(geometry.audio.chunk_samples, 80u);
    EXPECT_EQ(geometry.audio.sample_rate, 8000u);
    for (char const *medium : {"image", "audio"})
        EXPECT_EQ(complaint_about(fmt::format("{{\"{}\": {{\n\"frame_stride\": 2}}}}", medium)),
                  ":2: \"frame_stride\" is no key of a mixture; see tools/README.md");
}

TEST(Mixture, ComplaintsAboutTermsAndChoices) {
    EXPECT_EQ(complaint_about("{\"ambient\": \"some\"}"), ":1: \"ambient\" must be \"across\", \"all\" or \"none\"");
    EXPECT_EQ(complaint_about("{\"positives\": 0}"), ":1: \"positives\" must be at least 1");
    EXPECT_EQ(complaint_about("{\"sources\": [{\"temperature_group\": 65536}]}"),
              ":1: \"temperature_group\" must be at most 65535");
    EXPECT_EQ(complaint_about("{\"choices\": {\n\"weight\": 1}}"),
              ":2: \"weight\" comes from choices without \"sources\"; name at least one file");
    EXPECT_EQ(complaint_about("{\"choices\": {\"sources\": [{\"path\": \"/c\",\n\"fields\": {}}]}}"),
              ":2: \"fields\" is no key of a mixture; see tools/README.md");
    EXPECT_NE(complaint_about("{\"sources\": [{\"path\": \"/a\"}], \"context\": 200,"
                              "\"choices\": {\"bytes\": 200, \"sources\": [{\"path\": \"/c\"}]}}")
                  .find("\"context\" has no room"),
              std::string::npos);
}

TEST(Mixture, ComplaintsNameLineAndKey) {
    EXPECT_EQ(complaint_about("{\n\"sources\": [],\n\"stepz\": 3}"),
              ":3: \"stepz\" is no key of a mixture; see tools/README.md");
    EXPECT_EQ(complaint_about("{\n\n\"batch_pairs\": \"many\"}"), ":3: \"batch_pairs\" must be a whole number, not negative");
    EXPECT_EQ(complaint_about("{\"batch_pairs\": 0}"), ":1: \"batch_pairs\" must be at least 1");
    EXPECT_EQ(complaint_about("{\"sources\": [{\n\"path\": \"a\\u0000b\"}]}"),
              ":2: \"path\" holds a NUL byte; no path can, remove it");
    EXPECT_EQ(complaint_about("{\"symmetric\": 1}"), ":1: \"symmetric\" must be true or false");
    EXPECT_EQ(complaint_about("{\"symmetric\": true, \"symmetric\": true}"), ":1: \"symmetric\" is given twice; keep one");
    EXPECT_NE(complaint_about("{\"name\": \"x\"}").find("\"sources\" is missing or empty"), std::string::npos);
    for (char const *broken : {"", "[]", "{", "{\"name\": }", "{\"name\" \"x\"}", "{\"sources\": [{\"path\": \"a\"}]} 5",
                               "{\"sources\": [{\"path\": \"a\"}", "\xff\xfe", "{\"sources\": {}}", "{\"name\": \"x"})
        EXPECT_NE(complaint_about(broken), "accepted") << broken;
}

TEST(Files, LinesLoseTheirNewlineAndNothingElse) {
    scratch_file_t const file(std::string_view("one\r\n\n\0nul\xff\nlast", 16));
    line_reader_t reader(file.path());
    std::vector<std::string> lines;
    for (std::string line; reader.next(line);) lines.push_back(line);
    EXPECT_EQ(lines, (std::vector<std::string> {"one\r", "", std::string("\0nul\xff", 5), "last"}));
}

TEST(ItemReader, OpensAFileForItsHeadAndForAllOfIt) {
    scratch_file_t const file("a text");
    int const watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(::inotify_add_watch(watch, file.path().c_str(), IN_OPEN | IN_ACCESS), 0);
    encoding_options_t options;
    options.files = {file.path()};
    item_t item;
    ASSERT_TRUE(item_reader_t(options).next(item));
    EXPECT_EQ(item.bytes, "a text");
    std::size_t opened = 0;
    for (inotify_event event; ::read(watch, &event, sizeof event) == ssize_t(sizeof event);)
        opened += event.mask == IN_OPEN;
    ::close(watch);
    EXPECT_EQ(opened, 2u);
}

TEST(Files, LongLinesCrossChunks) {
    std::string const first(200'000, 'x'), second(70'000, 'y');
    scratch_file_t const file(first + "\n" + second + "\n");
    line_reader_t reader(file.path());
    std::string line;
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(line, first);
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(line, second);
    EXPECT_FALSE(reader.next(line));
}

/** Two choices an item, with logits that are `gap` apart. */
void add_judged(judged_choices_t &judged, double gap, double target, std::uint32_t group) {
    for (double const logit : {gap - 5, -5.0}) judged.logits.push_back(logit); // of any constant
    for (double const probability : {target, 1 - target}) judged.targets.push_back(probability);
    judged.offsets.push_back(judged.logits.size()), judged.groups.push_back(group);
}

TEST(Calibration, FitsWhatTheOddsSay) {
    judged_choices_t judged;
    for (int i = 0; i < 4; ++i) add_judged(judged, std::log(9.0), i < 3, 0); // says 9 to 1 where it is 3 to 1
    add_judged(judged, -std::log(9.0), 0.25, 0);
    add_judged(judged, std::log(2.0), 0.8, 2); // twice as likely where it is four times
    float const stored[] = {1, 7, 1};
    auto const groups = calibrate(judged, stored);
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_NEAR(groups[0].inverse_temperature, 0.5, 1e-7);
    EXPECT_NEAR(groups[2].inverse_temperature, 2, 1e-6);
    EXPECT_EQ(groups[0].items, 5u);
    EXPECT_NEAR(groups[0].before.negative_log_likelihood, -0.75 * std::log(0.9) - 0.25 * std::log(0.1), 1e-9);
    EXPECT_NEAR(groups[0].after.negative_log_likelihood, -0.75 * std::log(0.75) - 0.25 * std::log(0.25), 1e-9);
    EXPECT_NEAR(groups[0].before.calibration_error, 0.15, 1e-9);
    EXPECT_NEAR(groups[0].after.calibration_error, 0, 1e-7);
    EXPECT_EQ(groups[1].inverse_temperature, 7) << "a group without items keeps what it had";
    EXPECT_EQ(groups[1].items, 0u);
    EXPECT_EQ(groups[1].before.negative_log_likelihood, 0);
}

TEST(Calibration, BinsDoNotCancelEachOther) {
    judged_choices_t judged;
    add_judged(judged, std::log(4.0), 1, 0); // 0.8, and always right
    add_judged(judged, std::log(1.5), 0, 0); // 0.6, and never right
    EXPECT_NEAR(score_group(judged, 0, 1).calibration_error, (0.2 + 0.6) / 2, 1e-9);
    judged = {};
    add_judged(judged, std::log(4.0), 1, 0), add_judged(judged, std::log(4.0), 0, 0); // one bin: 0.8 where it is half
    EXPECT_NEAR(score_group(judged, 0, 1).calibration_error, 0.3, 1e-9);
}

TEST(Calibration, WithoutABestTheNearestLimit) {
    judged_choices_t judged;
    add_judged(judged, 3, 1, 0);                                                          // always right
    add_judged(judged, 3, 0, 1);                                                          // always wrong
    add_judged(judged, 0, 1, 2);                                                          // says nothing
    judged.logits.push_back(-4), judged.targets.push_back(1), judged.groups.push_back(3); // one choice is certain
    judged.offsets.push_back(judged.logits.size());
    float const stored[] = {1, 1, 1.5f, 2.5f};
    auto const groups = calibrate(judged, stored);
    EXPECT_EQ(groups[0].inverse_temperature, 64);
    EXPECT_EQ(groups[1].inverse_temperature, 1.0f / 64);
    EXPECT_EQ(groups[2].inverse_temperature, 1.5f);
    EXPECT_EQ(groups[3].inverse_temperature, 2.5f);
    EXPECT_NEAR(groups[1].before.negative_log_likelihood, 3 + std::log1p(std::exp(-3.0)), 1e-9);
}

TEST(CheckpointHeader, PrefixesAreUnescaped) {
    EXPECT_EQ(unescaped("a\\x00\\\\\\xfFz\\q"), std::string("a\0\\\xffz\\q", 7));
}
