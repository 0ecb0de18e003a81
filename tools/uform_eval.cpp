/**
 *  @file uform_eval.cpp
 *  @brief `uform_eval`: how well a checkpoint's embeddings find the other half of held-out pairs.
 */
#include <chrono>
#include <cmath>

#include "support/checkpoint_header.hpp"
#include "support/command_line.hpp"
#include "support/evaluation.hpp"
#include "support/files.hpp"
#include "support/run_log.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_eval models/nano-text.safetensors --pairs test.de.jsonl
  uform_eval nano.safetensors --pairs test.jsonl --query-field question --document-field answer --json
  uform_eval nano.safetensors --pairs test.jsonl --dimensions 64 --log scores.jsonl

Every line of the pairs is its own query and its own document, duplicates included. A query that ties with others
counts at its expected rank. The checkpoint's prefixes are applied. Exit codes: 0 done, 1 failed, 2 wrong usage.)";

struct options_t {
    std::string checkpoint;
    std::string pairs;
    fields_t fields;
    evaluation_options_t evaluation;
    std::size_t threads = 0;
    std::string cpu_class;
    std::string log;
    bool json = false;
};

std::string table_row(char const *name, recall_t const &recall) {
    return fmt::format("{:<22}{:>8.3f}{:>8.3f}{:>8.3f}{:>8.3f}\n", name, recall.at_1, recall.at_5, recall.at_10,
                       recall.mean_reciprocal_rank);
}

std::string table(retrieval_t const &retrieval) {
    return fmt::format("{:<22}{:>8}{:>8}{:>8}{:>8}\n", fmt::format("{} pairs", retrieval.count), "R@1", "R@5", "R@10",
                       "MRR") +
           table_row("query to document", retrieval.forward) + table_row("document to query", retrieval.backward);
}

int evaluate_checkpoint(options_t options) {
    for (std::string const &source : {options.checkpoint, options.pairs}) check_apart(options.log, source);
    checkpoint_header_t const header = read_checkpoint_header(options.checkpoint);
    options.evaluation.query_prefix = header.prefix("query");
    options.evaluation.document_prefix = header.prefix("document");
    corpus_t const pairs = read_pairs(options.pairs, options.fields);
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    text_encoder_t encoder(options.checkpoint, executor);
    auto const begin = std::chrono::steady_clock::now();
    evaluation_t const evaluation = evaluate(encoder, pairs, options.evaluation);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    nlohmann::ordered_json const scores = to_json(evaluation.retrieval);
    output_file_t out("-");
    out.write(options.json ? scores.dump() + "\n" : table(evaluation.retrieval));
    out.commit();
    nlohmann::ordered_json line = {{"event", "evaluation"},
                                   {"checkpoint", options.checkpoint},
                                   {"pairs", options.pairs},
                                   {"seconds", seconds},
                                   {"tokens", evaluation.tokens},
                                   {"truncated", evaluation.truncated}};
    line.update(scores);
    run_log_t(options.log, true).write(line);
    if (!options.json && evaluation.truncated)
        report("uform_eval", fmt::format("{} texts were longer than {} bytes and were cut", evaluation.truncated,
                                         std::min(options.evaluation.bytes, encoder.description().context)));
    return exit_success_k;
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Scores a checkpoint: Recall@1, @5, @10 and mean reciprocal rank, both directions.", "uform_eval");
    options_t options;
    app.add_option("checkpoint", options.checkpoint, "the model, a safetensors file")->required();
    app.add_option("--pairs", options.pairs, "held-out pairs, one JSON object a line")->required();
    app.add_option("--query-field", options.fields.query, "query");
    app.add_option("--document-field", options.fields.document, "document");
    app.add_option("--bytes", options.evaluation.bytes, "most bytes of a text, prefix included; 192")
        ->check(at_least_one);
    app.add_option("--dimensions", options.evaluation.dimensions, "first so many of each embedding; all");
    app.add_option("--threads", options.threads, "7/8 of the cores");
    app.add_option("--cpu-class", options.cpu_class, "kernels to use, such as intel-haswell; the best");
    app.add_option("--log", options.log, "file to append the scores to, as one JSON line");
    app.add_flag("--json", options.json, "print one JSON object instead of a table");
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] { return evaluate_checkpoint(options); });
}
