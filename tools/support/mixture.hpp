/**
 *  @file mixture.hpp
 *  @brief What a run trains on and how: the mixture file, documented in tools/README.md.
 *
 *  Reading is strict: an unknown key, a wrong type or a missing field is a failure that names the file, line and key.
 */
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <uform/train.h>

namespace uform::tools {

/** Which pairs that no edge names repel: those between the two sides, or those within a side as well. */
enum class ambient_t { across_k, all_k };

/** Names of the fields of a record. */
struct fields_t {
    std::string query = "query";
    std::string document = "document";
    std::optional<std::string> group; // where not named, "group" is read if it is there
};

/** One JSONL file. */
struct source_t {
    std::string path; // resolved
    fields_t fields;
    std::map<std::string, std::vector<std::string>> filter; // field → values that pass
    double weight = 1;                                      // how often an epoch shows each record, on average
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
    float coding_rate_weight = 0;
    std::optional<float> learning_rate;
    std::optional<float> min_learning_rate;
    std::optional<std::size_t> warmup_steps;
    std::optional<validation_t> validation;
};

/** Reads a mixture; relative paths in it start at `base`, or where that is empty at the mixture's own folder. */
mixture_t read_mixture(std::string const &path, std::string const &base);

} // namespace uform::tools
