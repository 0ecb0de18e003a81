from collections.abc import Iterable
from enum import IntFlag
from typing import Any, NamedTuple, final

from typing_extensions import Self

from .types import Arena, ArenaBuffer, Deferred, Executor, Files, Items, Lent, Limits, Numbers, Progress, RowsTape, Scalar

class Outputs(IntFlag):
    EMBEDDINGS = 1
    STATES = 2
    TOKEN_VECTORS = 4

@final
class Encoded(NamedTuple):
    # None where `outputs` leaves a surface out, which only the caller knows.
    embeddings: ArenaBuffer | Any
    states: RowsTape | Any
    token_vectors: RowsTape | Any

@final
class TextEncodeStats:
    def __new__(
        cls,
        truncated: int | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def truncated(self) -> int: ...
    @property
    def tokens(self) -> int: ...

@final
class ImageEncodeStats:
    def __new__(
        cls,
        truncated: int | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def truncated(self) -> int: ...
    @property
    def tokens(self) -> int: ...

@final
class VideoEncodeStats:
    def __new__(
        cls,
        truncated: int | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def truncated(self) -> int: ...
    @property
    def tokens(self) -> int: ...

@final
class AudioEncodeStats:
    def __new__(
        cls,
        truncated: int | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def truncated(self) -> int: ...
    @property
    def tokens(self) -> int: ...

@final
class TextChooseStats:
    def __new__(
        cls,
        truncated: int | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def truncated(self) -> int: ...
    @property
    def tokens(self) -> int: ...

class Verbs:
    def text_encode(
        self,
        texts: Items,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: TextEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Encoded: ...
    def image_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: ImageEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Encoded: ...
    def image_encode_pixels(
        self,
        pixels: Iterable[Lent],
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: ImageEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Encoded: ...
    def video_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: VideoEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Encoded: ...
    def audio_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: AudioEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Encoded: ...
    def audio_encode_samples(
        self,
        samples: Files,
        sample_rate: int,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: AudioEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Encoded: ...
    def text_choose(
        self,
        texts: Items,
        choices: Items,
        arena: Arena,
        *,
        temperature_groups: Numbers | None = None,
        outputs_scalar: Scalar | None = None,
        stats: TextChooseStats | None = None,
        progress: Progress | None = None,
    ) -> RowsTape: ...
    def rerank(
        self,
        query: Lent,
        documents: RowsTape | tuple[Lent, Numbers],
        arena: Arena,
        *,
        outputs_scalar: Scalar | None = None,
        progress: Progress | None = None,
    ) -> ArenaBuffer: ...

class _DeferredVerbs:
    def text_encode(
        self,
        texts: Items,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: TextEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Deferred[Encoded]: ...
    def image_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: ImageEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Deferred[Encoded]: ...
    def image_encode_pixels(
        self,
        pixels: Iterable[Lent],
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: ImageEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Deferred[Encoded]: ...
    def video_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: VideoEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Deferred[Encoded]: ...
    def audio_encode(
        self,
        files: Files,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: AudioEncodeStats | None = None,
        progress: Progress | None = None,
        limits: Limits | tuple[int, ...] | None = None,
    ) -> Deferred[Encoded]: ...
    def audio_encode_samples(
        self,
        samples: Files,
        sample_rate: int,
        arena: Arena,
        *,
        outputs: Outputs | None = None,
        dimensions: int = 0,
        outputs_scalar: Scalar | None = None,
        stats: AudioEncodeStats | None = None,
        progress: Progress | None = None,
    ) -> Deferred[Encoded]: ...
    def text_choose(
        self,
        texts: Items,
        choices: Items,
        arena: Arena,
        *,
        temperature_groups: Numbers | None = None,
        outputs_scalar: Scalar | None = None,
        stats: TextChooseStats | None = None,
        progress: Progress | None = None,
    ) -> Deferred[RowsTape]: ...
    def rerank(
        self,
        query: Lent,
        documents: RowsTape | tuple[Lent, Numbers],
        arena: Arena,
        *,
        outputs_scalar: Scalar | None = None,
        progress: Progress | None = None,
    ) -> Deferred[ArenaBuffer]: ...

def rerank(
    query: Lent,
    documents: RowsTape | tuple[Lent, Numbers],
    arena: Arena,
    *,
    outputs_scalar: Scalar | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> ArenaBuffer: ...

__all__ = [
    "Outputs",
    "Encoded",
    "TextEncodeStats",
    "ImageEncodeStats",
    "VideoEncodeStats",
    "AudioEncodeStats",
    "TextChooseStats",
    "rerank",
    "Verbs",
]
