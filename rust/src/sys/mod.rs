//! The C ABI as it is: every struct, enumerator and verb of `c/uform/*.h`, by its C name and in the header's order.
//!
//! Written by hand and kept honest by a test: `layout.rs` asks a C compiler for every size, offset and value below, and
//! the headers for what may be missing.
#![allow(non_camel_case_types, non_upper_case_globals)]

mod structs;
mod verbs;

use std::ffi::c_void;

pub use structs::*;
pub use verbs::*;

macro_rules! constants {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(#[allow(dead_code)] pub const $name: i32 = $value;)*
        #[cfg(test)]
        pub const CONSTANTS: &[(&str, i32)] = &[$((stringify!($name), $value),)*];
    };
}

macro_rules! handles {
    ($($name:ident = $opaque:ident,)*) => { $(
        #[repr(C)] pub struct $opaque { _private: [u8; 0] }
        pub type $name = *mut $opaque;
    )* };
}

pub type uform_status_t = i32;
pub type uform_scalar_t = i32;
pub type uform_completion_t = i32;
pub type uform_mood_t = i32;
pub type uform_cpu_class_t = i32;
pub type uform_gpu_class_t = i32;
pub type uform_modality_t = i32;
pub type uform_multimem_tier_t = i32;
pub type uform_objective_t = i32;
pub type uform_negatives_t = i32;
pub type uform_pair_loss_form_t = i32;
pub type uform_late_interaction_side_t = i32;
pub type callback_t = unsafe extern "C" fn(usize, usize, *mut c_void) -> bool;

constants! {
    UFORM_DETAIL_CAPACITY = 256,
    uform_status_success_k = 0, uform_status_deferred_k = 1, uform_status_out_of_memory_k = 2,
    uform_status_shape_mismatch_k = 3, uform_status_unsupported_layout_k = 4, uform_status_unknown_kind_k = 5,
    uform_status_io_k = 6, uform_status_device_k = 7, uform_status_malformed_k = 8, uform_status_internal_k = 9,
    uform_status_config_mismatch_k = 10, uform_status_contended_k = 11, uform_status_cancelled_k = 12,
    uform_status_unsupported_k = 13, uform_status_invalid_argument_k = 14,
    uform_scalar_default_k = 0, uform_scalar_f32_k = 1, uform_scalar_bf16_k = 2, uform_scalar_f16_k = 3,
    uform_scalar_e4m3_k = 4, uform_scalar_i8_k = 5, uform_scalar_u8_k = 6, uform_scalar_u32_k = 7,
    uform_scalar_u64_k = 8,
    uform_completion_blocking_k = 0, uform_completion_queued_k = 1,
    uform_mood_spinning_k = 0, uform_mood_parked_k = 1,
    uform_cpu_class_derived_k = 0, uform_cpu_class_serial_k = 1, uform_cpu_class_intel_haswell_k = 2,
    uform_cpu_class_intel_skylake_k = 3, uform_cpu_class_amd_genoa_k = 4, uform_cpu_class_intel_sapphire_rapids_k = 5,
    uform_cpu_class_intel_diamond_rapids_k = 6, uform_cpu_class_neon_k = 7, uform_cpu_class_aws_graviton2_k = 8,
    uform_cpu_class_aws_graviton3_k = 9, uform_cpu_class_nvidia_vera_k = 10, uform_cpu_class_wasm_simd_k = 11,
    uform_gpu_class_derived_k = 0, uform_gpu_class_nvidia_ampere_k = 1, uform_gpu_class_nvidia_ada_k = 2,
    uform_gpu_class_nvidia_hopper_k = 3, uform_gpu_class_nvidia_blackwell_k = 4, uform_gpu_class_amd_cdna3_k = 5,
    uform_gpu_class_amd_cdna4_k = 6, uform_gpu_class_amd_cdna5_k = 7,
    uform_modality_text_k = 0, uform_modality_image_k = 1, uform_modality_video_k = 2, uform_modality_audio_k = 3,
    uform_multimem_tier_none_k = 0, uform_multimem_tier_peer_k = 1, uform_multimem_tier_multicast_k = 2,
    uform_objective_masked_k = 0, uform_objective_contrastive_k = 1, uform_objective_joint_k = 2,
    uform_negatives_ambient_k = 0, uform_negatives_named_k = 1,
    uform_pair_loss_form_derived_k = 0, uform_pair_loss_form_balanced_k = 1, uform_pair_loss_form_ranked_k = 2,
    uform_pair_loss_form_sigmoid_k = 3, uform_pair_loss_form_softmax_k = 4,
    uform_late_interaction_side_none_k = 0, uform_late_interaction_side_query_k = 1,
    uform_late_interaction_side_document_k = 2, uform_late_interaction_side_query_and_document_k = 3,
}

handles! {
    uform_executor_t = uform_executor_handle_t,
    uform_arena_t = uform_arena_handle_t,
    uform_model_t = uform_model_handle_t,
    uform_mesh_t = uform_mesh_handle_t,
    uform_trainer_t = uform_trainer_handle_t,
}
