//! What a run is: its batch, objective, losses and schedule, as C's structs field by field.

use std::path::Path;

use super::mesh::Mesh;
use crate::call::Progress;
use crate::model::{AudioShape, ImageShape, VideoShape};
use crate::sys;
use crate::types::{Negatives, Objective, PairLossForm, pointer_or_null};

/// A struct of options that C has field by field, a zero meaning the library's default.
macro_rules! mirrored {
    ($(#[$doc:meta])* $name:ident = $c_name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            pub(super) fn as_c(self) -> sys::$c_name {
                sys::$c_name { $($field: self.$field.into_c(),)* }
            }
        }
    };
}

/// A field of options as C has it.
trait IntoC {
    type C;
    fn into_c(self) -> Self::C;
}
macro_rules! into_c {
    ($($type:ty => $c:ty, $value:ident, $expression:expr;)*) => { $(
        impl IntoC for $type {
            type C = $c;
            fn into_c(self) -> $c {
                let $value = self;
                $expression
            }
        }
    )* };
}
into_c! {
    usize => usize, value, value;
    f32 => f32, value, value;
    PairLossForm => i32, form, form as i32;
    ImageShape => sys::uform_image_shape_t, shape, shape.as_c();
    VideoShape => sys::uform_video_shape_t, shape, shape.as_c();
    AudioShape => sys::uform_audio_shape_t, shape, shape.as_c();
}

mirrored! {
    /// The capacity of one device's step: `uform_batch_shape_t`.
    BatchShape = uform_batch_shape_t {
        /// Rows that items are packed into, above zero.
        max_rows_per_device: usize,
        /// Items, over all rows, above zero.
        max_segments_per_device: usize,
        /// Tokens of one row, and so of one item, above zero.
        max_columns_per_row: usize,
        /// Groups that stay together; zero: every item travels alone.
        max_bags_per_device: usize,
        /// Legal bytes of one item; zero: none makes a choice.
        max_choices_per_item: usize,
        /// Memory of a device for what blocks compute on the way forward, so that as many of them as fit compute nothing
        /// again on the way back; zero: all do. Changes no bit.
        kept_activation_bytes: usize,
        /// How images become tokens; zeros: they do not.
        image: ImageShape,
        /// How clips become tokens; zeros: they do not.
        video: VideoShape,
        /// How recordings become tokens; zeros: they do not.
        audio: AudioShape,
    }
}

mirrored! {
    /// What is hidden from the tower: `uform_masking_t`.
    Masking = uform_masking_t {
        /// Share of a text's bytes that spans cover; zero: 0.15.
        token_mask_probability: f32,
        /// Mean of the span lengths, in bytes; zero: 16.
        token_mean_span: f32,
        /// Share of covered bytes that show MASK; zero: 0.8.
        replace_fraction: f32,
        /// Share of covered bytes that show a random byte; zero: 0.1.
        random_fraction: f32,
        /// Share of an image's patches; zero: 0.75.
        image_mask_ratio: f32,
        /// Share of a clip's patch columns; zero: 0.75.
        video_mask_ratio: f32,
        /// Share of a recording's chunks; zero: 0.75.
        audio_mask_ratio: f32,
        /// Factor of the text loss; zero: 1.
        text_weight: f32,
        /// Factor of the image loss; zero: 1.
        image_weight: f32,
        /// Factor of the video loss; zero: 1.
        video_weight: f32,
        /// Factor of the audio loss; zero: 1.
        audio_weight: f32,
    }
}

mirrored! {
    /// How queries are scored against documents by their token vectors: `uform_late_interaction_t`.
    LateInteraction = uform_late_interaction_t {
        /// Of the loss; zero: no token head is trained.
        weight: f32,
        /// Of a token vector, a multiple of 8; zero: 128.
        width: usize,
        /// t at the start; zero: 1.
        inverse_temperature: f32,
        /// b at the start.
        bias: f32,
        /// Tokens of a query that score, past the prefix; zero: 64.
        max_query_span: usize,
        /// That score in a step; zero: every segment's span.
        max_query_tokens_per_device: usize,
        /// Document items of a step; zero: every segment.
        max_documents_per_device: usize,
        /// Document token rows of a step; zero: the batch's tokens.
        max_document_tokens_per_device: usize,
        /// The loss of a query's row of scores.
        pair_loss: PairLossForm,
        /// Leading query tokens that do not score.
        prefix_tokens: usize,
    }
}

mirrored! {
    /// How answers of one byte are trained: `uform_choices_t`.
    Choices = uform_choices_t {
        /// Of the term; zero: no decoder is trained by it.
        weight: f32,
        /// Of the Brier score within the term; zero: the cross-entropy alone.
        brier_weight: f32,
        /// Question types; zero: 1.
        temperature_groups: usize,
    }
}

