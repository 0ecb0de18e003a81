//! Encoding, choosing and reranking: `encode.h`.

use std::ops::BitOr;
use std::ptr;

use crate::call::{Call, Place, Progress, run_here};
use crate::inputs::{Accepts, Items, Owned, Parts, view_of};
use crate::model::{Model, ModelVerbs};
use crate::sys;
use crate::types::{
    Arena, Executor, Limits, Result, Rows, RowsTape, Scalar, Status, Tape, per_item, refuse, same_layout,
};
use crate::{DeferredOn, On};

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

/// How `rerank` answers: `uform_rerank_t`. A bare [`Scalar`], what scores land as, is one with defaults.
#[derive(Default)]
pub struct RerankConfig<'c> {
    /// What the scores land as.
    pub outputs_scalar: Scalar,
    /// Counts documents; `Break` stops the call.
    pub progress: Option<Progress<'c>>,
}

impl From<Scalar> for RerankConfig<'_> {
    fn from(outputs_scalar: Scalar) -> Self {
        Self { outputs_scalar, progress: None }
    }
}

/// What an encode verb answers: views into the arena it was lent, `None` where [`Outputs`] left a surface out.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a> {
    /// `[count, dimensions]`, of unit length.
    pub embeddings: Option<Rows<'a>>,
    /// `[tokens, hidden]`.
    pub states: Option<RowsTape<'a>>,
    /// `[tokens, token_width]`, of unit length.
    pub token_vectors: Option<RowsTape<'a>>,
}

/// What the encode verbs share: where outputs land, and the knobs.
struct Landing {
    model: sys::uform_model_t,
    outputs: Outputs,
    dimensions: usize,
    arena: sys::uform_arena_t,
    on_device: bool,
    outputs_scalar: sys::uform_scalar_t,
    stats: *mut sys::uform_encode_stats_t,
    count: usize,
    embeddings: sys::uform_rows_t,
    states: sys::uform_rows_tape_t,
    token_vectors: sys::uform_rows_tape_t,
}

pub(crate) const NO_ROWS: sys::uform_rows_t =
    sys::uform_rows_t { data: ptr::null(), count: 0, columns: 0, stride: 0, scalar: sys::uform_scalar_default_k };
const NO_TAPE: sys::uform_rows_tape_t = sys::uform_rows_tape_t {
    data: ptr::null(),
    count: 0,
    columns: 0,
    stride: 0,
    scalar: sys::uform_scalar_default_k,
    offsets: ptr::null(),
};

impl Landing {
    fn new(model: &Model, outputs: Outputs, dimensions: usize, knobs: Knobs<'_>, arena: &mut Arena) -> Self {
        Self {
            model: model.handle,
            outputs,
            dimensions,
            arena: arena.handle,
            on_device: arena.on_device,
            outputs_scalar: knobs.0 as i32,
            stats: knobs.1.map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
            count: 0,
            embeddings: NO_ROWS,
            states: NO_TAPE,
            token_vectors: NO_TAPE,
        }
    }

    fn take<'a>(&self) -> Encoded<'a> {
        let tape =
            |raw, asked: Outputs| self.outputs.contains(asked).then(|| RowsTape::of(raw, self.count, self.on_device));
        Encoded {
            embeddings: self.outputs.contains(Outputs::EMBEDDINGS).then(|| Rows::of(self.embeddings, self.on_device)),
            states: tape(self.states, Outputs::STATES),
            token_vectors: tape(self.token_vectors, Outputs::TOKEN_VECTORS),
        }
    }
}

/// What outputs land as, and where stats go.
type Knobs<'c> = (Scalar, Option<&'c mut EncodeStats>);

/// Where an output goes, NULL where it was not asked for.
fn asked<T>(landing: Outputs, output: Outputs, place: &mut T) -> *mut T {
    if landing.contains(output) { place } else { ptr::null_mut() }
}

/// Writes the fields that every encode verb's struct has, around those of its own.
macro_rules! encode_arguments {
    ($struct:ident, $landing:expr, $place:expr, { $($own:tt)* }) => {{
        let landing: &mut Landing = $landing;
        sys::$struct {
            model: landing.model,
            executor: $place.executor,
            outcome: $place.outcome,
            completion: $place.completion,
            $($own)*
            count: landing.count,
            dimensions: landing.dimensions,
            embeddings: asked(landing.outputs, Outputs::EMBEDDINGS, &mut landing.embeddings),
            states: asked(landing.outputs, Outputs::STATES, &mut landing.states),
            token_vectors: asked(landing.outputs, Outputs::TOKEN_VECTORS, &mut landing.token_vectors),
            arena: landing.arena,
            outputs_scalar: landing.outputs_scalar,
            stats: landing.stats,
            progress: $place.progress,
        }
    }};
}

/// An encode verb: its own inputs, and how they reach C.
struct Encode<'a, I, F> {
    landing: Landing,
    inputs: I,
    verb: F,
    arena: std::marker::PhantomData<&'a mut Arena>,
}

