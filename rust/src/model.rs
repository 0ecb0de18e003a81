//! Models: `model.h`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::call::{Call, DeferredOn, On, Place, Progress, Receiver, run_here};
use crate::sys;
use crate::types::{CPUClass, Executor, GPUClass, Result, Scalar, bytes_of, or_zero, pointer_or_null, run_at_once};

/// A path as the operating system's own bytes.
pub(crate) fn path_bytes(path: &Path) -> sys::uform_bytes_view_t {
    let path: &OsStr = path.as_os_str();
    bytes_of(path.as_encoded_bytes())
}

/// How images become tokens: `uform_image_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageShape {
    /// Pixels on a side of one square token.
    pub patch_side: usize,
    /// Of a pixel; zero: 4.
    pub channels: usize,
}

/// How clips become tokens: `uform_video_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoShape {
    /// Pixels on a side of one token's square.
    pub patch_side: usize,
    /// Sampled frames that one token spans; zero: 2.
    pub tube_frames: usize,
    /// Every how-many-th decoded frame is sampled; zero: 1.
    pub frame_stride: usize,
    /// Of a pixel; zero: 3.
    pub channels: usize,
}

/// How recordings become tokens: `uform_audio_shape_t`. Zeros: they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioShape {
    /// Mono samples of one token.
    pub chunk_samples: usize,
    /// Hertz that everything is resampled to; zero: 16,000.
    pub sample_rate: usize,
}

impl ImageShape {
    pub(crate) fn as_c(self) -> sys::uform_image_shape_t {
        sys::uform_image_shape_t { patch_side: self.patch_side, channels: self.channels }
    }
}

impl VideoShape {
    pub(crate) fn as_c(self) -> sys::uform_video_shape_t {
        let Self { patch_side, tube_frames, frame_stride, channels } = self;
        sys::uform_video_shape_t { patch_side, tube_frames, frame_stride, channels }
    }
}

impl AudioShape {
    pub(crate) fn as_c(self) -> sys::uform_audio_shape_t {
        sys::uform_audio_shape_t { chunk_samples: self.chunk_samples, sample_rate: self.sample_rate }
    }
}

/// A loaded checkpoint: `uform_model_t`. Immutable, so threads share it freely.
///
/// Its verbs are those of [`ModelVerbs`] and [`EncodeVerbs`](crate::EncodeVerbs), here on the calling thread, and on an
/// executor through [`on`](Self::on) and [`deferred`](Self::deferred).
#[derive(Debug)]
pub struct Model {
    pub(crate) handle: sys::uform_model_t,
}

unsafe impl Send for Model {}
unsafe impl Sync for Model {}

/// How `load_ram` loads: `uform_model_load_ram_t`. A bare path has the defaults.
pub struct ModelLoadRamConfig<'c> {
    /// The checkpoint's file.
    pub path: Cow<'c, Path>,
    /// Whose threads pack the weights; the calling thread's where `None`.
    pub executor: Option<&'c Executor>,
    /// Of the blocks' matrices: [`Scalar::BF16`] or [`Scalar::E4M3`].
    pub quantization: Scalar,
    /// A pin, for every encode with this model.
    pub cpu_class: Option<CPUClass>,
    /// NUMA nodes to place weights on; empty: the executor's.
    pub memory_domains: &'c [usize],
    /// Counts groups of matrices as they are packed.
    pub progress: Option<Progress<'c>>,
}

/// How `load_ram_buffer` loads: `uform_model_load_ram_buffer_t`. Bare bytes have the defaults.
pub struct ModelLoadRamBufferConfig<'c> {
    /// The whole file's bytes, which are not needed afterwards.
    pub buffer: &'c [u8],
    /// Whose threads pack the weights; the calling thread's where `None`.
    pub executor: Option<&'c Executor>,
    /// Of the blocks' matrices: [`Scalar::BF16`] or [`Scalar::E4M3`].
    pub quantization: Scalar,
    /// A pin, for every encode with this model.
    pub cpu_class: Option<CPUClass>,
    /// NUMA nodes to place weights on; empty: the executor's.
    pub memory_domains: &'c [usize],
    /// Counts groups of matrices as they are packed.
    pub progress: Option<Progress<'c>>,
}

/// How `load_vram` loads: `uform_model_load_vram_t`. A bare path has the defaults.
pub struct ModelLoadVramConfig<'c> {
    /// The checkpoint's file.
    pub path: Cow<'c, Path>,
    /// A VRAM executor; each device's default stream where `None`.
    pub executor: Option<&'c Executor>,
    /// Of the blocks' matrices: [`Scalar::BF16`] or [`Scalar::E4M3`].
    pub quantization: Scalar,
    /// A pin, for every encode with this model.
    pub gpu_class: Option<GPUClass>,
    /// Positions in what [`gpu_devices`](crate::gpu_devices) lists; empty: the executor's, or the first.
    pub devices: &'c [usize],
    /// Counts groups of matrices as they are packed.
    pub progress: Option<Progress<'c>>,
}

