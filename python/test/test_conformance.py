"""The refusals of test/conformance that Python can say, replayed: one field wrong, its status, the word its message names.

Fields the binding fills itself (outcome, completion, pointers) and what it refuses as a TypeError have no row.
"""

import json
import struct

import numpy as np
import pytest

import uform
from conftest import make_trainer

OFFSETS = np.array([0, 4, 5, 9], np.uint64)


def tape(*marks):
    return b"textxmore", np.array(marks, np.uint64)


ENCODE = [
    ("decreasing offsets", dict(texts=tape(0, 4, 3, 5)), "INVALID_ARGUMENT", "texts.offsets", 1),
    ("offsets that decrease last", dict(texts=tape(0, 4, 5, 4)), "INVALID_ARGUMENT", "texts.offsets", 2),
    ("offsets beyond the data", dict(texts=tape(0, 4, 5, 2**64 - 1)), "INVALID_ARGUMENT", "texts", None),
    ("no output", dict(outputs=uform.Outputs(0)), "INVALID_ARGUMENT", "embeddings", None),
    ("too many dimensions", dict(dimensions=129), "SHAPE_MISMATCH", "dimensions", None),
    ("endless dimensions", dict(dimensions=2**64 - 1), "SHAPE_MISMATCH", "dimensions", None),
    ("states as i8", dict(outputs=uform.Outputs.STATES, outputs_scalar=uform.Scalar.I8), "UNSUPPORTED", "i8", None),
] + [("landing as no output does", dict(outputs_scalar=scalar), "INVALID_ARGUMENT", "outputs_scalar", None)
     for scalar in (uform.Scalar.E4M3, uform.Scalar.U8, uform.Scalar.U32, uform.Scalar.U64, uform.Scalar.UNKNOWN, 9)]


def expect(call, status, word, item=None):
    with pytest.raises(uform.Error) as caught:
        call()
    error = caught.value
    assert error.status is uform.Status[status] and word in str(error) and error.item == item, (error, error.item)


@pytest.mark.parametrize("receiver", ["model", "on", "deferred"])
@pytest.mark.parametrize("what, words, status, word, item", ENCODE, ids=[row[0] for row in ENCODE])
def test_encode(rich, executor, receiver, what, words, status, word, item):
    words = dict(words)
    texts, arena = words.pop("texts", tape(0, 4, 5, 9)), uform.Arena()

    def call():
        if receiver == "model":
            return rich.text_encode(texts, arena, **words)
        if receiver == "on":
            return rich.on(executor).text_encode(texts, arena, **words)
        return rich.deferred(executor).text_encode(texts, arena, **words).wait()

    expect(call, status, word, item)
    assert rich.text_encode(tape(0, 4, 5, 9), arena).embeddings.shape == (3, 128)


@pytest.mark.parametrize("words, status, word, item", [
    (dict(choices=["yn", "aa"]), "INVALID_ARGUMENT", "choices", 1),
    (dict(temperature_groups=[0, 2]), "INVALID_ARGUMENT", "temperature_groups", 1),
    (dict(outputs_scalar=uform.Scalar.I8), "UNSUPPORTED", "i8", None),
    (dict(outputs_scalar=uform.Scalar.U8), "INVALID_ARGUMENT", "outputs_scalar", None),
    (dict(texts=tape(0, 4, 3)), "INVALID_ARGUMENT", "texts.offsets", 1),
    (dict(choices=(b"ynab", np.array([0, 4, 3], np.uint64))), "INVALID_ARGUMENT", "choices.offsets", 1)])
def test_choose(rich, arena, words, status, word, item):
    words = dict(texts=["one", "two"], choices=["yn", "ab"]) | words
    expect(lambda: rich.text_choose(words.pop("texts"), words.pop("choices"), arena, **words), status, word, item)


ONES = np.ones((4, 8), np.float32)


@pytest.mark.parametrize("query, documents, status, word, item", [
    (ONES[:0], (ONES, [0, 4]), "SHAPE_MISMATCH", "query", None),
    (ONES, (ONES, [0, 2, 2, 4]), "SHAPE_MISMATCH", "document", 1),
    (ONES, (np.ones((4, 16), np.float32), [0, 4]), "SHAPE_MISMATCH", "columns", None),
    (ONES, (ONES.astype(np.float16), [0, 4]), "INVALID_ARGUMENT", "scalar", None),
    (ONES, (ONES, [0, 3, 2, 4]), "INVALID_ARGUMENT", "offsets", 1),
    (ONES * np.nan, (ONES, [0, 4]), "MALFORMED", "", None)])
