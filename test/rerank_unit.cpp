/**
 *  @file rerank_unit.cpp
 *  @brief MaxSim through the C ABI against sums in double: every scalar, width, stride, order, split, and value that is
 *  not finite.
 */
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <span>

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include <uform/encoder/classes.hpp>

#include "caller_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

using rows_t = std::vector<std::vector<float>>;

/** Rows as a caller may keep them: of any scalar, with a gap of NaN (or -128) behind each, behind rows that no item owns. */
struct stored_t {
    uform_scalar_t scalar;
    std::size_t width, gap, count = 0;
    std::string bytes;
    rows_t values; // what was stored, widened

    stored_t(uform_scalar_t scalar, std::size_t width, std::size_t gap) : scalar(scalar), width(width), gap(gap) {}
    std::size_t stride() const { return (width + gap) * uform_scalar_bytes(scalar); }

    void append(std::vector<float> const &row) {
        values.emplace_back(), ++count;
        for (float x : row) values.back().push_back(append_scalar(x, scalar, bytes));
        for (std::size_t i = 0; i < gap; ++i) append_scalar(NAN, scalar, bytes);
    }
};

struct documents_t {
    stored_t rows;
    std::vector<std::size_t> offsets;
    std::size_t items() const { return offsets.size() - 1; }
};

class reranker_t : public caller_t {
  public:
    using caller_t::caller_t;

    std::vector<float> score(stored_t const &query, documents_t const &documents,
                             uform_completion_t completion = uform_completion_blocking_k) {
        uform_rerank_t call {};
        uform_rows_t scores {};
        call.query = {query.bytes.data(), query.count, query.width, query.stride(), query.scalar};
        call.documents = {documents.rows.bytes.data(), documents.rows.count,  documents.rows.width,
                          documents.rows.stride(),     documents.rows.scalar, documents.offsets.data()};
        call.count = documents.items(), call.scores = &scores;
        if (!make(uform_rerank, call, completion)) return {};
        float const *first = static_cast<float const *>(scores.data);
        return {first, first + scores.count};
    }
};

stored_t stored(rows_t const &rows, uform_scalar_t scalar = uform_scalar_f32_k, std::size_t gap = 0) {
    stored_t stored(scalar, rows[0].size(), gap);
    for (auto const &row : rows) stored.append(row);
    return stored;
}
documents_t tape(std::vector<rows_t> const &documents, uform_scalar_t scalar = uform_scalar_f32_k, std::size_t gap = 0,
                 std::size_t before = 0) {
    documents_t tape {{scalar, documents[0][0].size(), gap}, {before}};
    for (std::size_t i = 0; i < before; ++i) tape.rows.append(std::vector<float>(tape.rows.width, NAN)); // nobody's
    for (auto const &document : documents) {
        for (auto const &row : document) tape.rows.append(row);
        tape.offsets.push_back(tape.rows.count);
    }
    return tape;
}
rows_t drawn(std::mt19937 &random, std::size_t count, std::size_t width) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    rows_t rows(count, std::vector<float>(width));
    for (auto &row : rows)
        for (float &x : row) x = uniform(random);
    return rows;
}

/** Score in double, and how far float sums may be from it. */
struct expectation_t {
    double score, tolerance;
};
expectation_t expected(stored_t const &query, std::span<std::vector<float> const> document) {
    double const unit = query.scalar == uform_scalar_i8_k ? 1 / (127.0 * 127) : 1;
    double sum = 0, magnitude = 0;
    for (auto const &token : query.values) {
        double top = -INFINITY, largest = 0;
        for (auto const &row : document) {
            double product = 0, absolute = 0;
            for (std::size_t i = 0; i < token.size(); ++i)
                product += double(token[i]) * row[i], absolute += std::fabs(double(token[i]) * row[i]);
            top = std::max(top, product), largest = std::max(largest, absolute);
        }
        sum += top, magnitude += largest;
    }
    double const count = double(query.count);
    // One rounding of at most 2^-24 of the absolute sum per addition, one when the mean lands.
    return {sum * unit / count, magnitude * unit / count * double(query.width + 1) * 0x1p-24 + 0x1p-40};
}

std::vector<uform_cpu_class_t> classes_here() {
    std::vector<uform_cpu_class_t> classes;
    for (int at = 1; at < 32; ++at) {
        auto const cpu_class = uform_cpu_class_t(at);
        uform_executor_t executor = nullptr;
        uform_outcome_t outcome {};
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = 1, make.cpu_class = cpu_class;
        uform_executor_for_ram(&make);
        if (outcome.status == uform_status_success_k && kit_of(cpu_class)) classes.push_back(cpu_class);
        uform_executor_free(executor);
    }
    return classes;
}

