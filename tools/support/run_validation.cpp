/**
 *  @file run_validation.cpp
 *  @brief Held-out pairs of a run: scored on the way, and tried before the first step.
 */
#include <algorithm>
#include <cstdint>
#include <unistd.h>

#include "support/error.hpp"
#include "support/output_file.hpp"
#include "support/run.hpp"
#include "support/text_encoder.hpp"
#include "support/trainer.hpp"

namespace uform::tools {

/** The trainer has no encode verb: its weights go through a file that lives for this function. */
evaluation_t run_t::score_held_out(std::size_t most_pairs) {
    temporary_path_t const file(fmt::format("{}.validation.{}", options_.output, ::getpid()));
    save_trainer(trainer_, executor_, file.path(), false);
    text_encoder_t encoder(file.path(), executor_);
    evaluation_options_t options;
    options.query_prefix = plan_.mixture.query_prefix, options.document_prefix = plan_.mixture.document_prefix;
    options.bytes = plan_.mixture.validation->evaluation_bytes, options.most_pairs = most_pairs;
    return evaluate(encoder, executor_, *held_out_, options);
}

/** Held-out files none of which can be encoded are better known before the first step than after the last. */
void run_t::rehearse_validation() {
    constexpr std::size_t pairs_k = 16;
    if (!held_out_ || !leads()) return;
    fields_t const &fields = held_out_->source(0).fields;
    bool const all_texts =
        fields.query_modality == uform_modality_text_k && fields.document_modality == uform_modality_text_k;
    if (!all_texts) score_held_out(pairs_k);
}

void run_t::validate(std::size_t step) {
    constexpr std::size_t told_k = 3; // of lost files, as every validation loses them again
    if (!held_out_ || !leads()) return;
    evaluation_t const evaluation = score_held_out(SIZE_MAX);
    scores_ = {step, evaluation.retrieval};
    std::size_t const lost = evaluation.lost.size();
    nlohmann::ordered_json line = {{"event", "validation"}, {"step", step}};
    line.update(to_json(evaluation.retrieval));
    line["skipped"] = lost;
    log_->write(line);
    bar_.clear();
    recall_t const &forward = evaluation.retrieval.forward;
    report("uform_base", fmt::format("step {}: R@1 {:.3f}, R@10 {:.3f} over {} held-out pairs", step, forward.at_1,
                               forward.at_10, evaluation.retrieval.count));
    for (std::size_t i = 0; i < std::min(lost, told_k); ++i)
        report("uform_base", fmt::format("validation without {}: {}", evaluation.lost[i].name, evaluation.lost[i].reason));
    if (lost > told_k) report("uform_base", fmt::format("validation without {} more files", lost - told_k));
}

} // namespace uform::tools
