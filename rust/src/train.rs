//! Meshes and trainers: `train.h`.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::call::{Call, DeferredOn, On, Place, Progress, Receiver, run_here};
use crate::inputs::{Accepts, Items, Owned, Parts, view_of};
use crate::model::{AudioShape, ImageShape, VideoShape, from_paths, path_bytes};
use crate::sys;
use crate::types::{
    Arena, Element, Executor, GPUClass, LateInteractionSide, Limits, Modality, MultimemTier, Negatives, Objective,
    PairLossForm, Result, Rows, Scalar, Status, bytes_of, per_item, pointer_or_null, refuse, run_at_once, same_layout,
};

/// This process's place in a run: `uform_mesh_options_t`. All processes agree on everything but the index.
#[derive(Clone, Copy)]
pub struct MeshOptions<'c> {
    /// Of this process, below the count.
    pub host_domain_index: usize,
    /// Processes of the run; zero: 1.
    pub host_domain_count: usize,
    /// Devices of one NVLink domain; zero: all that are found.
    pub multicast_extent: usize,
    /// A path every host sees, to find each other in; may be empty for one process.
    pub directory: &'c Path,
    /// The run's name.
    pub job: &'c str,
    /// For peers to appear and to answer; zero: 60,000.
    pub deadline_milliseconds: usize,
    /// Counts processes that joined; `Break` stops waiting for the rest.
    pub progress: Option<&'c (dyn Fn(usize, usize) -> ControlFlow<()> + Sync)>,
}

impl Default for MeshOptions<'_> {
    fn default() -> Self {
        Self {
            host_domain_index: 0,
            host_domain_count: 0,
            multicast_extent: 0,
            directory: Path::new(""),
            job: "",
            deadline_milliseconds: 0,
            progress: None,
        }
    }
}

/// What the processes of a run agreed on: `uform_mesh_description_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshDescription {
    /// Of this process.
    pub host_domain_index: usize,
    /// Processes of the run.
    pub host_domain_count: usize,
    /// Of the whole run; a process on CPUs counts as one.
    pub devices: usize,
    /// The least of all domains.
    pub multimem_tier: MultimemTier,
    /// What every GPU dispatches as; `None` on CPUs.
    pub gpu_class: Option<GPUClass>,
}

#[derive(Debug)]
struct MeshHandle(sys::uform_mesh_t);

unsafe impl Send for MeshHandle {}
unsafe impl Sync for MeshHandle {}

impl Drop for MeshHandle {
    fn drop(&mut self) {
        unsafe { sys::uform_mesh_free(self.0) }
    }
}

/// A process's half of a run's transport, which trainers borrow: `uform_mesh_t`. Dropping it leaves the run.
#[derive(Debug)]
pub struct Mesh {
    // Shared with its trainers, so that one that was leaked while it steps keeps it.
    handle: Arc<MeshHandle>,
}

struct Bootstrap<'c> {
    mesh: sys::uform_mesh_t,
    options: &'c MeshOptions<'c>,
}

