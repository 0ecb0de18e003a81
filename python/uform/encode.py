"""What the encode verbs take and answer; the verbs are methods of `uform.Model` and its receivers."""

from ._uform import (
    Outputs,
    Encoded,
    TextEncodeStats,
    ImageEncodeStats,
    VideoEncodeStats,
    AudioEncodeStats,
    TextChooseStats,
    rerank,
    Verbs,
)

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
