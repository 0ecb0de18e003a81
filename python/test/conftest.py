"""What the tests share. UFORM_TEST_STUB=1 says that the stub is linked; UFORM_TEST_CHECKPOINT names another checkpoint."""

import os
import pathlib

import numpy as np
import pytest

import uform

ROOT = pathlib.Path(__file__).resolve().parents[2]
NANO = pathlib.Path(os.environ.get("UFORM_TEST_CHECKPOINT", ROOT / "models" / "nano-text.safetensors"))
STUB = os.environ.get("UFORM_TEST_STUB") == "1"

engine_only = pytest.mark.skipif(STUB, reason="says nothing about the stub")


@pytest.fixture(scope="session")
def nano_path():
    return NANO


@pytest.fixture(scope="session")
def model():
    return uform.Model.load_ram(NANO)


@pytest.fixture
def arena():
    return uform.Arena()


@pytest.fixture
def executor():
    with uform.Executor.for_ram(threads=2) as made:
        yield made


def media_batch(**changes):
    """Room for sixteen rows of 64 tokens, in every medium."""
    shape = dict(max_rows_per_device=16, max_segments_per_device=32, max_columns_per_row=64, max_choices_per_item=8,
                 image=uform.ImageShape(patch_side=8), video=uform.VideoShape(patch_side=16),
                 audio=uform.AudioShape(chunk_samples=320))
    return uform.BatchShape(**(shape | changes))


def make_trainer(executor=None, **changes):
    """A trainer of a model with every head, small enough for a test."""
    options = dict(
        depth=1, hidden=128, objective=uform.Objective.CONTRASTIVE,
        batch=uform.BatchShape(max_rows_per_device=16, max_segments_per_device=32, max_columns_per_row=64,
                               max_choices_per_item=8),
        late_interaction=uform.LateInteraction(weight=1.0, width=32),
        choices=uform.Choices(weight=1.0, temperature_groups=2),
        schedule=uform.Schedule(steps=10), seed=7)
    return uform.Trainer.init_ram(executor, **(options | changes))


@pytest.fixture(scope="session")
def rich_path(tmp_path_factory):
    """A checkpoint with a token head (32 wide) and a byte decoder (two temperature groups)."""
    path = tmp_path_factory.mktemp("rich") / "rich.safetensors"
    make_trainer().save(path)
    return path


@pytest.fixture(scope="session")
def media_path(tmp_path_factory):
    """A checkpoint that takes texts, pictures, clips and recordings, and has a token head and a byte decoder."""
    path = tmp_path_factory.mktemp("media") / "media.safetensors"
    make_trainer(batch=media_batch()).save(path)
    return path


@pytest.fixture(scope="session")
def media(media_path):
    return uform.Model.load_ram(media_path)


@pytest.fixture(scope="session")
def rich(rich_path):
    return uform.Model.load_ram(rich_path)


def rows(output):
    """A copy of an output, which pins nothing."""
    return np.array(output)
