//! Every function of the ABI.

use std::ffi::c_char;

use super::*;

macro_rules! verbs {
    ($($name:ident($arguments:ty);)*) => {
        unsafe extern "C" { $(pub fn $name(arguments: *mut $arguments);)* }
        #[cfg(test)]
        pub const VERBS: &[(&str, &str)] = &[$((stringify!($name), stringify!($arguments)),)*];
    };
}

verbs! {
    uform_executor_for_ram(uform_executor_for_ram_t);
    uform_executor_for_vram(uform_executor_for_vram_t);
    uform_executor_on_pool(uform_executor_on_pool_t);
    uform_executor_drain(uform_executor_drain_t);
    uform_arena_init(uform_arena_init_t);
    uform_model_load_ram(uform_model_load_ram_t);
    uform_model_load_ram_buffer(uform_model_load_ram_buffer_t);
    uform_model_load_vram(uform_model_load_vram_t);
    uform_model_load_vram_buffer(uform_model_load_vram_buffer_t);
    uform_model_describe(uform_model_describe_t);
    uform_text_encode(uform_text_encode_t);
    uform_image_encode(uform_image_encode_t);
    uform_image_encode_pixels(uform_image_encode_pixels_t);
    uform_video_encode(uform_video_encode_t);
    uform_audio_encode(uform_audio_encode_t);
    uform_audio_encode_samples(uform_audio_encode_samples_t);
    uform_text_choose(uform_text_choose_t);
    uform_rerank(uform_rerank_t);
    uform_mesh_bootstrap(uform_mesh_bootstrap_t);
    uform_mesh_describe(uform_mesh_describe_t);
    uform_trainer_init_vram(uform_trainer_init_vram_t);
    uform_trainer_init_ram(uform_trainer_init_vram_t);
    uform_trainer_step(uform_trainer_step_t);
    uform_trainer_save(uform_trainer_save_t);
}

unsafe extern "C" {
    pub fn uform_outcome_status(outcome: *const uform_outcome_t) -> uform_status_t;
    pub fn uform_outcome_wait(outcome: *const uform_outcome_t) -> uform_status_t;
    pub fn uform_executor_free(executor: uform_executor_t);
    pub fn uform_arena_free(arena: uform_arena_t);
    pub fn uform_model_free(model: uform_model_t);
    pub fn uform_mesh_free(mesh: uform_mesh_t);
    pub fn uform_trainer_free(trainer: uform_trainer_t);
    pub fn uform_gpu_devices(devices: *mut uform_gpu_device_t, capacity: usize) -> usize;
    pub safe fn uform_version() -> *const c_char;
    pub safe fn uform_capabilities() -> uform_capabilities_t;
    pub safe fn uform_scalar_bytes(scalar: uform_scalar_t) -> usize;
    pub safe fn uform_multimem_tier_name(tier: uform_multimem_tier_t) -> *const c_char;
}

/// `*_name` and `*_from_name` of one enum.
macro_rules! names {
    ($($name:ident, $from_name:ident;)*) => { unsafe extern "C" { $(
        pub safe fn $name(value: i32) -> *const c_char;
        pub fn $from_name(name: uform_bytes_view_t) -> i32;
    )* } };
}
names! {
    uform_status_name, uform_status_from_name;
    uform_scalar_name, uform_scalar_from_name;
    uform_mood_name, uform_mood_from_name;
    uform_cpu_class_name, uform_cpu_class_from_name;
    uform_gpu_class_name, uform_gpu_class_from_name;
    uform_modality_name, uform_modality_from_name;
    uform_objective_name, uform_objective_from_name;
    uform_negatives_name, uform_negatives_from_name;
    uform_pair_loss_form_name, uform_pair_loss_form_from_name;
    uform_late_interaction_side_name, uform_late_interaction_side_from_name;
}
