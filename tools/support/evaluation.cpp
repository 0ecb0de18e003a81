/**
 *  @file evaluation.cpp
 *  @brief Batches of pairs through the encoder, f32 rows out: those of all pairs are in memory, texts a batch at a time.
 */
#include <algorithm>
#include <cstring>

#include "support/evaluation.hpp"
#include "support/interrupt.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t pairs_per_call_k = 256;
constexpr std::size_t pairs_loaded_k = 16; // at a time, as a document may be far longer than what is scored of it

/** Appends rows without the gaps between them. */
void append(uform_rows_tape_t const &rows, std::vector<float> &values) {
    std::size_t const before = values.size();
    values.resize(before + rows.count * rows.columns);
    for (std::size_t row = 0; row < rows.count; ++row)
        std::memcpy(&values[before + row * rows.columns], static_cast<char const *>(rows.data) + row * rows.stride,
                    rows.columns * sizeof(float));
}

/** One side of the pairs: a batch of texts, and the rows of all so far. */
struct side_t {
    text_batch_t batch;
    std::vector<float> values;

    void encode(text_encoder_t &encoder, evaluation_options_t const &options, evaluation_t &evaluation) {
        encoded_t const encoded =
            encoder.encode(batch, surface_t::embeddings_k, options.dimensions, uform_scalar_f32_k);
        append(encoded.rows, values);
        evaluation.tokens += encoded.tokens;
        batch.clear();
    }
};

nlohmann::ordered_json to_json(recall_t const &recall) {
    return {{"recall@1", recall.at_1},
            {"recall@5", recall.at_5},
            {"recall@10", recall.at_10},
            {"mrr", recall.mean_reciprocal_rank}};
}

} // namespace

evaluation_t evaluate(text_encoder_t &encoder, pair_store_t const &pairs, evaluation_options_t const &options) {
    evaluation_t evaluation;
    std::size_t const limit = std::min(options.bytes, encoder.description().context);
    side_t queries {{options.query_prefix, limit}, {}}, documents {{options.document_prefix, limit}, {}};
    for (std::size_t first = 0; first < pairs.size();) {
        std::size_t const end = std::min(first + pairs_per_call_k, pairs.size());
        for (; first < end; first += std::min(pairs_loaded_k, end - first)) {
            leave_if_interrupted();
            corpus_t const corpus = pairs.load(first, std::min(pairs_loaded_k, end - first));
            for (std::size_t i = 0; i < corpus.size(); ++i)
                queries.batch.add(corpus.query(i)), documents.batch.add(corpus.document(i));
        }
        queries.encode(encoder, options, evaluation), documents.encode(encoder, options, evaluation);
    }
    evaluation.truncated = queries.batch.truncated() + documents.batch.truncated();
    std::size_t const columns = queries.values.size() / std::max<std::size_t>(pairs.size(), 1);
    evaluation.retrieval = score_retrieval(queries.values, documents.values, columns);
    return evaluation;
}

nlohmann::ordered_json to_json(retrieval_t const &retrieval) {
    return {{"queries", retrieval.count},
            {"documents", retrieval.count},
            {"forward", to_json(retrieval.forward)},
            {"backward", to_json(retrieval.backward)}};
}

} // namespace uform::tools