impl<'a, I, F> Call for Encode<'a, I, F>
where
    F: FnMut(&I, &mut Landing, &Place) -> Result<()>,
{
    type Output = Encoded<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        (self.verb)(&self.inputs, &mut self.landing, place)
    }

    unsafe fn take(&mut self) -> Encoded<'a> {
        self.landing.take()
    }
}

fn encode<'a, I, F>(landing: Landing, inputs: I, verb: F) -> Encode<'a, I, F>
where
    F: FnMut(&I, &mut Landing, &Place) -> Result<()>,
{
    Encode { landing, inputs, verb, arena: std::marker::PhantomData }
}

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
            let (files, count) = view_of(files.parts())?;
            landing.count = count;
            let mut arguments = encode_arguments!($struct, landing, place, { files, limits, });
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
            let (texts, count) = view_of(texts.parts())?;
            landing.count = count;
            let mut arguments = encode_arguments!(uform_text_encode_t, landing, place, { texts, });
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
            let (pixels, count) = view_of(pixels.parts())?;
            landing.count = count;
            let heights = sizes(heights.as_ref(), count, "heights are not one per picture")?;
            let widths = sizes(widths.as_ref(), count, "widths are not one per picture")?;
            let own = (pixels, heights, widths);
            let mut arguments = encode_arguments!(uform_image_encode_pixels_t, landing, place, {
                pixels: own.0, heights: own.1, widths: own.2,
            });
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
            let (samples, count) = view_of(samples.parts())?;
            landing.count = count;
            let mut arguments =
                encode_arguments!(uform_audio_encode_samples_t, landing, place, { samples, sample_rate, });
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
        let config = config.into();
        let call = Choose {
            model: self.model().handle,
            inputs: (texts.into_tape()?, choices.into_tape()?),
            groups: config.temperature_groups,
            outputs_scalar: config.outputs_scalar,
            stats: config.stats.map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
            count: 0,
            probabilities: NO_TAPE,
            arena,
        };
        self.run(call, config.progress)
    }
}

impl EncodeVerbs for Model {}
impl EncodeVerbs for On<'_, Model> {}
impl EncodeVerbs for DeferredOn<'_, Model> {}

struct Choose<'a, 'c, T, C> {
    model: sys::uform_model_t,
    inputs: (T, C),
    groups: &'c [u32],
    outputs_scalar: Scalar,
    stats: *mut sys::uform_encode_stats_t,
    count: usize,
    probabilities: sys::uform_rows_tape_t,
    arena: &'a mut Arena,
}

impl<'a, T: Parts<u8>, C: Parts<u8>> Call for Choose<'a, '_, T, C> {
    type Output = Tape<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let (texts, count) = view_of(self.inputs.0.parts())?;
        let (choices, choosing) = view_of(self.inputs.1.parts())?;
        if choosing != count {
            return Err(refuse(Status::ShapeMismatch, "choices are not one set per text"));
        }
        self.count = count;
        let mut arguments = sys::uform_text_choose_t {
            model: self.model,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            texts,
            choices,
            temperature_groups: per_item(self.groups, count, "temperature_groups are not one per text")?,
            count,
            probabilities: &mut self.probabilities,
            arena: self.arena.handle,
            outputs_scalar: self.outputs_scalar as i32,
            stats: self.stats,
            progress: place.progress,
        };
        unsafe { sys::uform_text_choose(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Tape<'a> {
        Tape(RowsTape::of(self.probabilities, self.count, self.arena.on_device))
    }
}

struct Rerank<'a, 'i> {
    query: Rows<'i>,
    documents: RowsTape<'i>,
    outputs_scalar: Scalar,
    scores: sys::uform_rows_t,
    arena: &'a mut Arena,
}

impl<'a> Call for Rerank<'a, '_> {
    type Output = Rows<'a>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let mut arguments = sys::uform_rerank_t {
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            query: self.query.raw,
            documents: self.documents.raw,
            count: self.documents.items,
            scores: &mut self.scores,
            arena: self.arena.handle,
            outputs_scalar: self.outputs_scalar as i32,
            progress: place.progress,
        };
        unsafe { sys::uform_rerank(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Rows<'a> {
        Rows::of(self.scores, self.arena.on_device)
    }
}

impl Executor {
    /// Scores documents against one query by late interaction (MaxSim), one score each, in their order:
    /// `uform_rerank`. It takes no model: the inputs are token vectors of any, in another arena than the scores'.
    pub fn rerank<'a, 'c>(
        &self,
        query: Rows<'_>,
        documents: RowsTape<'_>,
        config: impl Into<RerankConfig<'c>>,
        arena: &'a mut Arena,
    ) -> Result<Rows<'a>> {
        let RerankConfig { outputs_scalar, progress } = config.into();
        run_here(Rerank { query, documents, outputs_scalar, scores: NO_ROWS, arena }, progress, self.handle)
    }
}