impl Call for Bootstrap<'_> {
    type Output = Mesh;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let options = self.options;
        let mut arguments = sys::uform_mesh_bootstrap_t {
            mesh: &mut self.mesh,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            options: sys::uform_mesh_options_t {
                host_domain_index: options.host_domain_index,
                host_domain_count: options.host_domain_count,
                multicast_extent: options.multicast_extent,
                directory: path_bytes(options.directory),
                job: bytes_of(options.job.as_bytes()),
                deadline_milliseconds: options.deadline_milliseconds,
                progress: place.progress,
            },
        };
        unsafe { sys::uform_mesh_bootstrap(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Mesh {
        Mesh { handle: Arc::new(MeshHandle(self.mesh)) }
    }
}

impl Mesh {
    /// Joins this process to a run, whose trainers will name `executor`: `uform_mesh_bootstrap`.
    pub fn bootstrap(executor: &Executor, options: &MeshOptions<'_>) -> Result<Self> {
        let call = Bootstrap { mesh: ptr::null_mut(), options };
        match options.progress {
            Some(progress) => run_here(call, Some(&mut |completed, total| progress(completed, total)), executor.handle),
            None => run_here(call, None, executor.handle),
        }
    }

    /// Reads the description: `uform_mesh_describe`.
    pub fn describe(&self) -> Result<MeshDescription> {
        let mut description = MaybeUninit::<sys::uform_mesh_description_t>::uninit();
        run_at_once(|outcome| {
            let mut arguments =
                sys::uform_mesh_describe_t { mesh: self.handle.0, outcome, description: description.as_mut_ptr() };
            unsafe { sys::uform_mesh_describe(&mut arguments) }
        })?;
        let found = unsafe { description.assume_init_ref() };
        Ok(MeshDescription {
            host_domain_index: found.host_domain_index,
            host_domain_count: found.host_domain_count,
            devices: found.devices,
            multimem_tier: MultimemTier::from_c(found.multimem_tier).unwrap_or_default(),
            gpu_class: GPUClass::from_c(found.gpu_class),
        })
    }
}

/// A struct of options that C has field by field, a zero meaning the library's default.
macro_rules! mirrored {
    ($(#[$doc:meta])* $name:ident = $c_name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            fn as_c(self) -> sys::$c_name {
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
    fn as_c(&self) -> sys::uform_contrastive_t {
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

/// A training run: `uform_trainer_t`. It borrows its mesh; every verb names the executor it was made on.
#[derive(Debug)]
pub struct Trainer<'m> {
    handle: sys::uform_trainer_t,
    // Dropped after the handle is freed, even where the borrow is over because the trainer was leaked.
    _mesh: Option<Arc<MeshHandle>>,
    borrowed: PhantomData<&'m Mesh>,
}

unsafe impl Send for Trainer<'_> {}
unsafe impl Sync for Trainer<'_> {}

type InitVerb = unsafe extern "C" fn(*mut sys::uform_trainer_init_vram_t);

struct Init<'c, 'm> {
    verb: InitVerb,
    config: TrainerInitVramConfig<'c, 'm>,
    trainer: sys::uform_trainer_t,
}

impl<'m> Call for Init<'_, 'm> {
    type Output = Trainer<'m>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let config = &self.config;
        let mut arguments = sys::uform_trainer_init_vram_t {
            trainer: &mut self.trainer,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            resume: path_bytes(config.resume),
            initial: path_bytes(config.initial),
            depth: config.depth,
            hidden: config.hidden,
            batch: config.batch.as_c(),
            objective: config.objective as i32,
            masking: config.masking.as_c(),
            contrastive: config.contrastive.as_c(),
            late_interaction: config.late_interaction.as_c(),
            choices: config.choices.as_c(),
            regularizers: config.regularizers.as_c(),
            schedule: config.schedule.as_c(),
            query_prefix: bytes_of(config.query_prefix),
            document_prefix: bytes_of(config.document_prefix),
            mesh: config.mesh.map_or(ptr::null_mut(), |mesh| mesh.handle.0),
            seed: config.seed,
            progress: place.progress,
        };
        unsafe { (self.verb)(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Trainer<'m> {
        let mesh = self.config.mesh.map(|mesh| mesh.handle.clone());
        Trainer { handle: self.trainer, _mesh: mesh, borrowed: PhantomData }
    }
}

impl<'m> Trainer<'m> {
    fn init(verb: InitVerb, executor: &Executor, mut config: TrainerInitVramConfig<'_, 'm>) -> Result<Self> {
        let progress = config.progress.take();
        run_here(Init { verb, config, trainer: ptr::null_mut() }, progress, executor.handle)
    }

    /// Makes a trainer on GPUs, one replica per device: `uform_trainer_init_vram`.
    pub fn init_vram(executor: &Executor, config: TrainerInitVramConfig<'_, 'm>) -> Result<Self> {
        Self::init(sys::uform_trainer_init_vram, executor, config)
    }

    /// Makes a trainer on a host executor, which counts as one device: `uform_trainer_init_ram`.
    pub fn init_ram(executor: &Executor, config: TrainerInitRamConfig<'_, 'm>) -> Result<Self> {
        Self::init(sys::uform_trainer_init_ram, executor, config)
    }

    /// The receiver whose verbs block on `executor`.
    pub fn on<'r>(&'r self, executor: &'r Executor) -> On<'r, Self> {
        On { receiver: self, executor }
    }

    /// The receiver whose verbs are submitted to `executor`.
    pub fn deferred<'r>(&'r self, executor: &'r Executor) -> DeferredOn<'r, Self> {
        DeferredOn { receiver: self, executor }
    }
}

impl Drop for Trainer<'_> {
    /// Waits for its calls: `uform_trainer_free`.
    fn drop(&mut self) {
        unsafe { sys::uform_trainer_free(self.handle) }
    }
}

/// Links from items to items as compressed sparse rows: `uform_edges_view_t`. Empty offsets: none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edges<'c> {
    /// One more than there are items, never decreasing.
    pub offsets: &'c [usize],
    /// Items of this step, ascending within a run.
    pub ids: &'c [u32],
    /// One per id; empty: all 1.
    pub weights: &'c [f32],
}

impl Edges<'_> {
    fn as_c(&self, count: usize) -> Result<sys::uform_edges_view_t> {
        if self.offsets.is_empty() {
            return Ok(sys::uform_edges_view_t { offsets: ptr::null(), ids: ptr::null(), weights: ptr::null() });
        }
        if self.offsets.len() - 1 != count {
            return Err(refuse(Status::ShapeMismatch, "edges' offsets are not one more than the items"));
        }
        view_of((self.ids, self.offsets))?;
        let weights = per_item(self.weights, self.ids.len(), "edges' weights are not one per id")?;
        Ok(sys::uform_edges_view_t { offsets: self.offsets.as_ptr(), ids: self.ids.as_ptr(), weights })
    }
}

/// What each ordered pair of a step is: `uform_relations_view_t`. The first set that names a pair decides: ignore,
/// attract, repel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Relations<'c> {
    /// Pairs that belong together.
    pub attract: Edges<'c>,
    /// Pairs that do not.
    pub repel: Edges<'c>,
    /// Pairs left out.
    pub ignore: Edges<'c>,
}

