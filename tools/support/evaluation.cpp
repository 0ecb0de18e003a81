/**
 *  @file evaluation.cpp
 *  @brief Batches of pairs through the encoder, f32 rows out.
 */
#include <algorithm>
#include <cstring>

#include "support/evaluation.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t texts_per_call_k = 256;

/** Appends rows without the gaps between them. */
void append(uform_rows_tape_t const &rows, std::vector<float> &values) {
    std::size_t const before = values.size();
    values.resize(before + rows.count * rows.columns);
    for (std::size_t row = 0; row < rows.count; ++row)
        std::memcpy(&values[before + row * rows.columns], static_cast<char const *>(rows.data) + row * rows.stride,
                    rows.columns * sizeof(float));
}

std::vector<float> encode_side(text_encoder_t &encoder, corpus_t const &pairs, bool queries,
                               evaluation_options_t const &options, evaluation_t &evaluation) {
    std::vector<float> values;
    std::size_t const limit = std::min(options.bytes, encoder.description().context);
    text_batch_t batch(queries ? options.query_prefix : options.document_prefix, limit);
    for (std::size_t first = 0; first < pairs.size(); first += texts_per_call_k) {
        leave_if_interrupted();
        batch.clear();
        for (std::size_t i = first; i < std::min(first + texts_per_call_k, pairs.size()); ++i)
            batch.add(queries ? pairs.query(i) : pairs.document(i));
        encoded_t const encoded =
            encoder.encode(batch, surface_t::embeddings_k, options.dimensions, uform_scalar_f32_k);
        append(encoded.rows, values);
        evaluation.tokens += encoded.tokens;
    }
    evaluation.truncated += batch.truncated();
    return values;
}

nlohmann::ordered_json to_json(recall_t const &recall) {
    return {{"recall@1", recall.at_1},
            {"recall@5", recall.at_5},
            {"recall@10", recall.at_10},
            {"mrr", recall.mean_reciprocal_rank}};
}

} // namespace

evaluation_t evaluate(text_encoder_t &encoder, corpus_t const &pairs, evaluation_options_t const &options) {
    evaluation_t evaluation;
    std::vector<float> const queries = encode_side(encoder, pairs, true, options, evaluation);
    std::vector<float> const documents = encode_side(encoder, pairs, false, options, evaluation);
    std::size_t const columns = queries.size() / std::max<std::size_t>(pairs.size(), 1);
    evaluation.retrieval = score_retrieval(queries, documents, columns);
    return evaluation;
}

nlohmann::ordered_json to_json(retrieval_t const &retrieval) {
    return {{"queries", retrieval.count},
            {"documents", retrieval.count},
            {"forward", to_json(retrieval.forward)},
            {"backward", to_json(retrieval.backward)}};
}

} // namespace uform::tools
