/**
 *  @file step.cpp
 *  @brief The phases of a step that compute: weights packed, towers forward, losses, towers backward, the update.
 */
#include "train/step.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <uform/train/coding_rate.hpp>
#include <uform/train/contrastive.hpp>
#include <uform/train/lipschitz.hpp>
#include <uform/train/masked_head.hpp>
#include <uform/train/schedule.hpp>
#include <uform/train/token_head.hpp>

namespace uform {

namespace {

/** In eight sums, so that an addition waits for none before it. */
double sum_of_squares(std::span<float const> values) noexcept {
    constexpr std::size_t sums_k = 8;
    double sums[sums_k] = {};
    std::size_t const whole = values.size() / sums_k * sums_k;
    for (std::size_t i = 0; i < whole; i += sums_k)
        for (std::size_t lane = 0; lane < sums_k; ++lane)
            sums[lane] += double(values[i + lane]) * double(values[i + lane]);
    for (std::size_t i = whole; i < values.size(); ++i) sums[i - whole] += double(values[i]) * double(values[i]);
    return std::accumulate(sums, sums + sums_k, 0.0);
}

} // namespace

failure_t step_t::run(uform_trainer_step_stats_t *stats) noexcept {
    lane_.scratch.reset(), lane_.clear(), wants_stats_ = stats;
    // What fails here is heard by the world at the next agreement: returning before it would leave the others waiting.
    failure_t planned = plan();
    if (!planned) planned = fill_values();
    if (failure_t const failure = claim_rows(planned)) return failure;
    failure_t failure = lane_.failure();
    if (!failure) pack_weights(), failure = forward();
    if (trainer_.options_.contrasts()) {
        if ((failure = share_rows(failure))) return failure;
        failure = score();
    }
    if (!failure) failure = backward();
    scratch_scope_t scope(executor_.wide_lane());
    if (!failure) failure = claim_update();
    if ((failure = close_losses(failure))) return failure;
    if ((failure = reduce())) return failure;
    if ((failure = refuse_non_finite())) return failure;
    if (items_.embeddings) land_embeddings();
    if (items_.token_vectors) land_token_vectors();
    update();
    if (stats) report(*stats);
    return {};
}

void step_t::pack_weights() noexcept {
    auto const pack = [this](std::size_t unit, lane_t &) {
        trainer_.tower_.pack_unit(*trainer_.kit_, trainer_.parameters_.masters(), unit);
    };
    (void)executor_.deal(trainer_.tower_.units(), pack); // packing cannot fail
}

failure_t step_t::forward() noexcept {
    return for_each(chunks_.size(), [this](std::size_t index, lane_t &lane) {
        chunk_t &chunk = chunks_[index];
        tower_weights_t<float> const &weights = trainer_.tower_.weights;
        tower_forward(*trainer_.kit_, lane, weights, chunk.batch, chunk.residuals, chunk.states,
                      strip_tokens_k * lane.width());
        if (lane.failed() || !trainer_.options_.contrasts()) return;
        gather_read(chunk);
        pool_forward(*trainer_.kit_, lane, geometry(), weights.pool, chunk.read, chunk.read_states, chunk.pool,
                     embeddings_ + chunk.first * geometry().hidden);
        if (!lane.failed() && trainer_.options_.interacts()) project_chunk(chunk, lane);
    });
}

void step_t::project_chunk(chunk_t const &chunk, lane_t &lane) noexcept {
    std::size_t const tokens = chunk.read.tokens(), width = trainer_.options_.model.token_width;
    float *const vectors = vectors_ + chunk.first_read * width;
    token_vectors_forward(*trainer_.kit_, lane, trainer_.tower_.weights.tokens_projection, tokens,
                          chunk.read_states, vectors, inverse_norms_ + chunk.first_read);
    trainer_.kit_->cast_rows(lane, tokens * width, vectors, vectors_narrow_ + chunk.first_read * width);
}

/** Every loss over the step's items: of pooled rows, whose gradients meet in d_embeddings_, and of token vectors. */
failure_t step_t::score() noexcept {
    trainer_options_t const &options = trainer_.options_;
    parameters_t const &parameters = trainer_.parameters_;
    std::size_t const theta = parameters.find("contrastive.log_inverse_temperature");
    std::size_t const bias = parameters.find("contrastive.bias"), hidden = geometry().hidden;
    lane_t &lane = executor_.wide_lane();
    scratch_scope_t scope(lane);
    trainer_.parameters_.clear_others(0); // temperatures gather there before the towers do

    contrastive_t<float> in;
    in.relations = world_relations_, in.form = pair_loss_t(options.contrastive.pair_loss), in.hidden = hidden;
    in.widths = {options.widths, options.contrastive.matryoshka_dimensions_count};
    in.groups = world_groups_, in.embeddings = world_embeddings_;
    in.theta = parameters.wide(theta), in.bias = parameters.wide(bias);
    contrastive_loss_ = contrastive(lane, in, {d_world_embeddings_, parameters.gradient(theta), parameters.gradient(bias)});

    uform_regularizers_t const &regularizers = options.regularizers;
    coding_rate_loss_ =
        coding_rate(lane,
                    coding_rate_t<float> {world_kept_, hidden, world_embeddings_, regularizers.coding_rate_weight,
                                          regularizers.coding_rate_epsilon_squared},
                    d_world_embeddings_);
    lipschitz_loss_ = lipschitz(lane,
                                lipschitz_t<float> {world_kept_, hidden, world_embeddings_, regularizers.lipschitz_weight,
                                                    options.seed, trainer_.steps_done_ + 1, regularizers.lipschitz_iterations},
                                d_world_embeddings_);
    if (options.interacts()) score_token_vectors(lane);
    if (wants_stats_) effective_rank_ = effective_rank(lane, world_kept_, hidden, world_embeddings_);
    if (world().index() > 0) trainer_.parameters_.clear_others(0); // rank 0's temperatures count, as all are the same
    return lane.failure();
}

void step_t::score_token_vectors(lane_t &lane) noexcept {
    uform_late_interaction_t const &options = trainer_.options_.late_interaction;
    parameters_t const &parameters = trainer_.parameters_;
    std::size_t const theta = parameters.find("late_interaction.log_inverse_temperature");
    std::size_t const bias = parameters.find("late_interaction.bias");
    late_interaction_t<float> in;
    in.relations = world_relations_, in.form = pair_loss_t(options.pair_loss), in.weight = options.weight;
    in.width = trainer_.options_.model.token_width, in.queries = queries_, in.documents = documents_;
    in.groups = world_groups_, in.vectors = world_vectors_narrow_;
    in.theta = parameters.wide(theta), in.bias = parameters.wide(bias);
    late_interaction_gradient_t<float> out {d_vectors_, parameters.gradient(theta), parameters.gradient(bias)};
    out.first_item = first_kept_, out.last_item = first_kept_ + kept_.size();
    out.first_token = first_read_;
    late_interaction_loss_ = late_interaction(*trainer_.kit_, lane, in, out);
}

failure_t step_t::backward() noexcept {
    return for_each(slabs_used_, [this](std::size_t slab, lane_t &lane) {
        std::size_t const first = slabs_[slab].first, last = slabs_[slab].last;
        if (slab > 0 || !trainer_.options_.contrasts()) trainer_.parameters_.clear_others(slab);
        if (first == last) trainer_.parameters_.clear_matrices(slab);
        for (std::size_t i = first; i < last && !lane.failed(); ++i)
            backward_chunk(chunks_[i], trainer_.parameters_.tower_gradients(slab), i > first, lane);
    });
}

void step_t::backward_chunk(chunk_t &chunk, tower_gradients_t<float> const &gradients, bool continues,
                            lane_t &lane) noexcept {
    tower_weights_t<float> const &weights = trainer_.tower_.weights;
    scratch_scope_t scope(lane);
    float *d_states = lane.claim<float>(cells(chunk));
    if (!d_states) return;
    std::fill(d_states, d_states + cells(chunk), 0.0f);
    if (trainer_.options_.masks()) backward_masked(chunk, gradients, d_states, lane);
    if (trainer_.options_.masks()) backward_media(chunk, gradients, d_states, lane);
    if (trainer_.options_.chooses()) backward_choices(chunk, gradients, d_states, lane);
    if (trainer_.options_.contrasts()) backward_read(chunk, gradients, d_states, lane);
    if (!lane.failed())
        tower_backward(*trainer_.kit_, lane, weights, gradients, chunk.batch, chunk.residuals, chunk.states, d_states,
                       continues, strip_tokens_k * lane.width());
}

void step_t::backward_token_vectors(chunk_t const &chunk, tower_gradients_t<float> const &gradients,
                                    float *d_read_sum, lane_t &lane) noexcept {
    std::size_t const cell = chunk.first_read * trainer_.options_.model.token_width;
    token_head_backward_t<float> io;
    io.tokens = chunk.read.tokens(), io.hidden = geometry().hidden;
    io.projection_transposed = trainer_.tower_.weights.tokens_projection_transposed;
    io.states = chunk.read_states, io.vectors = vectors_ + cell, io.d_vectors = d_vectors_ + cell;
    io.inverse_norms = inverse_norms_ + chunk.first_read;
    io.projection_sum = gradients.tokens_projection_sum, io.d_states_sum = d_read_sum;
    token_vectors_backward(*trainer_.kit_, lane, io);
}

/** Masked text is a mean over the step's covered positions. */
void step_t::backward_masked(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                             lane_t &lane) noexcept {
    tower_weights_t<float> const &weights = trainer_.tower_.weights;
    covered_t<float> covered;
    covered.decoded = {chunk.covered_count, chunk.covered, chunk.states.states, geometry().hidden};
    covered.targets = chunk.targets;
    covered.scale = trainer_.options_.masking.text_weight / float(std::max<std::size_t>(covered_, 1));
    chunk.masked_loss =
        masked_head(*trainer_.kit_, lane, {weights.decoder, weights.decoder_transposed, weights.decoder_bias},
                    {gradients.decoder_weight_sum, gradients.decoder_bias_sum}, covered, d_states_sum);
}

/** The heads over whole items: pool and token vectors. */
void step_t::backward_read(chunk_t &chunk, tower_gradients_t<float> const &gradients, float *d_states_sum,
                           lane_t &lane) noexcept {
    // By the run and not by the chunk, whether it asks or not: a sum's order is an item's own, whatever it lies beside.
    bool const apart = trainer_.options_.chooses();
    std::size_t const cells = apart ? chunk.read.tokens() * geometry().hidden : 0;
    float *const d_read = apart ? lane.claim<float>(cells) : d_states_sum;
    if (lane.failed()) return;
    if (apart) std::fill_n(d_read, cells, 0.0f);
    pool_backward(*trainer_.kit_, lane, geometry(), trainer_.tower_.weights.pool, gradients.pool, chunk.read,
                  chunk.read_states, chunk.pool, d_embeddings_ + chunk.first * geometry().hidden, d_read);
    if (trainer_.options_.interacts() && !lane.failed()) backward_token_vectors(chunk, gradients, d_read, lane);
    if (apart && !lane.failed()) spread_read(chunk, d_read, d_states_sum);
}

/** Before the last agreement: a process that ran out of memory after it would fall a step behind the others. */
failure_t step_t::claim_update() noexcept {
    squares_ = lane_.claim<double>((trainer_.parameters_.elements() + reduced_together_k - 1) / reduced_together_k);
    lane_t &lane = executor_.wide_lane();
    update_scratch_ = uform::claim_update(lane, trainer_.parameters_.views());
    return lane.failed() ? lane.failure() : lane_.failure();
}

failure_t step_t::reduce() noexcept {
    parameters_t &parameters = trainer_.parameters_;
    constexpr std::size_t grain = reduced_together_k;
    std::size_t const elements = parameters.elements(), grains = (elements + grain - 1) / grain;
    auto const each_grain = [&](auto const &body) {
        (void)executor_.deal(grains, [&](std::size_t index, lane_t &) {
            body(index, index * grain, std::min(elements, (index + 1) * grain));
        });
    };
    each_grain([&](std::size_t, std::size_t first, std::size_t last) { parameters.reduce(slabs_used_, first, last); });
    if (failure_t const failure = world().sum({parameters.gradient(0), elements})) return failure;
    each_grain([&](std::size_t index, std::size_t first, std::size_t last) {
        squares_[index] = sum_of_squares({parameters.gradient(0) + first, last - first});
    });
    double total = 0; // in order, so threads change no bit
    for (std::size_t i = 0; i < grains; ++i) total += squares_[i];
    gradient_norm_ = std::sqrt(total);
    return {};
}

failure_t step_t::refuse_non_finite() noexcept {
    trainer_options_t const &options = trainer_.options_;
    std::uint64_t const step = trainer_.steps_done_ + 1;
    loss_ = choices_loss_ * options.choices.weight + contrastive_loss_ + masked_loss_ * options.masking.text_weight +
            coding_rate_loss_ + lipschitz_loss_ + late_interaction_loss_;
    for (std::size_t medium = 0; medium < media_k; ++medium) loss_ += media_losses_[medium] * media_weight(medium);
    auto const refuse = [&](char const *term, double value) {
        return fail(uform_status_malformed_k, "a loss is not finite, so the step was not applied",
                    "the %s loss is %g at step %llu", term, value, (unsigned long long)step);
    };
    if (!std::isfinite(contrastive_loss_)) return refuse("contrastive", contrastive_loss_);
    if (!std::isfinite(masked_loss_)) return refuse("masked text", masked_loss_);
    static constexpr char const *media[media_k] = {"masked image", "masked video", "masked audio"};
    for (std::size_t medium = 0; medium < media_k; ++medium)
        if (!std::isfinite(media_losses_[medium])) return refuse(media[medium], media_losses_[medium]);
    if (!std::isfinite(choices_loss_)) return refuse("choices", choices_loss_);
    if (!std::isfinite(coding_rate_loss_)) return refuse("coding rate", coding_rate_loss_);
    if (!std::isfinite(lipschitz_loss_)) return refuse("Lipschitz", lipschitz_loss_);
    if (!std::isfinite(late_interaction_loss_)) return refuse("late interaction", late_interaction_loss_);
    // Squares add up: where all of them together are far from overflow, no tensor's are near.
    if (gradient_norm_ < 0.5 * std::sqrt(double(std::numeric_limits<float>::max()))) return {};
    std::size_t const tensor = find_non_finite(executor_.wide_lane(), trainer_.parameters_.views(), update_scratch_);
    if (tensor == no_tensor_k) return {};
    return fail(uform_status_malformed_k, "a gradient is not finite, so the step was not applied",
                "the gradient of %s at step %llu", trainer_.parameters_.specs()[tensor].name_text,
                (unsigned long long)step);
}

void step_t::update() noexcept {
    std::uint64_t const step = trainer_.steps_done_ + 1;
    learning_rate_ = learning_rate_at(trainer_.options_.schedule, step);
    adafactor(*trainer_.kit_, executor_.wide_lane(), trainer_.parameters_.views(),
              {learning_rate_, trainer_.options_.seed, step, step - trainer_.moments_since_}, update_scratch_);
    trainer_.trail_ = std::bit_cast<std::uint64_t>(gradient_norm_);
    trainer_.steps_done_ = step, trainer_.dropped_ += dropped_; // a step that fails drops nothing: it may come again
}

} // namespace uform
