"""Texts to NumPy and back to a ranking: the thin layer over `uform.encode`, and nothing more.

Needs NumPy, which `uform` itself does not; `make_index` needs USearch. Scores are inner products of unit rows: cosines.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .model import Model
from .types import Arena, Executor, InvalidArgumentError, ShapeMismatchError

__all__ = ["Encoder", "make_index", "top_k"]

Rows = NDArray[np.float32]


class Encoder:
    """A model with threads of its own and an arena to land in. One thread at a time may call it."""

    def __init__(self, model: Model | str | os.PathLike[str], *, threads: int = 0, dimensions: int = 0) -> None:
        """`model` is a `uform.Model` or a checkpoint's path; `threads` and `dimensions` zero are all of them."""
        self.executor = Executor.for_ram(threads=threads)
        self.model = model if isinstance(model, Model) else Model.load_ram(model, executor=self.executor)
        self.dimensions = dimensions
        self._arena = Arena(self.executor)

    def encode(self, texts: str | Iterable[str]) -> Rows:
        """Unit rows [texts, dimensions] in float32, a copy of the caller's own; of one str one row [dimensions]."""
        if isinstance(texts, str):
            row: Rows = self.encode([texts])[0]
            return row
        encoded = self.model.on(self.executor).text_encode(texts, self._arena, dimensions=self.dimensions)
        return np.array(encoded.embeddings)

    def rank(self, query: str, documents: Iterable[str], count: int | None = None) -> list[tuple[int, float]]:
        """The `count` best documents, all if None, as (position, cosine), best first; of equals the earlier first."""
        if isinstance(documents, (str, bytes)):
            raise TypeError(f"documents must be several texts, not one {type(documents).__name__}")
        rows = self.encode(list(documents))
        positions, scores = top_k(self.encode([query]), rows, len(rows) if count is None else count)
        return list(zip(positions[0].tolist(), scores[0].tolist()))


def top_k(queries: ArrayLike, rows: ArrayLike, count: int, *, block: int = 65_536) -> tuple[NDArray[np.int64], Rows]:
    """The exact best `count` rows of each query, best first, of equals the earlier first: positions and scores.

    Scores [queries, `block`] are held at a time, whatever the number of rows. Fewer rows than `count` are all answered;
    rows of another scalar than float32 are scored as float32.
    """
    if operator.index(count) < 0 or operator.index(block) < 1:
        raise InvalidArgumentError("count must not be negative, and block must be above zero")
    queries, rows = np.asarray(queries), np.asarray(rows)  # of what encode verbs answer, without a copy
    if queries.ndim != 2 or rows.ndim != 2 or queries.shape[1] != rows.shape[1]:
        raise ShapeMismatchError(f"queries and rows must be matrices of one width, not {queries.shape} and {rows.shape}")
    queries, count = queries.astype(np.float32, copy=False), min(count, len(rows))
    positions = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(rows), block):
        part = queries @ rows[start : start + block].astype(np.float32, copy=False).T
        here = np.broadcast_to(np.arange(start, start + part.shape[1]), part.shape)
        scores, positions = np.hstack([scores, part]), np.hstack([positions, here])
        # Stable, so that equals stay in the order of their rows; what is kept of the blocks before comes first.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        scores, positions = np.take_along_axis(scores, order, 1), np.take_along_axis(positions, order, 1)
    return positions, scores


def make_index(rows: ArrayLike, *, dtype: str = "f16") -> Any:
    """A `usearch.index.Index` over rows by inner product, keyed by position: `index.search(query, count)`."""
    rows = np.asarray(rows)
    if rows.ndim != 2:
        raise ShapeMismatchError(f"rows must be a matrix, not {rows.shape}")
    from usearch.index import Index

    index = Index(ndim=rows.shape[1], metric="ip", dtype=dtype)
    index.add(np.arange(len(rows), dtype=np.uint64), rows)
    return index
