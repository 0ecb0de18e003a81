from collections.abc import Callable, Generator, Iterable, Sequence
from enum import IntEnum
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar, Union, final

from typing_extensions import Buffer, Self, TypeAlias

class SupportsArray(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

# NumPy's arrays are no Buffer to type checkers that read them as of Python 3.11.
Lent: TypeAlias = Union[Buffer, SupportsArray]
_Result = TypeVar("_Result")
StrPath: TypeAlias = Union[str, bytes, PathLike[str], PathLike[bytes]]
Progress: TypeAlias = Callable[[int, int], object]
Numbers: TypeAlias = Union[Lent, Iterable[int]]
Tape: TypeAlias = tuple[Lent, Union[Lent, list[int], tuple[int, ...]]]
Items: TypeAlias = Union[Iterable[Union[str, Lent]], Tape]
Files: TypeAlias = Union[Iterable[Lent], Tape]

class Status(IntEnum):
    UNKNOWN = -1
    SUCCESS = 0
    DEFERRED = 1
    OUT_OF_MEMORY = 2
    SHAPE_MISMATCH = 3
    UNSUPPORTED_LAYOUT = 4
    UNKNOWN_KIND = 5
    IO = 6
    DEVICE = 7
    MALFORMED = 8
    INTERNAL = 9
    CONFIG_MISMATCH = 10
    CONTENDED = 11
    CANCELLED = 12
    UNSUPPORTED = 13
    INVALID_ARGUMENT = 14

class Scalar(IntEnum):
    UNKNOWN = -1
    DEFAULT = 0
    F32 = 1
    BF16 = 2
    F16 = 3
    E4M3 = 4
    I8 = 5
    U8 = 6
    U32 = 7
    U64 = 8

class Completion(IntEnum):
    UNKNOWN = -1
    BLOCKING = 0
    QUEUED = 1

class Mood(IntEnum):
    UNKNOWN = -1
    SPINNING = 0
    PARKED = 1

class CPUClass(IntEnum):
    UNKNOWN = -1
    DERIVED = 0
    SERIAL = 1
    INTEL_HASWELL = 2
    INTEL_SKYLAKE = 3
    AMD_GENOA = 4
    INTEL_SAPPHIRE_RAPIDS = 5
    INTEL_DIAMOND_RAPIDS = 6
    NEON = 7
    AWS_GRAVITON2 = 8
    AWS_GRAVITON3 = 9
    NVIDIA_VERA = 10
    WASM_SIMD = 11

class GPUClass(IntEnum):
    UNKNOWN = -1
    DERIVED = 0
    NVIDIA_AMPERE = 1
    NVIDIA_ADA = 2
    NVIDIA_HOPPER = 3
    NVIDIA_BLACKWELL = 4
    AMD_CDNA3 = 5
    AMD_CDNA4 = 6
    AMD_CDNA5 = 7

class Error(RuntimeError):
    status: Status
    item: int | None
    detail: str

class OutOfMemoryError(Error, MemoryError): ...
class ShapeMismatchError(Error, ValueError): ...
class UnsupportedLayoutError(Error, ValueError): ...
class UnknownKindError(Error, ValueError): ...
class InputOutputError(Error, OSError): ...
class DeviceError(Error): ...
class MalformedError(Error, ValueError): ...
class InternalError(Error): ...
class ConfigMismatchError(Error, ValueError): ...
class ContendedError(Error): ...
class CancelledError(Error): ...
class UnsupportedError(Error, NotImplementedError): ...
class InvalidArgumentError(Error, ValueError): ...
class InvalidTypeError(InvalidArgumentError, TypeError): ...

@final
class Limits:
    def __new__(
        cls,
        max_pixels: int | None = ...,
        max_frame_pixels: int | None = ...,
        max_file_bytes: int | None = ...,
        max_seconds: int | None = ...,
    ) -> Self: ...
    @property
    def max_pixels(self) -> int: ...
    @property
    def max_frame_pixels(self) -> int: ...
    @property
    def max_file_bytes(self) -> int: ...
    @property
    def max_seconds(self) -> int: ...

@final
class Executor:
    @staticmethod
    def for_ram(threads: int = 0, *, memory_domains: Numbers | None = None, cpu_class: CPUClass | None = None) -> Executor: ...
    @staticmethod
    def for_vram(
        devices: Numbers | None = None,
        *,
        scratch_limit: int = 0,
        gpu_class: GPUClass | None = None,
        cpu_class: CPUClass | None = None,
        memory_domains: Numbers | None = None,
    ) -> Executor: ...
    @staticmethod
    def on_pool(pool: object) -> Executor: ...
    def drain(self, mood: Mood | None = None) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Arena:
    def __new__(cls, executor: Executor | None = None) -> Self: ...

@final
class ArenaBuffer:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def scalar(self) -> Scalar: ...
    @property
    def arena(self) -> Arena: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class RowsTape:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def scalar(self) -> Scalar: ...
    @property
    def arena(self) -> Arena: ...
    @property
    def offsets(self) -> ArenaBuffer: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Deferred(Generic[_Result]):
    @property
    def status(self) -> Status: ...
    def wait(self) -> _Result: ...
    def __await__(self) -> Generator[Any, Any, _Result]: ...

@final
class GPUDevice:
    def __new__(
        cls,
        gpu_class: GPUClass | None = ...,
        memory_bytes: int | None = ...,
        memory_domain: int | None = ...,
        name: str | None = ...,
    ) -> Self: ...
    @property
    def gpu_class(self) -> GPUClass: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def memory_domain(self) -> int: ...
    @property
    def name(self) -> str: ...

@final
class Capabilities:
    def __new__(
        cls,
        cpu_classes_built: Iterable[CPUClass] | None = ...,
        cpu_classes: Iterable[CPUClass] | None = ...,
        cpu_class: CPUClass | None = ...,
        gpu_classes_built: Iterable[GPUClass] | None = ...,
        gpu_classes: Iterable[GPUClass] | None = ...,
        gpu_devices: int | None = ...,
        threads: int | None = ...,
    ) -> Self: ...
    @property
    def cpu_classes_built(self) -> tuple[CPUClass, ...]: ...
    @property
    def cpu_classes(self) -> tuple[CPUClass, ...]: ...
    @property
    def cpu_class(self) -> CPUClass: ...
    @property
    def gpu_classes_built(self) -> tuple[GPUClass, ...]: ...
    @property
    def gpu_classes(self) -> tuple[GPUClass, ...]: ...
    @property
    def gpu_devices(self) -> int: ...
    @property
    def threads(self) -> int: ...

def gpu_devices() -> list[GPUDevice]: ...
def capabilities() -> Capabilities: ...
def version() -> str: ...

__all__ = [
    "Status",
    "Scalar",
    "Completion",
    "Mood",
    "CPUClass",
    "GPUClass",
    "Error",
    "OutOfMemoryError",
    "ShapeMismatchError",
    "UnsupportedLayoutError",
    "UnknownKindError",
    "InputOutputError",
    "DeviceError",
    "MalformedError",
    "InternalError",
    "ConfigMismatchError",
    "ContendedError",
    "CancelledError",
    "UnsupportedError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "Limits",
    "Executor",
    "Arena",
    "ArenaBuffer",
    "RowsTape",
    "Deferred",
    "GPUDevice",
    "Capabilities",
    "gpu_devices",
    "capabilities",
    "version",
]
