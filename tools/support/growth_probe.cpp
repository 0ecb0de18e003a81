/**
 *  @file growth_probe.cpp
 *  @brief The probe's texts and patches, and cosines in double.
 */
#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/error.hpp"
#include "support/growth_probe.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

namespace {

constexpr char const *sentences_k[] = {
    "",
    "a",
    "The quick brown fox jumps over the lazy dog.",
    "Wie speichere ich eine Tabelle als PDF?",
    "\xd0\x9a\xd0\xb0\xd0\xba \xd0\xb2\xd1\x81\xd1\x82\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\xd1\x8c?", // "Kak vstavit'?"
    "\xe8\xa1\xa8\xe3\x82\x92\xe4\xbf\x9d\xe5\xad\x98\xe3\x81\x99\xe3\x82\x8b", // "hyou wo hozon suru"
    "{\"id\": 17, \"name\": \"report.ods\", \"cells\": [[0.5, -1e3], null]}",
    "for (int i = 0; i < count; ++i) sum += values[i];",
};
constexpr std::size_t lengths_k[] = {2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 512};
constexpr std::size_t patches_k = 16;

/** Words of a 64-bit linear congruential generator (Knuth's MMIX), its upper half. */
class draws_t {
    std::uint64_t state_ = 20240229;

  public:
    std::uint32_t next() noexcept {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return std::uint32_t(state_ >> 32);
    }
};

/** Copies rows out of an arena. */
probe_rows_t gathered(uform_rows_tape_t const &rows) {
    probe_rows_t copy {std::vector<float>(rows.count * rows.columns), rows.columns};
    for (std::size_t row = 0; row < rows.count; ++row)
        std::memcpy(copy.values.data() + row * rows.columns, static_cast<char const *>(rows.data) + row * rows.stride,
                    rows.columns * sizeof(float));
    return copy;
}

/** `weight [hidden, inputs] · patch + bias`, its first columns. */
void append_entry_row(stored_tensor_t const &weight, stored_tensor_t const *bias, std::vector<float> const &patch,
                      std::size_t hidden, std::vector<float> &rows) {
    for (std::size_t column = 0; column < hidden; ++column) {
        double sum = bias ? bias->at(column) : 0.0f;
        for (std::size_t i = 0; i < patch.size(); ++i) sum += double(weight.at(column * patch.size() + i)) * patch[i];
        rows.push_back(float(sum));
    }
}

} // namespace

std::vector<std::string> probe_texts(std::size_t context) {
    std::vector<std::string> texts(std::begin(sentences_k), std::end(sentences_k));
    draws_t draws;
    for (std::size_t const length : lengths_k) {
        std::string &text = texts.emplace_back(std::min(length, context), '\0');
        for (char &byte : text) byte = char(draws.next() >> 24);
    }
    return texts;
}

probe_answers_t probe(std::string_view bytes, std::string const &path, std::size_t dimensions,
                      executor_t const &executor) {
    text_encoder_t encoder(path, load_model_bytes(bytes, path, executor), executor);
    text_batch_t batch({}, encoder.description().context);
    for (std::string const &text : probe_texts(encoder.description().context)) batch.add(text);
    probe_answers_t answers;
    answers.embeddings = gathered(encoder.encode(batch, surface_t::embeddings_k, dimensions, uform_scalar_f32_k).rows);
    if (encoder.description().token_width)
        answers.token_vectors = gathered(encoder.encode(batch, surface_t::token_vectors_k, 0, uform_scalar_f32_k).rows);
    return answers;
}

double lowest_cosine(probe_rows_t const &before, probe_rows_t const &after) {
    if (before.columns != after.columns || before.values.size() != after.values.size()) return std::nan("");
    double lowest = 1.0;
    for (std::size_t first = 0; first < before.values.size(); first += before.columns) {
        double dot = 0, before_square = 0, after_square = 0;
        for (std::size_t i = first; i < first + before.columns; ++i) {
            double const a = before.values[i], b = after.values[i];
            dot += a * b, before_square += a * a, after_square += b * b;
        }
        double const scale = std::sqrt(before_square * after_square);
        double const cosine = scale == 0 && before_square == after_square ? 1.0 : dot / scale; // rows of zeros agree
        if (!(cosine >= lowest)) lowest = cosine;
        if (std::isnan(lowest)) return lowest;
    }
    return lowest;
}

double lowest_cosine(probe_answers_t const &before, probe_answers_t const &after) {
    double const embeddings = lowest_cosine(before.embeddings, after.embeddings);
    double const token_vectors = lowest_cosine(before.token_vectors, after.token_vectors);
    return std::isnan(token_vectors) || token_vectors < embeddings ? token_vectors : embeddings;
}

probe_rows_t probe_media_entries(tensor_file_t const &file, std::size_t hidden) {
    probe_rows_t rows {{}, hidden};
    draws_t draws;
    for (std::string const media : {"image", "video", "audio"}) {
        stored_tensor_t const *const weight = file.find(media + ".projection.weight");
        stored_tensor_t const *const bias = file.find(media + ".projection.bias");
        if (stored_tensor_t const *const mask = file.find(media + ".mask"))
            for (std::size_t i = 0; i < hidden; ++i) rows.values.push_back(mask->at(i));
        if (!weight) continue;
        std::vector<float> patch(weight->columns());
        for (std::size_t i = 0; i < patches_k; ++i) {
            for (float &value : patch) value = float(draws.next()) * 0x1p-31f - 1.0f;
            append_entry_row(*weight, bias, patch, hidden, rows.values);
        }
    }
    stored_tensor_t const *const norm = file.find("blocks.0.attention.norm");
    for (std::size_t i = 0; norm && i < rows.values.size(); ++i) rows.values[i] *= norm->at(i % hidden);
    return rows;
}

} // namespace uform::tools
