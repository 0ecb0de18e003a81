"""What the binding was promised to run, block by block; where this build has no GPU and no media, its refusal."""

import asyncio

import numpy as np
import pytest

import uform
from conftest import NANO, STUB


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    """Paths as the blocks name them, relative to where they run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.safetensors").symlink_to(NANO)


def test_quickstart(checkpoint):
    executor = uform.Executor.for_ram()
    arena = uform.Arena(executor)
    model = uform.Model.load_ram("model.safetensors", quantization=uform.Scalar.BF16)

    encoded = model.on(executor).text_encode(["a cat on a mat", "a dog in the fog"], arena)
    embeddings = np.asarray(encoded.embeddings)
    assert embeddings.shape == (2, model.describe().dimensions)
    assert embeddings.dtype == np.float32 and not embeddings.flags.owndata


def test_deferred_call(model, executor):
    async def block(files):
        call = model.deferred(executor).image_encode(files, uform.Arena(executor))
        return await call

    with pytest.raises(uform.UnsupportedError):
        asyncio.run(block([b"\xff\xd8\xff"]))


def test_reused_arena(model, executor):
    class Index:
        rows = []

        def add(self, rows):
            self.rows.append(rows)

    index, batches = Index(), [["one", "two"], ["three"], ["four"] * 5]
    arena = uform.Arena(executor)
    for batch in batches:
        encoded = model.on(executor).text_encode(batch, arena)
        index.add(np.array(encoded.embeddings))
    assert [len(rows) for rows in index.rows] == [2, 1, 5]


def test_lent_tape(model, arena):
    data = b"first documentthe second"
    offsets = np.array([0, 14, 24], dtype=np.uint64)
    encoded = model.text_encode((data, offsets), arena)
    apart = model.text_encode([data[:14], data[14:]], uform.Arena())
    assert np.array_equal(np.asarray(encoded.embeddings), np.asarray(apart.embeddings))


def test_outputs(model, arena):
    texts = ["one", "three"]
    encoded = model.text_encode(texts, arena, outputs=uform.Outputs.EMBEDDINGS | uform.Outputs.STATES)
    embeddings, states, token_vectors = encoded
    offsets = np.asarray(states.offsets)
    assert isinstance(embeddings, uform.ArenaBuffer) and isinstance(states, uform.RowsTape) and token_vectors is None
    assert offsets.tolist() == [0, 3, 8] and offsets.dtype == np.uint64


def test_choices(rich, arena):
    probabilities = rich.text_choose(["keep this candidate? ", "expand which neighbour? "], ["yn", "ABCD"], arena)
    offsets = np.asarray(probabilities.offsets)
    assert offsets.tolist() == [0, 2, 6] and np.asarray(probabilities).dtype == np.float32


def test_training(checkpoint, tmp_path):
    rank, nodes = 0, 1
    with pytest.raises(uform.UnsupportedError):  # no GPUs: the rest on a RAM executor
        uform.Executor.for_vram(devices=[0, 1])
    executor = uform.Executor.for_ram(threads=1)
    mesh = uform.Mesh.bootstrap(executor, uform.MeshOptions(host_domain_index=rank, host_domain_count=nodes,
                                                            directory=str(tmp_path), job="run-17"))
    batch = dict(max_rows_per_device=64, max_segments_per_device=256, max_columns_per_row=256, max_bags_per_device=128)
    words = dict(mesh=mesh, depth=1, hidden=128, objective=uform.Objective.JOINT,
                 schedule=uform.Schedule(steps=100_000), seed=42)
    with pytest.raises(uform.UnsupportedError):  # images wait for their entry
        uform.Trainer.init_ram(executor, batch=uform.BatchShape(**batch, image=uform.ImageShape(patch_side=16)), **words)
    trainer = uform.Trainer.init_ram(executor, batch=uform.BatchShape(**batch), **words)
    modalities, contents, bags = [uform.Modality.TEXT] * 4, ["one", "eins", "two", "zwei"], [0, 0, 1, 1]
    offsets, ids = np.arange(5, dtype=np.uint64), np.array([1, 0, 3, 2], np.uint32)
    stats = uform.TrainerStepStats()
    trainer.step(modalities, contents, bags=bags, relations=uform.Relations(attract=(offsets, ids)), stats=stats)
    trainer.save("checkpoint.safetensors")
    assert stats.step == 1 and uform.Model.load_ram("checkpoint.safetensors").describe().dimensions == 128
    assert STUB or stats.loss > 0


def test_errors(model, executor, arena):
    texts, told = ["some text"] * 5000, []
    try:
        model.on(executor).text_encode(texts, arena, progress=lambda completed, total: completed < 100)
    except uform.CancelledError:
        told.append("cancelled")
    try:
        model.on(executor).text_encode(texts, arena, dimensions=999)
    except uform.CancelledError:
        raise
    except uform.Error as error:
        told.append(error.status)
    assert told == ["cancelled", uform.Status.SHAPE_MISMATCH]
