//! What the library says of itself and of the machine.

use std::ffi::{CStr, c_char};

use super::names::{CPUClass, GPUClass};
use crate::sys;

/// What calls can be dispatched to: `uform_capabilities_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What `None` resolves to where a [`CPUClass`] is optional.
    pub cpu_class: CPUClass,
    /// How many GPUs [`gpu_devices`] answers.
    pub gpu_devices: usize,
    /// What zero `threads` of [`for_ram`](crate::Executor::for_ram) resolve to.
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
    // SAFETY: C answers a NUL-ended text in static storage.
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
        // SAFETY: `c_char` and `u8` are of one size and alignment, and any bits are a value of either.
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
    // SAFETY: C writes as many devices as there is room for, all of them initialized before.
    let count = unsafe { sys::uform_gpu_devices(found.as_mut_ptr(), found.len()) };
    for (to, from) in devices.iter_mut().zip(&found[..count.min(found.len())]) {
        *to = GPUDevice::of(from);
    }
    count
}