def test_rerank(arena, query, documents, status, word, item):
    expect(lambda: uform.rerank(query, documents, arena), status, word, item)


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("data", [
    b"", b"1234567", struct.pack("<Q", 2**63), safetensors(b"{"), safetensors(b"[]"), safetensors({}),
    safetensors({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"short"),
    safetensors({"a": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}}, b"x" * 16)])
def test_malformed_checkpoints(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    for load in (lambda: uform.Model.load_ram(tmp_path / "file"), lambda: uform.Model.load_ram_buffer(data)):
        expect(load, "MALFORMED", "")


@pytest.mark.parametrize("words, status, word", [
    (dict(quantization=uform.Scalar.F32), "INVALID_ARGUMENT", "quantization"),
    (dict(quantization=77), "INVALID_ARGUMENT", "quantization"),
    (dict(cpu_class=uform.CPUClass.UNKNOWN), "INVALID_ARGUMENT", "cpu_class"),
    (dict(cpu_class=99), "INVALID_ARGUMENT", "cpu_class"),
    (dict(cpu_class=uform.CPUClass.WASM_SIMD), "UNSUPPORTED", ""),
    (dict(memory_domains=[999]), "INVALID_ARGUMENT", "memory_domains"),
    (dict(progress=lambda completed, total: False), "CANCELLED", "")])
def test_loads(nano_path, words, status, word):
    expect(lambda: uform.Model.load_ram(nano_path, **words), status, word)


@pytest.mark.parametrize("words, status, word", [
    (dict(cpu_class=99), "INVALID_ARGUMENT", "cpu_class"), (dict(cpu_class=uform.CPUClass.WASM_SIMD), "UNSUPPORTED", ""),
    (dict(memory_domains=[999]), "INVALID_ARGUMENT", "memory_domains")])
def test_executors(words, status, word):
    expect(lambda: uform.Executor.for_ram(**words), status, word)


@pytest.mark.parametrize("words, status, word", [
    (dict(depth=0), "INVALID_ARGUMENT", "depth"), (dict(hidden=64), "INVALID_ARGUMENT", "hidden"),
    (dict(batch=uform.BatchShape(max_rows_per_device=16)), "INVALID_ARGUMENT", "batch"),
    (dict(objective=-1), "INVALID_ARGUMENT", "objective"),
    (dict(schedule=uform.Schedule(learning_rate=-1, steps=5)), "INVALID_ARGUMENT", "learning_rate"),
    (dict(schedule=uform.Schedule(steps=0)), "INVALID_ARGUMENT", "steps"),
    (dict(contrastive=uform.Contrastive(matryoshka_dimensions=[64, 32])), "INVALID_ARGUMENT", "matryoshka"),
    (dict(contrastive=uform.Contrastive(negatives=5)), "INVALID_ARGUMENT", "negatives"),
    (dict(late_interaction=uform.LateInteraction(weight=1, width=12)), "INVALID_ARGUMENT", "width"),
    (dict(masking=uform.Masking(replace_fraction=2.0), objective=uform.Objective.MASKED, late_interaction=None),
     "INVALID_ARGUMENT", "fraction"),
    (dict(regularizers=uform.Regularizers(lipschitz_iterations=65, lipschitz_weight=1)), "INVALID_ARGUMENT", "lipschitz"),
    (dict(choices=uform.Choices(weight=float("nan"))), "INVALID_ARGUMENT", "choices")])
def test_trainers(words, status, word):
    expect(lambda: make_trainer(**words), status, word)


def test_saves(tmp_path):
    trainer = make_trainer()
    expect(lambda: trainer.save(tmp_path / "no" / "where"), "IO", "")
    expect(lambda: trainer.save("a\0b"), "INVALID_ARGUMENT", "path")
    expect(lambda: trainer.save(tmp_path / "x", progress=lambda completed, total: False), "CANCELLED", "")
    assert not list(tmp_path.iterdir())
