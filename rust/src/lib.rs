#![doc = include_str!("../README.md")]
#![warn(missing_docs, clippy::undocumented_unsafe_blocks)]
// An error carries its detail in place, so that failing allocates nothing: about 300 bytes, written on failure alone.
#![allow(clippy::result_large_err)]

mod call;
mod encode;
mod inputs;
mod model;
#[doc(hidden)]
#[allow(missing_docs)]
pub mod sys;
mod train;
mod types;

#[cfg(test)]
mod layout;

pub use call::{Deferred, DeferredFuture, DeferredOn, On, Progress, Receiver};
pub use encode::{
    AudioEncodeConfig, AudioEncodeSamplesConfig, AudioEncodeStats, EncodeStats, EncodeVerbs, Encoded,
    ImageEncodeConfig, ImageEncodePixelsConfig, ImageEncodeStats, Outputs, RerankConfig, TextChooseConfig,
    TextChooseStats, TextEncodeConfig, TextEncodeStats, Vectors, VectorsTape, VideoEncodeConfig, VideoEncodeStats,
};
pub use inputs::{Accepts, Item, Items, Owned, Parts};
pub use model::{
    AudioShape, ImageShape, Model, ModelDescription, ModelLoadRamBufferConfig, ModelLoadRamConfig,
    ModelLoadVramBufferConfig, ModelLoadVramConfig, ModelVerbs, VideoShape,
};
pub use train::{
    BatchShape, Choices, Contrastive, Edges, LateInteraction, Masking, Mesh, MeshDescription, MeshOptions,
    Regularizers, Relations, Schedule, Scored, TrainVerbs, Trainer, TrainerInitRamConfig, TrainerInitVramConfig,
    TrainerSaveConfig, TrainerStepConfig, TrainerStepStats,
};
pub use types::{
    Arena, BF16, CPUClass, Capabilities, Detail, Element, Error, Executor, F16, GPUClass, GPUDevice,
    LateInteractionSide, Limits, Modality, Mood, MultimemTier, Negatives, Objective, PairLossForm, Result, Rows,
    RowsTape, Scalar, Status, Tape, capabilities, gpu_devices, version,
};