/// What a step did: `uform_trainer_step_stats_t`. Losses are means over the world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct TrainerStepStats {
    /// The one just applied, counted from one over all resumes.
    pub step: usize,
    /// Of that step.
    pub learning_rate: f32,
    /// The sum that was minimized.
    pub loss: f32,
    /// Zero where the objective is masked alone.
    pub contrastive_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_text_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_image_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_video_loss: f32,
    /// Without its weight; zero where absent.
    pub masked_audio_loss: f32,
    /// With its weight; zero where absent.
    pub late_interaction_loss: f32,
    /// Without its weight, with its Brier score; zero where absent.
    pub choices_loss: f32,
    /// Items cut to a row.
    pub truncated: usize,
    /// Items that found no room since stats were last read.
    pub dropped: usize,
    /// Euclidean, over all tensors.
    pub gradient_norm: f32,
    /// In nats, without its weight; zero where off.
    pub coding_rate: f32,
    /// The largest singular value squared, without its weight; zero where off.
    pub lipschitz: f32,
    /// Directions filled; zero where masked alone.
    pub effective_rank: f32,
    /// Through the tower in this step.
    pub tokens: usize,
}
same_layout!(
    TrainerStepStats,
    sys::uform_trainer_step_stats_t {
        step,
        learning_rate,
        loss,
        contrastive_loss,
        masked_text_loss,
        masked_image_loss,
        masked_video_loss,
        masked_audio_loss,
        late_interaction_loss,
        choices_loss,
        truncated,
        dropped,
        gradient_norm,
        coding_rate,
        lipschitz,
        effective_rank,
        tokens,
    }
);

/// A step beyond its items: `uform_trainer_step_t`. An empty slice leaves a field out.
#[derive(Default)]
pub struct TrainerStepConfig<'c, 'a> {
    /// One per item; items of one bag share a device.
    pub bags: &'c [u32],
    /// One per item; empty: all zero.
    pub temperature_groups: &'c [u32],
    /// One per item: the part it plays in late interaction.
    pub sides: &'c [LateInteractionSide],
    /// The legal bytes of each item, as a tape's data and offsets.
    pub choices: (&'c [u8], &'c [usize]),
    /// A probability for each of `choices`, as a tape's data and offsets.
    pub choice_targets: (&'c [f32], &'c [usize]),
    /// Read unless the objective is masked alone.
    pub relations: Relations<'c>,
    /// Of media files.
    pub limits: Limits,
    /// Where the pooled embeddings land that the loss scored; `None`: they are not copied.
    pub arena: Option<&'a mut Arena>,
    /// What they land as.
    pub outputs_scalar: Scalar,
    /// Filled on success; `None`: losses are not even read back.
    pub stats: Option<&'c mut TrainerStepStats>,
}

unsafe impl Owned for TrainerStepConfig<'static, '_> {}

/// How a trainer is saved: `uform_trainer_save_t`. A bare path saves the weights alone.
pub struct TrainerSaveConfig<'c> {
    /// The file, replaced as a whole.
    pub path: Cow<'c, Path>,
    /// Write the optimizer's moments beside it, so that a resume repeats every bit.
    pub optimizer: bool,
    /// Counts tensors.
    pub progress: Option<Progress<'c>>,
}

impl<'c> TrainerSaveConfig<'c> {
    fn at(path: Cow<'c, Path>) -> Self {
        Self { path, optimizer: false, progress: None }
    }
}

from_paths! { TrainerSaveConfig; }
unsafe impl Owned for TrainerSaveConfig<'static> {}

struct Step<'c, 'a, M, T> {
    trainer: sys::uform_trainer_t,
    modalities: M,
    contents: T,
    config: TrainerStepConfig<'c, 'a>,
    embeddings: sys::uform_rows_t,
}

