//! Loading, from a path or from bytes, into host memory or onto GPUs, at once or deferred.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::ptr;

use super::Model;
use crate::call::{Call, Deferred, DeferredOn, Place, Progress, run_here};
use crate::sys;
use crate::types::{CPUClass, Executor, GPUClass, Result, Scalar, Status, bytes_of, or_zero, pointer_or_null, refuse};

/// A path as the operating system's own bytes.
pub(crate) fn path_bytes(path: &Path) -> sys::uform_bytes_view_t {
    let path: &OsStr = path.as_os_str();
    bytes_of(path.as_encoded_bytes())
}

/// How a load loads, from a source that is lent or, for a deferred load, owned. A bare source has the defaults.
macro_rules! configs {
    ($($(#[$doc:meta])* $name:ident, $source:ident: $type:ty as $source_doc:literal {
        $($(#[$field_doc:meta])* $field:ident: $field_type:ty = $default:expr,)*
    })*) => { $(
        $(#[$doc])*
        pub struct $name<'c> {
            #[doc = $source_doc]
            pub $source: Cow<'c, $type>,
            /// Whose threads or streams pack the weights: the calling thread's, or each device's default stream, where
            /// `None`. A deferred load has its receiver's, and names none here.
            pub executor: Option<&'c Executor>,
            /// Of the blocks' matrices: [`Scalar::BF16`] or [`Scalar::E4M3`].
            pub quantization: Scalar,
            $($(#[$field_doc])* pub $field: $field_type,)*
            /// Counts groups of matrices as they are packed.
            pub progress: Option<Progress<'c>>,
        }

        impl<'c> $name<'c> {
            fn at($source: Cow<'c, $type>) -> Self {
                Self { $source, executor: None, quantization: Scalar::BF16, $($field: $default,)* progress: None }
            }
        }
    )* };
}

configs! {
    /// How `load_ram` loads: `uform_model_load_ram_t`. A bare path has the defaults.
    ModelLoadRamConfig, path: Path as "The checkpoint's file." {
        /// A pin, for every encode with this model.
        cpu_class: Option<CPUClass> = None,
        /// NUMA nodes to place weights on; empty: the executor's.
        memory_domains: &'c [usize] = &[],
    }
    /// How `load_ram_buffer` loads: `uform_model_load_ram_buffer_t`. Bare bytes have the defaults.
    ModelLoadRamBufferConfig, buffer: [u8] as "The whole file's bytes, which are not needed afterwards." {
        /// A pin, for every encode with this model.
        cpu_class: Option<CPUClass> = None,
        /// NUMA nodes to place weights on; empty: the executor's.
        memory_domains: &'c [usize] = &[],
    }
    /// How `load_vram` loads: `uform_model_load_vram_t`. A bare path has the defaults.
    ModelLoadVramConfig, path: Path as "The checkpoint's file." {
        /// A pin, for every encode with this model.
        gpu_class: Option<GPUClass> = None,
        /// Positions in what [`gpu_devices`](crate::gpu_devices) lists; empty: the executor's, or the first.
        devices: &'c [usize] = &[],
    }
    /// How `load_vram_buffer` loads: `uform_model_load_vram_buffer_t`. Bare bytes have the defaults.
    ModelLoadVramBufferConfig, buffer: [u8] as "The file's bytes in host memory, which are not needed afterwards." {
        /// A pin, for every encode with this model.
        gpu_class: Option<GPUClass> = None,
        /// Positions in what [`gpu_devices`](crate::gpu_devices) lists; empty: the executor's, or the first.
        devices: &'c [usize] = &[],
    }
}

/// A config that starts from a path has the defaults but for it.
macro_rules! from_paths {
    ($($config:ident;)*) => { $(
        from_paths!(@lent $config, str String PathBuf Path);
        from_paths!(@owned $config, String PathBuf);
    )* };
    (@lent $config:ident, $($type:ident)*) => { $(
        impl<'c> From<&'c $type> for $config<'c> {
            fn from(path: &'c $type) -> Self {
                Self::at(Cow::Borrowed(Path::new(path)))
            }
        }
    )* };
    (@owned $config:ident, $($type:ident)*) => { $(
        impl From<$type> for $config<'_> {
            fn from(path: $type) -> Self {
                Self::at(Cow::Owned(PathBuf::from(path)))
            }
        }
    )* };
}
pub(crate) use from_paths;

from_paths! { ModelLoadRamConfig; ModelLoadVramConfig; }

macro_rules! from_buffers {
    ($($config:ident;)*) => { $(
        impl<'c> From<&'c [u8]> for $config<'c> {
            fn from(buffer: &'c [u8]) -> Self {
                Self::at(Cow::Borrowed(buffer))
            }
        }
        impl<'c> From<&'c Vec<u8>> for $config<'c> {
            fn from(buffer: &'c Vec<u8>) -> Self {
                Self::at(Cow::Borrowed(buffer))
            }
        }
        impl From<Vec<u8>> for $config<'_> {
            fn from(buffer: Vec<u8>) -> Self {
                Self::at(Cow::Owned(buffer))
            }
        }
    )* };
}
from_buffers! { ModelLoadRamBufferConfig; ModelLoadVramBufferConfig; }

