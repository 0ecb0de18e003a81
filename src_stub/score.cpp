/**
 *  @file score.cpp
 *  @brief Probabilities hashed, MaxSim computed.
 */
#include "score.hpp"

#include "arguments.hpp"
#include "call.hpp"
#include "model.hpp"
#include "rows.hpp"

namespace uform_stub {
namespace {

/** What scores and probabilities land as. */
void check_scores_scalar(uform_scalar_t scalar) {
    if (scalar == uform_scalar_i8_k) unsupported("outputs_scalar i8 holds unit rows alone");
    check_outputs_scalar(scalar, true);
}

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

template <typename view_>
bool is_finite(view_ const &view, std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
        for (double const value : widened_row(view, row))
            if (!std::isfinite(value)) return false;
    return true;
}

double max_sim(uform_rerank_t const &call, std::size_t document) {
    double sum = 0;
    for (std::size_t token = 0; token < call.query.count; ++token) {
        std::vector<double> const query = widened_row(call.query, token);
        double largest = -INFINITY;
        for (std::size_t row = call.documents.offsets[document]; row < call.documents.offsets[document + 1]; ++row) {
            std::vector<double> const vector = widened_row(call.documents, row);
            double product = 0;
            for (std::size_t i = 0; i < query.size(); ++i) product += query[i] * vector[i];
            largest = std::max(largest, product);
        }
        sum += largest;
    }
    return sum / double(call.query.count);
}

} // namespace

void check_text_choose(uform_text_choose_t const &call) {
    check_tape(UFORM_STUB_FIELD("texts"), call.texts, call.count, uform_scalar_u8_k);
    check_tape(UFORM_STUB_FIELD("choices"), call.choices, call.count, uform_scalar_u8_k);
    if (!call.probabilities) refuse("probabilities must not be NULL");
    if (!call.arena) refuse("arena must not be NULL");
    check_scores_scalar(call.outputs_scalar);
    if (!call.model->sizes.decoder) unsupported("the model has no byte decoder, so it makes no choices");
    check_choices(call);
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
    auto const is_vector = [](uform_scalar_t x) {
        return x == uform_scalar_f32_k || x == uform_scalar_bf16_k || x == uform_scalar_f16_k || x == uform_scalar_i8_k;
    };
    if (!is_vector(call.query.scalar)) refuse("query.scalar must be f32, bf16, f16 or i8");
    if (call.query.count == 0 || call.query.columns == 0) fail(uform_status_shape_mismatch_k, "query has no rows");
    if (!call.query.data) refuse("query.data must not be NULL");
    std::size_t const bytes = call.query.columns * uform_scalar_bytes(call.query.scalar);
    if (call.query.stride < bytes) fail(uform_status_shape_mismatch_k, "query.stride is less than a row");
    if (call.documents.scalar != call.query.scalar) refuse("documents.scalar must be the query's");
    if (call.documents.columns != call.query.columns)
        fail(uform_status_shape_mismatch_k, "documents are not of the query's width");
    if (call.count) {
        check_offsets(UFORM_STUB_FIELD("documents"), call.documents.offsets, call.count);
        if (call.documents.offsets[call.count] > call.documents.count)
            fail(uform_status_shape_mismatch_k, "documents.offsets end beyond their rows");
        if (!call.documents.data) refuse("documents.data must not be NULL");
        if (call.documents.stride < bytes) fail(uform_status_shape_mismatch_k, "documents.stride is less than a row");
    }
    for (std::size_t i = 0; i < call.count; ++i)
        if (call.documents.offsets[i] == call.documents.offsets[i + 1])
            fail(uform_status_shape_mismatch_k, "a document has no rows", {}, i);
    if (!call.scores) refuse("scores must not be NULL");
    if (!call.arena) refuse("arena must not be NULL");
    check_scores_scalar(call.outputs_scalar);
}

void rerank(uform_rerank_t const &call) {
    uform_scalar_t const scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    std::size_t const bytes = uform_scalar_bytes(scalar);
    std::byte *const data = call.arena->claim(call.count * bytes);
    if (!is_finite(call.query, 0, call.query.count)) malformed("query holds a value that is not finite");
    for (std::size_t i = 0; i < call.count; ++i) {
        if (!is_finite(call.documents, call.documents.offsets[i], call.documents.offsets[i + 1]))
            malformed("a document holds a value that is not finite", {}, i);
        land({float(max_sim(call, i))}, scalar, data + i * bytes);
        advance(call.progress, i + 1, call.count);
    }
    *call.scores = {data, call.count, 1, bytes, scalar};
}

} // namespace uform_stub
