//! Executors, arenas, and what the library says of itself and of the machine.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use super::error::{Error, Result, refuse};
use super::names::{CPUClass, GPUClass, Mood, Status, or_zero};
use crate::call::{Call, Place, run_here};
use crate::sys;

/// Bytes as C takes them.
pub(crate) fn bytes_of(bytes: &[u8]) -> sys::uform_bytes_view_t {
    sys::uform_bytes_view_t { data: bytes.as_ptr().cast(), length: bytes.len() }
}

/// Runs a verb that takes no executor and is final on return.
pub(crate) fn run_at_once(verb: impl FnOnce(*mut sys::uform_outcome_t)) -> Result<()> {
    struct Once<F>(Option<F>);
    impl<F: FnOnce(*mut sys::uform_outcome_t)> Call for Once<F> {
        type Output = ();
        unsafe fn submit(&mut self, place: &Place) -> Result<()> {
            if let Some(verb) = self.0.take() {
                verb(place.outcome);
            }
            Ok(())
        }
        unsafe fn take(&mut self) {}
    }
    run_here(Once(Some(verb)), None, ptr::null_mut())
}

/// The threads or streams that calls run on, one call at a time: `uform_executor_t`.
///
/// It moves between threads but is not shared by them: two that overlap take one each. The default one owns nothing and
/// runs on the calling thread.
#[derive(Debug)]
pub struct Executor {
    pub(crate) handle: sys::uform_executor_t,
    pub(crate) on_device: bool,
}

// Not `Sync`: two calls at once would contend, and that is a mistake the compiler can see.
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
            unsafe { sys::uform_executor_for_ram(&mut arguments) }
        })?;
        Ok(Self::of(executor, false))
    }

    /// Opens one stream per GPU: `uform_executor_for_vram`, [`Status::Unsupported`] without a GPU vendor.
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
            unsafe { sys::uform_executor_for_vram(&mut arguments) }
        })?;
        Ok(Self::of(executor, true))
    }

    /// Would borrow a pool's threads: `uform_executor_on_pool`, always [`Status::Unsupported`] for now.
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
            unsafe { sys::uform_executor_on_pool(&mut arguments) }
        })?;
        Ok(Self::of(executor, false))
    }

    /// Waits until no call holds it, then sets how its threads idle: `uform_executor_drain`.
    pub fn drain(&self, mood: Mood) -> Result<()> {
        run_at_once(|outcome| {
            let mut arguments = sys::uform_executor_drain_t { executor: self.handle, outcome, mood: mood as i32 };
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
        unsafe { sys::uform_executor_free(self.handle) }
    }
}

/// The memory that outputs land in: `uform_arena_t`.
///
/// Each call that names it rewinds it, so it is lent as `&mut`, and views of the call before are gone by then. It keeps
/// the largest size it ever needed. Dropping it waits for a call that writes into it.
#[derive(Debug)]
pub struct Arena {
    pub(crate) handle: sys::uform_arena_t,
    pub(crate) on_device: bool,
}

unsafe impl Send for Arena {}
unsafe impl Sync for Arena {}

impl Arena {
    /// Host pages, for calls on the calling thread: `uform_arena_init`.
    pub fn new() -> Result<Self> {
        Self::made(ptr::null_mut(), false)
    }

    /// Memory where `executor` computes: `uform_arena_init`.
    pub fn new_in(executor: &Executor) -> Result<Self> {
        Self::made(executor.handle, executor.on_device)
    }

    fn made(executor: sys::uform_executor_t, on_device: bool) -> Result<Self> {
        let mut arena = ptr::null_mut();
        run_at_once(|outcome| {
            let mut arguments = sys::uform_arena_init_t { arena: &mut arena, executor, outcome };
            unsafe { sys::uform_arena_init(&mut arguments) }
        })?;
        Ok(Self { handle: arena, on_device })
    }
}

impl Drop for Arena {
    /// `uform_arena_free`.
    fn drop(&mut self) {
        unsafe { sys::uform_arena_free(self.handle) }
    }
}

/// The most that decoding one file may ask for: `uform_limits_t`. Zeros are the library's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Width times height of an image; zero: 2^27.
    pub max_pixels: u64,
    /// Width times height of a video's frame; zero: 2^26.
    pub max_frame_pixels: u64,
    /// Encoded bytes of one item; zero: 2^32.
    pub max_file_bytes: u64,
    /// Seconds that are decoded; zero: 3,600.
    pub max_seconds: u64,
}

impl Limits {
    pub(crate) fn as_c(self) -> sys::uform_limits_t {
        sys::uform_limits_t {
            max_pixels: self.max_pixels,
            max_frame_pixels: self.max_frame_pixels,
            max_file_bytes: self.max_file_bytes,
            max_seconds: self.max_seconds,
        }
    }
}