/// A tape that may be left out, with one item per item of the step.
fn optional<E: Element>(
    parts: (&[E], &[usize]),
    count: usize,
    message: &'static str,
) -> Result<sys::uform_tape_view_t> {
    if parts.1.is_empty() {
        let scalar = sys::uform_scalar_default_k;
        return Ok(sys::uform_tape_view_t { data: ptr::null(), offsets: ptr::null(), scalar });
    }
    match view_of(parts)? {
        (view, items) if items == count => Ok(view),
        _ => Err(refuse(Status::ShapeMismatch, message)),
    }
}

impl<'a, M: AsRef<[Modality]>, T: Parts<u8>> Call for Step<'_, 'a, M, T> {
    type Output = Option<Rows<'a>>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let config = &mut self.config;
        let (contents, count) = view_of(self.contents.parts())?;
        let modalities = per_item(self.modalities.as_ref(), count, "modalities are not one per item")?;
        let sides = per_item(config.sides, count, "sides are not one per item")?;
        let relations = &config.relations;
        let mut arguments = sys::uform_trainer_step_t {
            trainer: self.trainer,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            count,
            modalities: modalities.cast(),
            contents,
            bags: per_item(config.bags, count, "bags are not one per item")?,
            temperature_groups: per_item(config.temperature_groups, count, "temperature_groups are not one per item")?,
            sides: sides.cast(),
            choices: optional(config.choices, count, "choices are not one set per item")?,
            choice_targets: optional(config.choice_targets, count, "choice_targets are not one set per item")?,
            relations: sys::uform_relations_view_t {
                attract: relations.attract.as_c(count)?,
                repel: relations.repel.as_c(count)?,
                ignore: relations.ignore.as_c(count)?,
            },
            limits: config.limits.as_c(),
            embeddings: if config.arena.is_some() { &mut self.embeddings } else { ptr::null_mut() },
            token_vectors: ptr::null_mut(),
            arena: config.arena.as_ref().map_or(ptr::null_mut(), |arena| arena.handle),
            outputs_scalar: config.outputs_scalar as i32,
            stats: config.stats.as_deref_mut().map_or(ptr::null_mut(), |stats| ptr::from_mut(stats).cast()),
        };
        unsafe { sys::uform_trainer_step(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Option<Rows<'a>> {
        self.config.arena.as_ref().map(|arena| Rows::of(self.embeddings, arena.on_device))
    }
}

struct Save<'c> {
    trainer: sys::uform_trainer_t,
    path: Cow<'c, Path>,
    optimizer: bool,
}

impl Call for Save<'_> {
    type Output = ();

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let mut arguments = sys::uform_trainer_save_t {
            trainer: self.trainer,
            executor: place.executor,
            outcome: place.outcome,
            completion: place.completion,
            path: path_bytes(&self.path),
            optimizer: self.optimizer,
            progress: place.progress,
        };
        unsafe { sys::uform_trainer_save(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) {}
}

/// The verbs of a trainer, on each of its two receivers.
pub trait TrainVerbs: Receiver {
    #[doc(hidden)]
    fn trainer(&self) -> sys::uform_trainer_t;

    /// Takes one optimizer step over the items of all processes: `uform_trainer_step`. It answers the embeddings that
    /// the loss scored where the config lends an arena. Empty modalities: all text.
    fn step<'a, 'c, M, T>(
        &self,
        modalities: M,
        contents: T,
        config: TrainerStepConfig<'c, 'a>,
    ) -> Result<Self::Answer<Option<Rows<'a>>>>
    where
        M: AsRef<[Modality]>,
        T: Items<u8>,
        Self: Accepts<M> + Accepts<T> + Accepts<TrainerStepConfig<'c, 'a>>,
    {
        let contents = contents.into_tape()?;
        let embeddings = crate::encode::NO_ROWS;
        self.run(Step { trainer: self.trainer(), modalities, contents, config, embeddings }, None)
    }

    /// Writes the checkpoint that models load and runs resume: `uform_trainer_save`.
    fn save<'c>(&self, config: impl Into<TrainerSaveConfig<'c>>) -> Result<Self::Answer<()>>
    where
        Self: Accepts<TrainerSaveConfig<'c>>,
    {
        let TrainerSaveConfig { path, optimizer, progress } = config.into();
        self.run(Save { trainer: self.trainer(), path, optimizer }, progress)
    }
}

impl TrainVerbs for On<'_, Trainer<'_>> {
    fn trainer(&self) -> sys::uform_trainer_t {
        self.receiver.handle
    }
}

impl TrainVerbs for DeferredOn<'_, Trainer<'_>> {
    fn trainer(&self) -> sys::uform_trainer_t {
        self.receiver.handle
    }
}

const _: fn() = || {
    // The library is handed our slices of enums as they are.
    let _: [u8; size_of::<i32>()] = [0; size_of::<Modality>()];
    let _: [u8; size_of::<i32>()] = [0; size_of::<LateInteractionSide>()];
};
