//! The enums of the ABI. Values are C's, spellings are asked of C's tables, so that neither is written twice.

use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

use super::error::{Error, refuse};
use crate::sys;

/// An enum with C's values, printed by C's table.
macro_rules! enumeration {
    ($(#[$attribute:meta])* $name:ident, $c_name:ident { $($(#[$doc:meta])* $variant:ident = $value:ident,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum $name { $($(#[$doc])* $variant = sys::$value,)* }

        impl $name {
            /// Every value, in C's order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// `None` for what C does not name, and for the values that Rust says as `Ok` or `None`.
            #[allow(dead_code)]
            pub(crate) fn from_c(value: i32) -> Option<Self> {
                Self::ALL.iter().copied().find(|&one| one as i32 == value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: C's tables hold NUL-ended ASCII in static storage, for any value.
                let name = unsafe { CStr::from_ptr(sys::$c_name(*self as i32)) };
                formatter.pad(name.to_str().unwrap_or("unknown"))
            }
        }
    };
}

/// Reading back what `Display` wrote.
macro_rules! parsed {
    ($($name:ident, $from_name:ident;)*) => { $(
        impl FromStr for $name {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                // SAFETY: the view is of a str, which outlives the call.
                let value = unsafe { sys::$from_name(super::bytes_of(name.as_bytes())) };
                Self::from_c(value).ok_or(refuse(Status::InvalidArgument, concat!("no such ", stringify!($name))))
            }
        }
    )* };
}

enumeration! {
    /// How a call failed, or that it is not final yet: `uform_status_t` without success, which [`Result`] says.
    ///
    /// [`Result`]: crate::Result
    Status, uform_status_name {
        /// Queued or running. [`Deferred::status`](crate::Deferred::status) alone answers it, never an [`Error`].
        Deferred = uform_status_deferred_k,
        /// Host or device memory ran out.
        OutOfMemory = uform_status_out_of_memory_k,
        /// Sizes disagree with each other or with a capacity fixed earlier.
        ShapeMismatch = uform_status_shape_mismatch_k,
        /// The file's structure is valid, but not one this build reads.
        UnsupportedLayout = uform_status_unsupported_layout_k,
        /// The content's format is not recognized.
        UnknownKind = uform_status_unknown_kind_k,
        /// The operating system failed to open, read, map or write.
        Io = uform_status_io_k,
        /// An accelerator failed, or memory is not where it must be.
        Device = uform_status_device_k,
        /// The content breaks its own format, or holds NaN or infinity.
        Malformed = uform_status_malformed_k,
        /// The library broke its own promise: a bug to report.
        Internal = uform_status_internal_k,
        /// Processes, or a run and its checkpoint, disagree.
        ConfigMismatch = uform_status_config_mismatch_k,
        /// Another call holds the executor or the arena.
        Contended = uform_status_contended_k,
        /// A progress handler stopped the call.
        Cancelled = uform_status_cancelled_k,
        /// Valid, but not something this build, machine or model can do.
        Unsupported = uform_status_unsupported_k,
        /// An argument no build would accept.
        InvalidArgument = uform_status_invalid_argument_k,
    }
}

enumeration! {
    /// How an element is stored: `uform_scalar_t`.
    #[derive(Default)]
    Scalar, uform_scalar_name {
        /// IEEE 754 binary32, which outputs land as unless told otherwise.
        #[default]
        F32 = uform_scalar_f32_k,
        /// BFloat16: the upper half of binary32.
        BF16 = uform_scalar_bf16_k,
        /// IEEE 754 binary16.
        F16 = uform_scalar_f16_k,
        /// OCP FP8 E4M3 FN: a quantization of weights.
        E4M3 = uform_scalar_e4m3_k,
        /// Two's complement; a unit value `x` lands as `round(127 x)`.
        I8 = uform_scalar_i8_k,
        /// Bytes.
        U8 = uform_scalar_u8_k,
        /// 32 bits, unsigned.
        U32 = uform_scalar_u32_k,
        /// 64 bits, unsigned.
        U64 = uform_scalar_u64_k,
    }
}

impl Scalar {
    /// Bytes of one element: `uform_scalar_bytes`.
    pub fn bytes(self) -> usize {
        sys::uform_scalar_bytes(self as i32)
    }
}

enumeration! {
    /// How an executor's threads pass the time between calls: `uform_mood_t`.
    #[derive(Default)]
    Mood, uform_mood_name {
        /// They watch for work a while before they sleep.
        #[default]
        Spinning = uform_mood_spinning_k,
        /// They sleep at once.
        Parked = uform_mood_parked_k,
    }
}

enumeration! {
    /// Families of CPUs that share one set of kernels: `uform_cpu_class_t`. `None`, where one is optional, derives it.
    CPUClass, uform_cpu_class_name {
        /// Portable loops, with the same bits everywhere.
        Serial = uform_cpu_class_serial_k,
        /// AVX2, FMA, F16C.
        IntelHaswell = uform_cpu_class_intel_haswell_k,
        /// AVX-512 F, BW, DQ, VL.
        IntelSkylake = uform_cpu_class_intel_skylake_k,
        /// Skylake's, with AVX-512 BF16 and VNNI.
        AmdGenoa = uform_cpu_class_amd_genoa_k,
        /// Genoa's, with AMX tiles of BFloat16.
        IntelSapphireRapids = uform_cpu_class_intel_sapphire_rapids_k,
        /// Sapphire Rapids', with AMX FP8.
        IntelDiamondRapids = uform_cpu_class_intel_diamond_rapids_k,
        /// Advanced SIMD of AArch64.
        Neon = uform_cpu_class_neon_k,
        /// NEON with dot products and binary16.
        AwsGraviton2 = uform_cpu_class_aws_graviton2_k,
        /// SVE with BFloat16.
        AwsGraviton3 = uform_cpu_class_aws_graviton3_k,
        /// SVE2 with FP8.
        NvidiaVera = uform_cpu_class_nvidia_vera_k,
        /// WebAssembly's 128-bit vectors.
        WasmSimd = uform_cpu_class_wasm_simd_k,
    }
}

enumeration! {
    /// Families of GPUs that share one set of kernels: `uform_gpu_class_t`. `None`, where one is optional, derives it.
    GPUClass, uform_gpu_class_name {
        /// NVIDIA's A100.
        NvidiaAmpere = uform_gpu_class_nvidia_ampere_k,
        /// NVIDIA's L40.
        NvidiaAda = uform_gpu_class_nvidia_ada_k,
        /// NVIDIA's H100 and H200.
        NvidiaHopper = uform_gpu_class_nvidia_hopper_k,
        /// NVIDIA's B200.
        NvidiaBlackwell = uform_gpu_class_nvidia_blackwell_k,
        /// AMD's MI300.
        AmdCdna3 = uform_gpu_class_amd_cdna3_k,
        /// AMD's MI350.
        AmdCdna4 = uform_gpu_class_amd_cdna4_k,
        /// What follows it.
        AmdCdna5 = uform_gpu_class_amd_cdna5_k,
    }
}

enumeration! {
    /// What the bytes of one item are: `uform_modality_t`.
    #[derive(Default)]
    Modality, uform_modality_name {
        /// Any bytes, one token each.
        #[default]
        Text = uform_modality_text_k,
        /// A JPEG, PNG or WebP file.
        Image = uform_modality_image_k,
        /// An MP4 or WebM file.
        Video = uform_modality_video_k,
        /// A WAV, FLAC, MP3 or Opus file.
        Audio = uform_modality_audio_k,
    }
}

enumeration! {
    /// Which losses are summed: `uform_objective_t`.
    #[derive(Default)]
    Objective, uform_objective_name {
        /// Reconstruct what was hidden.
        #[default]
        Masked = uform_objective_masked_k,
        /// Pull related items together and push the others apart.
        Contrastive = uform_objective_contrastive_k,
        /// Both, over one corrupted forward.
        Joint = uform_objective_joint_k,
    }
}

enumeration! {
    /// What becomes of pairs that no edge names: `uform_negatives_t`.
    #[derive(Default)]
    Negatives, uform_negatives_name {
        /// They repel, at `ambient_repulsion_weight`.
        #[default]
        Ambient = uform_negatives_ambient_k,
        /// Nothing: `repel` edges alone push.
        Named = uform_negatives_named_k,
    }
}

enumeration! {
    /// The loss of one anchor's row of logits: `uform_pair_loss_form_t`.
    #[derive(Default)]
    PairLossForm, uform_pair_loss_form_name {
        /// Sigmoid for embeddings, ranked for late interaction.
        #[default]
        Derived = uform_pair_loss_form_derived_k,
        /// Sigmoid's two sums, each divided by its own total weight.
        Balanced = uform_pair_loss_form_balanced_k,
        /// The mean softplus of how far each repelled logit is above each attracted one.
        Ranked = uform_pair_loss_form_ranked_k,
        /// A logistic loss of each pair by itself.
        Sigmoid = uform_pair_loss_form_sigmoid_k,
        /// InfoNCE, one positive at a time.
        Softmax = uform_pair_loss_form_softmax_k,
    }
}

enumeration! {
    /// The part an item plays in late interaction: `uform_late_interaction_side_t`.
    #[derive(Default)]
    LateInteractionSide, uform_late_interaction_side_name {
        /// It takes no part.
        #[default]
        None = uform_late_interaction_side_none_k,
        /// It scores the documents its edges name.
        Query = uform_late_interaction_side_query_k,
        /// It is scored by queries.
        Document = uform_late_interaction_side_document_k,
        /// Both, as in a symmetric pair.
        QueryAndDocument = uform_late_interaction_side_query_and_document_k,
    }
}

enumeration! {
    /// What in-network reduction the devices of one NVLink domain offer: `uform_multimem_tier_t`.
    #[derive(Default)]
    MultimemTier, uform_multimem_tier_name {
        /// No shared loads and stores.
        #[default]
        None = uform_multimem_tier_none_k,
        /// Devices read each other's memory.
        Peer = uform_multimem_tier_peer_k,
        /// The switch itself reduces and broadcasts.
        Multicast = uform_multimem_tier_multicast_k,
    }
}

parsed! {
    Status, uform_status_from_name;
    Scalar, uform_scalar_from_name;
    Mood, uform_mood_from_name;
    CPUClass, uform_cpu_class_from_name;
    GPUClass, uform_gpu_class_from_name;
    Modality, uform_modality_from_name;
    Objective, uform_objective_from_name;
    Negatives, uform_negatives_from_name;
    PairLossForm, uform_pair_loss_form_from_name;
    LateInteractionSide, uform_late_interaction_side_from_name;
}

/// A class as C takes it: zero derives.
macro_rules! or_zero {
    ($value:expr) => {
        $value.map_or(0, |class| class as i32)
    };
}
pub(crate) use or_zero;
