"""Loading checkpoints into immutable models, and their descriptions."""

from ._uform import (
    Modality,
    ImageShape,
    VideoShape,
    AudioShape,
    ModelDescription,
    Model,
    On,
    DeferredOn,
)

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