/// How `load_vram_buffer` loads: `uform_model_load_vram_buffer_t`. Bare bytes have the defaults.
pub struct ModelLoadVramBufferConfig<'c> {
    /// The whole file's bytes in host memory, which are not needed afterwards.
    pub buffer: &'c [u8],
    /// A VRAM executor; each device's default stream where `None`.
    pub executor: Option<&'c Executor>,
    /// Of the blocks' matrices: [`Scalar::BF16`] or [`Scalar::E4M3`].
    pub quantization: Scalar,
    /// A pin, for every encode with this model.
    pub gpu_class: Option<GPUClass>,
    /// Positions in what [`gpu_devices`](crate::gpu_devices) lists; empty: the executor's, or the first.
    pub devices: &'c [usize],
    /// Counts groups of matrices as they are packed.
    pub progress: Option<Progress<'c>>,
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
                Self::at(buffer)
            }
        }
        impl<'c> From<&'c Vec<u8>> for $config<'c> {
            fn from(buffer: &'c Vec<u8>) -> Self {
                Self::at(buffer)
            }
        }
    )* };
}
from_buffers! { ModelLoadRamBufferConfig; ModelLoadVramBufferConfig; }

impl<'c> ModelLoadRamConfig<'c> {
    fn at(path: Cow<'c, Path>) -> Self {
        let quantization = Scalar::BF16;
        Self { path, executor: None, quantization, cpu_class: None, memory_domains: &[], progress: None }
    }
}

impl<'c> ModelLoadRamBufferConfig<'c> {
    fn at(buffer: &'c [u8]) -> Self {
        let quantization = Scalar::BF16;
        Self { buffer, executor: None, quantization, cpu_class: None, memory_domains: &[], progress: None }
    }
}

impl<'c> ModelLoadVramConfig<'c> {
    fn at(path: Cow<'c, Path>) -> Self {
        let quantization = Scalar::BF16;
        Self { path, executor: None, quantization, gpu_class: None, devices: &[], progress: None }
    }
}

impl<'c> ModelLoadVramBufferConfig<'c> {
    fn at(buffer: &'c [u8]) -> Self {
        let quantization = Scalar::BF16;
        Self { buffer, executor: None, quantization, gpu_class: None, devices: &[], progress: None }
    }
}

/// A verb that makes a model.
struct Load<F> {
    verb: F,
    model: sys::uform_model_t,
}

impl<F: FnMut(&Place, *mut sys::uform_model_t)> Call for Load<F> {
    type Output = Model;

    unsafe fn submit(&mut self, place: &Place) -> Result<()> {
        (self.verb)(place, &mut self.model);
        Ok(())
    }

    unsafe fn take(&mut self) -> Model {
        Model { handle: self.model }
    }
}

fn load(
    executor: Option<&Executor>,
    progress: Option<Progress<'_>>,
    verb: impl FnMut(&Place, *mut sys::uform_model_t),
) -> Result<Model> {
    let executor = executor.map_or(ptr::null_mut(), |executor| executor.handle);
    run_here(Load { verb, model: ptr::null_mut() }, progress, executor)
}

