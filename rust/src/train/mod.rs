//! Trainers, and the meshes they run over: `train.h`.

mod mesh;
mod options;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::call::{Call, DeferredOn, On, Place, Progress, Receiver, run_here};
use crate::inputs::{Accepts, Items, Owned, Parts, view_of};
use crate::model::{from_paths, path_bytes};
use crate::sys;
use crate::types::{
    Arena, Element, Executor, LateInteractionSide, Limits, Modality, Result, Rows, Scalar, Status, bytes_of, per_item,
    refuse, same_layout,
};

use mesh::MeshHandle;
pub use mesh::{Mesh, MeshDescription, MeshOptions};
pub use options::{
    BatchShape, Choices, Contrastive, LateInteraction, Masking, Regularizers, Schedule, TrainerInitRamConfig,
    TrainerInitVramConfig,
};

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