mirrored! {
    /// Terms over the matrix of embeddings: `uform_regularizers_t`.
    Regularizers = uform_regularizers_t {
        /// Of the coding rate; zero: off.
        coding_rate_weight: f32,
        /// The coding rate's eps^2; zero: 0.5.
        coding_rate_epsilon_squared: f32,
        /// Of the largest singular value, squared; zero: off.
        lipschitz_weight: f32,
        /// Of the power method that estimates it; zero: 4.
        lipschitz_iterations: usize,
    }
}

mirrored! {
    /// The learning rate over the steps: `uform_schedule_t`.
    Schedule = uform_schedule_t {
        /// At the top; zero: 5e-4.
        learning_rate: f32,
        /// At the end; zero: 1e-5.
        min_learning_rate: f32,
        /// Of the climb; zero: a tenth of `steps`, at most 400.
        warmup_steps: usize,
        /// Of the whole run, resumes included, above zero.
        steps: usize,
    }
}

/// How embeddings are scored against each other: `uform_contrastive_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contrastive<'c> {
    /// Prefix widths to score beside each other, ascending multiples of 8; empty: the full width alone.
    pub matryoshka_dimensions: &'c [usize],
    /// Temperature and bias pairs; zero: 1.
    pub temperature_groups: usize,
    /// t at the start; zero: 10 under sigmoid, else 1.
    pub inverse_temperature: f32,
    /// b at the start; zero: -10 under sigmoid, else 0.
    pub bias: f32,
    /// What becomes of pairs that no edge names.
    pub negatives: Negatives,
    /// Of a pair without an edge, where ambient; zero: 1.
    pub ambient_repulsion_weight: f32,
    /// Edges of one set in a step; zero: no limit.
    pub max_edges_per_device: usize,
    /// The loss of an anchor's row of scores.
    pub pair_loss: PairLossForm,
}

impl Contrastive<'_> {
    pub(super) fn as_c(&self) -> sys::uform_contrastive_t {
        sys::uform_contrastive_t {
            matryoshka_dimensions: pointer_or_null(self.matryoshka_dimensions),
            matryoshka_dimensions_count: self.matryoshka_dimensions.len(),
            temperature_groups: self.temperature_groups,
            inverse_temperature: self.inverse_temperature,
            bias: self.bias,
            negatives: self.negatives as i32,
            ambient_repulsion_weight: self.ambient_repulsion_weight,
            max_edges_per_device: self.max_edges_per_device,
            pair_loss: self.pair_loss as i32,
        }
    }
}

/// A run: `uform_trainer_init_vram_t`. The mesh is borrowed for the trainer's life, the rest for the call alone.
pub struct TrainerInitVramConfig<'c, 'm> {
    /// The checkpoint to go on from; empty: a new run.
    pub resume: &'c Path,
    /// A checkpoint whose tensors are the weights of step zero; empty: drawn from `seed`.
    pub initial: &'c Path,
    /// Blocks, above zero.
    pub depth: usize,
    /// Width, a multiple of 128.
    pub hidden: usize,
    /// The capacity of one device's step.
    pub batch: BatchShape,
    /// Which losses are summed.
    pub objective: Objective,
    /// Read unless the objective is contrastive alone.
    pub masking: Masking,
    /// Read unless the objective is masked alone.
    pub contrastive: Contrastive<'c>,
    /// Read where its weight is above zero.
    pub late_interaction: LateInteraction,
    /// Read where its weight is above zero.
    pub choices: Choices,
    /// Read unless the objective is masked alone.
    pub regularizers: Regularizers,
    /// The learning rate over the steps.
    pub schedule: Schedule,
    /// Bytes that tools put before a query, kept in the checkpoint.
    pub query_prefix: &'c [u8],
    /// The same before a document.
    pub document_prefix: &'c [u8],
    /// `None`: this process alone.
    pub mesh: Option<&'m Mesh>,
    /// Every random draw is keyed by it.
    pub seed: u64,
    /// Counts tensors read from a checkpoint.
    pub progress: Option<Progress<'c>>,
}

/// `uform_trainer_init_ram_t`, which is the same struct.
pub type TrainerInitRamConfig<'c, 'm> = TrainerInitVramConfig<'c, 'm>;

impl Default for TrainerInitVramConfig<'_, '_> {
    fn default() -> Self {
        Self {
            resume: Path::new(""),
            initial: Path::new(""),
            depth: 0,
            hidden: 0,
            batch: BatchShape::default(),
            objective: Objective::default(),
            masking: Masking::default(),
            contrastive: Contrastive::default(),
            late_interaction: LateInteraction::default(),
            choices: Choices::default(),
            regularizers: Regularizers::default(),
            schedule: Schedule::default(),
            query_prefix: &[],
            document_prefix: &[],
            mesh: None,
            seed: 0,
            progress: None,
        }
    }
}
