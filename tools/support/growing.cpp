/**
 *  @file growing.cpp
 *  @brief The grown checkpoint gets its name once the engine has loaded it and answered as the source does.
 */
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/growing.hpp"
#include "support/growth.hpp"
#include "support/growth_probe.hpp"
#include "support/interrupt.hpp"
#include "support/output_file.hpp"
#include "support/tensor_file.hpp"

namespace uform::tools {

namespace {

constexpr double lowest_accepted_k = 0.9999;

std::string sizes(tensor_file_t const &file) { return fmt::format("{} x {}", file.note("hidden"), file.note("depth")); }

/** Refused early, and never replaced: what is there may be a trained model. */
void check_target(growing_options_t const &options) {
    if (options.target == "-") fail_usage("a checkpoint cannot go to standard output; name a file");
    check_apart(options.target, options.source);
    check_writable(options.target);
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(options.target, failed)))
        fail_at(options.target, 0, "exists already; choose another name, or remove it first");
}

tensor_file_t grown(tensor_file_t const &file, growing_options_t const &options) {
    auto const reached = [&](std::size_t asked, char const *key) {
        return asked ? asked : 2 * std::stoul(file.note(key)); // the engine has read it as a number
    };
    if (options.depth) return deepened(file, reached(*options.depth, "depth"));
    return widened(file, reached(*options.hidden, "hidden"));
}

double agreement(tensor_file_t const &before, tensor_file_t const &after, probe_answers_t const &answers_before,
                 probe_answers_t const &answers_after) {
    std::size_t const hidden = answers_before.embeddings.columns;
    double const texts = lowest_cosine(answers_before, answers_after);
    double const media = lowest_cosine(probe_media_entries(before, hidden), probe_media_entries(after, hidden));
    return std::isnan(media) || media < texts ? media : texts;
}

} // namespace

int grow(growing_options_t const &options) {
    if (options.depth.has_value() == options.hidden.has_value()) fail_usage("give --deepen or --widen, one of the two");
    check_target(options);
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    std::string const source = read_file(options.source);
    probe_answers_t const before = probe(source, options.source, 0, executor);
    tensor_file_t const file = parse_tensors(source, options.source), larger = grown(file, options);
    std::string const bytes = serialized(larger);
    leave_if_interrupted();
    probe_answers_t const after = probe(bytes, options.target, before.embeddings.columns, executor);
    double const cosine = agreement(file, larger, before, after);
    if (!(cosine >= lowest_accepted_k))
        fail_at(options.target, 0,
                "the grown model agrees with {} to a cosine of {:.6f}, below {}; nothing was written", options.source,
                cosine, lowest_accepted_k);
    leave_if_interrupted();
    output_file_t output(options.target);
    output.write(bytes);
    output.commit();
    output_file_t said("-");
    said.write(fmt::format("{} to {}, lowest cosine {:.8f} over {} texts\n", sizes(file), sizes(larger), cosine,
                           before.embeddings.values.size() / before.embeddings.columns));
    said.commit();
    return exit_success_k;
}

} // namespace uform::tools
