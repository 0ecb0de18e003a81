/**
 *  @file uform_eval.cpp
 *  @brief `uform_eval`: how well a checkpoint's embeddings find the other half of held-out pairs; and how sure its
 *  choices may be.
 */
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <unistd.h>

#include "support/checkpoint_header.hpp"
#include "support/checkpoint_vector.hpp"
#include "support/command_line.hpp"
#include "support/evaluation.hpp"
#include "support/judging.hpp"
#include "support/output_file.hpp"
#include "support/run_log.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_eval models/nano-text.safetensors --pairs test.de.jsonl
  uform_eval nano.safetensors --pairs test.jsonl --query-field question --document-field answer --json
  uform_eval nano.safetensors --pairs test.jsonl --dimensions 64 --log scores.jsonl
  uform_eval omni.safetensors --media photos.jsonl --media-field image --caption-field captions
  uform_eval omni.safetensors --media 'val-*.tar' --media-field 'jpg;png' --caption-field txt --strict
  uform_eval reranker.safetensors --calibrate held_out.jsonl --output calibrated.safetensors

Every line of the pairs is its own query and its own document, duplicates included. A query that ties with others
counts at its expected rank. The checkpoint's prefixes are applied: to captions, that of queries.
A line of --media is one picture, clip or recording, its content says which, and one caption or an array of them; an
entry of a shard likewise, its fields being extensions. A medium stands where its best caption stands, a caption where
its one medium does. A file that cannot be encoded is skipped with its captions, and listed.
Lines to calibrate on: {"text": "keep it? ", "choices": "yn", "answer": "y", "group": 0}, or "targets": [0.8, 0.2] in
place of the answer; a group is a question type, 0 where none is named. No prefix is applied. Exit codes: 0 done, 1 failed, 2 wrong usage.)";

struct options_t {
    std::string checkpoint;
    std::string pairs;
    std::string media;
    std::string media_field = "image";
    std::string caption_field = "caption";
    bool strict = false;
    std::string calibrate;
    std::string output;
    fields_t fields;
    evaluation_options_t evaluation;
    std::size_t threads = 0;
    std::string cpu_class;
    std::string log;
    bool json = false;
};

/** Where a file that is read front to back alone is unpacked. */
std::string copy_path() {
    std::error_code failed;
    std::filesystem::path const folder = std::filesystem::temp_directory_path(failed);
    return (folder / fmt::format("uform_eval.{}.unpacked", ::getpid())).string();
}

std::string table_row(char const *name, recall_t const &recall) {
    return fmt::format("{:<22}{:>8.3f}{:>8.3f}{:>8.3f}{:>8.3f}\n", name, recall.at_1, recall.at_5, recall.at_10,
                       recall.mean_reciprocal_rank);
}

std::string table(retrieval_t const &retrieval, bool of_media) {
    std::string const counts = of_media ? fmt::format("{} media, {} captions", retrieval.count, retrieval.documents)
                                        : fmt::format("{} pairs", retrieval.count);
    return fmt::format("{:<22}{:>8}{:>8}{:>8}{:>8}\n", counts, "R@1", "R@5", "R@10", "MRR") +
           table_row(of_media ? "medium to captions" : "query to document", retrieval.forward) +
           table_row(of_media ? "caption to medium" : "document to query", retrieval.backward);
}

/** Captions are what one searches with, so theirs is the prefix of queries. */
source_t source_of_media(options_t &options) {
    fields_t fields;
    fields.query = options.media_field, fields.query_modality = uform_modality_unknown_k;
    fields.document = options.caption_field;
    options.evaluation.document_prefix = std::exchange(options.evaluation.query_prefix, {});
    return {options.media, fields, {}, 1, 0};
}

void report_lost(options_t const &options, evaluation_t const &evaluation) {
    if (options.strict && !evaluation.lost.empty())
        fail("{}: {}", evaluation.lost.front().name, evaluation.lost.front().reason);
    for (lost_file_t const &each : evaluation.lost)
        report("uform_eval", fmt::format("skipped {}: {}", each.name, each.reason));
    if (!evaluation.lost.empty())
        report("uform_eval", fmt::format("{} files were skipped with their captions", evaluation.lost.size()));
}

