/**
 *  @file run_events.cpp
 *  @brief Events as JSON objects, fields in the order they are read.
 */
#include "support/run_events.hpp"

namespace uform::tools {

using json_t = nlohmann::ordered_json;

json_t start_event(training_options_t const &options, plan_t const &plan, material_t const &material, double peak) {
    json_t widths = plan.matryoshka;
    return {{"event", "start"},
            {"version", uform_version()},
            {"mixture", plan.mixture.path},
            {"objective", uform_objective_name(plan.objective)},
            {"hidden", plan.hidden},
            {"depth", plan.depth},
            {"parameters", plan.parameters()},
            {"context", plan.context},
            {"matryoshka", widths},
            {"batch_pairs", plan.mixture.batch_pairs},
            {"learning_rate", plan.learning_rate},
            {"seed", plan.seed},
            {"threads", options.threads},
            {"processes", options.ranks},
            {"peak", peak > 0 ? json_t(peak) : json_t(nullptr)},
            {"from", plan.initial},
            {"resume", plan.resume},
            {"first_step", plan.first_step},
            {"steps", plan.steps},
            {"records", material.records()},
            {"output", options.output}};
}

json_t step_event(uform_trainer_step_stats_t const &stats, spent_t const &spent) {
    double const pace = spent.operations / spent.seconds;
    return {{"event", "step"},
            {"step", stats.step},
            {"loss", stats.loss},
            {"contrastive", stats.contrastive_loss},
            {"masked_text", stats.masked_text_loss},
            {"masked_image", stats.masked_image_loss},
            {"masked_video", stats.masked_video_loss},
            {"masked_audio", stats.masked_audio_loss},
            {"late_interaction", stats.late_interaction_loss},
            {"choices", stats.choices_loss},
            {"coding_rate", stats.coding_rate},
            {"lipschitz", stats.lipschitz},
            {"effective_rank", stats.effective_rank},
            {"learning_rate", stats.learning_rate},
            {"gradient_norm", stats.gradient_norm},
            {"truncated", stats.truncated},
            {"dropped", stats.dropped},
            {"tokens", stats.tokens},
            {"tokens_per_second", double(stats.tokens) / spent.seconds},
            {"operations_per_second", pace},
            {"share_of_peak", spent.peak > 0 ? json_t(pace / spent.peak) : json_t(nullptr)}};
}

} // namespace uform::tools
