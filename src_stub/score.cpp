/**
 *  @file score.cpp
 *  @brief Probabilities hashed, MaxSim computed.
 */
#include "score.hpp"

#include <bitset>
#include <cfloat>

#include "arguments.hpp"
#include "call.hpp"
#include "inputs.hpp"
#include "model.hpp"
#include "rows.hpp"

namespace uform_stub {
namespace {

void check_choices(uform_text_choose_t const &call) {
    std::size_t const groups = std::max<std::size_t>(call.model->sizes.choice_groups, 1);
    for (std::size_t i = 0; i < call.count; ++i) {
        if (call.temperature_groups && call.temperature_groups[i] >= groups)
            refuse("temperature_groups must be below the model's choice_temperature_groups", {}, i);
        check_twins(item_of(call.choices, i), i);
    }
}

double value_at(void const *data, uform_scalar_t scalar, std::size_t i) noexcept {
    switch (scalar) {
    case uform_scalar_bf16_k:
        return widen_bf16(static_cast<std::uint16_t const *>(data)[i]);
    case uform_scalar_f16_k:
        return widen_f16(static_cast<std::uint16_t const *>(data)[i]);
    case uform_scalar_i8_k:
        return static_cast<std::int8_t const *>(data)[i] / 127.0;
    default:
        return static_cast<float const *>(data)[i];
    }
}

template <typename view_>
std::vector<double> widened_row(view_ const &view, std::size_t row) {
    std::vector<double> values(view.columns);
    auto const *data = static_cast<std::byte const *>(view.data) + row * view.stride;
    for (std::size_t i = 0; i < view.columns; ++i) values[i] = value_at(data, view.scalar, i);
    return values;
}

/** Every element of the query, in order. */
void check_query(uform_rows_t const &query) {
    for (std::size_t row = 0; row < query.count; ++row) {
        std::vector<double> const values = widened_row(query, row);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!std::isfinite(values[i]))
                malformed("query holds a value that is not finite",
                          "row " + std::to_string(row) + ", column " + std::to_string(i));
    }
}

/** NaN where a value is not finite, or a sum of products on the way is beyond float, which the engine sums in. */
double max_sim(uform_rerank_t const &call, std::size_t document) {
    double sum = 0;
    for (std::size_t token = 0; token < call.query.count; ++token) {
        std::vector<double> const query = widened_row(call.query, token);
        double largest = -INFINITY;
        for (std::size_t row = call.documents.offsets[document]; row < call.documents.offsets[document + 1]; ++row) {
            std::vector<double> const vector = widened_row(call.documents, row);
            double product = 0;
            for (std::size_t i = 0; i < query.size(); ++i) {
                product += query[i] * vector[i];
                if (!(std::fabs(product) <= FLT_MAX)) return NAN;
            }
            largest = std::max(largest, product);
        }
        sum += largest;
    }
    return sum / double(call.query.count);
}

/** Offsets that no document's rows are missing from, then the rows themselves. */
void check_documents(uform_rerank_t const &call) {
    std::size_t const *const offsets = call.documents.offsets;
    check_offsets(UFORM_STUB_FIELD("documents"), offsets, call.count);
    for (std::size_t i = 0; i < call.count; ++i)
        if (offsets[i] == offsets[i + 1]) fail(uform_status_shape_mismatch_k, "a document has no rows", {}, i);
    check_vectors(UFORM_STUB_FIELD("documents"), call.documents);
    if (offsets[call.count] > call.documents.count)
        fail(uform_status_shape_mismatch_k, "documents.offsets end beyond their rows",
             std::to_string(offsets[call.count]) + " of " + std::to_string(call.documents.count));
}

} // namespace

