/**
 *  @file evaluation.cpp
 *  @brief Batches of pairs through the encoders, f32 rows out: those of all pairs are in memory, texts and files a batch
 *  at a time.
 */
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "support/error.hpp"
#include "support/evaluation.hpp"
#include "support/interrupt.hpp"
#include "support/media_encoder.hpp"
#include "support/media_files.hpp"
#include "support/signature.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t items_per_call_k = 256, bytes_per_call_k = std::size_t(1) << 26;
constexpr std::size_t pairs_loaded_k = 16; // at a time, as a document may be far longer than what is scored of it

/** The queries or the documents of a few records, in their order. */
struct side_t {
    bool is_media;
    std::vector<std::string> items;   // what is read of texts, or what records call files
    std::vector<std::size_t> records; // [items]: whose each is, of the few
    std::vector<float> rows;          // [items, columns]
    std::vector<bool> lost;           // [items]: its row is none

    /** Of a text one byte more than is read, so that a cut is known for one. */
    void add(std::string_view item, std::size_t record, std::size_t limit) {
        items.emplace_back(is_media ? item : item.substr(0, limit + 1)), records.push_back(record);
    }
};

/** Copies rows without the gaps between them. */
void copy_row(uform_rows_tape_t const &rows, std::size_t row, std::size_t item, side_t &side) {
    std::memcpy(&side.rows[item * rows.columns], static_cast<char const *>(rows.data) + row * rows.stride,
                rows.columns * sizeof(float));
}

class evaluator_t {
  public:
    evaluator_t(text_encoder_t &encoder, executor_t const &executor, pair_store_t const &pairs,
                evaluation_options_t const &options)
        : encoder_(encoder), executor_(executor), pairs_(pairs), options_(options),
          query_is_media_(pairs.source(0).fields.query_modality != uform_modality_text_k),
          document_is_media_(pairs.source(0).fields.document_modality != uform_modality_text_k),
          media_(pairs.source(0).path),
          columns_(options.dimensions ? options.dimensions : encoder.description().dimensions) {}

    evaluation_t run() {
        std::size_t const count = std::min(pairs_.size(), options_.most_pairs);
        for (std::size_t first = 0; first < count; first += items_per_call_k)
            encode(first, std::min(first + items_per_call_k, count));
        if (query_rows_.empty())
            fail("{}: none of {} pairs could be scored; the first file lost is {}: {}", pairs_.source(0).path, count,
                 evaluation_.lost.front().name, evaluation_.lost.front().reason);
        evaluation_.retrieval = score_retrieval(query_rows_, document_rows_, columns_, document_offsets_);
        return std::move(evaluation_);
    }

  private:
    void encode(std::size_t first, std::size_t end) {
        side_t queries {query_is_media_, {}, {}, {}, {}}, documents {document_is_media_, {}, {}, {}, {}};
        bool const all_documents = query_is_media_ || document_is_media_;
        for (std::size_t at = first; at < end; at += pairs_loaded_k) {
            leave_if_interrupted();
            corpus_t const corpus = pairs_.load(at, std::min(pairs_loaded_k, end - at));
            for (std::size_t i = 0; i < corpus.size(); ++i) {
                queries.add(corpus.query(i), at + i - first, options_.bytes);
                std::size_t const count = all_documents ? corpus.record(i).positives : 1;
                for (std::size_t each = 0; each < count; ++each)
                    documents.add(corpus.positive(i, each), at + i - first, options_.bytes);
            }
        }
        encode(queries, options_.query_prefix), encode(documents, options_.document_prefix);
        keep(queries, documents);
    }

    void encode(side_t &side, std::string const &prefix) {
        side.rows.resize(side.items.size() * columns_);
        side.lost.resize(side.items.size());
        if (side.is_media)
            encode_media(side);
        else
            encode_texts(side, prefix);
    }

    void encode_texts(side_t &side, std::string const &prefix) {
        text_batch_t batch(prefix, std::min(options_.bytes, encoder_.description().context));
        for (std::size_t first = 0; first < side.items.size(); first += items_per_call_k) {
            leave_if_interrupted();
            batch.clear();
            std::size_t const end = std::min(first + items_per_call_k, side.items.size());
            for (std::size_t i = first; i < end; ++i) batch.add(side.items[i]);
            encoded_t const encoded =
                encoder_.encode(batch, surface_t::embeddings_k, options_.dimensions, uform_scalar_f32_k);
            for (std::size_t i = first; i < end; ++i) copy_row(encoded.rows, i - first, i, side);
            evaluation_.tokens += encoded.tokens;
        }
        evaluation_.truncated += batch.truncated();
    }

