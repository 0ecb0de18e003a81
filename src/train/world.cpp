/**
 *  @file world.cpp
 *  @brief Where a step meets the other processes: what they agree on, and the rows and relations they share.
 *
 *  Every process scores the world's rows and token vectors by itself, so that equal rows in equal order give equal bits
 *  everywhere; what that repeats grows with the world, late interaction's products most of all. Its tower then goes
 *  backward for its own rows alone, and the gradients of all are summed. A world of one process passes through here
 *  without a copy or a message. How rows and relations travel is in sharing.cpp.
 */
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <uform/mesh/fields.hpp>

#include "train/agreement.hpp"
#include "train/planned_sizes.hpp"
#include "train/step.hpp"

namespace uform {
namespace {

/** The places of `statement_t::sizes` as a step starts, and of its partials. */
enum arguments_size_t : std::size_t { items_size_k, attract_size_k };
enum partial_t : std::size_t { masked_partial_k, choices_partial_k, media_partial_k };
static_assert(media_partial_k + media_k <= statement_t::partials_k);

void add_options(fields_t &fields, trainer_options_t const &options) noexcept {
    auto const size = [&](char const *name, std::uint64_t value) { fields.add(name, value); };
    size("depth", options.model.geometry.depth), size("hidden", options.model.geometry.hidden);
    size("batch.max_columns_per_row", options.model.geometry.context);
    add_media(fields, options);
    fields.add("objective", uform_objective_name(options.objective));
    size("seed", options.seed);
    size("schedule.steps", options.schedule.steps), size("schedule.warmup_steps", options.schedule.warmup_steps);
    fields.add("schedule.learning_rate", options.schedule.learning_rate);
    fields.add("schedule.min_learning_rate", options.schedule.min_learning_rate);
    fields.add("choices.weight", options.choices.weight);
    fields.add("late_interaction.weight", options.late_interaction.weight);
    if (options.masks()) {
        fields.add("masking.token_mask_probability", options.masking.token_mask_probability);
        fields.add("masking.token_mean_span", options.masking.token_mean_span);
        fields.add("masking.replace_fraction", options.masking.replace_fraction);
        fields.add("masking.random_fraction", options.masking.random_fraction);
        fields.add("masking.text_weight", options.masking.text_weight);
    }
    if (options.chooses()) {
        fields.add("choices.brier_weight", options.choices.brier_weight);
        size("choices.temperature_groups", options.choices.temperature_groups);
    }
    if (!options.contrasts()) return;
    uform_contrastive_t const &contrastive = options.contrastive;
    fields.add("contrastive.pair_loss", uform_pair_loss_form_name(contrastive.pair_loss));
    fields.add("contrastive.negatives", uform_negatives_name(contrastive.negatives));
    fields.add("contrastive.ambient_repulsion_weight", contrastive.ambient_repulsion_weight);
    size("contrastive.temperature_groups", contrastive.temperature_groups);
    for (std::size_t i = 0; i < contrastive.matryoshka_dimensions_count; ++i)
        size("contrastive.matryoshka_dimensions", options.widths[i]);
    fields.add("contrastive.inverse_temperature", contrastive.inverse_temperature);
    fields.add("contrastive.bias", contrastive.bias);
    fields.add("regularizers.coding_rate_weight", options.regularizers.coding_rate_weight);
    fields.add("regularizers.coding_rate_epsilon_squared", options.regularizers.coding_rate_epsilon_squared);
    fields.add("regularizers.lipschitz_weight", options.regularizers.lipschitz_weight);
    size("regularizers.lipschitz_iterations", options.regularizers.lipschitz_iterations);
    if (!options.interacts()) return;
    uform_late_interaction_t const &late = options.late_interaction;
    fields.add("late_interaction.pair_loss", uform_pair_loss_form_name(late.pair_loss));
    size("late_interaction.width", late.width), size("late_interaction.prefix_tokens", late.prefix_tokens);
    size("late_interaction.max_query_span", late.max_query_span);
    fields.add("late_interaction.inverse_temperature", late.inverse_temperature);
    fields.add("late_interaction.bias", late.bias);
}

/** A prefix as it is saved, and where that is longer than a comparison can hold its beginning and a hash of it all. */
void add_prefix(fields_t &fields, char const *name, buffer_t<char> const &escaped) noexcept {
    constexpr std::size_t shown_k = 40, hash_digits_k = 20;
    std::string_view const text {escaped.data(), escaped.size() ? ::strnlen(escaped.data(), escaped.size()) : 0};
    if (text.size() <= shown_k + hash_digits_k) return fields.add(name, text);
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (unsigned char const byte : text) hash = (hash ^ byte) * 0x100000001b3u;
    char shown[shown_k + 32];
    int const length =
        std::snprintf(shown, sizeof(shown), "%.*s... %016llx", int(shown_k), text.data(), (unsigned long long)hash);
    fields.add(name, std::string_view(shown, std::size_t(length)));
}

} // namespace

failure_t trainer_t::meet(mesh_t &mesh) noexcept {
    fields_t fields;
    add_options(fields, options_);
    add_prefix(fields, "query_prefix", query_prefix_), add_prefix(fields, "document_prefix", document_prefix_);
    fields.add("step", steps_done_), fields.add("weights", weights_fingerprint());
    world_ = &mesh;
    if (!fields.complete()) return fail(uform_status_internal_k, "the options do not fit their comparison");
    return mesh.agree_on_fields(fields.text());
}

statement_t step_t::state(moment_t moment) const noexcept {
    statement_t statement;
    statement.moment = moment, statement.step = trainer_.steps_done_ + 1, statement.trail = trainer_.trail_;
    return statement;
}

failure_t step_t::open(failure_t const &refusal) noexcept {
    statement_t statement = state(moment_t::arguments_k);
    statement.sizes[items_size_k] = items_.count();
    statement.sizes[attract_size_k] = items_.relations.attract.count();
    if (failure_t const failure = world().agree(statement, refusal)) return failure;
    if (world().size_of_all(items_size_k) == 0) return fail(uform_status_invalid_argument_k, "count must not be zero");
    if (trainer_.options_.contrasts() && world().size_of_all(attract_size_k) == 0) return refuse_no_attraction();
    first_item_ = std::size_t(world().size_before(items_size_k));
    return {};
}

/** Agrees on the plan and claims the world's rows, this process's among them. */
failure_t step_t::claim_rows(failure_t const &planned) noexcept {
    statement_t statement = state(moment_t::planned_k);
    statement.sizes[kept_size_k] = kept_.size(), statement.sizes[tokens_size_k] = tokens_;
    statement.sizes[covered_size_k] = covered_, statement.sizes[truncated_size_k] = truncated_;
    statement.sizes[dropped_size_k] = dropped_, statement.sizes[chosen_size_k] = chosen_;
    statement.sizes[read_size_k] = read_tokens_;
    std::copy_n(covered_media_, media_k, statement.sizes + covered_media_size_k);
    if (!planned && trainer_.options_.contrasts()) statement.sizes[words_size_k] = write_relations(nullptr);
    if (failure_t const failure = world().agree(statement, planned)) return failure;
    world_kept_ = std::size_t(world().size_of_all(kept_size_k)),
    first_kept_ = std::size_t(world().size_before(kept_size_k));
    tokens_ = std::size_t(world().size_of_all(tokens_size_k)),
    covered_ = std::size_t(world().size_of_all(covered_size_k));
    chosen_ = std::size_t(world().size_of_all(chosen_size_k));
    for (std::size_t medium = 0; medium < media_k; ++medium)
        covered_media_[medium] = std::size_t(world().size_of_all(covered_media_size_k + medium));
    truncated_ = std::size_t(world().size_of_all(truncated_size_k));
    dropped_ = std::size_t(world().size_of_all(dropped_size_k));
    if (!trainer_.options_.contrasts()) return {};
    std::size_t const hidden = geometry().hidden, cells = world_kept_ * hidden;
    world_embeddings_ = lane_.claim<float>(cells), d_world_embeddings_ = lane_.claim<float>(cells);
    world_relations_ = relations_, world_groups_ = groups_;
    if (trainer_.options_.interacts()) claim_world_vectors();
    if (lane_.failed()) return {}; // heard at the next agreement
    std::fill(d_world_embeddings_, d_world_embeddings_ + cells, 0.0f);
    embeddings_ = world_embeddings_ + first_kept_ * hidden, d_embeddings_ = d_world_embeddings_ + first_kept_ * hidden;
    return {};
}

void step_t::claim_world_vectors() noexcept {
    std::size_t const width = trainer_.options_.model.token_width,
                      world_tokens = std::size_t(world().size_of_all(read_size_k));
    first_read_ = std::size_t(world().size_before(read_size_k));
    world_vectors_narrow_ = lane_.claim<bf16_t>(world_tokens * width);
    d_vectors_ = lane_.claim<float>(read_tokens_ * width);
    scored_item_t *const queries = lane_.claim<scored_item_t>(world_kept_);
    scored_item_t *const documents = lane_.claim<scored_item_t>(world_kept_);
    if (lane_.failed()) return;
    queries_ = {queries, 0}, documents_ = {documents, 0};
    std::fill(d_vectors_, d_vectors_ + read_tokens_ * width, 0.0f);
    vectors_narrow_ = world_vectors_narrow_ + first_read_ * width;
    if (world().count() == 1) list_sides();
}

/** The last agreement, before gradients are summed: from then on only the transport can fail one process alone. */
failure_t step_t::close_losses(failure_t const &computed) noexcept {
    statement_t statement = state(moment_t::computed_k);
    for (chunk_t const &chunk : chunks_) {
        statement.partials[masked_partial_k] += chunk.masked_loss;
        statement.partials[choices_partial_k] += chunk.choices_loss;
        for (std::size_t medium = 0; medium < media_k; ++medium)
            statement.partials[media_partial_k + medium] += chunk.parts[medium].loss;
    }
    if (failure_t const failure = world().agree(statement, computed)) return failure;
    masked_loss_ = world().sum_of_partials(masked_partial_k) / double(std::max<std::size_t>(covered_, 1));
    choices_loss_ = world().sum_of_partials(choices_partial_k) / double(std::max<std::size_t>(chosen_, 1));
    for (std::size_t medium = 0; medium < media_k; ++medium)
        media_losses_[medium] = world().sum_of_partials(media_partial_k + medium) /
                                double(std::max<std::size_t>(covered_media_[medium], 1));
    return {};
}

} // namespace uform
