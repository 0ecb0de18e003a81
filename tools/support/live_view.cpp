/**
 *  @file live_view.cpp
 *  @brief Formats one line; terms that are absent are left out.
 */
#include <fmt/format.h>

#include "support/live_view.hpp"

namespace uform::tools {

namespace {
/** A zero weight is the default of the C ABI, one. */
double weighted(float weight, float loss) noexcept { return (weight == 0 ? 1.0 : double(weight)) * double(loss); }
} // namespace

std::string live_view(plan_t const &plan, uform_trainer_step_stats_t const &stats, pace_t const &pace) {
    struct term_t {
        char const *name;
        double value;
    };
    mixture_t const &mixture = plan.mixture;
    term_t const terms[] = {{"contrastive", stats.contrastive_loss},
                            {"masked", weighted(mixture.masking.text_weight, stats.masked_text_loss)},
                            {"image", weighted(mixture.masking.image_weight, stats.masked_image_loss)},
                            {"video", weighted(mixture.masking.video_weight, stats.masked_video_loss)},
                            {"audio", weighted(mixture.masking.audio_weight, stats.masked_audio_loss)},
                            {"late", stats.late_interaction_loss},
                            {"choices", plan.choices().weight * stats.choices_loss},
                            {"rate", -mixture.coding_rate_weight * stats.coding_rate},
                            {"lipschitz", mixture.lipschitz_weight * stats.lipschitz}};
    std::string parts;
    for (term_t const &term : terms)
        if (term.value != 0) parts += fmt::format("{}{} {:.3f}", parts.empty() ? "" : ", ", term.name, term.value);
    std::string const share = pace.share_of_peak ? fmt::format(", {:.0f} % of peak", 100 * pace.share_of_peak) : "";
    std::string const skipped = pace.skipped ? fmt::format(" | {} files skipped", pace.skipped) : "";
    return fmt::format("loss {:.4f} ({}) | rank {:.0f} | {:.0f} tokens/s, {:.3f} TFLOP/s{}{}", stats.loss, parts,
                       stats.effective_rank, pace.tokens_per_second, 1e-12 * pace.operations_per_second, share, skipped);
}

} // namespace uform::tools