    void lose(side_t &side, std::size_t item, std::string reason) {
        side.lost[item] = true;
        evaluation_.lost.push_back({media_.name_of(side.items[item]), std::move(reason)});
    }

    /** The file's bytes into the batch of its modality. */
    std::size_t gather(side_t &side, std::size_t item) {
        std::string bytes;
        try {
            bytes = media_.read(side.items[item]);
        } catch (tool_error_t const &error) {
            return lose(side, item, without_name(error.what(), media_.name_of(side.items[item]))), 0;
        }
        std::optional<uform_modality_t> const modality = modality_of(bytes);
        if (!modality) return lose(side, item, "is no picture, clip or recording"), 0;
        std::size_t const size = bytes.size();
        batches_[*modality].files.add(std::move(bytes)), batches_[*modality].items.push_back(item);
        return size;
    }

    void encode_batch(side_t &side, uform_modality_t modality) {
        auto &[files, items, encoder] = batches_[modality];
        if (items.empty()) return;
        if (!encoder)
            encoder = std::make_unique<media_encoder_t>(encoder_.checkpoint(), encoder_.model(), executor_, modality);
        std::vector<refused_t> refused;
        encoded_t const encoded =
            encoder->encode(files, surface_t::embeddings_k, options_.dimensions, uform_scalar_f32_k, refused);
        for (refused_t &each : refused) lose(side, items[each.index], std::move(each.reason));
        std::size_t row = 0;
        for (std::size_t const item : items)
            if (!side.lost[item]) copy_row(encoded.rows, row++, item, side);
        evaluation_.tokens += encoded.tokens;
        files.clear(), items.clear();
    }

    void encode_media(side_t &side) {
        for (std::size_t item = 0; item < side.items.size();) {
            leave_if_interrupted();
            std::size_t const end = std::min(item + items_per_call_k, side.items.size());
            for (std::size_t bytes = 0; item < end && bytes < bytes_per_call_k; ++item) bytes += gather(side, item);
            for (uform_modality_t const each : {uform_modality_image_k, uform_modality_video_k, uform_modality_audio_k})
                encode_batch(side, each);
        }
    }

    void append(side_t const &side, std::size_t item, std::vector<float> &rows) const {
        auto const from = side.rows.begin() + std::ptrdiff_t(item * columns_);
        rows.insert(rows.end(), from, from + std::ptrdiff_t(columns_));
    }

    /** Records that have both sides. */
    void keep(side_t const &queries, side_t const &documents) {
        std::size_t document = 0;
        for (std::size_t record = 0; record < queries.items.size(); ++record) {
            for (; document < documents.items.size() && documents.records[document] == record; ++document)
                if (!queries.lost[record] && !documents.lost[document]) append(documents, document, document_rows_);
            std::size_t const end = document_rows_.size() / columns_;
            if (end == document_offsets_.back()) continue;
            append(queries, record, query_rows_), document_offsets_.push_back(end);
        }
    }

    struct batch_t {
        file_batch_t files;
        std::vector<std::size_t> items;
        std::unique_ptr<media_encoder_t> encoder; // made when the first file comes
    };

    text_encoder_t &encoder_;
    executor_t const &executor_;
    pair_store_t const &pairs_;
    evaluation_options_t const &options_;
    bool query_is_media_, document_is_media_;
    media_files_t media_;
    std::size_t columns_;
    std::vector<float> query_rows_, document_rows_; // of records that are scored
    std::vector<std::size_t> document_offsets_ {0};
    std::array<batch_t, 4> batches_; // by modality
    evaluation_t evaluation_;
};

nlohmann::ordered_json to_json(recall_t const &recall) {
    return {{"recall@1", recall.at_1},
            {"recall@5", recall.at_5},
            {"recall@10", recall.at_10},
            {"mrr", recall.mean_reciprocal_rank}};
}

} // namespace

evaluation_t evaluate(text_encoder_t &encoder, executor_t const &executor, pair_store_t const &pairs,
                      evaluation_options_t const &options) {
    return evaluator_t(encoder, executor, pairs, options).run();
}

nlohmann::ordered_json to_json(retrieval_t const &retrieval) {
    return {{"queries", retrieval.count},
            {"documents", retrieval.documents},
            {"forward", to_json(retrieval.forward)},
            {"backward", to_json(retrieval.backward)}};
}

} // namespace uform::tools