TEST(rerank, no_padding_ever_wins) {
    std::ifstream file(UFORM_SOURCE_DIR "/test/cases/maxsim.json");
    auto const json = nlohmann::json::parse(file);
    auto query = json["query"].get<rows_t>();
    auto documents = json["docs"].get<std::vector<rows_t>>();
    auto const means = json["expected_mean"].get<std::vector<double>>();
    for (auto cpu_class : classes_here()) {
        reranker_t reranker(1, cpu_class);
        auto const both = reranker.score(stored(query), tape(documents));
        ASSERT_EQ(both.size(), 2u);
        for (std::size_t i : {0, 1}) EXPECT_NEAR(both[i], means[i], 4 * 0x1p-24);
        EXPECT_EQ(reranker.score(stored(query), tape({documents[0]})), std::vector {both[0]});
        EXPECT_EQ(reranker.score(stored(query), tape({documents[1]})), std::vector {both[1]});
        EXPECT_EQ(reranker.score(stored(query), tape({documents[1], documents[0]})), (std::vector {both[1], both[0]}));
        auto twice = documents;
        for (std::size_t i : {0, 1}) twice[i].insert(twice[i].end(), documents[i].begin(), documents[i].end());
        EXPECT_EQ(reranker.score(stored(query), tape(twice)), both);
        rows_t const turned(query.rbegin(), query.rend());
        auto const reordered = reranker.score(stored(turned), tape(documents));
        for (std::size_t i : {0, 1}) EXPECT_NEAR(reordered[i], both[i], 1e-6);
    }
}

struct shape_t {
    std::size_t tokens, width, gap, before;
    std::vector<std::size_t> lengths;
};

TEST(rerank, is_the_mean_of_the_largest_products_at_every_size) {
    std::vector<shape_t> const shapes {{1, 1, 0, 0, {1, 2}},           {3, 2, 1, 4, {1, 1, 7}},
                                       {64, 128, 0, 0, {5, 300, 1}},   {65, 127, 3, 2, {700, 3, 64}},
                                       {130, 33, 1, 1, {2, 257, 513}}, {17, 1031, 2, 3, {9, 130}}};
    std::mt19937 random(7);
    for (auto cpu_class : classes_here())
        for (shape_t const &shape : shapes)
            for (uform_scalar_t scalar : {uform_scalar_t(uform_scalar_f32_k), uform_scalar_t(uform_scalar_bf16_k),
                                          uform_scalar_t(uform_scalar_f16_k), uform_scalar_t(uform_scalar_i8_k)}) {
                SCOPED_TRACE(testing::Message() << "class " << int(cpu_class) << " scalar " << int(scalar) << " tokens "
                                                << shape.tokens << " width " << shape.width);
                std::vector<rows_t> documents;
                for (std::size_t length : shape.lengths) documents.push_back(drawn(random, length, shape.width));
                auto const query = stored(drawn(random, shape.tokens, shape.width), scalar, shape.gap);
                auto const batch = tape(documents, scalar, shape.gap, shape.before);
                reranker_t reranker(2, cpu_class);
                auto const scores = reranker.score(query, batch);
                ASSERT_EQ(scores.size(), documents.size()) << reranker.outcome.message << reranker.outcome.detail;
                for (std::size_t i = 0; i < scores.size(); ++i) {
                    std::span const rows(batch.rows.values);
                    auto const [score, tolerance] =
                        expected(query, rows.subspan(batch.offsets[i], batch.offsets[i + 1] - batch.offsets[i]));
                    EXPECT_NEAR(scores[i], score, tolerance + std::fabs(score) * 0x1p-24) << i;
                    EXPECT_EQ(reranker.score(query, tape({documents[i]}, scalar, 5)), std::vector {scores[i]}) << i;
                }
            }
}

