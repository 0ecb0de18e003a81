/**
 *  @file train_tables.hpp
 *  @brief The structs of c/uform/train.h that are Python types, field by field.
 */
#pragma once
#include "record_tables.hpp"

namespace binding {

inline field_t const batch_shape_fields[] = {
    UFORM_FIELD(uform_batch_shape_t, max_rows_per_device, size_k, 0, "Rows that items are packed into."),
    UFORM_FIELD(uform_batch_shape_t, max_segments_per_device, size_k, 0, "Items, over all rows."),
    UFORM_FIELD(uform_batch_shape_t, max_columns_per_row, size_k, 0, "Tokens of one row, and so of one item."),
    UFORM_FIELD(uform_batch_shape_t, max_bags_per_device, size_k, 0, "Groups that stay together; zero: none."),
    UFORM_FIELD(uform_batch_shape_t, max_choices_per_item, size_k, 0, "Legal bytes of one item; zero: none chooses."),
    UFORM_FIELD(uform_batch_shape_t, kept_activation_bytes, size_k, 0, "Memory against computing twice; zero: none."),
    UFORM_FIELD(uform_batch_shape_t, image, record_k, record_image_shape_k, "Zeros: no images."),
    UFORM_FIELD(uform_batch_shape_t, video, record_k, record_video_shape_k, "Zeros: no clips."),
    UFORM_FIELD(uform_batch_shape_t, audio, record_k, record_audio_shape_k, "Zeros: no recordings."),
};
inline field_t const masking_fields[] = {
    UFORM_FIELD(uform_masking_t, token_mask_probability, f32_k, 0, "Share of a text's bytes in spans; zero: 0.15."),
    UFORM_FIELD(uform_masking_t, token_mean_span, f32_k, 0, "Mean length of a span, in bytes; zero: 16."),
    UFORM_FIELD(uform_masking_t, replace_fraction, f32_k, 0, "Share of covered bytes that show MASK; zero: 0.8."),
    UFORM_FIELD(uform_masking_t, random_fraction, f32_k, 0, "Share of covered bytes shown at random; zero: 0.1."),
    UFORM_FIELD(uform_masking_t, image_mask_ratio, f32_k, 0, "Share of an image's patches; zero: 0.75."),
    UFORM_FIELD(uform_masking_t, video_mask_ratio, f32_k, 0, "Share of a clip's patch columns; zero: 0.75."),
    UFORM_FIELD(uform_masking_t, audio_mask_ratio, f32_k, 0, "Share of a recording's chunks; zero: 0.75."),
    UFORM_FIELD(uform_masking_t, text_weight, f32_k, 0, "Factor of the text loss; zero: 1."),
    UFORM_FIELD(uform_masking_t, image_weight, f32_k, 0, "Factor of the image loss; zero: 1."),
    UFORM_FIELD(uform_masking_t, video_weight, f32_k, 0, "Factor of the video loss; zero: 1."),
    UFORM_FIELD(uform_masking_t, audio_weight, f32_k, 0, "Factor of the audio loss; zero: 1."),
};
inline field_t const contrastive_fields[] = {
    UFORM_FIELD(uform_contrastive_t, matryoshka_dimensions, sizes_k, 0, "Prefix widths to score; none: the full one."),
    UFORM_FIELD(uform_contrastive_t, temperature_groups, size_k, 0, "Pairs of t and b; zero: 1."),
    UFORM_FIELD(uform_contrastive_t, inverse_temperature, f32_k, 0, "t at the start; zero: 10 under sigmoid, else 1."),
    UFORM_FIELD(uform_contrastive_t, bias, f32_k, 0, "b at the start; zero: -10 under sigmoid, else 0."),
    UFORM_FIELD(uform_contrastive_t, negatives, enum_k, enum_negatives_k, "What pairs without an edge are."),
    UFORM_FIELD(uform_contrastive_t, ambient_repulsion_weight, f32_k, 0, "Of a pair without an edge; zero: 1."),
    UFORM_FIELD(uform_contrastive_t, max_edges_per_device, size_k, 0, "Edges of one set in a step; zero: no limit."),
    UFORM_FIELD(uform_contrastive_t, pair_loss, enum_k, enum_pair_loss_form_k, "DERIVED: sigmoid."),
};
inline field_t const late_interaction_fields[] = {
    UFORM_FIELD(uform_late_interaction_t, weight, f32_k, 0, "Of the loss; zero: no token head is trained."),
    UFORM_FIELD(uform_late_interaction_t, width, size_k, 0, "Of a token vector, a multiple of 8; zero: 128."),
    UFORM_FIELD(uform_late_interaction_t, inverse_temperature, f32_k, 0, "t at the start; zero: 1."),
    UFORM_FIELD(uform_late_interaction_t, bias, f32_k, 0, "b at the start."),
    UFORM_FIELD(uform_late_interaction_t, max_query_span, size_k, 0, "Tokens of a query that score; zero: 64."),
    UFORM_FIELD(uform_late_interaction_t, max_query_tokens_per_device, size_k, 0, "Zero: every segment's span."),
    UFORM_FIELD(uform_late_interaction_t, max_documents_per_device, size_k, 0, "Zero: every segment."),
    UFORM_FIELD(uform_late_interaction_t, max_document_tokens_per_device, size_k, 0, "Zero: the batch's tokens."),
    UFORM_FIELD(uform_late_interaction_t, pair_loss, enum_k, enum_pair_loss_form_k, "DERIVED: ranked."),
    UFORM_FIELD(uform_late_interaction_t, prefix_tokens, size_k, 0, "Leading query tokens that do not score."),
};
inline field_t const choices_fields[] = {
    UFORM_FIELD(uform_choices_t, weight, f32_k, 0, "Of the term; zero: no decoder is trained by it."),
    UFORM_FIELD(uform_choices_t, brier_weight, f32_k, 0, "Of the Brier score within the term."),
    UFORM_FIELD(uform_choices_t, temperature_groups, size_k, 0, "Question types; zero: 1."),
};
inline field_t const regularizers_fields[] = {
    UFORM_FIELD(uform_regularizers_t, coding_rate_weight, f32_k, 0, "Of the coding rate; zero: off."),
    UFORM_FIELD(uform_regularizers_t, coding_rate_epsilon_squared, f32_k, 0, "Zero: 0.5."),
    UFORM_FIELD(uform_regularizers_t, lipschitz_weight, f32_k, 0, "Of the largest singular value squared; zero: off."),
    UFORM_FIELD(uform_regularizers_t, lipschitz_iterations, size_k, 0, "Of the power method; zero: 4."),
};
inline field_t const schedule_fields[] = {
    UFORM_FIELD(uform_schedule_t, learning_rate, f32_k, 0, "At the top; zero: 5e-4."),
    UFORM_FIELD(uform_schedule_t, min_learning_rate, f32_k, 0, "At the end; zero: 1e-5, or the top where lower."),
    UFORM_FIELD(uform_schedule_t, warmup_steps, size_k, 0, "Of the climb; zero: a tenth of `steps`, at most 400."),
    UFORM_FIELD(uform_schedule_t, steps, size_k, 0, "Of the whole run, above zero."),
};
inline field_t const trainer_step_stats_fields[] = {
    UFORM_FIELD(uform_trainer_step_stats_t, step, size_k, 0, "The one just applied, counted from one."),
    UFORM_FIELD(uform_trainer_step_stats_t, learning_rate, f32_k, 0, "Of that step."),
    UFORM_FIELD(uform_trainer_step_stats_t, loss, f32_k, 0, "The sum that was minimized."),
    UFORM_FIELD(uform_trainer_step_stats_t, contrastive_loss, f32_k, 0, "Zero where the objective is masked alone."),
    UFORM_FIELD(uform_trainer_step_stats_t, masked_text_loss, f32_k, 0, "Without its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, masked_image_loss, f32_k, 0, "Without its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, masked_video_loss, f32_k, 0, "Without its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, masked_audio_loss, f32_k, 0, "Without its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, late_interaction_loss, f32_k, 0, "With its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, choices_loss, f32_k, 0, "Without its weight; zero where absent."),
    UFORM_FIELD(uform_trainer_step_stats_t, truncated, size_k, 0, "Items cut to a row, over the world."),
    UFORM_FIELD(uform_trainer_step_stats_t, dropped, size_k, 0, "Items without room since stats were last read."),
    UFORM_FIELD(uform_trainer_step_stats_t, gradient_norm, f32_k, 0, "Euclidean, over all tensors."),
    UFORM_FIELD(uform_trainer_step_stats_t, coding_rate, f32_k, 0, "In nats, without its weight; zero where off."),
    UFORM_FIELD(uform_trainer_step_stats_t, lipschitz, f32_k, 0, "Without its weight; zero where off."),
    UFORM_FIELD(uform_trainer_step_stats_t, effective_rank, f32_k, 0, "Directions filled; zero where masked alone."),
    UFORM_FIELD(uform_trainer_step_stats_t, tokens, size_k, 0, "Through the tower in this step, over the world."),
};

#define UFORM_RECORD(name, type, fields, doc)                                                                          \
    { "uform." name, doc, sizeof(type), sizeof(fields) / sizeof(*fields), fields }

/** In the order of record_t. */
inline record_table_t const record_tables[record_count_k] = {
    UFORM_RECORD("Limits", uform_limits_t, limits_fields, "The most that decoding one file may ask for."),
    UFORM_RECORD("ImageShape", uform_image_shape_t, image_shape_fields, "How images become tokens."),
    UFORM_RECORD("VideoShape", uform_video_shape_t, video_shape_fields, "How clips become tokens."),
    UFORM_RECORD("AudioShape", uform_audio_shape_t, audio_shape_fields, "How recordings become tokens."),
    UFORM_RECORD("ModelDescription", uform_model_description_t, model_description_fields, "What a model is."),
    UFORM_RECORD("Capabilities", uform_capabilities_t, capabilities_fields, "What calls can be dispatched to."),
    UFORM_RECORD("GPUDevice", uform_gpu_device_t, gpu_device_fields, "One GPU that this process can drive."),
    UFORM_RECORD("TextEncodeStats", uform_encode_stats_t, encode_stats_fields, "What a batch of texts cost."),
    UFORM_RECORD("ImageEncodeStats", uform_encode_stats_t, encode_stats_fields, "What a batch of images cost."),
    UFORM_RECORD("VideoEncodeStats", uform_encode_stats_t, encode_stats_fields, "What a batch of clips cost."),
    UFORM_RECORD("AudioEncodeStats", uform_encode_stats_t, encode_stats_fields, "What a batch of recordings cost."),
    UFORM_RECORD("TextChooseStats", uform_encode_stats_t, encode_stats_fields, "What a batch of choices cost."),
    UFORM_RECORD("MeshOptions", uform_mesh_options_t, mesh_options_fields, "This process's place in a run."),
    UFORM_RECORD("MeshDescription", uform_mesh_description_t, mesh_description_fields, "What a run agreed on."),
    UFORM_RECORD("BatchShape", uform_batch_shape_t, batch_shape_fields, "The capacity of one device's step."),
    UFORM_RECORD("Masking", uform_masking_t, masking_fields, "What is hidden from the tower."),
    UFORM_RECORD("Contrastive", uform_contrastive_t, contrastive_fields, "How embeddings are scored."),
    UFORM_RECORD("LateInteraction", uform_late_interaction_t, late_interaction_fields, "How token vectors are scored."),
    UFORM_RECORD("Choices", uform_choices_t, choices_fields, "How answers of one byte are trained."),
    UFORM_RECORD("Regularizers", uform_regularizers_t, regularizers_fields, "Terms over the world's embeddings."),
    UFORM_RECORD("Schedule", uform_schedule_t, schedule_fields, "The learning rate over the steps."),
    UFORM_RECORD("TrainerStepStats", uform_trainer_step_stats_t, trainer_step_stats_fields, "What a step did."),
};

} // namespace binding
