//! What a model is: its geometry, its class, its heads, and how each medium becomes tokens.

use crate::sys;
use crate::types::{CPUClass, GPUClass, Scalar};

/// How images become tokens: `uform_image_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageShape {
    /// Pixels on a side of one square token.
    pub patch_side: usize,
    /// Of a pixel; zero: 4.
    pub channels: usize,
}

/// How clips become tokens: `uform_video_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoShape {
    /// Pixels on a side of one token's square.
    pub patch_side: usize,
    /// Sampled frames that one token spans; zero: 2.
    pub tube_frames: usize,
    /// Every how-many-th decoded frame is sampled; zero: 1.
    pub frame_stride: usize,
    /// Of a pixel; zero: 3.
    pub channels: usize,
}

/// How recordings become tokens: `uform_audio_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioShape {
    /// Mono samples of one token.
    pub chunk_samples: usize,
    /// Hertz that everything is resampled to; zero: 16,000.
    pub sample_rate: usize,
}

impl ImageShape {
    pub(crate) fn as_c(self) -> sys::uform_image_shape_t {
        sys::uform_image_shape_t { patch_side: self.patch_side, channels: self.channels }
    }
}

impl VideoShape {
    pub(crate) fn as_c(self) -> sys::uform_video_shape_t {
        let Self { patch_side, tube_frames, frame_stride, channels } = self;
        sys::uform_video_shape_t { patch_side, tube_frames, frame_stride, channels }
    }
}

impl AudioShape {
    pub(crate) fn as_c(self) -> sys::uform_audio_shape_t {
        sys::uform_audio_shape_t { chunk_samples: self.chunk_samples, sample_rate: self.sample_rate }
    }
}

/// What a model is and what it can answer: `uform_model_description_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelDescription {
    /// Columns of an embedding and of a state.
    pub dimensions: usize,
    /// Tokens of one item at most.
    pub context: usize,
    /// Transformer blocks.
    pub depth: usize,
    /// What the blocks are stored as.
    pub quantization: Scalar,
    /// Bytes the model holds.
    pub memory_usage: usize,
    /// The class its weights are packed for; `None` for a model on GPUs.
    pub cpu_class: Option<CPUClass>,
    /// The class its weights are packed for; `None` for a model on CPUs.
    pub gpu_class: Option<GPUClass>,
    /// Columns of a token vector; zero: no token head.
    pub token_width: usize,
    /// Question types calibrated; zero: no byte decoder.
    pub choice_temperature_groups: usize,
    /// Zeros: no image entry.
    pub image: ImageShape,
    /// Zeros: no video entry.
    pub video: VideoShape,
    /// Zeros: no audio entry.
    pub audio: AudioShape,
}

impl ModelDescription {
    pub(super) fn of(found: &sys::uform_model_description_t) -> Self {
        let sys::uform_video_shape_t { patch_side, tube_frames, frame_stride, channels } = found.video;
        Self {
            dimensions: found.dimensions,
            context: found.context,
            depth: found.depth,
            quantization: Scalar::from_c(found.quantization).unwrap_or_default(),
            memory_usage: found.memory_usage,
            cpu_class: CPUClass::from_c(found.cpu_class),
            gpu_class: GPUClass::from_c(found.gpu_class),
            token_width: found.token_width,
            choice_temperature_groups: found.choice_temperature_groups,
            image: ImageShape { patch_side: found.image.patch_side, channels: found.image.channels },
            video: VideoShape { patch_side, tube_frames, frame_stride, channels },
            audio: AudioShape { chunk_samples: found.audio.chunk_samples, sample_rate: found.audio.sample_rate },
        }
    }
}