int evaluate_checkpoint(options_t options) {
    bool const of_media = !options.media.empty();
    std::string const &held_out = of_media ? options.media : options.pairs;
    for (std::string const &source : {options.checkpoint, held_out}) check_apart(options.log, source);
    checkpoint_header_t const header = read_checkpoint_header(options.checkpoint);
    options.evaluation.query_prefix = header.prefix("query");
    options.evaluation.document_prefix = header.prefix("document");
    pair_store_t const pairs(of_media ? source_of_media(options) : source_t {options.pairs, options.fields, {}, 1, 0},
                             copy_path());
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    text_encoder_t encoder(options.checkpoint, executor);
    auto const begin = std::chrono::steady_clock::now();
    evaluation_t const evaluation = evaluate(encoder, executor, pairs, options.evaluation);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    report_lost(options, evaluation);

    nlohmann::ordered_json scores = to_json(evaluation.retrieval);
    if (of_media) scores["skipped"] = evaluation.lost.size();
    output_file_t out("-");
    out.write(options.json ? scores.dump() + "\n" : table(evaluation.retrieval, of_media));
    out.commit();
    nlohmann::ordered_json line = {
        {"event", "evaluation"}, {"checkpoint", options.checkpoint}, {of_media ? "media" : "pairs", held_out},
        {"seconds", seconds},    {"tokens", evaluation.tokens},      {"truncated", evaluation.truncated}};
    line.update(scores);
    run_log_t(options.log, true).write(line);
    if (!options.json && evaluation.truncated)
        report("uform_eval", fmt::format("{} texts were longer than {} bytes and were cut", evaluation.truncated,
                                         std::min(options.evaluation.bytes, encoder.description().context)));
    return exit_success_k;
}

constexpr char const *temperatures_k = "choices.inverse_temperatures";

nlohmann::ordered_json to_json(calibration_score_t const &score) {
    return {{"negative_log_likelihood", score.negative_log_likelihood}, {"calibration_error", score.calibration_error}};
}

nlohmann::ordered_json to_json(std::vector<calibrated_group_t> const &groups) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t group = 0; group < groups.size(); ++group)
        list.push_back({{"group", group},
                        {"items", groups[group].items},
                        {"inverse_temperature", groups[group].inverse_temperature},
                        {"before", to_json(groups[group].before)},
                        {"after", to_json(groups[group].after)}});
    return list;
}

std::string table(std::vector<calibrated_group_t> const &groups) {
    std::string text = fmt::format("{:>5}{:>8}{:>21}{:>9}{:>20}{:>9}{:>21}\n", "group", "items", "likelihood: before",
                                   "after", "calibration: before", "after", "inverse temperature");
    for (std::size_t group = 0; group < groups.size(); ++group) {
        auto const &[items, inverse_temperature, before, after] = groups[group];
        text += fmt::format("{:>5}{:>8}{:>21.4f}{:>9.4f}{:>20.4f}{:>9.4f}{:>21.4f}\n", group, items,
                            before.negative_log_likelihood, after.negative_log_likelihood, before.calibration_error,
                            after.calibration_error, inverse_temperature);
    }
    return text;
}

void report_limits(std::vector<calibrated_group_t> const &groups) {
    for (std::size_t group = 0; group < groups.size(); ++group)
        if (float const fitted = groups[group].inverse_temperature;
            groups[group].items &&
            (fitted == float(least_inverse_temperature_k) || fitted == float(most_inverse_temperature_k)))
            report("uform_eval",
                   fmt::format("group {} has no best temperature within the limits; {} is the nearest", group, fitted));
}

/** Temperatures as stored, 1 for groups the checkpoint has none of. */
std::vector<float> stored_temperatures(std::string const &checkpoint, std::size_t groups) {
    std::vector<float> stored = read_checkpoint_vector(checkpoint, temperatures_k);
    stored.resize(std::max({stored.size(), groups, std::size_t(1)}), 1.0f);
    for (float const each : stored)
        if (!(each > 0))
            fail_at(checkpoint, 0, "\"{}\" holds {}, which scales nothing; train anew", temperatures_k, each);
    return stored;
}

