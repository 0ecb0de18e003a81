//! What encode verbs are asked for, how, and what they cost.

use std::ops::BitOr;

use crate::call::Progress;
use crate::inputs::Owned;
use crate::sys;
use crate::types::{Limits, Scalar, same_layout};

/// The surfaces an encode verb is to answer, joined by `|`. One left out costs nothing past the final norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outputs(u8);

impl Outputs {
    /// Unit rows, one per item: the default.
    pub const EMBEDDINGS: Self = Self(1);
    /// The tower's normalized rows, one per token.
    pub const STATES: Self = Self(2);
    /// Unit rows for late interaction, one per token: of models with a token head.
    pub const TOKEN_VECTORS: Self = Self(4);

    /// Whether all of `others` are among these.
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl Default for Outputs {
    fn default() -> Self {
        Self::EMBEDDINGS
    }
}

impl BitOr for Outputs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a batch cost: `uform_encode_stats_t`. Written on success alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EncodeStats {
    /// Items that did not fit the context whole.
    pub truncated: usize,
    /// Tokens that went through the tower, over all items.
    pub tokens: usize,
}
same_layout!(EncodeStats, sys::uform_encode_stats_t { truncated, tokens });

/// `uform_text_encode_stats_t`.
pub type TextEncodeStats = EncodeStats;
/// `uform_image_encode_stats_t`.
pub type ImageEncodeStats = EncodeStats;
/// `uform_video_encode_stats_t`.
pub type VideoEncodeStats = EncodeStats;
/// `uform_audio_encode_stats_t`.
pub type AudioEncodeStats = EncodeStats;
/// `uform_text_choose_stats_t`.
pub type TextChooseStats = EncodeStats;

/// A config of an encode verb. A bare [`Scalar`], what outputs land as, is one with defaults.
macro_rules! configs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)* })*) => { $(
        $(#[$doc])*
        pub struct $name<'c> {
            $($(#[$field_doc])* pub $field: $type,)*
            /// What the outputs land as.
            pub outputs_scalar: Scalar,
            /// Filled on success.
            pub stats: Option<&'c mut EncodeStats>,
            /// Counts items; `Break` stops the call.
            pub progress: Option<Progress<'c>>,
        }

        impl From<Scalar> for $name<'_> {
            fn from(outputs_scalar: Scalar) -> Self {
                Self { $($field: $default,)* outputs_scalar, stats: None, progress: None }
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::from(Scalar::F32)
            }
        }

        // SAFETY: its stats, handler and groups live for ever.
        unsafe impl Owned for $name<'static> {}
    )* };
}

configs! {
    /// How `text_encode` answers.
    TextEncodeConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
    }
    /// How `image_encode` answers.
    ImageEncodeConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
        /// The most a file may ask for.
        limits: Limits = Limits::default(),
    }
    /// How `image_encode_pixels` answers.
    ImageEncodePixelsConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
    }
    /// How `video_encode` answers.
    VideoEncodeConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
        /// The most a file may ask for.
        limits: Limits = Limits::default(),
    }
    /// How `audio_encode` answers.
    AudioEncodeConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
        /// The most a file may ask for.
        limits: Limits = Limits::default(),
    }
    /// How `audio_encode_samples` answers.
    AudioEncodeSamplesConfig {
        /// Columns kept of each embedding, scaled back to unit length; zero: all.
        dimensions: usize = 0,
    }
    /// How `text_choose` answers.
    TextChooseConfig {
        /// The question type of each text, below the model's `choice_temperature_groups`; empty: all zero.
        temperature_groups: &'c [u32] = &[],
    }
}
