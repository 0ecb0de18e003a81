//! Encoding, choosing and reranking: `encode.h`.

mod choose;
mod configs;
mod landing;
mod rerank;

use crate::inputs::{Accepts, Items, Parts, tape, view_of};
use crate::model::{Model, ModelVerbs};
use crate::sys;
use crate::types::{Arena, Result, Status, Tape, refuse};
use crate::{DeferredOn, On};

use choose::Choose;
pub use configs::{
    AudioEncodeConfig, AudioEncodeSamplesConfig, AudioEncodeStats, EncodeStats, ImageEncodeConfig,
    ImageEncodePixelsConfig, ImageEncodeStats, Outputs, TextChooseConfig, TextChooseStats, TextEncodeConfig,
    TextEncodeStats, VideoEncodeConfig, VideoEncodeStats,
};
pub use landing::Encoded;
use landing::{Landing, asked, encode, encode_arguments};
pub(crate) use landing::{NO_ROWS, NO_TAPE};
pub use rerank::{RerankConfig, Vectors, VectorsTape};

/// Whether every item has its own size.
fn sizes(sizes: &[usize], count: usize, message: &'static str) -> Result<*const usize> {
    if sizes.len() == count { Ok(sizes.as_ptr()) } else { Err(refuse(Status::ShapeMismatch, message)) }
}

/// A verb over whole files, which four verbs of C differ in by name alone.
macro_rules! encode_files {
    ($self:ident, $files:ident, $outputs:ident, $config:ident, $arena:ident, $struct:ident, $verb:ident) => {{
        let config = $config.into();
        let knobs = (config.outputs_scalar, config.stats);
        let landing = Landing::new($self.model(), $outputs, config.dimensions, knobs, $arena);
        let limits = config.limits.as_c();
        let call = encode(landing, $files.into_tape()?, move |files, landing, place| {
            let (files, count) = view_of(files.parts(), tape!("files"))?;
            landing.count = count;
            let mut arguments = encode_arguments!($struct, landing, place, { files, limits, });
            // SAFETY: what the struct points to is in the inputs, the landing and the place, which stay until the
            // outcome is final.
            unsafe { sys::$verb(&mut arguments) };
            Ok(())
        });
        $self.run(call, config.progress)
    }};
}

