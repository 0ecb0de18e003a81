//! Trainers, and the meshes they run over: `train.h`.

mod mesh;
mod options;
mod save;
mod step;

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::call::{Call, DeferredOn, On, Place, Receiver, run_here};
use crate::inputs::{Accepts, Items};
use crate::model::path_bytes;
use crate::sys;
use crate::types::{Executor, Modality, Result, bytes_of};

use mesh::MeshHandle;
pub use mesh::{Mesh, MeshDescription, MeshOptions};
pub use options::{
    BatchShape, Choices, Contrastive, LateInteraction, Masking, Regularizers, Schedule, TrainerInitRamConfig,
    TrainerInitVramConfig,
};
use save::Save;
pub use save::TrainerSaveConfig;
use step::Step;
pub use step::{Edges, Relations, Scored, TrainerStepConfig, TrainerStepStats};

/// A training run: `uform_trainer_t`. It borrows its mesh; every verb names the executor it was made on.
#[derive(Debug)]
pub struct Trainer<'m> {
    handle: sys::uform_trainer_t,
    // Dropped after the handle is freed, even where the borrow is over because the trainer was leaked.
    _mesh: Option<Arc<MeshHandle>>,
    borrowed: PhantomData<&'m Mesh>,
}

// SAFETY: C binds a trainer to no thread.
unsafe impl Send for Trainer<'_> {}
// SAFETY: C refuses a call while another one has the trainer.
unsafe impl Sync for Trainer<'_> {}

type InitVerb = unsafe extern "C" fn(*mut sys::uform_trainer_init_vram_t);

/// A verb that makes a trainer; one that nobody took is freed with it.
struct Init<'c, 'm> {
    verb: InitVerb,
    config: TrainerInitVramConfig<'c, 'm>,
    trainer: Trainer<'m>,
}

impl<'c, 'm> Init<'c, 'm> {
    fn new(verb: InitVerb, config: TrainerInitVramConfig<'c, 'm>) -> Self {
        // A call that was leaked keeps the mesh as well.
        let mesh = config.mesh.map(|mesh| mesh.handle.clone());
        Self { verb, config, trainer: Trainer { handle: ptr::null_mut(), _mesh: mesh, borrowed: PhantomData } }
    }
}

impl<'m> Call for Init<'_, 'm> {
    type Output = Trainer<'m>;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        let config = &self.config;
        let mut arguments = sys::uform_trainer_init_vram_t {
            trainer: &mut self.trainer.handle,
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
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
        unsafe { (self.verb)(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) -> Trainer<'m> {
        std::mem::replace(&mut self.trainer, Trainer { handle: ptr::null_mut(), _mesh: None, borrowed: PhantomData })
    }
}

impl<'m> Trainer<'m> {
    fn init(verb: InitVerb, executor: &Executor, mut config: TrainerInitVramConfig<'_, 'm>) -> Result<Self> {
        let progress = config.progress.take();
        run_here(Init::new(verb, config), progress, executor.handle)
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
        // SAFETY: the handle is NULL or this value's own, and nothing names it afterwards.
        unsafe { sys::uform_trainer_free(self.handle) }
    }
}

/// The verbs of a trainer, on each of its two receivers.
pub trait TrainVerbs: Receiver {
    #[doc(hidden)]
    fn trainer(&self) -> sys::uform_trainer_t;

    /// Takes one optimizer step over the items of all processes: `uform_trainer_step`. It answers what the
    /// loss scored where the config lends an arena. Empty modalities: all text.
    fn step<'a, 'c, M, T>(
        &self,
        modalities: M,
        contents: T,
        config: TrainerStepConfig<'c, 'a>,
    ) -> Result<Self::Answer<Option<Scored<'a>>>>
    where
        M: AsRef<[Modality]>,
        T: Items<u8>,
        Self: Accepts<M> + Accepts<T> + Accepts<TrainerStepConfig<'c, 'a>>,
    {
        let contents = contents.into_tape()?;
        self.run(Step::new(self.trainer(), modalities, contents, config), None)
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
