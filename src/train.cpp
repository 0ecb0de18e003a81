/**
 *  @file train.cpp
 *  @brief The verbs of `uform/train.h`: arguments checked, defaults filled in; the run itself is `train/trainer`.
 */
#include <uform/train.h>

#include <cmath>
#include <new>

#include <uform/train/pair_loss.hpp>
#include <uform/train/trainer.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/call.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/inputs.hpp>
#include <uform/utilities/json.hpp>
#include <uform/utilities/names.hpp>

#include "mesh_handle.hpp"

struct uform_trainer_handle_t {
    uform::trainer_t trainer;
    uform_executor_t executor = nullptr; // every later verb names the same
    uform::hold_t hold;
};

namespace uform {
namespace {

constexpr named_t objective_names_k[] = {{uform_objective_masked_k, "masked"},
                                         {uform_objective_contrastive_k, "contrastive"},
                                         {uform_objective_joint_k, "joint"}};
constexpr named_t negatives_names_k[] = {{uform_negatives_ambient_k, "ambient"}, {uform_negatives_named_k, "named"}};
constexpr named_t form_names_k[] = {{uform_pair_loss_form_derived_k, "derived"},
                                    {uform_pair_loss_form_balanced_k, "balanced"},
                                    {uform_pair_loss_form_ranked_k, "ranked"},
                                    {uform_pair_loss_form_sigmoid_k, "sigmoid"},
                                    {uform_pair_loss_form_softmax_k, "softmax"}};
constexpr named_t side_names_k[] = {{uform_late_interaction_side_none_k, "none"},
                                    {uform_late_interaction_side_query_k, "query"},
                                    {uform_late_interaction_side_document_k, "document"},
                                    {uform_late_interaction_side_query_and_document_k, "query-and-document"}};
constexpr named_t tier_names_k[] = {{uform_multimem_tier_none_k, "none"},
                                    {uform_multimem_tier_peer_k, "peer"},
                                    {uform_multimem_tier_multicast_k, "multicast"}};

failure_t refuse(char const *message) noexcept { return fail(uform_status_invalid_argument_k, message); }
failure_t unsupported(char const *message) noexcept { return fail(uform_status_unsupported_k, message); }

float or_default(float value, float otherwise) noexcept { return value == 0 ? otherwise : value; }
bool is_weight(float value) noexcept { return std::isfinite(value) && value >= 0; }

failure_t resolve_widths(uform_contrastive_t const &asked, std::size_t hidden, trainer_options_t &options) noexcept {
    std::size_t const count = asked.matryoshka_dimensions ? asked.matryoshka_dimensions_count : 0;
    if (count > matryoshka_limit_k) return refuse("contrastive.matryoshka_dimensions has more than 8 widths");
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const width = asked.matryoshka_dimensions[i];
        if (width == 0 || width % 8 || width > hidden || (i && width <= options.widths[i - 1]))
            return refuse("contrastive.matryoshka_dimensions must ascend in multiples of 8 up to hidden");
        options.widths[i] = width;
    }
    options.contrastive.matryoshka_dimensions = nullptr, options.contrastive.matryoshka_dimensions_count = count;
    return {};
}

failure_t resolve_contrastive(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    uform_contrastive_t &resolved = options.contrastive = call.contrastive;
    if (uform_pair_loss_form_name(resolved.pair_loss) == uform_pair_loss_form_name(-1))
        return refuse("contrastive.pair_loss is not a form");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_sigmoid_k;
    if (resolved.negatives != uform_negatives_ambient_k && resolved.negatives != uform_negatives_named_k)
        return refuse("contrastive.negatives is neither ambient nor named");
    bool const sigmoid = resolved.pair_loss == uform_pair_loss_form_sigmoid_k;
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        return refuse("contrastive.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) return refuse("contrastive.bias must be finite");
    if (!is_weight(resolved.ambient_repulsion_weight))
        return refuse("contrastive.ambient_repulsion_weight must be finite and not negative");
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, sigmoid ? 10.0f : 1.0f);
    resolved.bias = or_default(resolved.bias, sigmoid ? -10.0f : 0.0f);
    resolved.ambient_repulsion_weight = or_default(resolved.ambient_repulsion_weight, 1.0f);
    resolved.temperature_groups = std::max<std::size_t>(resolved.temperature_groups, 1);
    options.model.contrastive_groups = resolved.temperature_groups;
    options.regularizers = call.regularizers;
    if (options.regularizers.lipschitz_iterations == 0) options.regularizers.lipschitz_iterations = 4;
    if (options.regularizers.lipschitz_iterations > 64) return refuse("regularizers.lipschitz_iterations must not exceed 64");
    if (!is_weight(options.regularizers.coding_rate_weight))
        return refuse("regularizers.coding_rate_weight must be finite and not negative");
    if (!is_weight(options.regularizers.lipschitz_weight))
        return refuse("regularizers.lipschitz_weight must be finite and not negative");
    if (!is_weight(options.regularizers.coding_rate_epsilon_squared))
        return refuse("regularizers.coding_rate_epsilon_squared must be finite and not negative");
    return resolve_widths(call.contrastive, call.hidden, options);
}

failure_t resolve_late_interaction(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (!is_weight(call.late_interaction.weight))
        return refuse("late_interaction.weight must be finite and not negative");
    if (call.late_interaction.weight == 0) return {};
    if (!options.contrasts()) return refuse("late_interaction.weight must be zero where the objective is masked alone");
    uform_late_interaction_t &resolved = options.late_interaction = call.late_interaction;
    if (resolved.width % 8) return refuse("late_interaction.width must be a multiple of 8");
    if (!is_weight(resolved.inverse_temperature) || resolved.inverse_temperature > 100)
        return refuse("late_interaction.inverse_temperature must lie between 0 and 100");
    if (!std::isfinite(resolved.bias)) return refuse("late_interaction.bias must be finite");
    if (uform_pair_loss_form_name(resolved.pair_loss) == uform_pair_loss_form_name(-1))
        return refuse("late_interaction.pair_loss is not a form");
    if (resolved.prefix_tokens >= call.batch.max_columns_per_row)
        return refuse("late_interaction.prefix_tokens must be below batch.max_columns_per_row");
    if (resolved.pair_loss == uform_pair_loss_form_derived_k) resolved.pair_loss = uform_pair_loss_form_ranked_k;
    resolved.inverse_temperature = or_default(resolved.inverse_temperature, 1.0f);
    if (!resolved.width) resolved.width = 128;
    if (!resolved.max_query_span) resolved.max_query_span = 64;
    options.model.token_width = resolved.width;
    options.model.late_interaction_groups = options.contrastive.temperature_groups;
    return {};
}

masking_t masking_of(uform_masking_t const &asked) noexcept {
    return derive_masking({asked.token_mask_probability, asked.token_mean_span, asked.replace_fraction,
                           asked.random_fraction, asked.image_mask_ratio, asked.video_mask_ratio,
                           asked.audio_mask_ratio, asked.text_weight, asked.image_weight, asked.video_weight,
                           asked.audio_weight});
}

std::string_view text_of(uform_bytes_view_t view) noexcept {
    return {static_cast<char const *>(view.data), view.length};
}

/** Terms that other work brings. */
failure_t refuse_absent_terms(uform_trainer_init_ram_t const &call) noexcept {
    if (call.batch.image.patch_side || call.batch.video.patch_side || call.batch.audio.chunk_samples)
        return unsupported("this build trains on text alone");
    return {};
}

failure_t resolve_choices(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (!is_weight(call.choices.weight)) return refuse("choices.weight must be finite and not negative");
    if (call.choices.weight == 0) return {};
    options.choices = call.choices;
    if (!is_weight(call.choices.brier_weight)) return refuse("choices.brier_weight must be finite and not negative");
    if (!call.batch.max_choices_per_item)
        return refuse("batch.max_choices_per_item must not be zero where choices are trained");
    options.choices.temperature_groups = std::max<std::size_t>(call.choices.temperature_groups, 1);
    options.model.choice_groups = options.choices.temperature_groups;
    return {};
}

template <literal_t field_>
failure_t check_prefix(uform_bytes_view_t prefix, std::size_t context) noexcept {
    if (failure_t const failure = check_bytes<field_>(prefix)) return failure;
    if (prefix.length < context) return {};
    return uform::refuse<field_, " must be shorter than batch.max_columns_per_row">();
}

failure_t resolve(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept {
    if (failure_t const failure = check_path<"resume">(call.resume, presence_t::optional_k)) return failure;
    if (failure_t const failure = check_path<"initial">(call.initial, presence_t::optional_k)) return failure;
    if (call.resume.length && call.initial.length) return refuse("resume and initial exclude each other");
    if (failure_t const failure = refuse_absent_terms(call)) return failure;
    if (call.objective < uform_objective_masked_k || call.objective > uform_objective_joint_k)
        return refuse("objective is not masked, contrastive or joint");
    if (!call.batch.max_rows_per_device) return refuse("batch.max_rows_per_device must not be zero");
    if (!call.batch.max_segments_per_device) return refuse("batch.max_segments_per_device must not be zero");
    if (!call.batch.max_columns_per_row) return refuse("batch.max_columns_per_row must not be zero");
    options.batch = call.batch, options.objective = call.objective, options.seed = call.seed;
    options.model.geometry = {call.hidden, call.depth, call.batch.max_columns_per_row};
    if (options.contrasts())
        if (failure_t const failure = resolve_contrastive(call, options)) return failure;
    if (failure_t const failure = resolve_choices(call, options)) return failure;
    options.model.decoder = options.masks() || options.chooses();
    if (failure_t const failure = resolve_late_interaction(call, options)) return failure;
    std::size_t const context = call.batch.max_columns_per_row;
    if (failure_t const failure = check_prefix<"query_prefix">(call.query_prefix, context)) return failure;
    if (failure_t const failure = check_prefix<"document_prefix">(call.document_prefix, context)) return failure;
    options.query_prefix = text_of(call.query_prefix), options.document_prefix = text_of(call.document_prefix);
    options.masking = masking_of(call.masking);
    if (options.masks())
        if (failure_t const failure = validate_masking(options.masking)) return failure;
    options.schedule = derive_schedule({call.schedule.learning_rate, call.schedule.min_learning_rate,
                                        call.schedule.warmup_steps, call.schedule.steps});
    if (failure_t const failure = validate_schedule(options.schedule)) return failure;
    failure_t failure = check_options(options.model);
    if (failure) failure.status = uform_status_invalid_argument_k; // the same check calls a file malformed
    return failure;
}

/** Arguments of several processes' calls are refused by the work, which tells the others. */
bool has_peers(uform_mesh_t mesh) noexcept { return mesh && mesh->mesh.count() > 1; }

failure_t check_mesh(uform_trainer_init_ram_t const &call) noexcept {
    if (!call.mesh) return {};
    if (call.mesh->process != this_process())
        return unsupported("mesh was made before this process was forked; make one here");
    if (call.mesh->executor != call.executor) return refuse("executor is not the one the mesh was made for");
    return {};
}

failure_t check_init(uform_trainer_init_ram_t const &call) noexcept {
    if (failure_t const failure = check_mesh(call)) return failure;
    trainer_options_t options;
    return has_peers(call.mesh) ? failure_t {} : resolve(call, options);
}

failure_t start(uform_trainer_init_ram_t const &call, executor_t &executor, trainer_t &trainer) noexcept {
    trainer_options_t options;
    uform_cpu_class_t cpu_class;
    if (failure_t const failure = resolve(call, options)) return failure;
    if (failure_t const failure = resolve_class(executor.cpu_class(), has_kernels, cpu_class)) return failure;
    failure_t failure = trainer.start(options, cpu_class, executor);
    if (!failure && call.resume.length) failure = trainer.resume(text_of(call.resume), call.progress);
    if (!failure && call.initial.length) failure = trainer.warm_start(text_of(call.initial), call.progress);
    return failure;
}

/** Joins the trainers of all processes, or fails in all where one could not be started. */
failure_t meet(mesh_t &mesh, uform_trainer_t made, failure_t const &started) noexcept {
    turn_t const turn(mesh.lock());
    statement_t statement;
    statement.moment = moment_t::start_k;
    if (failure_t const failure = mesh.agree(statement, started)) return failure;
    return made->trainer.meet(mesh);
}

failure_t init(uform_trainer_init_ram_t const &call, executor_t &executor) noexcept {
    uform_trainer_t const made = new (std::nothrow) uform_trainer_handle_t;
    failure_t failure = made ? start(call, executor, made->trainer)
                             : fail(uform_status_out_of_memory_k, "memory for the trainer is out");
    if (call.mesh) failure = meet(call.mesh->mesh, made, failure);
    if (failure) {
        delete made;
        return failure;
    }
    made->executor = call.executor, *call.trainer = made;
    return failure;
}

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

failure_t of_item(failure_t failure, std::size_t item) noexcept {
    failure.item = item;
    return failure;
}

/** How far from one the targets of an item may sum: twice what 256 BFloat16 probabilities are off by. */
constexpr double targets_tolerance_k = 0x1p-8;

failure_t check_targets(std::span<float const> targets) noexcept {
    double sum = 0;
    for (float const target : targets) {
        if (!is_weight(target)) return refuse("choice_targets must be finite and not negative");
        sum += target;
    }
    if (sum - 1 <= targets_tolerance_k && 1 - sum <= targets_tolerance_k) return {};
    return fail(uform_status_invalid_argument_k, "choice_targets of one item must sum to one", "they sum to %g", sum);
}

failure_t check_question(uform_trainer_step_t const &call, trainer_options_t const &options, std::size_t item,
                         std::span<unsigned char const> choices) noexcept {
    if (choices.size() > options.batch.max_choices_per_item)
        return fail(uform_status_shape_mismatch_k, "an item has more choices than batch.max_choices_per_item",
                    "%zu of %zu", choices.size(), options.batch.max_choices_per_item);
    if (failure_t const failure = refuse_twins(choices)) return failure;
    if (call.temperature_groups && call.temperature_groups[item] >= options.choices.temperature_groups)
        return refuse("temperature_groups of items that choose must be below choices.temperature_groups");
    return {};
}

failure_t check_step_choices(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    if (!call.choices.offsets && !call.choice_targets.offsets) return {};
    if (!options.chooses()) return unsupported("choices are given to a run whose choices.weight is zero");
    if (failure_t const failure = check_tape<"choices">(call.choices, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_tape<"choice_targets">(call.choice_targets, call.count, uform_scalar_f32_k))
        return failure;
    std::size_t const apart = first_length_difference(call.choices, call.choice_targets, call.count);
    if (apart < call.count)
        return of_item(refuse("choice_targets must hold one probability for each of choices"), apart);
    tape_t<unsigned char> const choices(call.choices, call.count);
    tape_t<float> const targets(call.choice_targets, call.count);
    for (std::size_t i = 0; i < call.count; ++i) {
        if (choices[i].empty()) continue;
        if (failure_t const failure = check_question(call, options, i, choices[i])) return of_item(failure, i);
        if (failure_t const failure = check_targets(targets[i])) return of_item(failure, i);
    }
    return {};
}

/** Room is counted over the items given, before any is dropped, so that a refusal depends on the call alone. */
failure_t check_sides(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    uform_late_interaction_t const &late = options.late_interaction;
    std::size_t queries = 0, documents = 0, document_tokens = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        uform_late_interaction_side_t const side = call.sides[i];
        if (side < uform_late_interaction_side_none_k || side > uform_late_interaction_side_query_and_document_k)
            return of_item(refuse("sides names one that does not exist"), i);
        std::size_t const bytes = call.contents.offsets[i + 1] - call.contents.offsets[i];
        bool const asks = call.choices.offsets && call.choices.offsets[i] != call.choices.offsets[i + 1];
        std::size_t const tokens = read_tokens(bytes, asks, options.model.geometry.context);
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

failure_t check_step_items(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept {
    // First the count: a wrong one would have every array read beyond its end.
    if (call.count == 0 && call.trainer->trainer.world().count() == 1) return refuse("count must not be zero");
    if (call.count > options.batch.max_segments_per_device)
        return fail(uform_status_shape_mismatch_k, "count is more than batch.max_segments_per_device", "%zu of %zu",
                    call.count, options.batch.max_segments_per_device);
    if (failure_t const failure = check_tape<"contents">(call.contents, call.count, uform_scalar_u8_k)) return failure;
    for (std::size_t i = 0; i < call.count; ++i) {
        if (call.modalities && call.modalities[i] != uform_modality_text_k) {
            failure_t failure = unsupported("modalities names one that the run leaves out");
            failure.item = i;
            return failure;
        }
        if (options.contrasts() && call.temperature_groups &&
            call.temperature_groups[i] >= options.contrastive.temperature_groups) {
            failure_t failure = refuse("temperature_groups must be below contrastive.temperature_groups");
            failure.item = i;
            return failure;
        }
    }
    if (failure_t const failure = check_step_choices(call, options)) return failure;
    return options.interacts() && call.sides ? check_sides(call, options) : failure_t {};
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

failure_t check_step(uform_trainer_step_t const &call) noexcept {
    if (call.executor != call.trainer->executor) return refuse("executor is not the one the trainer was made on");
    trainer_t const &trainer = call.trainer->trainer;
    if (failure_t const failure = check_step_arguments(call)) // in a world the work refuses, and tells the others
        return trainer.world().count() == 1 ? failure : failure_t {};
    return check_step_inputs(call, trainer.options().contrasts()); // before the arena is rewound, so of this process alone
}

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
    for (std::size_t i = 0; i < call.count; ++i) tokens += text_tokens(items.texts[i].size(), model.geometry.context);
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

failure_t step(uform_trainer_step_t const &call, executor_t &executor) noexcept {
    trainer_t &trainer = call.trainer->trainer;
    step_items_t items;
    scored_t scored;
    failure_t refusal;
    if (trainer.world().count() > 1) refusal = check_step_arguments(call);
    if (!refusal) items = items_of(call, trainer.options());
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

failure_t check_save(uform_trainer_save_t const &call) noexcept {
    if (call.executor != call.trainer->executor) return refuse("executor is not the one the trainer was made on");
    return check_path<"path">(call.path);
}
failure_t save(uform_trainer_save_t const &call, executor_t &) noexcept {
    if (call.trainer->trainer.world().index() > 0) return {}; // its weights are those that process zero writes
    return call.trainer->trainer.save(text_of(call.path), call.optimizer, call.progress);
}

failure_t check_job(uform_bytes_view_t job) noexcept {
    if (failure_t const failure = check_bytes<"options.job">(job)) return failure;
    std::string_view const name = text_of(job);
    if (name.size() > rendezvous_t::job_limit_k) return refuse("options.job must not exceed 128 bytes");
    if (!is_utf8(name)) return refuse("options.job must be UTF-8");
    for (char const byte : name)
        if (std::uint8_t(byte) < ' ' || byte == 0x7f) return refuse("options.job must not hold control characters");
    return {};
}

failure_t check_bootstrap(uform_mesh_bootstrap_t const &call) noexcept {
    uform_mesh_options_t const &options = call.options;
    std::size_t const count = std::max<std::size_t>(options.host_domain_count, 1);
    if (count > transport_t::processes_limit_k) return refuse("options.host_domain_count must not exceed 4096");
    if (options.host_domain_index >= count)
        return refuse("options.host_domain_index must be below options.host_domain_count");
    presence_t const presence = count > 1 ? presence_t::required_k : presence_t::optional_k;
    if (failure_t const failure = check_path<"options.directory">(options.directory, presence)) return failure;
    return check_job(options.job);
}

failure_t bootstrap(uform_mesh_bootstrap_t const &call, executor_t &executor) noexcept {
    mesh_options_t options;
    uform_cpu_class_t cpu_class;
    if (failure_t const failure = resolve_class(executor.cpu_class(), has_kernels, cpu_class)) return failure;
    options.index = call.options.host_domain_index;
    options.count = std::max<std::size_t>(call.options.host_domain_count, 1);
    options.multicast_extent = call.options.multicast_extent;
    options.directory = text_of(call.options.directory), options.job = text_of(call.options.job);
    // A deadline beyond a year would overflow the clock's arithmetic.
    std::size_t const asked = call.options.deadline_milliseconds;
    options.deadline_milliseconds = asked ? std::min<std::size_t>(asked, std::size_t(31536000000)) : 60000;
    options.progress = call.options.progress, options.cpu_class = uform_cpu_class_name(cpu_class);
    uform_mesh_t const made = new (std::nothrow) uform_mesh_handle_t;
    if (!made) return fail(uform_status_out_of_memory_k, "memory for the mesh is out");
    made->executor = call.executor;
    failure_t const failure = made->mesh.join(options);
    if (failure)
        delete made;
    else
        *call.mesh = made;
    return failure;
}

failure_t describe(uform_mesh_describe_t const &call) noexcept {
    if (!call.mesh) return refuse("mesh must not be NULL");
    if (!call.description) return refuse("description must not be NULL");
    mesh_t const &mesh = call.mesh->mesh;
    *call.description = {mesh.index(), mesh.count(), mesh.count(), uform_multimem_tier_none_k,
                         uform_gpu_class_unknown_k};
    return {};
}

} // namespace
} // namespace uform

extern "C" {

char const *uform_objective_name(uform_objective_t x) { return uform::name_in(uform::objective_names_k, x); }
uform_objective_t uform_objective_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::objective_names_k, name);
}
char const *uform_negatives_name(uform_negatives_t x) { return uform::name_in(uform::negatives_names_k, x); }
uform_negatives_t uform_negatives_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::negatives_names_k, name);
}
char const *uform_pair_loss_form_name(uform_pair_loss_form_t x) { return uform::name_in(uform::form_names_k, x); }
uform_pair_loss_form_t uform_pair_loss_form_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::form_names_k, name);
}
char const *uform_late_interaction_side_name(uform_late_interaction_side_t x) {
    return uform::name_in(uform::side_names_k, x);
}
uform_late_interaction_side_t uform_late_interaction_side_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::side_names_k, name);
}
char const *uform_multimem_tier_name(uform_multimem_tier_t x) { return uform::name_in(uform::tier_names_k, x); }

void uform_mesh_bootstrap(uform_mesh_bootstrap_t *arguments) {
    uform::run_verb<uform::check_bootstrap, uform::bootstrap>(arguments);
}
void uform_mesh_describe(uform_mesh_describe_t *arguments) { uform::run_at_once<uform::describe>(arguments); }
void uform_mesh_free(uform_mesh_t mesh) {
    if (mesh && mesh->process == uform::this_process()) delete mesh; // else its connections are the parent's
}

void uform_trainer_init_vram(uform_trainer_init_vram_t *arguments) {
    uform::refuse_verb(arguments, "this build drives no GPU");
}
void uform_trainer_init_ram(uform_trainer_init_ram_t *arguments) {
    uform::run_verb<uform::check_init, uform::init>(arguments);
}
void uform_trainer_step(uform_trainer_step_t *arguments) { uform::run_verb<uform::check_step, uform::step>(arguments); }
void uform_trainer_save(uform_trainer_save_t *arguments) { uform::run_verb<uform::check_save, uform::save>(arguments); }
void uform_trainer_free(uform_trainer_t trainer) {
    if (!trainer) return;
    trainer->hold.wait_free();
    if (!trainer->hold.torn_by_fork()) delete trainer; // else it may be half moved
}

} // extern "C"
