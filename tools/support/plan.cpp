/**
 *  @file plan.cpp
 *  @brief Which source of an answer wins: a flag, then the mixture, then the checkpoint, then the tier.
 */
#include <algorithm>
#include <unistd.h>

#include "support/checkpoint_header.hpp"
#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/plan.hpp"

namespace uform::tools {

namespace {

/** Rows of the tiers, and of the small models that a laptop trains. */
constexpr std::size_t context_k = 4096, small_context_k = 512, media_context_k = 1024, small_hidden_k = 256;
// The most that one file becomes.
constexpr std::size_t image_tokens_k = 512, video_tokens_k = 1024, audio_tokens_k = 512;
constexpr std::size_t matryoshka_widths_k[] = {64, 128, 256, 512, 1024};
// A zeroed field of the C ABI means its default; this is how to say zero where the default is another value.
constexpr float nearly_zero_k = 1e-30f;
// Pairs that take no part are listed one by one, four bytes each: 16 GiB here.
constexpr std::size_t batch_pairs_limit_k = 65536;

void choose_geometry(training_options_t const &options, std::optional<checkpoint_header_t> const &before, plan_t &plan) {
    if (before) plan.hidden = before->number("hidden"), plan.depth = before->number("depth");
    if (!options.tier.empty()) {
        auto const *tier = std::find_if(std::begin(tiers_k), std::end(tiers_k),
                                        [&](tier_t const &each) { return each.name == options.tier; });
        if (tier == std::end(tiers_k))
            fail_usage("--tier: there is no \"{}\"; choose nano, micro, tiny, small, medium, large or xl", options.tier);
        plan.hidden = tier->hidden, plan.depth = tier->depth;
    }
    plan.hidden = options.hidden.value_or(plan.hidden), plan.depth = options.depth.value_or(plan.depth);
    if (plan.hidden == 0 || plan.depth == 0)
        fail_usage("the model's size is missing; give --tier, or --hidden and --depth");
    if (before && !options.initial.empty() && plan.hidden != before->number("hidden"))
        fail_usage("--from: {} is {} wide, so none of its weights fit a width of {}", options.initial,
                   before->number("hidden"), plan.hidden); // its temperatures would, and the run would start from them
    if (plan.hidden % 128) fail_usage("--hidden: {} is not a multiple of 128; choose {}", plan.hidden,
                                      (plan.hidden / 128 + 1) * 128);
}

uform_objective_t choose_objective(training_options_t const &options, mixture_t const &mixture) {
    if (options.objective.empty()) return mixture.objective.value_or(uform_objective_contrastive_k);
    uform_objective_t const found = uform_objective_from_name(view(options.objective));
    if (found == uform_objective_unknown_k)
        fail_usage("--objective: there is no \"{}\"; choose masked, contrastive or joint", options.objective);
    return found;
}

/** Flags over the mixture. A weight that is no weight is for the engine to refuse. */
void choose_terms(training_options_t const &options, mixture_t &mixture) {
    mixture.coding_rate_weight = options.coding_rate_weight.value_or(mixture.coding_rate_weight);
    mixture.lipschitz_weight = options.lipschitz_weight.value_or(mixture.lipschitz_weight);
    late_interaction_t &late = mixture.late_interaction;
    late.weight = options.late_interaction_weight.value_or(late.weight);
    late.width = options.late_interaction_width.value_or(late.width);
    if (!options.late_interaction_loss.empty()) {
        late.pair_loss = uform_pair_loss_form_from_name(view(options.late_interaction_loss));
        if (late.pair_loss == uform_pair_loss_form_unknown_k)
            fail_usage("--late-interaction-loss: there is no \"{}\"; choose softmax, sigmoid, balanced or ranked",
                       options.late_interaction_loss);
    }
    if (!mixture.choices && (options.choices_weight.value_or(0) != 0 || options.brier_weight))
        fail_usage("{}: the mixture has no \"choices\" to train on; name their files in it",
                   options.brier_weight ? "--brier-weight" : "--choices-weight");
    if (!mixture.choices) return;
    mixture.choices->weight = options.choices_weight.value_or(mixture.choices->weight);
    mixture.choices->brier_weight = options.brier_weight.value_or(mixture.choices->brier_weight);
    if (mixture.choices->weight == 0) mixture.choices.reset();
}

/** A flag over the mixture, the mixture over the checkpoint gone on from, that over `otherwise`. */
void choose_size(std::size_t asked, std::optional<checkpoint_header_t> const &before, char const *key,
                 std::size_t otherwise, std::size_t &size) {
    if (asked) size = asked;
    if (!size && before && before->metadata.contains(key)) size = std::size_t(before->number(key));
    if (!size) size = otherwise;
}

/** Entries of the media that the mixture, a flag or the checkpoint names; all others stay out. */
void choose_media(geometry_t const &asked, std::optional<checkpoint_header_t> const &before, mixture_t &mixture) {
    constexpr std::size_t patch_side_k = 16, chunk_samples_k = 320; // 20 ms
    geometry_t &geometry = mixture.geometry;
    auto const default_of = [&](uform_modality_t modality, std::size_t size) {
        return names_medium(mixture, modality) ? size : std::size_t(0);
    };
    choose_size(asked.image.patch_side, before, "image.patch_side", default_of(uform_modality_image_k, patch_side_k),
                geometry.image.patch_side);
    choose_size(asked.image.channels, before, "image.channels", 0, geometry.image.channels);
    choose_size(asked.video.patch_side, before, "video.patch_side", default_of(uform_modality_video_k, patch_side_k),
                geometry.video.patch_side);
    choose_size(asked.video.tube_frames, before, "video.tube_frames", 0, geometry.video.tube_frames);
    choose_size(asked.video.frame_stride, before, "video.frame_stride", 0, geometry.video.frame_stride);
    choose_size(asked.audio.chunk_samples, before, "audio.chunk_samples",
                default_of(uform_modality_audio_k, chunk_samples_k), geometry.audio.chunk_samples);
    choose_size(asked.audio.sample_rate, before, "audio.sample_rate", 0, geometry.audio.sample_rate);
    if (!geometry.image.patch_side) geometry.image = {};
    if (!geometry.video.patch_side) geometry.video = {};
    if (!geometry.audio.chunk_samples) geometry.audio = {};
}

void choose_weights(training_options_t const &options, uform_masking_t &masking) {
    auto const choose = [](std::optional<float> asked, float &weight) {
        if (asked) weight = *asked == 0 ? nearly_zero_k : *asked;
    };
    choose(options.text_weight, masking.text_weight), choose(options.image_weight, masking.image_weight);
    choose(options.video_weight, masking.video_weight), choose(options.audio_weight, masking.audio_weight);
}

/** A width between two tiers takes the rate of the wider one. */
float rate_of_tier(std::size_t hidden, std::size_t depth) {
    for (tier_t const &tier : tiers_k)
        if (hidden <= tier.hidden && (hidden < tier.hidden || depth <= tier.depth)) return tier.learning_rate;
    return std::end(tiers_k)[-1].learning_rate;
}

std::vector<std::size_t> widths_of(std::size_t hidden) {
    std::vector<std::size_t> widths;
    for (std::size_t const width : matryoshka_widths_k)
        if (width < hidden) widths.push_back(width);
    widths.push_back(hidden);
    return widths;
}

void choose_steps(training_options_t const &options, std::optional<checkpoint_header_t> const &before, plan_t &plan) {
    plan.steps = options.steps.value_or(0);
    if (options.resume.empty()) {
        if (!options.steps && !options.minutes) fail_usage("how long to train is missing; give --steps or --minutes");
        return;
    }
    if (!options.steps) fail_usage("--resume needs --steps, the length of the whole run as its log names it");
    plan.first_step = before->number("step");
    if (plan.first_step >= plan.steps)
        fail("{}: has taken {} of {} steps; nothing is left to do", options.resume, plan.first_step, plan.steps);
}

} // namespace

plan_t make_plan(training_options_t const &options) {
    if (!options.initial.empty() && !options.resume.empty())
        fail_usage("--from: a run goes on from --resume or starts from --from; give one, or --resume auto");
    plan_t plan;
    plan.initial = options.initial;
    // On a disk that hosts share, processes of two may have one number.
    plan.copies = fmt::format("{}.unpacked.{}.{}", options.output, ::getpid(), options.rank);
    plan.rank = options.rank, plan.ranks = options.ranks;
    if (!options.resume.empty()) plan.resume = link_target(options.resume); // the moments are beside the file itself
    std::string const &earlier = options.resume.empty() ? options.initial : options.resume;
    std::optional<checkpoint_header_t> before;
    if (!earlier.empty()) before = read_checkpoint_header(earlier);
    choose_steps(options, before, plan);
    choose_geometry(options, before, plan);
    bool const trains = plan.steps || options.minutes;
    if (trains && options.mixture.empty()) fail_usage("what to train on is missing; give --mixture");
    if (!options.mixture.empty()) plan.mixture = read_mixture(options.mixture, options.data);
    choose_terms(options, plan.mixture);
    choose_media(options.geometry, before, plan.mixture);
    choose_weights(options, plan.mixture.masking);
    plan.mixture.batch_pairs = options.batch_pairs.value_or(plan.mixture.batch_pairs);
    if (plan.mixture.batch_pairs == 0) fail_usage("--batch-pairs: must be at least 1");
    if (plan.mixture.batch_pairs > batch_pairs_limit_k)
        fail_usage("--batch-pairs: {} are more than a step can list; at most {}", plan.mixture.batch_pairs,
                   batch_pairs_limit_k);
    plan.objective = choose_objective(options, plan.mixture);
    plan.learning_rate = options.learning_rate.value_or(
        plan.mixture.learning_rate.value_or(rate_of_tier(plan.hidden, plan.depth)));
    if (!(plan.learning_rate > 0)) fail_usage("--learning-rate: must be above zero");
    plan.kept_activations = options.kept_activations;
    plan.seed = options.seed.value_or(options.resume.empty() ? 0 : before->number("seed"));
    std::size_t const evaluation = plan.mixture.validation ? plan.mixture.validation->evaluation_bytes : 0;
    std::size_t const chooser = plan.mixture.choices ? plan.mixture.choices->bytes + 1 : 0; // with its MASK
    plan.context = plan.mixture.context.value_or(
        std::max({plan.has_media()               ? media_context_k
                  : plan.hidden > small_hidden_k ? context_k
                                                 : small_context_k,
                  plan.mixture.query_bytes, plan.mixture.document_bytes, evaluation, chooser}));
    plan.matryoshka = plan.mixture.matryoshka.empty() ? widths_of(plan.hidden) : plan.mixture.matryoshka;
    return plan;
}

std::size_t plan_t::parameters() const noexcept {
    std::size_t const block = 16 * hidden * hidden + 2 * hidden; // qkv 3, output 1, gate and up 8, down 4; two norms
    return 258 * hidden + depth * block + 2 * hidden + 2 * hidden * hidden; // bytes, blocks, norm and query, pool head
}

double plan_t::operations(std::size_t tokens, double squared_lengths) const noexcept {
    double const weights = 16.0 * double(hidden) * double(hidden) * double(depth);
    return 3 * (2 * weights * double(tokens) + 4 * squared_lengths * double(hidden) * double(depth));
}

bool plan_t::has_media() const noexcept {
    geometry_t const &geometry = mixture.geometry;
    return geometry.image.patch_side || geometry.video.patch_side || geometry.audio.chunk_samples;
}

/** Items of a step that may be files. */
std::size_t plan_t::file_items() const noexcept {
    bool queries = false, documents = false;
    for (source_t const &source : mixture.sources)
        queries |= source.fields.query_modality != uform_modality_text_k,
            documents |= source.fields.document_modality != uform_modality_text_k;
    return mixture.batch_pairs *
           (with_pairs() ? std::size_t(queries) + (documents ? positives + negatives : 0) : std::size_t(documents));
}

std::size_t plan_t::items() const noexcept {
    std::size_t const each = with_pairs() ? 1 + positives + negatives : 1;
    return mixture.batch_pairs * each + (with_choices() ? mixture.choices->batch_items : 0);
}

uform_batch_shape_t plan_t::batch_shape() const noexcept {
    uform_batch_shape_t shape = {};
    shape.image = mixture.geometry.image, shape.video = mixture.geometry.video, shape.audio = mixture.geometry.audio;
    std::size_t const text = std::max({mixture.document_bytes, with_pairs() ? mixture.query_bytes : 1,
                                       with_choices() ? mixture.choices->bytes + 1 : 1});
    std::size_t const file =
        std::max({std::size_t(1), shape.image.patch_side ? image_tokens_k : 1,
                  shape.video.patch_side ? video_tokens_k : 1, shape.audio.chunk_samples ? audio_tokens_k : 1});
    // First fit opens a row only when every other holds at least as many items, as none is longer; so it does for those
    // of each kind.
    auto const rows_for = [&](std::size_t count, std::size_t longest) {
        std::size_t const per_row = std::max<std::size_t>(context / longest, 1);
        return (count + per_row - 1) / per_row;
    };
    std::size_t const files = file_items();
    shape.max_columns_per_row = context;
    shape.max_segments_per_device = items();
    shape.max_rows_per_device =
        files == items() ? rows_for(files, file) : rows_for(files, file) + rows_for(items(), text);
    shape.max_choices_per_item = with_choices() ? choices_per_item : 0;
    shape.kept_activation_bytes = kept_activations;
    return shape;
}

uform_contrastive_t plan_t::contrastive() const noexcept {
    uform_contrastive_t contrastive = {};
    contrastive.matryoshka_dimensions = matryoshka.data();
    contrastive.matryoshka_dimensions_count = matryoshka.size();
    contrastive.inverse_temperature = mixture.inverse_temperature;
    contrastive.bias = mixture.bias ? (*mixture.bias == 0 ? nearly_zero_k : *mixture.bias) : 0;
    contrastive.pair_loss = mixture.pair_loss;
    contrastive.temperature_groups = temperature_groups;
    contrastive.negatives = mixture.ambient == ambient_t::none_k ? uform_negatives_named_k : uform_negatives_ambient_k;
    contrastive.max_edges_per_device = items() * items();
    return contrastive;
}

uform_late_interaction_t plan_t::late_interaction() const noexcept {
    uform_late_interaction_t late = {};
    late.weight = mixture.late_interaction.weight;
    late.width = mixture.late_interaction.width;
    late.inverse_temperature = mixture.late_interaction.inverse_temperature;
    late.bias = mixture.late_interaction.bias;
    late.max_query_span = mixture.late_interaction.query_span;
    late.max_query_tokens_per_device = mixture.batch_pairs * mixture.late_interaction.query_span;
    late.max_documents_per_device = mixture.batch_pairs * (positives + negatives);
    late.pair_loss = mixture.late_interaction.pair_loss;
    return late;
}

uform_choices_t plan_t::choices() const noexcept {
    if (!with_choices()) return {};
    return {mixture.choices->weight, mixture.choices->brier_weight, temperature_groups};
}

uform_schedule_t plan_t::schedule(std::size_t steps_count) const noexcept {
    uform_schedule_t schedule = {};
    schedule.steps = steps_count;
    schedule.learning_rate = learning_rate;
    schedule.min_learning_rate = std::max(mixture.min_learning_rate.value_or(0), nearly_zero_k);
    if (mixture.warmup_steps) schedule.warmup_steps = std::clamp<std::size_t>(*mixture.warmup_steps, 1, steps_count);
    return schedule;
}

} // namespace uform::tools
