//! Meshes: how the processes of a run join.

use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::call::{Call, Place, run_here};
use crate::model::path_bytes;
use crate::sys;
use crate::types::{Executor, GPUClass, MultimemTier, Result, bytes_of, run_at_once};

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
pub(super) struct MeshHandle(pub(super) sys::uform_mesh_t);

// SAFETY: C binds a mesh to no thread.
unsafe impl Send for MeshHandle {}
// SAFETY: calls over a mesh take turns within C.
unsafe impl Sync for MeshHandle {}

impl Drop for MeshHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is NULL or this value's own, and nothing names it afterwards.
        unsafe { sys::uform_mesh_free(self.0) }
    }
}

/// A process's half of a run's transport, which trainers borrow: `uform_mesh_t`. Dropping it leaves the run.
#[derive(Debug)]
pub struct Mesh {
    // Shared with its trainers, so that one that was leaked while it steps keeps it.
    pub(super) handle: Arc<MeshHandle>,
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
        // SAFETY: what the struct points to is in `self` and the place, which stay where they are until the outcome is
        // final.
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
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final.
            unsafe { sys::uform_mesh_describe(&mut arguments) }
        })?;
        // SAFETY: the verb succeeded, so it wrote the description.
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
