//! Every struct that crosses the boundary, field by field.

use std::ffi::{c_char, c_void};

use super::*;

/// A struct of the ABI, and for the test of layouts the place of each of its fields.
macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {
        $(#[repr(C)] #[derive(Clone, Copy, Debug)] pub struct $name { $(pub $field: $type,)* })*
        #[cfg(test)]
        pub const LAYOUTS: &[(&str, usize, &[(&str, usize)])] = &[$((
            stringify!($name),
            size_of::<$name>(),
            &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
        ),)*];
    };
}

structs! {
    uform_bytes_view_t { data: *const c_void, length: usize, }
    uform_tape_view_t { data: *const c_void, offsets: *const usize, scalar: uform_scalar_t, }
    uform_rows_t { data: *const c_void, count: usize, columns: usize, stride: usize, scalar: uform_scalar_t, }
    uform_rows_tape_t {
        data: *const c_void, count: usize, columns: usize, stride: usize, scalar: uform_scalar_t,
        offsets: *const usize,
    }
    uform_outcome_t { status: uform_status_t, message: *const c_char, item: usize, detail: [c_char; 256], }
    uform_progress_t { callback: Option<callback_t>, context: *mut c_void, }
    uform_limits_t { max_pixels: u64, max_frame_pixels: u64, max_file_bytes: u64, max_seconds: u64, }
    uform_executor_for_ram_t {
        executor: *mut uform_executor_t, outcome: *mut uform_outcome_t,
        memory_domains: *const usize, memory_domains_count: usize, cpu_class: uform_cpu_class_t, threads: usize,
    }
    uform_executor_for_vram_t {
        executor: *mut uform_executor_t, outcome: *mut uform_outcome_t,
        devices: *const usize, devices_count: usize, gpu_class: uform_gpu_class_t,
        streams: *const *mut c_void, streams_count: usize, cpu_class: uform_cpu_class_t,
        memory_domains: *const usize, memory_domains_count: usize, scratch_limit: usize,
    }
    uform_executor_on_pool_t {
        executor: *mut uform_executor_t, outcome: *mut uform_outcome_t,
        memory_domains: *const usize, memory_domains_count: usize, cpu_class: uform_cpu_class_t,
        pool: *mut c_void, threads: usize,
    }
    uform_executor_drain_t { executor: uform_executor_t, outcome: *mut uform_outcome_t, mood: uform_mood_t, }
    uform_gpu_device_t { gpu_class: uform_gpu_class_t, memory_bytes: usize, memory_domain: usize, name: [c_char; 128], }
    uform_arena_init_t { arena: *mut uform_arena_t, executor: uform_executor_t, outcome: *mut uform_outcome_t, }
    uform_capabilities_t {
        cpu_classes_built: u64, cpu_classes: u64, cpu_class: uform_cpu_class_t,
        gpu_classes_built: u64, gpu_classes: u64, gpu_devices: usize, threads: usize,
    }

    uform_image_shape_t { patch_side: usize, channels: usize, }
    uform_video_shape_t { patch_side: usize, tube_frames: usize, frame_stride: usize, channels: usize, }
    uform_audio_shape_t { chunk_samples: usize, sample_rate: usize, }
    uform_model_load_ram_t {
        model: *mut uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, path: uform_bytes_view_t, quantization: uform_scalar_t,
        cpu_class: uform_cpu_class_t, memory_domains: *const usize, memory_domains_count: usize,
        progress: uform_progress_t,
    }
    uform_model_load_ram_buffer_t {
        model: *mut uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, buffer: uform_bytes_view_t, quantization: uform_scalar_t,
        cpu_class: uform_cpu_class_t, memory_domains: *const usize, memory_domains_count: usize,
        progress: uform_progress_t,
    }
    uform_model_load_vram_t {
        model: *mut uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, path: uform_bytes_view_t, quantization: uform_scalar_t,
        gpu_class: uform_gpu_class_t, devices: *const usize, devices_count: usize, progress: uform_progress_t,
    }
    uform_model_load_vram_buffer_t {
        model: *mut uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, buffer: uform_bytes_view_t, quantization: uform_scalar_t,
        gpu_class: uform_gpu_class_t, devices: *const usize, devices_count: usize, progress: uform_progress_t,
    }
    uform_model_description_t {
        dimensions: usize, context: usize, depth: usize, quantization: uform_scalar_t, memory_usage: usize,
        cpu_class: uform_cpu_class_t, gpu_class: uform_gpu_class_t, token_width: usize,
        choice_temperature_groups: usize, image: uform_image_shape_t, video: uform_video_shape_t,
        audio: uform_audio_shape_t,
    }
    uform_model_describe_t {
        model: uform_model_t, outcome: *mut uform_outcome_t, description: *mut uform_model_description_t,
    }

    uform_encode_stats_t { truncated: usize, tokens: usize, }
    uform_text_encode_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, texts: uform_tape_view_t, count: usize, dimensions: usize,
        embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t, token_vectors: *mut uform_rows_tape_t,
        arena: uform_arena_t, outputs_scalar: uform_scalar_t, stats: *mut uform_encode_stats_t,
        progress: uform_progress_t,
    }
    uform_image_encode_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, files: uform_tape_view_t, count: usize, limits: uform_limits_t,
        dimensions: usize, embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_image_encode_pixels_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, pixels: uform_tape_view_t, heights: *const usize, widths: *const usize,
        count: usize, dimensions: usize, embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_video_encode_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, files: uform_tape_view_t, count: usize, limits: uform_limits_t,
        dimensions: usize, embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_audio_encode_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, files: uform_tape_view_t, count: usize, limits: uform_limits_t,
        dimensions: usize, embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_audio_encode_samples_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, samples: uform_tape_view_t, sample_rate: usize, count: usize,
        dimensions: usize, embeddings: *mut uform_rows_t, states: *mut uform_rows_tape_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_text_choose_t {
        model: uform_model_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, texts: uform_tape_view_t, choices: uform_tape_view_t,
        temperature_groups: *const u32, count: usize, probabilities: *mut uform_rows_tape_t, arena: uform_arena_t,
        outputs_scalar: uform_scalar_t, stats: *mut uform_encode_stats_t, progress: uform_progress_t,
    }
    uform_rerank_t {
        executor: uform_executor_t, outcome: *mut uform_outcome_t, completion: uform_completion_t,
        query: uform_rows_t, documents: uform_rows_tape_t, count: usize, scores: *mut uform_rows_t,
        arena: uform_arena_t, outputs_scalar: uform_scalar_t, progress: uform_progress_t,
    }

    uform_mesh_options_t {
        host_domain_index: usize, host_domain_count: usize, multicast_extent: usize, directory: uform_bytes_view_t,
        job: uform_bytes_view_t, deadline_milliseconds: usize, progress: uform_progress_t,
    }
    uform_mesh_bootstrap_t {
        mesh: *mut uform_mesh_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, options: uform_mesh_options_t,
    }
    uform_mesh_description_t {
        host_domain_index: usize, host_domain_count: usize, devices: usize, multimem_tier: uform_multimem_tier_t,
        gpu_class: uform_gpu_class_t,
    }
    uform_mesh_describe_t {
        mesh: uform_mesh_t, outcome: *mut uform_outcome_t, description: *mut uform_mesh_description_t,
    }
    uform_batch_shape_t {
        max_rows_per_device: usize, max_segments_per_device: usize, max_columns_per_row: usize,
        max_bags_per_device: usize, max_choices_per_item: usize, kept_activation_bytes: usize,
        image: uform_image_shape_t, video: uform_video_shape_t, audio: uform_audio_shape_t,
    }
    uform_masking_t {
        token_mask_probability: f32, token_mean_span: f32, replace_fraction: f32, random_fraction: f32,
        image_mask_ratio: f32, video_mask_ratio: f32, audio_mask_ratio: f32, text_weight: f32, image_weight: f32,
        video_weight: f32, audio_weight: f32,
    }
    uform_contrastive_t {
        matryoshka_dimensions: *const usize, matryoshka_dimensions_count: usize, temperature_groups: usize,
        inverse_temperature: f32, bias: f32, negatives: uform_negatives_t, ambient_repulsion_weight: f32,
        max_edges_per_device: usize, pair_loss: uform_pair_loss_form_t,
    }
    uform_late_interaction_t {
        weight: f32, width: usize, inverse_temperature: f32, bias: f32, max_query_span: usize,
        max_query_tokens_per_device: usize, max_documents_per_device: usize, max_document_tokens_per_device: usize,
        pair_loss: uform_pair_loss_form_t, prefix_tokens: usize,
    }
    uform_choices_t { weight: f32, brier_weight: f32, temperature_groups: usize, }
    uform_regularizers_t {
        coding_rate_weight: f32, coding_rate_epsilon_squared: f32, lipschitz_weight: f32, lipschitz_iterations: usize,
    }
    uform_schedule_t { learning_rate: f32, min_learning_rate: f32, warmup_steps: usize, steps: usize, }
    uform_trainer_init_vram_t {
        trainer: *mut uform_trainer_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, resume: uform_bytes_view_t, initial: uform_bytes_view_t, depth: usize,
        hidden: usize, batch: uform_batch_shape_t, objective: uform_objective_t, masking: uform_masking_t,
        contrastive: uform_contrastive_t, late_interaction: uform_late_interaction_t, choices: uform_choices_t,
        regularizers: uform_regularizers_t, schedule: uform_schedule_t, query_prefix: uform_bytes_view_t,
        document_prefix: uform_bytes_view_t, mesh: uform_mesh_t, seed: u64, progress: uform_progress_t,
    }
    uform_edges_view_t { offsets: *const usize, ids: *const u32, weights: *const f32, }
    uform_relations_view_t { attract: uform_edges_view_t, repel: uform_edges_view_t, ignore: uform_edges_view_t, }
    uform_trainer_step_stats_t {
        step: usize, learning_rate: f32, loss: f32, contrastive_loss: f32, masked_text_loss: f32,
        masked_image_loss: f32, masked_video_loss: f32, masked_audio_loss: f32, late_interaction_loss: f32,
        choices_loss: f32, truncated: usize, dropped: usize, gradient_norm: f32, coding_rate: f32, lipschitz: f32,
        effective_rank: f32, tokens: usize,
    }
    uform_trainer_step_t {
        trainer: uform_trainer_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, count: usize, modalities: *const uform_modality_t,
        contents: uform_tape_view_t, bags: *const u32, temperature_groups: *const u32,
        sides: *const uform_late_interaction_side_t, choices: uform_tape_view_t, choice_targets: uform_tape_view_t,
        relations: uform_relations_view_t, limits: uform_limits_t, embeddings: *mut uform_rows_t,
        token_vectors: *mut uform_rows_tape_t, arena: uform_arena_t, outputs_scalar: uform_scalar_t,
        stats: *mut uform_trainer_step_stats_t,
    }
    uform_trainer_save_t {
        trainer: uform_trainer_t, executor: uform_executor_t, outcome: *mut uform_outcome_t,
        completion: uform_completion_t, path: uform_bytes_view_t, optimizer: bool, progress: uform_progress_t,
    }
}
