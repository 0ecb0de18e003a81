from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, final

from typing_extensions import Self

from .model import AudioShape, ImageShape, Modality, VideoShape
from .types import Arena, ArenaBuffer, Deferred, Executor, GPUClass, Items, Lent, Limits, Numbers, Progress, RowsTape, Scalar, StrPath

class MultimemTier(IntEnum):
    NONE = 0
    PEER = 1
    MULTICAST = 2

class Objective(IntEnum):
    UNKNOWN = -1
    MASKED = 0
    CONTRASTIVE = 1
    JOINT = 2

class Negatives(IntEnum):
    UNKNOWN = -1
    AMBIENT = 0
    NAMED = 1

class PairLossForm(IntEnum):
    UNKNOWN = -1
    DERIVED = 0
    BALANCED = 1
    RANKED = 2
    SIGMOID = 3
    SOFTMAX = 4

class LateInteractionSide(IntEnum):
    UNKNOWN = -1
    NONE = 0
    QUERY = 1
    DOCUMENT = 2
    QUERY_AND_DOCUMENT = 3

@final
class MeshOptions:
    def __new__(
        cls,
        host_domain_index: int | None = ...,
        host_domain_count: int | None = ...,
        multicast_extent: int | None = ...,
        directory: StrPath | None = ...,
        job: str | bytes | None = ...,
        deadline_milliseconds: int | None = ...,
    ) -> Self: ...
    @property
    def host_domain_index(self) -> int: ...
    @property
    def host_domain_count(self) -> int: ...
    @property
    def multicast_extent(self) -> int: ...
    @property
    def directory(self) -> str: ...
    @property
    def job(self) -> str: ...
    @property
    def deadline_milliseconds(self) -> int: ...

@final
class MeshDescription:
    def __new__(
        cls,
        host_domain_index: int | None = ...,
        host_domain_count: int | None = ...,
        devices: int | None = ...,
        multimem_tier: MultimemTier | None = ...,
        gpu_class: GPUClass | None = ...,
    ) -> Self: ...
    @property
    def host_domain_index(self) -> int: ...
    @property
    def host_domain_count(self) -> int: ...
    @property
    def devices(self) -> int: ...
    @property
    def multimem_tier(self) -> MultimemTier: ...
    @property
    def gpu_class(self) -> GPUClass: ...

@final
class BatchShape:
    def __new__(
        cls,
        max_rows_per_device: int | None = ...,
        max_segments_per_device: int | None = ...,
        max_columns_per_row: int | None = ...,
        max_bags_per_device: int | None = ...,
        max_choices_per_item: int | None = ...,
        kept_activation_bytes: int | None = ...,
        image: ImageShape | tuple[int, ...] | None = ...,
        video: VideoShape | tuple[int, ...] | None = ...,
        audio: AudioShape | tuple[int, ...] | None = ...,
    ) -> Self: ...
    @property
    def max_rows_per_device(self) -> int: ...
    @property
    def max_segments_per_device(self) -> int: ...
    @property
    def max_columns_per_row(self) -> int: ...
    @property
    def max_bags_per_device(self) -> int: ...
    @property
    def max_choices_per_item(self) -> int: ...
    @property
    def kept_activation_bytes(self) -> int: ...
    @property
    def image(self) -> ImageShape: ...
    @property
    def video(self) -> VideoShape: ...
    @property
    def audio(self) -> AudioShape: ...

@final
class Masking:
    def __new__(
        cls,
        token_mask_probability: float | None = ...,
        token_mean_span: float | None = ...,
        replace_fraction: float | None = ...,
        random_fraction: float | None = ...,
        image_mask_ratio: float | None = ...,
        video_mask_ratio: float | None = ...,
        audio_mask_ratio: float | None = ...,
        text_weight: float | None = ...,
        image_weight: float | None = ...,
        video_weight: float | None = ...,
        audio_weight: float | None = ...,
    ) -> Self: ...
    @property
    def token_mask_probability(self) -> float: ...
    @property
    def token_mean_span(self) -> float: ...
    @property
    def replace_fraction(self) -> float: ...
    @property
    def random_fraction(self) -> float: ...
    @property
    def image_mask_ratio(self) -> float: ...
    @property
    def video_mask_ratio(self) -> float: ...
    @property
    def audio_mask_ratio(self) -> float: ...
    @property
    def text_weight(self) -> float: ...
    @property
    def image_weight(self) -> float: ...
    @property
    def video_weight(self) -> float: ...
    @property
    def audio_weight(self) -> float: ...

