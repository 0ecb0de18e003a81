/**
 *  @file train_step.cpp
 *  @brief A step's arguments: what is refused, how they reach the trainer, where scored rows land.
 */
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/call.hpp>
#include <uform/utilities/inputs.hpp>

#include "step_media.hpp"
#include "trainer_handle.hpp"

namespace uform {
namespace {

edges_t edges_of(uform_edges_view_t const &view, std::size_t count) noexcept {
    edges_t edges;
    if (!view.offsets) return edges;
    std::size_t const ids = view.offsets[count];
    edges.offsets = {view.offsets, count + 1}, edges.ids = {view.ids, view.ids ? ids : 0};
    if (view.weights) edges.weights = {view.weights, ids};
    return edges;
}
relations_t relations_of(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    relations_t relations;
    relations.items = call.count;
    relations.attract = edges_of(call.relations.attract, call.count);
    relations.repel = edges_of(call.relations.repel, call.count);
    relations.ignore = edges_of(call.relations.ignore, call.count);
    relations.ignore.weights = {};
    relations.ambient = options.contrastive.negatives == uform_negatives_ambient_k
                            ? options.contrastive.ambient_repulsion_weight
                            : 0.0f;
    return relations;
}

/** Tokens that heads over whole items read; `grids` [count] tell those of media, or are empty where all are texts. */
std::size_t read_tokens_of(uform_trainer_step_t const &call, std::span<token_grid_t const> grids, std::size_t context,
                           std::size_t item) noexcept {
    if (!grids.empty() && call.modalities[item] != uform_modality_text_k)
        return read_tokens(grids[item].tokens(), false, context);
    std::size_t const bytes = call.contents.offsets[item + 1] - call.contents.offsets[item];
    bool const asks = call.choices.offsets && call.choices.offsets[item] != call.choices.offsets[item + 1];
    return read_tokens(bytes, asks, context);
}

/** Room is counted over the items given, before any is dropped, so that a refusal depends on the call alone. */
failure_t check_sides(uform_trainer_step_t const &call, trainer_options_t const &options,
                      std::span<token_grid_t const> grids) noexcept {
    uform_late_interaction_t const &late = options.late_interaction;
    std::size_t queries = 0, documents = 0, document_tokens = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        uform_late_interaction_side_t const side = call.sides[i];
        if (side < uform_late_interaction_side_none_k || side > uform_late_interaction_side_query_and_document_k)
            return of_item(refuse("sides names one that does not exist"), i);
        std::size_t const tokens = read_tokens_of(call, grids, options.model.geometry.context, i);
        if (side & uform_late_interaction_side_query_k) {
            queries += query_tokens(late, tokens);
            if (!query_tokens(late, tokens))
                return of_item(refuse("sides names a query without a token past late_interaction.prefix_tokens"), i);
        }
        if (side & uform_late_interaction_side_document_k) ++documents, document_tokens += tokens;
    }
    auto const exceeds = [](std::size_t count, std::size_t limit) noexcept { return limit && count > limit; };
    auto const overfull = [](char const *message) noexcept { return fail(uform_status_shape_mismatch_k, message); };
    if (exceeds(queries, late.max_query_tokens_per_device))
        return overfull("sides name more query tokens than late_interaction.max_query_tokens_per_device");
    if (exceeds(documents, late.max_documents_per_device))
        return overfull("sides name more documents than late_interaction.max_documents_per_device");
    if (exceeds(document_tokens, late.max_document_tokens_per_device))
        return overfull("sides name more document tokens than late_interaction.max_document_tokens_per_device");
    return {};
}

bool takes_part(uform_modality_t modality, model_options_t const &model) noexcept {
    if (modality == uform_modality_text_k) return true;
    return modality > uform_modality_text_k && modality <= uform_modality_audio_k &&
           model.enters(medium_t(modality - uform_modality_image_k));
}

failure_t check_step_items(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    // First the count: a wrong one would have every array read beyond its end.
    if (call.count == 0 && call.trainer->trainer.world().count() == 1) return refuse("count must not be zero");
    if (call.count > options.batch.max_segments_per_device)
        return fail(uform_status_shape_mismatch_k, "count is more than batch.max_segments_per_device", "%zu of %zu",
                    call.count, options.batch.max_segments_per_device);
    if (failure_t const failure = check_tape<"contents">(call.contents, call.count, uform_scalar_u8_k)) return failure;
    for (std::size_t i = 0; i < call.count; ++i) {
        if (call.modalities && !takes_part(call.modalities[i], options.model))
            return of_item(unsupported("modalities names one that the run leaves out"), i);
        if (options.contrasts() && call.temperature_groups &&
            call.temperature_groups[i] >= options.contrastive.temperature_groups) {
            return of_item(refuse("temperature_groups must be below contrastive.temperature_groups"), i);
        }
    }
    if (failure_t const failure = check_step_choices(call, options)) return failure;
    bool const knows_tokens = !has_media(call); // else the files are measured first
    return options.interacts() && call.sides && knows_tokens ? check_sides(call, options, {}) : failure_t {};
}

/** What a step reads must not be in the arena it lands in; of relations, what `validate_relations` accepted. */
failure_t check_step_inputs(uform_trainer_step_t const &call, bool contrasts) noexcept {
    std::size_t const count = call.count;
    failure_t failure = check_inputs(
        call.arena,
        {input_of("contents.data", call.contents, count), offsets_of("contents.offsets", call.contents.offsets, count),
         input_of("modalities", call.modalities, count), input_of("bags", call.bags, count),
         input_of("temperature_groups", call.temperature_groups, count), input_of("sides", call.sides, count)});
    if (!failure && call.choices.offsets)
        failure = check_inputs(
            call.arena,
            {input_of("choices.data", call.choices, count), offsets_of("choices.offsets", call.choices.offsets, count),
             input_of("choice_targets.data", static_cast<float const *>(call.choice_targets.data),
                      call.choice_targets.offsets[count]),
             offsets_of("choice_targets.offsets", call.choice_targets.offsets, count)});
    for (uform_edges_view_t const &edges : {call.relations.attract, call.relations.repel, call.relations.ignore}) {
        if (failure || !contrasts || !edges.offsets) continue;
        std::size_t const last = edges.offsets[count];
        failure = check_inputs(call.arena, {offsets_of("relations.offsets", edges.offsets, count),
                                            input_of("relations.ids", edges.ids, last),
                                            input_of("relations.weights", edges.weights, last)});
    }
    return failure;
}

failure_t check_step_arguments(uform_trainer_step_t const &call) noexcept {
    trainer_options_t const &options = call.trainer->trainer.options();
    bool const alone = call.trainer->trainer.world().count() == 1;
    if (failure_t const failure = check_step_items(call, options)) return failure;
    if (call.embeddings && !options.contrasts())
        return unsupported("embeddings are scored by contrastive and joint steps alone");
    if (call.token_vectors && !options.interacts())
        return unsupported("token_vectors are scored where late_interaction has weight alone");
    if (call.embeddings || call.token_vectors) {
        if (!call.arena) return refuse("arena must not be NULL where embeddings or token_vectors are asked for");
        if (failure_t const failure = check_outputs_scalar(call.outputs_scalar, true)) return failure;
    }
    if (!options.contrasts()) return {};
    if (failure_t const failure = validate_relations(relations_of(call, options), alone)) return failure;
    std::size_t const limit = options.contrastive.max_edges_per_device;
    for (uform_edges_view_t const &edges : {call.relations.attract, call.relations.repel, call.relations.ignore})
        if (limit && edges.offsets && edges.offsets[call.count] - edges.offsets[0] > limit)
            return fail(uform_status_shape_mismatch_k, "relations name more edges than contrastive.max_edges_per_device");
    return {};
}

} // namespace

