"""Training: the mesh that joins processes, and the trainer that steps, reports and saves."""

from collections import namedtuple as _namedtuple

from ._uform import (
    MultimemTier,
    Objective,
    Negatives,
    PairLossForm,
    LateInteractionSide,
    MeshOptions,
    MeshDescription,
    Mesh,
    BatchShape,
    Masking,
    Contrastive,
    LateInteraction,
    Choices,
    Regularizers,
    Schedule,
    TrainerStepStats,
    TrainerVerbs,
    Trainer,
    TrainerOn,
    TrainerDeferredOn,
)

Edges = _namedtuple("Edges", ["offsets", "ids", "weights"], defaults=[None])
Edges.__doc__ = "Links from items to items: item i's are ids[offsets[i]] up to ids[offsets[i + 1]], their weights all one if None."
Relations = _namedtuple("Relations", ["attract", "repel", "ignore"], defaults=[None, None, None])
Relations.__doc__ = "What each ordered pair of a step is: the first `Edges` that names it decides, of ignore, attract, repel."

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
