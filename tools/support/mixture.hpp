/**
 *  @file mixture.hpp
 *  @brief What a run trains on and how: the mixture file, documented in tools/README.md.
 *
 *  Reading is strict: an unknown key, a wrong type or a missing field is a failure that names the file, line and key.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <uform/train.h>

namespace uform::tools {

/** Which pairs that no edge names repel: those between the two sides, those within a side as well, or none. */
enum class ambient_t { across_k, all_k, none_k };

/** Names of the fields of a record. What is no text is a file: a path from the source's folder on, or a member of its
 *  shard; `unknown` leaves which medium to its content. */
struct fields_t {
    std::string query = "query";
    std::string document = "document";
    uform_modality_t query_modality = uform_modality_text_k;
    uform_modality_t document_modality = uform_modality_text_k; // of negatives as well
    std::optional<std::string> group;     // where not named, "group" is read if it is there
    std::optional<std::string> negatives; // likewise
};

/** One file of pairs or of choices. */
struct source_t {
    std::string path; // resolved
    fields_t fields;
    std::map<std::string, std::vector<std::string>> filter; // field → values that pass
    double weight = 1;                                      // how often an epoch shows each record, on average
    std::uint32_t temperature_group = 0;                    // of its pairs, or of its choices that name none
};

/** The term over token vectors; pairs say which items are queries and which documents. */
struct late_interaction_t {
    float weight = 0;
    std::size_t width = 128;
    std::size_t query_span = 64; // tokens of a query that score
    uform_pair_loss_form_t pair_loss = uform_pair_loss_form_ranked_k;
    float inverse_temperature = 1;
    float bias = 0;
};

/** Items that choose, beside the pairs or texts of every step. */
struct choices_term_t {
    std::vector<source_t> sources;
    float weight = 1;
    float brier_weight = 0;
    std::size_t batch_items = 32;
    std::size_t bytes = 128; // longer texts are cut here
};

/** How media become tokens; a zero is the default of the C ABI, but for `patch_side` and `chunk_samples`, where a source
 *  that names the medium makes it 16 pixels or 320 samples. */
struct geometry_t {
    uform_image_shape_t image = {};
    uform_video_shape_t video = {};
    uform_audio_shape_t audio = {};
};

/** Held-out pairs. */
struct validation_t {
    std::string path; // resolved
    fields_t fields;
    std::size_t evaluation_bytes = 192;
};

struct mixture_t {
    std::string path; // of the mixture itself
    std::string name;
    std::vector<source_t> sources;
    std::string query_prefix;
    std::string document_prefix;
    std::size_t query_bytes = 128; // the prefix counts
    std::size_t document_bytes = 128;
    std::size_t batch_pairs = 128;
    std::optional<std::size_t> context;
    std::optional<uform_objective_t> objective;
    uform_pair_loss_form_t pair_loss = uform_pair_loss_form_softmax_k;
    float inverse_temperature = 10;
    std::optional<float> bias;
    bool symmetric = true;
    bool ignore_same_group = true;
    ambient_t ambient = ambient_t::across_k;
    std::vector<std::size_t> matryoshka; // empty: derived from the width
    std::size_t positives = 4; // documents of a record that one step shows, at most
    std::size_t negatives = 4; // likewise
    float coding_rate_weight = 0;
    float lipschitz_weight = 0;
    late_interaction_t late_interaction;
    std::optional<choices_term_t> choices;
    geometry_t geometry;
    uform_masking_t masking = {};
    std::optional<float> learning_rate;
    std::optional<float> min_learning_rate;
    std::optional<std::size_t> warmup_steps;
    std::optional<validation_t> validation;
};

/** Whether a source has files of a modality. */
bool names_medium(mixture_t const &mixture, uform_modality_t modality) noexcept;

/** Reads a mixture; relative paths in it start at `base`, or where that is empty at the mixture's own folder. */
mixture_t read_mixture(std::string const &path, std::string const &base);

} // namespace uform::tools
