/**
 *  @file encode.cpp
 *  @brief What text encoding answers: shapes, unit rows, prefixes, scalars, stats, and bits that depend on the item alone.
 */
#include "encoding.hpp"

namespace conformance {
namespace {

/** A unit row of `columns` whose elements are each off by `epsilon` of themselves: its squared length by twice that. */
constexpr double bf16_tolerance_k = 2 * 0x1p-8, f16_tolerance_k = 2 * 0x1p-10;
/** Normalizing in float: an epsilon each for the sum's root, the quotient and the product, the sum's own over 128. */
constexpr double f32_tolerance_k = 2 * (128 + 3) * 0x1p-24;

TEST(encode, shapes) {
    encoding_t const encoding;
    encoded_t got;
    auto call = encoding.call(got);
    uform_text_encode(&call);
    expect_final(got.outcome);
    ASSERT_EQ(got.outcome.status, uform_status_success_k) << told(got.outcome);
    EXPECT_EQ(got.embeddings.count, 3u);
    EXPECT_EQ(got.embeddings.columns, 128u);
    EXPECT_EQ(got.embeddings.scalar, uform_scalar_f32_k);
    EXPECT_GE(got.embeddings.stride, 128u * 4);
    std::size_t const tokens = 12 + 1 + 4; // an empty text is one PAD
    EXPECT_EQ(got.states.count, tokens);
    EXPECT_EQ(got.states.columns, 128u);
    EXPECT_EQ(got.states.scalar, uform_scalar_f32_k);
    EXPECT_EQ(got.token_vectors.count, tokens);
    EXPECT_EQ(got.token_vectors.columns, 24u);
    EXPECT_EQ(got.token_vectors.scalar, uform_scalar_f32_k);
    for (auto const &tape : {got.states, got.token_vectors})
        EXPECT_EQ(std::vector<std::size_t>(tape.offsets, tape.offsets + 4), (std::vector<std::size_t> {0, 12, 13, 17}));
    EXPECT_EQ(got.stats.tokens, tokens);
    EXPECT_EQ(got.stats.truncated, 0u);
    for (auto const &row : landed_t(got.embeddings).rows) expect_unit(row, f32_tolerance_k);
    for (auto const &row : landed_t(got.token_vectors).rows) expect_unit(row, f32_tolerance_k);
    for (auto const &row : landed_t(got.states).rows)
        for (float const value : row) EXPECT_TRUE(std::isfinite(value));
}

TEST(encode, rows_tell_texts_apart) {
    encoding_t const encoding({"", std::string(1, '\0'), "a", "b", "ab", "ba", std::string("a\0b", 3)});
    encoded_t got;
    auto call = encoding.call(got);
    uform_text_encode(&call);
    landed_t const rows(got.embeddings);
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(rows.rows[i], rows.rows[j]) << i << " and " << j;
}

TEST(encode, dimensions_keep_a_prefix_of_unit_length) {
    encoding_t const encoding;
    encoded_t whole, part;
    auto call = encoding.call(whole);
    uform_text_encode(&call);
    landed_t const full(whole.embeddings);
    for (std::size_t dimensions : {1, 8, 64, 127, 128}) {
        call = encoding.call(part), call.dimensions = dimensions;
        uform_text_encode(&call);
        EXPECT_SUCCESS(part.outcome);
        ASSERT_EQ(part.embeddings.columns, dimensions);
        EXPECT_EQ(part.states.columns, 128u) << "dimensions cut embeddings alone";
        landed_t const cut(part.embeddings);
        for (std::size_t i = 0; i < cut.rows.size(); ++i) {
            expect_unit(cut.rows[i], f32_tolerance_k);
            double squares = 0;
            for (std::size_t j = 0; j < dimensions; ++j) squares += double(full.rows[i][j]) * full.rows[i][j];
            for (std::size_t j = 0; j < dimensions; ++j)
                EXPECT_NEAR(cut.rows[i][j], full.rows[i][j] / std::sqrt(squares), f32_tolerance_k) << i << ", " << j;
        }
        if (dimensions == 128) {
            EXPECT_EQ(cut.bits, full.bits);
        }
    }
}

TEST(encode, scalars) {
    encoding_t const encoding;
    encoded_t wide;
    auto call = encoding.call(wide);
    call.states = nullptr;
    uform_text_encode(&call);
    landed_t const embeddings(wide.embeddings), vectors(wide.token_vectors);
    struct {
        uform_scalar_t scalar;
        std::size_t bytes;
        double element, norm; // how far a value of a unit row, and the square of its length, may be
    } const scalars[] = {{uform_scalar_f32_k, 4, 0, f32_tolerance_k},
                         {uform_scalar_bf16_k, 2, 0x1p-9, bf16_tolerance_k},
                         {uform_scalar_f16_k, 2, 0x1p-12, f16_tolerance_k},
                         {uform_scalar_i8_k, 1, 0.5 / 127 + 0x1p-20, 2 * 0.5 / 127 * 12 + 128 * 0.25 / 127 / 127}};
    for (auto const &[scalar, bytes, element, norm] : scalars) {
        SCOPED_TRACE(uform_scalar_name(scalar));
        encoded_t got;
        call = encoding.call(got), call.states = nullptr, call.outputs_scalar = scalar;
        uform_text_encode(&call);
        EXPECT_SUCCESS(got.outcome);
        EXPECT_EQ(got.embeddings.scalar, scalar);
        EXPECT_EQ(got.token_vectors.scalar, scalar);
        EXPECT_GE(got.embeddings.stride, 128 * bytes);
        landed_t const narrow(got.embeddings), narrow_vectors(got.token_vectors);
        for (std::size_t i = 0; i < 3; ++i) {
            expect_unit(narrow.rows[i], norm);
            for (std::size_t j = 0; j < 128; ++j)
                EXPECT_NEAR(narrow.rows[i][j], embeddings.rows[i][j], element) << i << ", " << j;
        }
        for (std::size_t i = 0; i < vectors.rows.size(); ++i)
            for (std::size_t j = 0; j < 24; ++j)
                EXPECT_NEAR(narrow_vectors.rows[i][j], vectors.rows[i][j], element) << i << ", " << j;
    }
    for (uform_scalar_t scalar : {uform_scalar_bf16_k, uform_scalar_f16_k}) {
        encoded_t got;
        call = encoding.call(got), call.outputs_scalar = scalar;
        uform_text_encode(&call);
        EXPECT_SUCCESS(got.outcome);
        EXPECT_EQ(got.states.scalar, scalar);
        for (auto const &row : landed_t(got.states).rows)
            for (float const value : row) EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(encode, each_surface_alone_has_the_same_bits) {
    encoding_t const encoding;
    encoded_t all, alone;
    auto call = encoding.call(all);
    uform_text_encode(&call);
    landed_t const embeddings(all.embeddings), states(all.states), vectors(all.token_vectors);
    call = encoding.call(alone), call.states = nullptr, call.token_vectors = nullptr, call.stats = nullptr;
    uform_text_encode(&call);
    EXPECT_EQ(landed_t(alone.embeddings).bits, embeddings.bits);
    EXPECT_EQ(alone.states.data, nullptr) << "nobody asked";
    EXPECT_EQ(alone.stats.tokens, 0u) << "nobody asked";
    call = encoding.call(alone), call.embeddings = nullptr, call.token_vectors = nullptr;
    uform_text_encode(&call);
    EXPECT_EQ(landed_t(alone.states).bits, states.bits);
    call = encoding.call(alone), call.embeddings = nullptr, call.states = nullptr;
    uform_text_encode(&call);
    EXPECT_EQ(landed_t(alone.token_vectors).bits, vectors.bits);
}

TEST(encode, an_item_has_its_bits_in_any_batch_and_place) {
    std::vector<std::string> const list {"Hello, world", "", "zwei", std::string(64, 'x'), "Hello, world"};
    encoding_t const encoding(list);
    encoded_t together;
    auto call = encoding.call(together);
    uform_text_encode(&call);
    landed_t const embeddings(together.embeddings), vectors(together.token_vectors);
    EXPECT_EQ(embeddings.rows[0], embeddings.rows[4]) << "equal texts, equal rows";
    for (std::size_t i = 0; i < list.size(); ++i) {
        encoding_t const single({list[i]});
        encoded_t got;
        call = single.call(got), call.model = encoding.model;
        uform_text_encode(&call);
        EXPECT_EQ(landed_t(got.embeddings).rows[0], embeddings.rows[i]);
        EXPECT_EQ(landed_t(got.token_vectors).rows[0], vectors.rows[i == 0   ? 0
                                                                    : i == 1 ? 12
                                                                    : i == 2 ? 13
                                                                    : i == 3 ? 17
                                                                             : 81]);
    }
}

TEST(encode, offsets_may_start_anywhere) {
    encoding_t const encoding;
    encoded_t whole, shifted;
    auto call = encoding.call(whole);
    uform_text_encode(&call);
    landed_t const rows(whole.embeddings);
    std::string const data = "xxx" + encoding.texts.data;
    std::vector<std::size_t> offsets = encoding.texts.offsets;
    for (std::size_t &offset : offsets) offset += 3;
    call = encoding.call(shifted), call.texts = {data.data(), offsets.data(), uform_scalar_default_k};
    uform_text_encode(&call);
    EXPECT_SUCCESS(shifted.outcome);
    EXPECT_EQ(landed_t(shifted.embeddings).bits, rows.bits);
    EXPECT_EQ(shifted.states.offsets[0], 0u) << "a tape of rows starts at zero";
}

TEST(encode, the_context_cuts) {
    std::string const text = std::string(64, 'x') + "beyond";
    encoding_t const encoding(
        {text.substr(0, 63), text.substr(0, 64), text.substr(0, 65), text, std::string(1 << 20, 'x')});
    encoded_t got;
    auto call = encoding.call(got);
    uform_text_encode(&call);
    EXPECT_SUCCESS(got.outcome);
    EXPECT_EQ(got.stats.truncated, 3u);
    EXPECT_EQ(got.stats.tokens, 63u + 4 * 64);
    landed_t const rows(got.embeddings);
    EXPECT_NE(rows.rows[0], rows.rows[1]);
    for (std::size_t i : {2, 3, 4}) EXPECT_EQ(rows.rows[i], rows.rows[1]) << "what is cut does not count";
}

TEST(encode, no_items_are_no_rows) {
    encoding_t const encoding(std::vector<std::string> {});
    encoded_t got;
    auto call = encoding.call(got);
    got.stats = {7, 7};
    call.texts = {};
    uform_text_encode(&call);
    expect_final(got.outcome);
    EXPECT_SUCCESS(got.outcome);
    EXPECT_EQ(got.embeddings.count, 0u);
    EXPECT_EQ(got.embeddings.columns, 128u);
    EXPECT_EQ(got.states.count, 0u);
    ASSERT_NE(got.states.offsets, nullptr);
    EXPECT_EQ(got.states.offsets[0], 0u);
    EXPECT_EQ(got.token_vectors.columns, 24u);
    EXPECT_EQ(got.stats.tokens, 0u);
    EXPECT_EQ(got.stats.truncated, 0u);
}

TEST(encode, items_without_data_are_pads) {
    encoding_t const encoding;
    std::size_t const offsets[] = {5, 5, 5};
    encoded_t got;
    auto call = encoding.call(got);
    call.texts = {nullptr, offsets, uform_scalar_u8_k}, call.count = 2;
    uform_text_encode(&call);
    EXPECT_SUCCESS(got.outcome);
    EXPECT_EQ(got.states.count, 2u);
    landed_t const rows(got.embeddings);
    EXPECT_EQ(rows.rows[0], rows.rows[1]);
    expect_unit(rows.rows[0], f32_tolerance_k);
}

TEST(encode, the_shipped_model) {
    model_t model;
    arena_t arena;
    load(model, nano_path());
    make_arena(arena);
    tape_t const texts({"How do I insert a table?", std::string(513, 'y')});
    encoded_t got;
    uform_text_encode_t call {};
    call.model = model, call.outcome = &got.outcome, call.texts = texts.view(), call.count = 2;
    call.embeddings = &got.embeddings, call.arena = arena, call.stats = &got.stats, call.dimensions = 64;
    uform_text_encode(&call);
    EXPECT_SUCCESS(got.outcome);
    EXPECT_EQ(got.embeddings.columns, 64u);
    EXPECT_EQ(got.stats.tokens, 24u + 512);
    EXPECT_EQ(got.stats.truncated, 1u);
    for (auto const &row : landed_t(got.embeddings).rows) expect_unit(row, f32_tolerance_k);
}

} // namespace
} // namespace conformance