void check_text_choose(uform_text_choose_t const &call) {
    check_tape(UFORM_STUB_FIELD("texts"), call.texts, call.count, uform_scalar_u8_k);
    check_tape(UFORM_STUB_FIELD("choices"), call.choices, call.count, uform_scalar_u8_k);
    if (!call.probabilities) refuse("probabilities must not be NULL");
    if (!call.arena) refuse("arena must not be NULL");
    check_outputs_scalar(call.outputs_scalar, false);
    if (!call.model->sizes.decoder) unsupported("the model has no byte decoder, so it makes no choices");
    check_choices(call);
    check_inputs(call.arena, {input_of("texts.data", call.texts, call.count),
                              offsets_of("texts.offsets", call.texts.offsets, call.count),
                              input_of("choices.data", call.choices, call.count),
                              offsets_of("choices.offsets", call.choices.offsets, call.count),
                              input_of("temperature_groups", call.temperature_groups, call.count)});
}

void text_choose(uform_text_choose_t const &call) {
    sizes_t const &sizes = call.model->sizes;
    uform_scalar_t const scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    std::size_t const bytes = uform_scalar_bytes(scalar), text_limit = sizes.context - 1;
    auto *const offsets = reinterpret_cast<std::size_t *>(call.arena->claim((call.count + 1) * sizeof(std::size_t)));
    for (std::size_t i = 0; i < call.count; ++i) offsets[i + 1] = offsets[i] + item_of(call.choices, i).size();
    std::byte *const data = call.arena->claim(offsets[call.count] * bytes);
    uform_encode_stats_t stats {};
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const text = item_of(call.texts, i), choices = item_of(call.choices, i);
        stats.truncated += text.size() > text_limit, stats.tokens += std::min(text.size(), text_limit) + 1;
        std::uint64_t const hash = hash_of('c', text.substr(0, text_limit));
        std::vector<float> shares(choices.size());
        double sum = 0;
        for (unsigned char const choice : choices) sum += 1 + drawn(hash, 0, choice);
        for (std::size_t j = 0; j < choices.size(); ++j)
            shares[j] = float((1 + drawn(hash, 0, static_cast<unsigned char>(choices[j]))) / sum);
        land(shares, scalar, data + offsets[i] * bytes);
        advance(call.progress, i + 1, call.count);
    }
    *call.probabilities = {data, offsets[call.count], 1, bytes, scalar, offsets};
    if (call.stats) *call.stats = stats;
}

void check_rerank(uform_rerank_t const &call) {
    check_vectors(UFORM_STUB_FIELD("query"), call.query);
    if (call.documents.scalar != call.query.scalar)
        refuse("documents.scalar must be the query's",
               std::string(uform_scalar_name(call.documents.scalar)) + ", not " + uform_scalar_name(call.query.scalar));
    if (call.documents.columns != call.query.columns)
        fail(uform_status_shape_mismatch_k, "documents.columns must be the query's",
             std::to_string(call.documents.columns) + ", not " + std::to_string(call.query.columns));
    if (call.count) check_documents(call);
    if (!call.scores) refuse("scores must not be NULL");
    if (!call.arena) refuse("arena must not be NULL");
    check_outputs_scalar(call.outputs_scalar, false);
    std::size_t const *const offsets = call.documents.offsets;
    check_inputs(call.arena, {input_of("query.data", call.query, 0, call.query.count),
                              input_of("documents.data", call.documents, call.count ? offsets[0] : 0,
                                       call.count ? offsets[call.count] : 0),
                              offsets_of("documents.offsets", offsets, call.count)});
}

void rerank(uform_rerank_t const &call) {
    uform_scalar_t const scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    std::size_t const bytes = uform_scalar_bytes(scalar);
    std::byte *const data = call.arena->claim(call.count * bytes);
    check_query(call.query);
    for (std::size_t i = 0; i < call.count; ++i) {
        auto const score = float(max_sim(call, i));
        if (!std::isfinite(score)) malformed("a document's score is not finite", {}, i);
        if (!fits(score, scalar))
            malformed("a document's score does not fit outputs_scalar", uform_scalar_name(scalar), i);
        land({score}, scalar, data + i * bytes);
        advance(call.progress, i + 1, call.count);
    }
    *call.scores = {data, call.count, 1, bytes, scalar};
}

} // namespace uform_stub
