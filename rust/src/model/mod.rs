//! Models: `model.h`.

mod description;
mod load;

use std::mem::MaybeUninit;

use crate::call::{DeferredOn, On, Receiver};
use crate::sys;
use crate::types::{Executor, Result, run_at_once};

pub use description::{AudioShape, ImageShape, ModelDescription, VideoShape};
pub use load::{ModelLoadRamBufferConfig, ModelLoadRamConfig, ModelLoadVramBufferConfig, ModelLoadVramConfig};
pub(crate) use load::{from_paths, path_bytes};

/// A loaded checkpoint: `uform_model_t`. Immutable, so threads share it freely.
///
/// Its verbs are those of [`ModelVerbs`] and [`EncodeVerbs`](crate::EncodeVerbs), here on the calling thread, and on an
/// executor through [`on`](Self::on) and [`deferred`](Self::deferred).
#[derive(Debug)]
pub struct Model {
    pub(crate) handle: sys::uform_model_t,
}

// SAFETY: C binds a model to no thread.
unsafe impl Send for Model {}
// SAFETY: a model never changes; C counts the calls that use it.
unsafe impl Sync for Model {}

impl Model {
    /// The receiver whose verbs block on `executor`.
    pub fn on<'r>(&'r self, executor: &'r Executor) -> On<'r, Self> {
        On { receiver: self, executor }
    }

    /// The receiver whose verbs are submitted to `executor`.
    pub fn deferred<'r>(&'r self, executor: &'r Executor) -> DeferredOn<'r, Self> {
        DeferredOn { receiver: self, executor }
    }
}

impl Drop for Model {
    /// Waits for the calls that use it: `uform_model_free`.
    fn drop(&mut self) {
        // SAFETY: the handle is NULL or this value's own, and nothing names it afterwards.
        unsafe { sys::uform_model_free(self.handle) }
    }
}

/// The verbs of a model itself, on each of its three receivers.
pub trait ModelVerbs: Receiver {
    #[doc(hidden)]
    fn model(&self) -> &Model;

    /// Reads the description: `uform_model_describe`, done on return on every receiver.
    fn describe(&self) -> Result<ModelDescription> {
        let mut description = MaybeUninit::uninit();
        run_at_once(|outcome| {
            let model = self.model().handle;
            let mut arguments = sys::uform_model_describe_t { model, outcome, description: description.as_mut_ptr() };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final.
            unsafe { sys::uform_model_describe(&mut arguments) }
        })?;
        // SAFETY: the verb succeeded, so it wrote the description.
        Ok(ModelDescription::of(unsafe { description.assume_init_ref() }))
    }
}

impl ModelVerbs for Model {
    fn model(&self) -> &Model {
        self
    }
}

impl ModelVerbs for On<'_, Model> {
    fn model(&self) -> &Model {
        self.receiver
    }
}

impl ModelVerbs for DeferredOn<'_, Model> {
    fn model(&self) -> &Model {
        self.receiver
    }
}