failure_t check_step(uform_trainer_step_t const &call) noexcept {
    if (call.executor != call.trainer->executor) return refuse("executor is not the one the trainer was made on");
    trainer_t const &trainer = call.trainer->trainer;
    if (failure_t const failure = check_step_arguments(call)) // in a world the work refuses, and tells the others
        return trainer.world().count() == 1 ? failure : failure_t {};
    return check_step_inputs(call, trainer.options().contrasts()); // before the arena is rewound, so of this process alone
}

namespace {

/** Where scored rows will land: claimed before the step, which no lack of memory may then turn into a failure. */
template <typename view_>
view_ claim_scored(uform_trainer_step_t const &call, std::size_t count, std::size_t columns) noexcept {
    view_ view {};
    view.count = count, view.columns = columns;
    view.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    view.stride = columns * uform_scalar_bytes(view.scalar);
    view.data = call.arena->arena.claim<std::byte>(view.count * view.stride);
    return view;
}

/** The scored rows in the scalar asked for. */
template <typename view_>
failure_t land_scored(float const *rows, view_ const &view) noexcept {
    auto *const data = static_cast<std::byte *>(const_cast<void *>(view.data)); // the arena's, claimed above
    for (std::size_t i = 0; i < view.count; ++i)
        if (!land_row(view.scalar, rows + i * view.columns, view.columns, data + i * view.stride))
            return fail(uform_status_internal_k, "a scored row does not stay finite");
    return {};
}

/** Room for every item's tokens, since which of them are dropped shows in the step. */
failure_t claim_token_vectors(uform_trainer_step_t const &call, step_items_t &items, buffer_t<float> &vectors,
                              uform_rows_tape_t &landed) noexcept {
    model_options_t const &model = call.trainer->trainer.options().model;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < call.count; ++i) tokens += text_tokens(items.length(i), model.geometry.context);
    landed = claim_scored<uform_rows_tape_t>(call, tokens, model.token_width);
    landed.offsets = items.token_offsets = call.arena->arena.claim<std::size_t>(call.count + 1);
    if (!landed.data || !landed.offsets || !vectors.resize(tokens * model.token_width))
        return fail(uform_status_out_of_memory_k, "memory for token_vectors is out");
    items.token_vectors = vectors.data();
    return {};
}