/// A verb that makes a model; one that nobody took is freed with it.
struct Load<F> {
    verb: F,
    model: Model,
}

impl<F: FnMut(&Place, *mut sys::uform_model_t)> Load<F> {
    fn new(verb: F) -> Self {
        Self { verb, model: Model { handle: ptr::null_mut() } }
    }
}

impl<F: FnMut(&Place, *mut sys::uform_model_t)> Call for Load<F> {
    type Output = Model;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        (self.verb)(place, &mut self.model.handle);
        Ok(())
    }

    unsafe fn take(&mut self) -> Model {
        std::mem::replace(&mut self.model, Model { handle: ptr::null_mut() })
    }
}

/// Each load twice: as a function of `Model`, and as a verb of a receiver that defers. `$own` are the fields of C's
/// struct that the four do not share.
macro_rules! loads {
    ($($(#[$doc:meta])* $verb:ident($config:ident) = $c_verb:ident, $c_struct:ident |$own_config:ident| {
        $($own:ident: $value:expr,)*
    })*) => { $(
        impl Model {
            $(#[$doc])*
            pub fn $verb<'c>(config: impl Into<$config<'c>>) -> Result<Self> {
                let mut config = config.into();
                let executor = config.executor.map_or(ptr::null_mut(), |executor| executor.handle);
                let progress = config.progress.take();
                run_here($verb(config), progress, executor)
            }
        }

        impl<'r> DeferredOn<'r, Executor> {
            $(#[$doc])*
            pub fn $verb(&self, config: impl Into<$config<'static>>) -> Result<Deferred<'r, Model>> {
                let mut config = config.into();
                if config.executor.is_some() {
                    return Err(refuse(Status::InvalidArgument, "executor: a deferred load has its receiver's"));
                }
                let progress = config.progress.take();
                // SAFETY: what a config of `'static` borrows lives for ever, and it names no executor.
                unsafe { Deferred::submit($verb(config), progress, self.executor) }
            }
        }

        fn $verb<'c>($own_config: $config<'c>) -> impl Call<Output = Model> + use<'c> {
            Load::new(move |place, model| {
                let mut arguments = sys::$c_struct {
                    model,
                    executor: place.executor,
                    outcome: place.outcome,
                    completion: place.completion,
                    quantization: $own_config.quantization as i32,
                    $($own: $value,)*
                    progress: place.progress,
                };
                // SAFETY: the source and places are the config's, which the call owns, and the model's place is the
                // call's.
                unsafe { sys::$c_verb(&mut arguments) }
            })
        }
    )* };
}

loads! {
    /// Loads a safetensors checkpoint into host memory: `uform_model_load_ram`.
    load_ram(ModelLoadRamConfig) = uform_model_load_ram, uform_model_load_ram_t |config| {
        path: path_bytes(&config.path),
        cpu_class: or_zero!(config.cpu_class),
        memory_domains: pointer_or_null(config.memory_domains),
        memory_domains_count: config.memory_domains.len(),
    }
    /// Loads a checkpoint's bytes into host memory: `uform_model_load_ram_buffer`.
    load_ram_buffer(ModelLoadRamBufferConfig) = uform_model_load_ram_buffer, uform_model_load_ram_buffer_t |config| {
        buffer: bytes_of(&config.buffer),
        cpu_class: or_zero!(config.cpu_class),
        memory_domains: pointer_or_null(config.memory_domains),
        memory_domains_count: config.memory_domains.len(),
    }
    /// Loads a safetensors checkpoint onto GPUs: `uform_model_load_vram`.
    load_vram(ModelLoadVramConfig) = uform_model_load_vram, uform_model_load_vram_t |config| {
        path: path_bytes(&config.path),
        gpu_class: or_zero!(config.gpu_class),
        devices: pointer_or_null(config.devices),
        devices_count: config.devices.len(),
    }
    /// Loads a checkpoint's bytes onto GPUs: `uform_model_load_vram_buffer`.
    load_vram_buffer(ModelLoadVramBufferConfig) = uform_model_load_vram_buffer,
        uform_model_load_vram_buffer_t |config|
    {
        buffer: bytes_of(&config.buffer),
        gpu_class: or_zero!(config.gpu_class),
        devices: pointer_or_null(config.devices),
        devices_count: config.devices.len(),
    }
}
