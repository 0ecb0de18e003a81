"""The list that test/conformance is held to, row by row, and how a test replays rows of it.

A row is a call that is right but for one thing: its status, a word its message names, and the item at fault. Rows that
Python cannot say are told apart by `reason`; a row that is neither replayed nor among them fails its test.
"""

import collections
import os
import pathlib

import pytest

import uform
from conftest import ROOT

MAX = 2**64 - 1
CONTRASTIVE, MASKED, JOINT = uform.Objective.CONTRASTIVE, uform.Objective.MASKED, uform.Objective.JOINT
Row = collections.namedtuple("Row", ["line", "test", "what", "before", "status", "word", "item", "is_file"])


def rows():
    for line, text in enumerate((ROOT / "test" / "conformance" / "rows.txt").read_text().split("\n")[:-1], 1):
        test, what, before, status, word, item, file = text.split("\t")
        yield Row(line, test, what, int(before), uform.Status[status.upper().replace("-", "_")], word,
                  int(item) if item else None, file == "file")


RECEIVER = "a verb is a method of its receiver, which decides the completion"
OUTPUT = "outputs are answered, and an arena is demanded"
TYPE = "another type of elements is a TypeError"
PLACE = "a buffer, a str and a path have a place, and are as long as they say"
SHAPE = "a picture's height and width are its buffer's shape, a row's stride its strides"

COUNTS = {RECEIVER: 28, OUTPUT: 14, TYPE: 17, PLACE: 25, SHAPE: 6}


def reason(row):
    """Why there is no such call; None: there is one."""
    what, encodes = row.what, row.test.split(".")[0] in ("encode_refusals", "clips", "images", "recordings")
    if row.is_file or row.test == "rerank.refusals" and what == "another scalar":
        return None
    if what in ("no model", "no trainer", "a completion below", "a completion beyond"):
        return RECEIVER
    if what == "no arena" or what == "no output" and not encodes:
        return OUTPUT
    if what.endswith("another scalar") or what in ("a query of e4m3", "a query of nothing"):
        return TYPE
    if what in ("endless items", "NULL nodes", "NULL of a length", "longer than memory", "a query without data",
                "no documents"):
        return PLACE
    if what in ("no heights", "no widths", "endless heights", "other heights", "a query's stride",
                "a document's stride"):
        return SHAPE
    return None


class Replay:
    """The rows of one test of the list that are still to be replayed; `with` sees that all are."""

    def __init__(self, test):
        self.test = test
        self.left = collections.deque(row for row in rows() if row.test == test and reason(row) is None)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        assert kind or not self.left, f"{self.test}: not replayed: {self.left[0]}"

    def compare(self, row, call, *arguments, **words):
        if row.status is uform.Status.SUCCESS:
            return call(*arguments, **words)
        with pytest.raises(uform.Error) as caught:
            call(*arguments, **words)
        error = caught.value
        named = row.word in str(error) or error.detail.startswith(row.word)
        assert (error.status, error.item) == (row.status, row.item) and named, (row, error, error.item)
        return None

    def row(self, what, call, *arguments, **words):
        """The next row, whose name is told so that none is taken for another."""
        assert self.left and self.left[0].what == what, f"{self.test}: the next row is {self.left[0]}, not {what!r}"
        self.compare(self.left.popleft(), call, *arguments, **words)

    def files(self, *calls):
        """Rows that are files, as conformance_stub wrote them into the folder UFORM_CONFORMANCE_FILES names."""
        folder = os.environ.get("UFORM_CONFORMANCE_FILES")
        if not folder:
            self.left.clear()
            pytest.skip("UFORM_CONFORMANCE_FILES names no folder")
        while self.left:
            row = self.left.popleft()
            for call in calls:
                self.compare(row, call, pathlib.Path(folder) / str(row.line))


def init(executor=None, batch={}, objective=CONTRASTIVE, schedule={}, **words):
    """A run of the smallest model, as test/conformance has it; dicts are fields of the records they are named after."""
    batch = dict(max_rows_per_device=8, max_segments_per_device=6, max_columns_per_row=32) | batch
    kinds = dict(masking=uform.Masking, contrastive=uform.Contrastive, late_interaction=uform.LateInteraction,
                 choices=uform.Choices, regularizers=uform.Regularizers)
    words = {name: kinds[name](**value) if isinstance(value, dict) else value for name, value in words.items()}
    return uform.Trainer.init_ram(executor, **(dict(
        depth=1, hidden=128, batch=uform.BatchShape(**batch), objective=objective,
        schedule=uform.Schedule(**(dict(steps=20) | schedule)), seed=7) | words))
