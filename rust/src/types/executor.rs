//! Executors: the threads or streams that calls run on.

use std::ffi::c_void;
use std::ptr;

use super::crossing::{pointer_or_null, run_at_once};
use super::error::Result;
use super::names::{CPUClass, GPUClass, Mood, or_zero};
use crate::call::DeferredOn;
use crate::sys;

/// The threads or streams that calls run on, one call at a time: `uform_executor_t`.
///
/// It moves between threads but is not shared by them: two that overlap take one each. The default one owns nothing and
/// runs on the calling thread.
#[derive(Debug)]
pub struct Executor {
    pub(crate) handle: sys::uform_executor_t,
    pub(crate) on_device: bool,
}

// SAFETY: C binds an executor to no thread. Not `Sync`: two calls at once would contend, and that is a mistake the compiler can see.
unsafe impl Send for Executor {}

impl Executor {
    const fn of(handle: sys::uform_executor_t, on_device: bool) -> Self {
        Self { handle, on_device }
    }

    /// Starts the threads of a host executor: `uform_executor_for_ram`.
    ///
    /// `memory_domains` are NUMA nodes to take cores from, all where empty; zero `threads` take 7/8 of the cores.
    pub fn for_ram(memory_domains: &[usize], cpu_class: Option<CPUClass>, threads: usize) -> Result<Self> {
        let mut executor = ptr::null_mut();
        run_at_once(|outcome| {
            let mut arguments = sys::uform_executor_for_ram_t {
                executor: &mut executor,
                outcome,
                memory_domains: memory_domains.as_ptr(),
                memory_domains_count: memory_domains.len(),
                cpu_class: or_zero!(cpu_class),
                threads,
            };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final.
            unsafe { sys::uform_executor_for_ram(&mut arguments) }
        })?;
        Ok(Self::of(executor, false))
    }

    /// Opens one stream per GPU: `uform_executor_for_vram`. Without a GPU vendor it is
    /// [`Unsupported`](crate::Status::Unsupported).
    ///
    /// # Safety
    ///
    /// The `streams` it borrows, one per device, must be the vendor's and outlive the executor. Empty borrows none.
    pub unsafe fn for_vram(
        devices: &[usize],
        gpu_class: Option<GPUClass>,
        streams: &[*mut c_void],
        cpu_class: Option<CPUClass>,
        memory_domains: &[usize],
        scratch_limit: usize,
    ) -> Result<Self> {
        let mut executor = ptr::null_mut();
        run_at_once(|outcome| {
            let mut arguments = sys::uform_executor_for_vram_t {
                executor: &mut executor,
                outcome,
                devices: pointer_or_null(devices),
                devices_count: devices.len(),
                gpu_class: or_zero!(gpu_class),
                streams: pointer_or_null(streams),
                streams_count: streams.len(),
                cpu_class: or_zero!(cpu_class),
                memory_domains: pointer_or_null(memory_domains),
                memory_domains_count: memory_domains.len(),
                scratch_limit,
            };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final. The
            // streams are the caller's promise.
            unsafe { sys::uform_executor_for_vram(&mut arguments) }
        })?;
        Ok(Self::of(executor, true))
    }

    /// Would borrow a pool's threads: `uform_executor_on_pool`. For now it is always
    /// [`Unsupported`](crate::Status::Unsupported).
    ///
    /// # Safety
    ///
    /// The `pool` must outlive the executor.
    pub unsafe fn on_pool(
        memory_domains: &[usize],
        cpu_class: Option<CPUClass>,
        pool: *mut c_void,
        threads: usize,
    ) -> Result<Self> {
        let mut executor = ptr::null_mut();
        run_at_once(|outcome| {
            let mut arguments = sys::uform_executor_on_pool_t {
                executor: &mut executor,
                outcome,
                memory_domains: pointer_or_null(memory_domains),
                memory_domains_count: memory_domains.len(),
                cpu_class: or_zero!(cpu_class),
                pool,
                threads,
            };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final. The
            // pool is the caller's promise.
            unsafe { sys::uform_executor_on_pool(&mut arguments) }
        })?;
        Ok(Self::of(executor, false))
    }

    /// The receiver whose verbs take no model and are submitted to this executor: loads, and reranking.
    pub fn deferred(&self) -> DeferredOn<'_, Self> {
        DeferredOn { receiver: self, executor: self }
    }

    /// Waits until no call holds it, then sets how its threads idle: `uform_executor_drain`.
    pub fn drain(&self, mood: Mood) -> Result<()> {
        run_at_once(|outcome| {
            let mut arguments = sys::uform_executor_drain_t { executor: self.handle, outcome, mood: mood as i32 };
            // SAFETY: the struct and all it points to live until the verb returns, and then its outcome is final.
            unsafe { sys::uform_executor_drain(&mut arguments) }
        })
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::of(ptr::null_mut(), false)
    }
}

impl Drop for Executor {
    /// Waits for the call that holds it: `uform_executor_free`.
    fn drop(&mut self) {
        // SAFETY: the handle is NULL or this value's own, and nothing names it afterwards.
        unsafe { sys::uform_executor_free(self.handle) }
    }
}
