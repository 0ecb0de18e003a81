"""What the binding was promised to run, block by block as it was written; what needs a GPU says so, then runs on RAM.

UFORM_TEST_REFERENCE names the document the blocks are from: where it is given, they are compared with it.
"""

import ast
import asyncio
import inspect
import os
import pathlib
import re

import numpy as np
import pytest

import uform
from conftest import NANO, STUB
from media_files import picture, png

BLOCKS = {
    "quickstart": '''
import numpy as np
import uform

executor = uform.Executor.for_ram()  # The threads every receiver names
arena = uform.Arena(executor)  # The memory outputs land in, made where the executor computes
model = uform.Model.load_ram("model.safetensors", quantization=uform.Scalar.BF16)

encoded = model.on(executor).text_encode(["a cat on a mat", "a dog in the fog"], arena)
embeddings = np.asarray(encoded.embeddings)  # (2, dimensions) float32, zero-copy
assert embeddings.shape == (2, model.describe().dimensions)
''',
    "deferred": '''
call = model.deferred(executor).image_encode(files, uform.Arena(executor))
encoded = await call  # or: call.wait()
''',
    "arena": '''
arena = uform.Arena(executor)
for batch in batches:
    encoded = model.on(executor).text_encode(batch, arena)  # rewinds: the last batch's views are gone
    index.add(np.array(encoded.embeddings))  # a copy, so nothing pins the arena
''',
    "tape": '''
data = b"first documentthe second"
offsets = np.array([0, 14, 24], dtype=np.uint64)
encoded = model.text_encode((data, offsets), arena)
''',
    "outputs": '''
encoded = model.text_encode(texts, arena, outputs=uform.Outputs.EMBEDDINGS | uform.Outputs.STATES)
embeddings, states, token_vectors = encoded  # an `ArenaBuffer` of (count, dimensions), a `RowsTape`, and None
offsets = np.asarray(states.offsets)  # item `i` spans rows `offsets[i]` up to `offsets[i + 1]`
''',
    "choices": '''
probabilities = model.text_choose(["keep this candidate? ", "expand which neighbour? "], ["yn", "ABCD"], arena)
offsets = np.asarray(probabilities.offsets)  # [0, 2, 6]: one float32 per choice, in `choices` order
''',
    "training": '''
executor = uform.Executor.for_vram(devices=[0, 1])
mesh = uform.Mesh.bootstrap(executor, uform.MeshOptions(host_domain_index=rank, host_domain_count=nodes,
                                                        directory="/shared/exchange", job="run-17"))
trainer = uform.Trainer.init_vram(executor, mesh=mesh, depth=12, hidden=512, objective=uform.Objective.JOINT,
                                  batch=uform.BatchShape(max_rows_per_device=64, max_segments_per_device=256,
                                                         max_columns_per_row=1024, max_bags_per_device=128,
                                                         image=uform.ImageShape(patch_side=16)),
                                  schedule=uform.Schedule(steps=100_000), seed=42)
stats = uform.TrainerStepStats()
trainer.step(modalities, contents, bags=bags, relations=uform.Relations(attract=(offsets, ids)), stats=stats)
trainer.save("checkpoint.safetensors")
''',
    "errors": '''
try:
    model.on(executor).text_encode(texts, arena, progress=lambda completed, total: completed < 100)
except uform.CancelledError:
    ...  # The handler stopped the call, which published nothing
except uform.Error as error:
    print(error.status)  # Status.SHAPE_MISMATCH, Status.DEVICE, ...
''',
}


@pytest.mark.skipif("UFORM_TEST_REFERENCE" not in os.environ, reason="UFORM_TEST_REFERENCE names no document")
def test_blocks_are_those_of_the_document():
    text = pathlib.Path(os.environ["UFORM_TEST_REFERENCE"]).read_text(encoding="utf-8")
    assert re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) == [code[1:] for code in BLOCKS.values()]


def run(name, changes=(), **names):
    """The block's names after it ran, with an `await` at its top where it has one."""
    code = BLOCKS[name]
    for before, after in changes:
        assert code.count(before) == 1, before
        code = code.replace(before, after)
    names |= {"np": np, "uform": uform}
    awaited = eval(compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(awaited):
        asyncio.run(awaited)
    return names


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the blocks run, as paths in them are relative."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.safetensors").symlink_to(NANO)
    return tmp_path


def test_quickstart(folder):
    embeddings = run("quickstart")["embeddings"]
    assert embeddings.dtype == np.float32 and not embeddings.flags.owndata


def test_deferred_call(media, executor):
    files = [png(picture(16, 16)), png(picture(8, 24, 1))]
    encoded = run("deferred", model=media, executor=executor, files=files)["encoded"]
    assert encoded.embeddings.shape == (2, 128)


def test_reused_arena(model, executor):
    class Index:
        rows = []

        def add(self, rows):
            self.rows.append(rows)

    index = Index()
    run("arena", model=model, executor=executor, index=index, batches=[["one", "two"], ["three"], ["four"] * 5])
    assert [len(rows) for rows in index.rows] == [2, 1, 5]


def test_lent_tape(model, arena):
    names = run("tape", model=model, arena=arena)
    apart = model.text_encode([names["data"][:14], names["data"][14:]], uform.Arena())
    assert np.array_equal(np.asarray(names["encoded"].embeddings), np.asarray(apart.embeddings))


def test_outputs(model, arena):
    names = run("outputs", model=model, arena=arena, texts=["one", "three"])
    assert isinstance(names["embeddings"], uform.ArenaBuffer) and isinstance(names["states"], uform.RowsTape)
    assert names["token_vectors"] is None and names["offsets"].tolist() == [0, 3, 8]


def test_choices(rich, arena):
    names = run("choices", model=rich, arena=arena)
    assert names["offsets"].tolist() == [0, 2, 6] and np.asarray(names["probabilities"]).dtype == np.float32


ON_RAM = [("uform.Executor.for_vram(devices=[0, 1])", "uform.Executor.for_ram(threads=1)"), ("init_vram", "init_ram"),
          ("/shared/exchange", "exchange"), ("depth=12, hidden=512", "depth=1, hidden=128"),
          ("max_columns_per_row=1024", "max_columns_per_row=64"), ("max_rows_per_device=64", "max_rows_per_device=4")]


def test_training(folder):
    image, text = uform.Modality.IMAGE, uform.Modality.TEXT
    names = dict(rank=0, nodes=1, modalities=[image, text] * 2, contents=[png(picture(32, 32)), "one", png(picture(16, 16)), "two"],
                 bags=[0, 0, 1, 1], offsets=np.arange(5, dtype=np.uint64), ids=np.array([1, 0, 3, 2], np.uint32))
    if not uform.gpu_devices():
        with pytest.raises(uform.UnsupportedError):
            run("training", **names)
    stats = run("training", ON_RAM, **names)["stats"]
    described = uform.Model.load_ram("checkpoint.safetensors").describe()
    assert stats.step == 1 and described.dimensions == 128 and described.image.patch_side == 16
    assert STUB or stats.loss > 0 and stats.masked_image_loss > 0


def test_errors(model, executor, arena, capsys):
    run("errors", model=model, executor=executor, arena=arena, texts=["some text"] * 5000)
    assert capsys.readouterr().out == ""
    run("errors", [("texts, arena, ", "texts, arena, dimensions=999, ")], model=model, executor=executor, arena=arena,
        texts=["some text"])
    assert capsys.readouterr().out in ("Status.SHAPE_MISMATCH\n", "3\n")  # an IntEnum prints as its number from 3.11 on