/// What calls can be dispatched to: `uform_capabilities_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What `None` resolves to where a [`CPUClass`] is optional.
    pub cpu_class: CPUClass,
    /// How many GPUs [`gpu_devices`] answers.
    pub gpu_devices: usize,
    /// What zero `threads` of [`Executor::for_ram`] resolve to.
    pub threads: usize,
    cpu_classes_built: u64,
    cpu_classes: u64,
    gpu_classes_built: u64,
    gpu_classes: u64,
}

impl Capabilities {
    /// Whether this build has kernels of a class.
    pub fn has_built(&self, class: CPUClass) -> bool {
        self.cpu_classes_built >> class as i32 & 1 == 1
    }

    /// Whether this machine runs a class that is built.
    pub fn runs(&self, class: CPUClass) -> bool {
        self.cpu_classes >> class as i32 & 1 == 1
    }

    /// Whether this build has kernels of a class of GPUs.
    pub fn has_built_gpu(&self, class: GPUClass) -> bool {
        self.gpu_classes_built >> class as i32 & 1 == 1
    }

    /// Whether a GPU of a class is in this machine.
    pub fn runs_gpu(&self, class: GPUClass) -> bool {
        self.gpu_classes >> class as i32 & 1 == 1
    }
}

/// What this build and this machine can dispatch to: `uform_capabilities`.
pub fn capabilities() -> Capabilities {
    let found = sys::uform_capabilities();
    Capabilities {
        cpu_class: CPUClass::from_c(found.cpu_class).unwrap_or(CPUClass::Serial),
        gpu_devices: found.gpu_devices,
        threads: found.threads,
        cpu_classes_built: found.cpu_classes_built,
        cpu_classes: found.cpu_classes,
        gpu_classes_built: found.gpu_classes_built,
        gpu_classes: found.gpu_classes,
    }
}

/// The version of the linked library, "major.minor.patch": `uform_version`.
pub fn version() -> &'static str {
    let version: &'static CStr = unsafe { CStr::from_ptr(sys::uform_version()) };
    version.to_str().unwrap_or("unknown")
}

/// One GPU that this process can drive: `uform_gpu_device_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GPUDevice {
    /// `None` where no kernels fit it.
    pub gpu_class: Option<GPUClass>,
    /// Of device memory, in total.
    pub memory_bytes: usize,
    /// The nearest NUMA node, where the system says.
    pub memory_domain: Option<usize>,
    name: [c_char; 128],
}

impl GPUDevice {
    /// The vendor's product name.
    pub fn name(&self) -> &str {
        let bytes = unsafe { std::slice::from_raw_parts(self.name.as_ptr().cast::<u8>(), self.name.len()) };
        CStr::from_bytes_until_nul(bytes).ok().and_then(|name| name.to_str().ok()).unwrap_or("")
    }

    fn of(found: &sys::uform_gpu_device_t) -> Self {
        Self {
            gpu_class: GPUClass::from_c(found.gpu_class),
            memory_bytes: found.memory_bytes,
            memory_domain: (found.memory_domain != usize::MAX).then_some(found.memory_domain),
            name: found.name,
        }
    }
}

impl Default for GPUDevice {
    fn default() -> Self {
        Self { gpu_class: None, memory_bytes: 0, memory_domain: None, name: [0; 128] }
    }
}

/// Fills as much of a slice as there are GPUs, and answers how many this process can drive: `uform_gpu_devices`. A
/// device's position is the ordinal that other verbs name it by.
pub fn gpu_devices(devices: &mut [GPUDevice]) -> usize {
    let empty = sys::uform_gpu_device_t { gpu_class: -1, memory_bytes: 0, memory_domain: usize::MAX, name: [0; 128] };
    let mut found = vec![empty; devices.len()];
    let count = unsafe { sys::uform_gpu_devices(found.as_mut_ptr(), found.len()) };
    for (to, from) in devices.iter_mut().zip(&found[..count.min(found.len())]) {
        *to = GPUDevice::of(from);
    }
    count
}

/// Where a slice starts, NULL where it is empty: how C leaves an optional array out.
pub(crate) fn pointer_or_null<T>(slice: &[T]) -> *const T {
    if slice.is_empty() { ptr::null() } else { slice.as_ptr() }
}

/// Refuses an optional array that is there and not one per item.
pub(crate) fn per_item<T>(slice: &[T], count: usize, message: &'static str) -> std::result::Result<*const T, Error> {
    if !slice.is_empty() && slice.len() != count {
        return Err(refuse(Status::ShapeMismatch, message));
    }
    Ok(pointer_or_null(slice))
}