/// Encoding and choosing, written once for the three receivers: each answers its [`Answer`](crate::Receiver::Answer),
/// an output where it blocks, a [`Deferred`](crate::Deferred) of it where it defers.
pub trait EncodeVerbs: ModelVerbs {
    /// Encodes texts, a token per byte: `uform_text_encode`.
    fn text_encode<'a, 'c, T>(
        &self,
        texts: T,
        outputs: Outputs,
        config: impl Into<TextEncodeConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<u8>,
        Self: Accepts<T> + Accepts<TextEncodeConfig<'c>>,
    {
        let config = config.into();
        let knobs = (config.outputs_scalar, config.stats);
        let landing = Landing::new(self.model(), outputs, config.dimensions, knobs, arena);
        let call = encode(landing, texts.into_tape()?, |texts, landing, place| {
            let (texts, count) = view_of(texts.parts(), tape!("texts"))?;
            landing.count = count;
            let mut arguments = encode_arguments!(uform_text_encode_t, landing, place, { texts, });
            // SAFETY: what the struct points to is in the inputs, the landing and the place, which stay until the
            // outcome is final.
            unsafe { sys::uform_text_encode(&mut arguments) };
            Ok(())
        });
        self.run(call, config.progress)
    }

    /// Encodes JPEG, PNG or WebP files: `uform_image_encode`.
    fn image_encode<'a, 'c, T>(
        &self,
        files: T,
        outputs: Outputs,
        config: impl Into<ImageEncodeConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<u8>,
        Self: Accepts<T> + Accepts<ImageEncodeConfig<'c>>,
    {
        encode_files!(self, files, outputs, config, arena, uform_image_encode_t, uform_image_encode)
    }

    /// Encodes pictures already decoded, 8-bit interleaved RGB: `uform_image_encode_pixels`.
    fn image_encode_pixels<'a, 'c, T, S>(
        &self,
        pixels: T,
        heights: S,
        widths: S,
        outputs: Outputs,
        config: impl Into<ImageEncodePixelsConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<u8>,
        S: AsRef<[usize]>,
        Self: Accepts<T> + Accepts<S> + Accepts<ImageEncodePixelsConfig<'c>>,
    {
        let config = config.into();
        let knobs = (config.outputs_scalar, config.stats);
        let landing = Landing::new(self.model(), outputs, config.dimensions, knobs, arena);
        let inputs = (pixels.into_tape()?, heights, widths);
        let call = encode(landing, inputs, |(pixels, heights, widths), landing, place| {
            let (pixels, count) = view_of(pixels.parts(), tape!("pixels"))?;
            landing.count = count;
            let heights = sizes(heights.as_ref(), count, "heights are not one per picture")?;
            let widths = sizes(widths.as_ref(), count, "widths are not one per picture")?;
            let own = (pixels, heights, widths);
            let mut arguments = encode_arguments!(uform_image_encode_pixels_t, landing, place, {
                pixels: own.0, heights: own.1, widths: own.2,
            });
            // SAFETY: what the struct points to is in the inputs, the landing and the place, which stay until the
            // outcome is final.
            unsafe { sys::uform_image_encode_pixels(&mut arguments) };
            Ok(())
        });
        self.run(call, config.progress)
    }

    /// Encodes MP4 or WebM clips: `uform_video_encode`.
    fn video_encode<'a, 'c, T>(
        &self,
        files: T,
        outputs: Outputs,
        config: impl Into<VideoEncodeConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<u8>,
        Self: Accepts<T> + Accepts<VideoEncodeConfig<'c>>,
    {
        encode_files!(self, files, outputs, config, arena, uform_video_encode_t, uform_video_encode)
    }

    /// Encodes WAV, FLAC, MP3 or Opus recordings: `uform_audio_encode`.
    fn audio_encode<'a, 'c, T>(
        &self,
        files: T,
        outputs: Outputs,
        config: impl Into<AudioEncodeConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<u8>,
        Self: Accepts<T> + Accepts<AudioEncodeConfig<'c>>,
    {
        encode_files!(self, files, outputs, config, arena, uform_audio_encode_t, uform_audio_encode)
    }

    /// Encodes mono samples in [-1, 1] of one sample rate, zero being the model's: `uform_audio_encode_samples`.
    fn audio_encode_samples<'a, 'c, T>(
        &self,
        samples: T,
        sample_rate: usize,
        outputs: Outputs,
        config: impl Into<AudioEncodeSamplesConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Encoded<'a>>>
    where
        T: Items<f32>,
        Self: Accepts<T> + Accepts<AudioEncodeSamplesConfig<'c>>,
    {
        let config = config.into();
        let knobs = (config.outputs_scalar, config.stats);
        let landing = Landing::new(self.model(), outputs, config.dimensions, knobs, arena);
        let call = encode(landing, samples.into_tape()?, move |samples, landing, place| {
            let (samples, count) = view_of(samples.parts(), tape!("samples"))?;
            landing.count = count;
            let mut arguments =
                encode_arguments!(uform_audio_encode_samples_t, landing, place, { samples, sample_rate, });
            // SAFETY: what the struct points to is in the inputs, the landing and the place, which stay until the
            // outcome is final.
            unsafe { sys::uform_audio_encode_samples(&mut arguments) };
            Ok(())
        });
        self.run(call, config.progress)
    }

    /// Scores each text's legal answers, one byte each, in one forward: `uform_text_choose`. It answers a probability
    /// per choice, which sum to one per text.
    fn text_choose<'a, 'c, T, C>(
        &self,
        texts: T,
        choices: C,
        config: impl Into<TextChooseConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Self::Answer<Tape<'a>>>
    where
        T: Items<u8>,
        C: Items<u8>,
        Self: Accepts<T> + Accepts<C> + Accepts<TextChooseConfig<'c>>,
    {
        let mut config = config.into();
        let progress = config.progress.take();
        let inputs = (texts.into_tape()?, choices.into_tape()?);
        self.run(Choose::new(self.model(), inputs, config, arena), progress)
    }
}

impl EncodeVerbs for Model {}
impl EncodeVerbs for On<'_, Model> {}
impl EncodeVerbs for DeferredOn<'_, Model> {}