step_items_t items_of(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    step_items_t items;
    items.texts = tape_t<unsigned char>(call.contents, call.count);
    if (call.bags) items.bags = {call.bags, call.count};
    if (call.sides) items.sides = {call.sides, call.count};
    if (call.temperature_groups) items.temperature_groups = {call.temperature_groups, call.count};
    if (call.choices.offsets)
        items.choices = tape_t<unsigned char>(call.choices, call.count),
        items.choice_targets = tape_t<float>(call.choice_targets, call.count);
    items.relations = relations_of(call, options);
    return items;
}

/** The buffers that a step's scored rows pass through, and the views that its caller gets. */
struct scored_t {
    buffer_t<float> rows, vectors;
    uform_rows_t landed {};
    uform_rows_tape_t landed_vectors {};
};

failure_t claim_outputs(uform_trainer_step_t const &call, step_items_t &items, scored_t &scored) noexcept {
    std::size_t const hidden = call.trainer->trainer.options().model.geometry.hidden;
    if (call.embeddings) scored.landed = claim_scored<uform_rows_t>(call, call.count, hidden);
    if (call.embeddings && (!scored.landed.data || !scored.rows.resize(call.count * hidden)))
        return fail(uform_status_out_of_memory_k, "memory for embeddings is out");
    items.embeddings = scored.rows.data();
    if (!call.token_vectors) return {};
    return claim_token_vectors(call, items, scored.vectors, scored.landed_vectors);
}

} // namespace

failure_t step(uform_trainer_step_t const &call, executor_t &executor) noexcept {
    trainer_t &trainer = call.trainer->trainer;
    trainer_options_t const &options = trainer.options();
    step_items_t items;
    step_media_t media;
    scored_t scored;
    failure_t refusal;
    if (trainer.world().count() > 1) refusal = check_step_arguments(call);
    if (!refusal) items = items_of(call, options);
    if (!refusal) refusal = media.measure(call, options.model, executor, items);
    if (!refusal && options.interacts() && call.sides && has_media(call))
        refusal = check_sides(call, options, items.grids);
    if (!refusal) refusal = claim_outputs(call, items, scored);
    uform_trainer_step_stats_t stats;
    if (failure_t const failure = trainer.step(items, executor, call.stats ? &stats : nullptr, refusal)) return failure;
    if (call.embeddings) {
        if (failure_t const failure = land_scored(scored.rows.data(), scored.landed)) return failure;
    }
    if (call.token_vectors) {
        scored.landed_vectors.count = items.token_offsets[call.count];
        if (failure_t const failure = land_scored(scored.vectors.data(), scored.landed_vectors)) return failure;
        *call.token_vectors = scored.landed_vectors;
    }
    if (call.embeddings) *call.embeddings = scored.landed;
    if (call.stats) *call.stats = stats;
    return {};
}

} // namespace uform