impl Model {
    /// Loads a safetensors checkpoint into host memory: `uform_model_load_ram`.
    pub fn load_ram<'c>(config: impl Into<ModelLoadRamConfig<'c>>) -> Result<Self> {
        let ModelLoadRamConfig { path, executor, quantization, cpu_class, memory_domains, progress } = config.into();
        load(executor, progress, |place, model| {
            let mut arguments = sys::uform_model_load_ram_t {
                model,
                executor: place.executor,
                outcome: place.outcome,
                completion: place.completion,
                path: path_bytes(&path),
                quantization: quantization as i32,
                cpu_class: or_zero!(cpu_class),
                memory_domains: memory_domains.as_ptr(),
                memory_domains_count: memory_domains.len(),
                progress: place.progress,
            };
            unsafe { sys::uform_model_load_ram(&mut arguments) }
        })
    }

    /// Loads a checkpoint's bytes into host memory: `uform_model_load_ram_buffer`.
    pub fn load_ram_buffer<'c>(config: impl Into<ModelLoadRamBufferConfig<'c>>) -> Result<Self> {
        let config = config.into();
        let ModelLoadRamBufferConfig { buffer, executor, quantization, cpu_class, memory_domains, progress } = config;
        load(executor, progress, |place, model| {
            let mut arguments = sys::uform_model_load_ram_buffer_t {
                model,
                executor: place.executor,
                outcome: place.outcome,
                completion: place.completion,
                buffer: bytes_of(buffer),
                quantization: quantization as i32,
                cpu_class: or_zero!(cpu_class),
                memory_domains: memory_domains.as_ptr(),
                memory_domains_count: memory_domains.len(),
                progress: place.progress,
            };
            unsafe { sys::uform_model_load_ram_buffer(&mut arguments) }
        })
    }

    /// Loads a safetensors checkpoint onto GPUs: `uform_model_load_vram`.
    pub fn load_vram<'c>(config: impl Into<ModelLoadVramConfig<'c>>) -> Result<Self> {
        let ModelLoadVramConfig { path, executor, quantization, gpu_class, devices, progress } = config.into();
        load(executor, progress, |place, model| {
            let mut arguments = sys::uform_model_load_vram_t {
                model,
                executor: place.executor,
                outcome: place.outcome,
                completion: place.completion,
                path: path_bytes(&path),
                quantization: quantization as i32,
                gpu_class: or_zero!(gpu_class),
                devices: pointer_or_null(devices),
                devices_count: devices.len(),
                progress: place.progress,
            };
            unsafe { sys::uform_model_load_vram(&mut arguments) }
        })
    }

    /// Loads a checkpoint's bytes onto GPUs: `uform_model_load_vram_buffer`.
    pub fn load_vram_buffer<'c>(config: impl Into<ModelLoadVramBufferConfig<'c>>) -> Result<Self> {
        let ModelLoadVramBufferConfig { buffer, executor, quantization, gpu_class, devices, progress } = config.into();
        load(executor, progress, |place, model| {
            let mut arguments = sys::uform_model_load_vram_buffer_t {
                model,
                executor: place.executor,
                outcome: place.outcome,
                completion: place.completion,
                buffer: bytes_of(buffer),
                quantization: quantization as i32,
                gpu_class: or_zero!(gpu_class),
                devices: pointer_or_null(devices),
                devices_count: devices.len(),
                progress: place.progress,
            };
            unsafe { sys::uform_model_load_vram_buffer(&mut arguments) }
        })
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

impl Drop for Model {
    /// Waits for the calls that use it: `uform_model_free`.
    fn drop(&mut self) {
        unsafe { sys::uform_model_free(self.handle) }
    }
}

/// What a model is and what it can answer: `uform_model_description_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelDescription {
    /// Columns of an embedding and of a state.
    pub dimensions: usize,
    /// Tokens of one item at most.
    pub context: usize,
    /// Transformer blocks.
    pub depth: usize,
    /// What the blocks are stored as.
    pub quantization: Scalar,
    /// Bytes the model holds.
    pub memory_usage: usize,
    /// The class its weights are packed for; `None` for a model on GPUs.
    pub cpu_class: Option<CPUClass>,
    /// The class its weights are packed for; `None` for a model on CPUs.
    pub gpu_class: Option<GPUClass>,
    /// Columns of a token vector; zero: no token head.
    pub token_width: usize,
    /// Question types calibrated; zero: no byte decoder.
    pub choice_temperature_groups: usize,
    /// Zeros: no image entry.
    pub image: ImageShape,
    /// Zeros: no video entry.
    pub video: VideoShape,
    /// Zeros: no audio entry.
    pub audio: AudioShape,
}

impl ModelDescription {
    fn of(found: &sys::uform_model_description_t) -> Self {
        let sys::uform_video_shape_t { patch_side, tube_frames, frame_stride, channels } = found.video;
        Self {
            dimensions: found.dimensions,
            context: found.context,
            depth: found.depth,
            quantization: Scalar::from_c(found.quantization).unwrap_or_default(),
            memory_usage: found.memory_usage,
            cpu_class: CPUClass::from_c(found.cpu_class),
            gpu_class: GPUClass::from_c(found.gpu_class),
            token_width: found.token_width,
            choice_temperature_groups: found.choice_temperature_groups,
            image: ImageShape { patch_side: found.image.patch_side, channels: found.image.channels },
            video: VideoShape { patch_side, tube_frames, frame_stride, channels },
            audio: AudioShape { chunk_samples: found.audio.chunk_samples, sample_rate: found.audio.sample_rate },
        }
    }
}

/// The verbs of a model itself, on each of its three receivers.
pub trait ModelVerbs: Receiver {
    #[doc(hidden)]
    fn model(&self) -> &Model;

    /// Reads the description: `uform_model_describe`, done on return on every receiver.
    fn describe(&self) -> Result<ModelDescription> {
        let mut description = std::mem::MaybeUninit::uninit();
        run_at_once(|outcome| {
            let model = self.model().handle;
            let mut arguments = sys::uform_model_describe_t { model, outcome, description: description.as_mut_ptr() };
            unsafe { sys::uform_model_describe(&mut arguments) }
        })?;
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
