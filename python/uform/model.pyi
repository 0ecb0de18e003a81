from enum import IntEnum
from typing import final

from typing_extensions import Self

from .encode import Verbs, _DeferredVerbs
from .types import CPUClass, Executor, GPUClass, Lent, Numbers, Progress, Scalar, StrPath

class Modality(IntEnum):
    UNKNOWN = -1
    TEXT = 0
    IMAGE = 1
    VIDEO = 2
    AUDIO = 3

@final
class ImageShape:
    def __new__(
        cls,
        patch_side: int | None = ...,
        channels: int | None = ...,
    ) -> Self: ...
    @property
    def patch_side(self) -> int: ...
    @property
    def channels(self) -> int: ...

@final
class VideoShape:
    def __new__(
        cls,
        patch_side: int | None = ...,
        tube_frames: int | None = ...,
        frame_stride: int | None = ...,
        channels: int | None = ...,
    ) -> Self: ...
    @property
    def patch_side(self) -> int: ...
    @property
    def tube_frames(self) -> int: ...
    @property
    def frame_stride(self) -> int: ...
    @property
    def channels(self) -> int: ...

@final
class AudioShape:
    def __new__(
        cls,
        chunk_samples: int | None = ...,
        sample_rate: int | None = ...,
    ) -> Self: ...
    @property
    def chunk_samples(self) -> int: ...
    @property
    def sample_rate(self) -> int: ...

@final
class ModelDescription:
    def __new__(
        cls,
        dimensions: int | None = ...,
        context: int | None = ...,
        depth: int | None = ...,
        quantization: Scalar | None = ...,
        memory_usage: int | None = ...,
        cpu_class: CPUClass | None = ...,
        gpu_class: GPUClass | None = ...,
        token_width: int | None = ...,
        choice_temperature_groups: int | None = ...,
        image: ImageShape | tuple[int, ...] | None = ...,
        video: VideoShape | tuple[int, ...] | None = ...,
        audio: AudioShape | tuple[int, ...] | None = ...,
    ) -> Self: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def context(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def quantization(self) -> Scalar: ...
    @property
    def memory_usage(self) -> int: ...
    @property
    def cpu_class(self) -> CPUClass: ...
    @property
    def gpu_class(self) -> GPUClass: ...
    @property
    def token_width(self) -> int: ...
    @property
    def choice_temperature_groups(self) -> int: ...
    @property
    def image(self) -> ImageShape: ...
    @property
    def video(self) -> VideoShape: ...
    @property
    def audio(self) -> AudioShape: ...

@final
class Model(Verbs):
    @staticmethod
    def load_ram(
        path: StrPath,
        *,
        memory_domains: Numbers | None = None,
        quantization: Scalar | None = None,
        executor: Executor | None = None,
        cpu_class: CPUClass | None = None,
        progress: Progress | None = None,
    ) -> Model: ...
    @staticmethod
    def load_ram_buffer(
        buffer: Lent,
        *,
        memory_domains: Numbers | None = None,
        quantization: Scalar | None = None,
        executor: Executor | None = None,
        cpu_class: CPUClass | None = None,
        progress: Progress | None = None,
    ) -> Model: ...
    @staticmethod
    def load_vram(
        path: StrPath,
        *,
        devices: Numbers | None = None,
        quantization: Scalar | None = None,
        executor: Executor | None = None,
        gpu_class: GPUClass | None = None,
        progress: Progress | None = None,
    ) -> Model: ...
    @staticmethod
    def load_vram_buffer(
        buffer: Lent,
        *,
        devices: Numbers | None = None,
        quantization: Scalar | None = None,
        executor: Executor | None = None,
        gpu_class: GPUClass | None = None,
        progress: Progress | None = None,
    ) -> Model: ...
    def on(self, executor: Executor, /) -> On: ...
    def deferred(self, executor: Executor, /) -> DeferredOn: ...
    def describe(self) -> ModelDescription: ...

@final
class On(Verbs): ...

@final
class DeferredOn(_DeferredVerbs): ...

__all__ = [
    "Modality",
    "ImageShape",
    "VideoShape",
    "AudioShape",
    "ModelDescription",
    "Model",
    "On",
    "DeferredOn",
]
