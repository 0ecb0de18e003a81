//! Saving a trainer, as a call.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::call::{Call, Place, Progress};
use crate::inputs::Owned;
use crate::model::{from_paths, path_bytes};
use crate::sys;
use crate::types::Result;

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
// SAFETY: its path and handler are owned or live for ever.
unsafe impl Owned for TrainerSaveConfig<'static> {}

pub(super) struct Save<'c> {
    pub(super) trainer: sys::uform_trainer_t,
    pub(super) path: Cow<'c, Path>,
    pub(super) optimizer: bool,
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
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
        unsafe { sys::uform_trainer_save(&mut arguments) };
        Ok(())
    }

    unsafe fn take(&mut self) {}
}