TEST(rerank, has_the_same_bits_however_it_is_split) {
    std::mt19937 random(11);
    std::vector<rows_t> documents;
    for (std::size_t i = 0; i < 41; ++i) documents.push_back(drawn(random, 1 + i * 37 % 600, 97));
    std::vector<rows_t> const turned(documents.rbegin(), documents.rend());
    for (uform_scalar_t scalar : {uform_scalar_t(uform_scalar_f32_k), uform_scalar_t(uform_scalar_bf16_k),
                                  uform_scalar_t(uform_scalar_f16_k), uform_scalar_t(uform_scalar_i8_k)}) {
        auto const query = stored(drawn(random, 70, 97), scalar);
        auto const reference = reranker_t().score(query, tape(documents, scalar));
        ASSERT_EQ(reference.size(), documents.size());
        for (std::size_t threads : {1, 2, 3}) {
            reranker_t reranker(threads);
            EXPECT_EQ(reranker.score(query, tape(documents, scalar)), reference);
            EXPECT_EQ(reranker.score(query, tape(documents, scalar), uform_completion_queued_k), reference);
            auto backwards = reranker.score(query, tape(turned, scalar));
            std::reverse(backwards.begin(), backwards.end());
            EXPECT_EQ(backwards, reference);
        }
    }
}

TEST(rerank, names_the_first_document_that_is_not_finite) {
    std::mt19937 random(13);
    for (auto cpu_class : classes_here())
        for (uform_scalar_t scalar : {uform_scalar_t(uform_scalar_f32_k), uform_scalar_t(uform_scalar_bf16_k),
                                      uform_scalar_t(uform_scalar_f16_k)})
            for (float poison : {NAN, -NAN, INFINITY, -INFINITY})
                for (std::size_t width : {1, 31, 64})
                    for (std::size_t row : {0, 5, 299, 300}) {
                        SCOPED_TRACE(testing::Message() << "class " << int(cpu_class) << " scalar " << int(scalar)
                                                        << " " << poison << " width " << width << " row " << row);
                        std::vector<rows_t> documents(4);
                        for (auto &document : documents) document = drawn(random, 301, width);
                        documents[2][row][width - 1] = poison, documents[3][0][0] = poison;
                        auto tokens = drawn(random, 3, width);
                        for (auto &token : tokens) token[width - 1] = 0; // a product that a zero could hide
                        reranker_t reranker(3, cpu_class);
                        EXPECT_TRUE(reranker.score(stored(tokens, scalar), tape(documents, scalar)).empty());
                        EXPECT_EQ(reranker.outcome.status, uform_status_malformed_k);
                        EXPECT_EQ(reranker.outcome.item, 2u);
                        documents[2] = documents[3] = documents[1];
                        EXPECT_EQ(reranker.score(stored(tokens, scalar), tape(documents, scalar)).size(), 4u);
                        tokens[1][0] = poison;
                        reranker.score(stored(tokens, scalar), tape(documents, scalar));
                        EXPECT_EQ(reranker.outcome.status, uform_status_malformed_k);
                        EXPECT_EQ(reranker.outcome.item, SIZE_MAX);
                        EXPECT_NE(std::string(reranker.outcome.message).find("query"), std::string::npos);
                    }
}

TEST(rerank, names_a_document_without_rows) {
    reranker_t reranker;
    auto const query = stored({{1, 0}});
    documents_t none {{uform_scalar_f32_k, 2, 0}, {0, 0}};
    reranker.score(query, none); // no rows at all
    EXPECT_EQ(reranker.outcome.status, uform_status_shape_mismatch_k);
    EXPECT_EQ(reranker.outcome.item, 0u);
    auto some = tape({{{1, 0}}, {{0, 1}}});
    some.offsets = {0, 2, 2};
    reranker.score(query, some);
    EXPECT_EQ(reranker.outcome.status, uform_status_shape_mismatch_k);
    EXPECT_EQ(reranker.outcome.item, 1u);
}

std::size_t resident_peak() {
    rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return std::size_t(usage.ru_maxrss) << 10;
}

/** All pairs of tokens, or all rows as BFloat16, would be 64 MiB here; a block of staged rows is a sixteenth of one. */
TEST(rerank, keeps_no_table_of_token_pairs) {
    constexpr std::size_t tokens = 64, rows = 4096, width = 128, count = 64;
    std::vector<std::int8_t> const memory(count * rows * width, 1);
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i <= count; ++i) offsets.push_back(i * rows);
    caller_t caller;
    uform_rows_t scores {};
    uform_rerank_t call {};
    call.scores = &scores, call.count = count;
    call.query = {memory.data(), tokens, width, width, uform_scalar_i8_k};
    call.documents = {memory.data(), count * rows, width, width, uform_scalar_i8_k, offsets.data()};
    std::size_t const before = resident_peak();
    bool const succeeded = caller.make(uform_rerank, call);
    EXPECT_LT(resident_peak() - before, std::size_t(8) << 20);
    ASSERT_TRUE(succeeded) << caller.outcome.message;
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(static_cast<float const *>(scores.data)[i], float(128 / (127.0 * 127))) << i;
}

} // namespace