@final
class Contrastive:
    def __new__(
        cls,
        matryoshka_dimensions: Sequence[int] | None = ...,
        temperature_groups: int | None = ...,
        inverse_temperature: float | None = ...,
        bias: float | None = ...,
        negatives: Negatives | None = ...,
        ambient_repulsion_weight: float | None = ...,
        max_edges_per_device: int | None = ...,
        pair_loss: PairLossForm | None = ...,
    ) -> Self: ...
    @property
    def matryoshka_dimensions(self) -> tuple[int, ...]: ...
    @property
    def temperature_groups(self) -> int: ...
    @property
    def inverse_temperature(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def negatives(self) -> Negatives: ...
    @property
    def ambient_repulsion_weight(self) -> float: ...
    @property
    def max_edges_per_device(self) -> int: ...
    @property
    def pair_loss(self) -> PairLossForm: ...

@final
class LateInteraction:
    def __new__(
        cls,
        weight: float | None = ...,
        width: int | None = ...,
        inverse_temperature: float | None = ...,
        bias: float | None = ...,
        max_query_span: int | None = ...,
        max_query_tokens_per_device: int | None = ...,
        max_documents_per_device: int | None = ...,
        max_document_tokens_per_device: int | None = ...,
        pair_loss: PairLossForm | None = ...,
        prefix_tokens: int | None = ...,
    ) -> Self: ...
    @property
    def weight(self) -> float: ...
    @property
    def width(self) -> int: ...
    @property
    def inverse_temperature(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def max_query_span(self) -> int: ...
    @property
    def max_query_tokens_per_device(self) -> int: ...
    @property
    def max_documents_per_device(self) -> int: ...
    @property
    def max_document_tokens_per_device(self) -> int: ...
    @property
    def pair_loss(self) -> PairLossForm: ...
    @property
    def prefix_tokens(self) -> int: ...

@final
class Choices:
    def __new__(
        cls,
        weight: float | None = ...,
        brier_weight: float | None = ...,
        temperature_groups: int | None = ...,
    ) -> Self: ...
    @property
    def weight(self) -> float: ...
    @property
    def brier_weight(self) -> float: ...
    @property
    def temperature_groups(self) -> int: ...

@final
class Regularizers:
    def __new__(
        cls,
        coding_rate_weight: float | None = ...,
        coding_rate_epsilon_squared: float | None = ...,
        lipschitz_weight: float | None = ...,
        lipschitz_iterations: int | None = ...,
    ) -> Self: ...
    @property
    def coding_rate_weight(self) -> float: ...
    @property
    def coding_rate_epsilon_squared(self) -> float: ...
    @property
    def lipschitz_weight(self) -> float: ...
    @property
    def lipschitz_iterations(self) -> int: ...

@final
class Schedule:
    def __new__(
        cls,
        learning_rate: float | None = ...,
        min_learning_rate: float | None = ...,
        warmup_steps: int | None = ...,
        steps: int | None = ...,
    ) -> Self: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def min_learning_rate(self) -> float: ...
    @property
    def warmup_steps(self) -> int: ...
    @property
    def steps(self) -> int: ...

@final
class TrainerStepStats:
    def __new__(
        cls,
        step: int | None = ...,
        learning_rate: float | None = ...,
        loss: float | None = ...,
        contrastive_loss: float | None = ...,
        masked_text_loss: float | None = ...,
        masked_image_loss: float | None = ...,
        masked_video_loss: float | None = ...,
        masked_audio_loss: float | None = ...,
        late_interaction_loss: float | None = ...,
        choices_loss: float | None = ...,
        truncated: int | None = ...,
        dropped: int | None = ...,
        gradient_norm: float | None = ...,
        coding_rate: float | None = ...,
        lipschitz: float | None = ...,
        effective_rank: float | None = ...,
        tokens: int | None = ...,
    ) -> Self: ...
    @property
    def step(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def contrastive_loss(self) -> float: ...
    @property
    def masked_text_loss(self) -> float: ...
    @property
    def masked_image_loss(self) -> float: ...
    @property
    def masked_video_loss(self) -> float: ...
    @property
    def masked_audio_loss(self) -> float: ...
    @property
    def late_interaction_loss(self) -> float: ...
    @property
    def choices_loss(self) -> float: ...
    @property
    def truncated(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def coding_rate(self) -> float: ...
    @property
    def lipschitz(self) -> float: ...
    @property
    def effective_rank(self) -> float: ...
    @property
    def tokens(self) -> int: ...

class Edges(NamedTuple):
    offsets: Numbers
    ids: Numbers
    weights: Lent | None = None

class Relations(NamedTuple):
    attract: Edges | tuple[Any, ...] | None = None
    repel: Edges | tuple[Any, ...] | None = None
    ignore: Edges | tuple[Any, ...] | None = None

@final
class Mesh:
    @staticmethod
    def bootstrap(
        executor: Executor | None = None,
        options: MeshOptions | tuple[Any, ...] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Mesh: ...
    def describe(self) -> MeshDescription: ...

class TrainerVerbs:
    def step(
        self,
        modalities: Numbers | None,
        contents: Items,
        *,
        bags: Numbers | None = None,
        temperature_groups: Numbers | None = None,
        sides: Numbers | None = None,
        choices: Items | None = None,
        choice_targets: Iterable[Lent] | tuple[Lent, Lent] | None = None,
        relations: Relations | None = None,
        limits: Limits | tuple[int, ...] | None = None,
        arena: Arena | None = None,
        token_vectors: bool = False,
        outputs_scalar: Scalar | None = None,
        stats: TrainerStepStats | None = None,
    ) -> Any: ...
    def save(self, path: StrPath, *, optimizer: bool = False, progress: Progress | None = None) -> None: ...

class _DeferredTrainerVerbs:
    def step(
        self,
        modalities: Numbers | None,
        contents: Items,
        *,
        bags: Numbers | None = None,
        temperature_groups: Numbers | None = None,
        sides: Numbers | None = None,
        choices: Items | None = None,
        choice_targets: Iterable[Lent] | tuple[Lent, Lent] | None = None,
        relations: Relations | None = None,
        limits: Limits | tuple[int, ...] | None = None,
        arena: Arena | None = None,
        token_vectors: bool = False,
        outputs_scalar: Scalar | None = None,
        stats: TrainerStepStats | None = None,
    ) -> Deferred[Any]: ...
    def save(self, path: StrPath, *, optimizer: bool = False, progress: Progress | None = None) -> Deferred[None]: ...

@final
class Trainer(TrainerVerbs):
    @staticmethod
    def init_ram(
        executor: Executor | None = None,
        *,
        mesh: Mesh | None = None,
        depth: int = 0,
        hidden: int = 0,
        batch: BatchShape | tuple[Any, ...] | None = None,
        objective: Objective | None = None,
        masking: Masking | tuple[float, ...] | None = None,
        contrastive: Contrastive | tuple[Any, ...] | None = None,
        late_interaction: LateInteraction | tuple[Any, ...] | None = None,
        choices: Choices | tuple[Any, ...] | None = None,
        regularizers: Regularizers | tuple[Any, ...] | None = None,
        schedule: Schedule | tuple[Any, ...] | None = None,
        resume: StrPath | None = None,
        initial: StrPath | None = None,
        query_prefix: str | bytes | None = None,
        document_prefix: str | bytes | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Trainer: ...
    @staticmethod
    def init_vram(
        executor: Executor | None = None,
        *,
        mesh: Mesh | None = None,
        depth: int = 0,
        hidden: int = 0,
        batch: BatchShape | tuple[Any, ...] | None = None,
        objective: Objective | None = None,
        masking: Masking | tuple[float, ...] | None = None,
        contrastive: Contrastive | tuple[Any, ...] | None = None,
        late_interaction: LateInteraction | tuple[Any, ...] | None = None,
        choices: Choices | tuple[Any, ...] | None = None,
        regularizers: Regularizers | tuple[Any, ...] | None = None,
        schedule: Schedule | tuple[Any, ...] | None = None,
        resume: StrPath | None = None,
        initial: StrPath | None = None,
        query_prefix: str | bytes | None = None,
        document_prefix: str | bytes | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Trainer: ...
    def on(self, executor: Executor, /) -> TrainerOn: ...
    def deferred(self, executor: Executor, /) -> TrainerDeferredOn: ...

@final
class TrainerOn(TrainerVerbs): ...

@final
class TrainerDeferredOn(_DeferredTrainerVerbs): ...

__all__ = [
    "MultimemTier",
    "Objective",
    "Negatives",
    "PairLossForm",
    "LateInteractionSide",
    "MeshOptions",
    "MeshDescription",
    "Mesh",
    "BatchShape",
    "Masking",
    "Contrastive",
    "LateInteraction",
    "Choices",
    "Regularizers",
    "Schedule",
    "TrainerStepStats",
    "TrainerVerbs",
    "Trainer",
    "TrainerOn",
    "TrainerDeferredOn",
    "Edges",
    "Relations",
]