int calibrate_checkpoint(options_t const &options) {
    if (options.output.empty()) fail_usage("--calibrate: needs --output, the file for the calibrated checkpoint");
    std::string const target = checkpoint_target(options.output);
    for (std::string const &source : {options.checkpoint, options.calibrate})
        check_apart(options.log, source), check_apart(target, source);
    check_apart(options.log, target);
    check_writable(target);
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    model_t const model = load_model(options.checkpoint, executor);
    if (!describe(model).choice_temperature_groups)
        fail_at(options.checkpoint, 0, "has no byte decoder, so it makes no choices; train one that does");
    choice_store_t const choices({{options.calibrate, {}, {}, 1, 0}}, copy_path());
    std::vector<float> const stored = stored_temperatures(options.checkpoint, choices.groups_count());
    std::size_t truncated = 0;
    judged_choices_t const judged = judge_choices(model, executor, choices, stored[0], options.checkpoint, truncated);
    std::vector<calibrated_group_t> const groups = calibrate(judged, stored);
    std::vector<float> fitted;
    for (calibrated_group_t const &group : groups) fitted.push_back(group.inverse_temperature);
    write_checkpoint_vector(options.checkpoint, target, temperatures_k, fitted);

    nlohmann::ordered_json const scores = {{"groups", to_json(groups)}};
    output_file_t out("-");
    out.write(options.json ? scores.dump() + "\n" : table(groups));
    out.commit();
    nlohmann::ordered_json line = {{"event", "calibration"},
                                   {"checkpoint", options.checkpoint},
                                   {"choices", options.calibrate},
                                   {"output", options.output},
                                   {"truncated", truncated}};
    line.update(scores);
    run_log_t(options.log, true).write(line);
    if (!options.json) report_limits(groups);
    if (!options.json && truncated)
        report("uform_eval",
               fmt::format("{} texts were longer than the context leaves room for and were cut", truncated));
    return exit_success_k;
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app(
        "Scores a checkpoint: Recall@1, @5, @10 and mean reciprocal rank, both directions; or calibrates its choices.",
        "uform_eval");
    options_t options;
    app.add_option("checkpoint", options.checkpoint, "the model, a safetensors file")->required();
    CLI::Option *const pairs = app.add_option("--pairs", options.pairs, "held-out pairs, one JSON object a line");
    CLI::Option *const media =
        app.add_option("--media", options.media, "held-out media with captions: JSONL, or shards")->excludes(pairs);
    app.add_option("--media-field", options.media_field, "path of the file, or extensions in a shard; image");
    app.add_option("--caption-field", options.caption_field, "a caption or an array of them; caption");
    app.add_flag("--strict", options.strict, "fail where a file of --media cannot be encoded");
    app.add_option("--calibrate", options.calibrate, "held-out choices to fit temperatures on, one JSON object a line")
        ->excludes(pairs)
        ->excludes(media);
    app.add_option("--output", options.output, "the checkpoint with fitted temperatures, of --calibrate");
    app.add_option("--query-field", options.fields.query, "query");
    app.add_option("--document-field", options.fields.document, "document");
    app.add_option("--bytes", options.evaluation.bytes, "most bytes of a text, prefix included; 192")
        ->check(at_least_one);
    add_dimensions_flag(app, options.evaluation.dimensions);
    add_processor_flags(app, options);
    app.add_option("--log", options.log, "file to append the scores to, as one JSON line");
    app.add_flag("--json", options.json, "print one JSON object instead of a table");
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] {
        if (!options.calibrate.empty()) return calibrate_checkpoint(options);
        if (options.pairs.empty() && options.media.empty())
            fail_usage("name --pairs or --media to score, or --calibrate");
        if (!options.output.empty()) fail_usage("--output: scores write no checkpoint; use it with --calibrate");
        return evaluate_checkpoint(options);
    });
}
