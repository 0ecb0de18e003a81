"""Every row of test/conformance that Python can say, replayed: loading, encoding, choosing, reranking, media."""

import ast
import collections
import pathlib

import numpy as np
import pytest

import uform
from conformance import COUNTS, MAX, Replay, reason, rows
from media_files import clip, picture, png, tone, wav

ALL = uform.Outputs.EMBEDDINGS | uform.Outputs.STATES
TEXTS = ["Hello, world", "", "zwei"]


def tape(data, *marks):
    return data, np.array(marks, np.uint64)


def test_every_test_of_the_list_is_replayed():
    """Each is named by one `Replay(...)` or parametrized name of these files."""
    named = []
    for file in ("test_conformance.py", "test_conformance_runs.py", "test_conformance_steps.py"):
        tree = ast.parse((pathlib.Path(__file__).parent / file).read_text())
        named += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert {row.test for row in rows()} <= set(named)
    assert collections.Counter(filter(None, map(reason, rows()))) == COUNTS


def test_encode(rich, nano_path, arena):
    bare, data = uform.Model.load_ram(nano_path), b"Hello, worldzwei"
    everything = ALL | uform.Outputs.TOKEN_VECTORS
    with Replay("encode_refusals.every_field") as replay:
        for what, texts in [("no offsets", tape(data)), ("offsets that decrease", tape(data, 0, 4, 3, 5)),
                            ("offsets that decrease last", tape(data, 0, 4, 5, 4)),
                            ("offsets beyond memory", tape(data, 0, 4, 5, MAX)), ("no data", tape(b"", 0, 12, 12, 16))]:
            replay.row(what, rich.text_encode, texts, arena, outputs=everything)
        replay.row("no output", rich.text_encode, TEXTS, arena, outputs=uform.Outputs(0))
        replay.row("too many dimensions", rich.text_encode, TEXTS, arena, dimensions=129)
        replay.row("endless dimensions", rich.text_encode, TEXTS, arena, dimensions=MAX)
        replay.row("states as i8", rich.text_encode, TEXTS, arena, outputs=everything, outputs_scalar=uform.Scalar.I8)
        replay.row("a model without a token head", bare.text_encode, TEXTS, arena, outputs=everything)
        for scalar in (uform.Scalar.E4M3, uform.Scalar.U8, uform.Scalar.U32, uform.Scalar.U64, -1, 9):
            replay.row("landing as no output does", rich.text_encode, TEXTS, arena, outputs_scalar=scalar)
    assert rich.text_encode(TEXTS, arena, outputs=everything).embeddings.shape == (3, 128)


@pytest.mark.parametrize("kind", ["on", "deferred"])
def test_receivers_refuse_alike(rich, executor, kind, arena):
    """What one receiver refuses, the others do: C has one check for all."""
    def encode(texts, **words):
        answer = getattr(rich, kind)(executor).text_encode(texts, arena, **words)
        return answer.wait() if kind == "deferred" else answer

    for texts, words in [(tape(b"Hello", 0, 4, 3, 5), {}), (TEXTS, dict(dimensions=129)),
                         (TEXTS, dict(outputs=uform.Outputs(0)))]:
        told = []
        for call in (encode, lambda texts, **words: rich.text_encode(texts, arena, **words)):
            with pytest.raises(uform.Error) as caught:
                call(texts, **words)
            told.append((type(caught.value), str(caught.value), caught.value.item))
        assert told[0] == told[1]
    assert encode(TEXTS).embeddings.shape == (3, 128)


def test_choose(rich, nano_path, arena):
    bare = uform.Model.load_ram(nano_path)
    texts, choices = ["Is it? ", "", "Which? ", "Nothing"], ["yn", "ab", "abcd", ""]
    decreasing, nothing = tape(b"abcdefgh", 0, 3, 2, 4, 5), tape(b"", 0, 1, 2, 3, 4)
    with Replay("choose.refusals") as replay:
        replay.row("no texts", rich.text_choose, tape(b"abc"), choices, arena)
        replay.row("texts that decrease", rich.text_choose, decreasing, choices, arena)
        replay.row("texts without data", rich.text_choose, nothing, choices, arena)
        replay.row("no choices", rich.text_choose, texts, tape(b"abc"), arena)
        replay.row("choices that decrease", rich.text_choose, texts, decreasing, arena)
        replay.row("choices without data", rich.text_choose, texts, nothing, arena)
        replay.row("a choice twice", rich.text_choose, texts, ["yn", "aba", "abcd", ""], arena)
        replay.row("a group beyond", rich.text_choose, texts, choices, arena, temperature_groups=[0, 1, 2, 0])
        replay.row("landing as i8", rich.text_choose, texts, choices, arena, outputs_scalar=uform.Scalar.I8)
        replay.row("landing as e4m3", rich.text_choose, texts, choices, arena, outputs_scalar=uform.Scalar.E4M3)
        replay.row("landing as nothing", rich.text_choose, texts, choices, arena, outputs_scalar=-1)
        replay.row("a model without a decoder", bare.text_choose, texts, choices, arena)
    assert rich.text_choose(texts, choices, arena).shape == (8,)


def test_rerank(arena):
    query = np.eye(2, dtype=np.float32)
    vectors = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8], [-0.6, -0.8]], np.float32)
    with Replay("rerank.refusals") as replay:
        def ask(what, query=query, vectors=vectors, offsets=(0, 2, 3, 4, 5), **words):
            replay.row(what, uform.rerank, query, (vectors, list(offsets)), arena, **words)

        ask("a query without rows", query=query[:0])
        ask("another scalar", vectors=vectors.astype(np.float16))
        ask("another width", vectors=vectors.reshape(10, 1))
        ask("no offsets", offsets=())
        ask("offsets that decrease", offsets=(0, 2, 1, 4, 5))
        ask("offsets past the rows", offsets=(0, 2, 3, 4, 6))
        ask("a document without rows", offsets=(0, 2, 2, 4, 5))
        ask("landing as i8", outputs_scalar=uform.Scalar.I8)
        ask("landing as e4m3", outputs_scalar=uform.Scalar.E4M3)
    assert uform.rerank(query, (vectors, [0, 2, 3, 4, 5]), arena).shape == (4,)
    with pytest.raises(uform.MalformedError):
        uform.rerank(query * np.nan, (vectors, [0, 5]), arena)


def test_executors():
    with Replay("executors.refusals") as replay:
        replay.row("too many threads", uform.Executor.for_ram, threads=4097)
        replay.row("endless threads", uform.Executor.for_ram, threads=MAX)
        replay.row("a class below", uform.Executor.for_ram, cpu_class=-1)
        replay.row("a class beyond", uform.Executor.for_ram, cpu_class=12)
        replay.row("another processor's class", uform.Executor.for_ram, cpu_class=uform.CPUClass.WASM_SIMD)
        replay.row("a node that is not there", uform.Executor.for_ram, memory_domains=[MAX >> 1])


def shared_of_loads(replay, load, source):
    replay.row("quantized as f32", load, source, quantization=uform.Scalar.F32)
    replay.row("quantized as i8", load, source, quantization=uform.Scalar.I8)
    replay.row("quantized as nothing", load, source, quantization=-1)
    replay.row("quantized beyond", load, source, quantization=9)
    replay.row("a class below", load, source, cpu_class=-1)
    replay.row("a class beyond", load, source, cpu_class=12)
    replay.row("another processor's class", load, source, cpu_class=uform.CPUClass.WASM_SIMD)
    replay.row("a node that is not there", load, source, memory_domains=[MAX >> 1])


def test_loads(nano_path, tmp_path):
    load = uform.Model.load_ram
    with Replay("models.load_refusals") as replay:
        shared_of_loads(replay, load, nano_path)
        for what, path in [("no path", None), ("an empty path", ""), ("a NUL inside", "a\0b"),
                           ("a missing file", tmp_path / "missing"), ("a folder", tmp_path),
                           ("below a file", nano_path / "below"), ("a name too long", "p" * 5000)]:
            replay.row(what, load, path)
    load, data = uform.Model.load_ram_buffer, nano_path.read_bytes()
    with Replay("models.load_buffer_refusals") as replay:
        shared_of_loads(replay, load, data)
        replay.row("no bytes", load, b"")
        replay.row("one byte short", load, memoryview(data)[:-1])


@pytest.mark.parametrize("test", [
    "malformed.containers", "malformed.data_off_its_scalar", "malformed.entries", "malformed.json",
    "malformed.metadata", "malformed.more_tensors_than_anybody_needs", "malformed.tensors",
    "malformed.the_right_one_loads", "malformed.weights_that_are_not_finite",
    "images.checkpoints_tell_their_entry", "recordings.checkpoints_tell_their_entry"])
def test_checkpoints(test):
    with Replay(test) as replay:
        replay.files(uform.Model.load_ram, lambda path: uform.Model.load_ram_buffer(path.read_bytes()))


FILES = {"image": lambda: png(picture(4, 1)), "video": lambda: clip("h264.mp4"), "audio": lambda: wav(tone(100))}
LISTS = {"image": "images", "video": "clips", "audio": "recordings"}


def shared_of_media(replay, bare, encode, arena):
    replay.row("a model of texts alone", bare)
    replay.row("no output", encode, arena, outputs=uform.Outputs(0))
    replay.row("too many dimensions", encode, arena, dimensions=129)
    replay.row("states as i8", encode, arena, outputs=ALL, outputs_scalar=uform.Scalar.I8)
    replay.row("landing as no output does", encode, arena, outputs_scalar=uform.Scalar.U8)


@pytest.mark.parametrize("kind, test, limits", [
    ("image", "images.files_refuse_every_field", [("few pixels", dict(max_pixels=3)), ("few bytes", "max_file_bytes")]),
    ("video", "clips.refuse_every_field", [("few pixels", dict(max_frame_pixels=100)), ("few bytes", "max_file_bytes")]),
    ("audio", "recordings.files_refuse_every_field", [("few bytes", "max_file_bytes")])])
def test_files(media, model, arena, kind, test, limits):
    file, encode = FILES[kind](), getattr(media, f"{kind}_encode")
    with Replay(test) as replay:
        shared_of_media(replay, lambda: getattr(model, f"{kind}_encode")([file] * 3, arena),
                        lambda arena, **words: encode([file] * 3, arena, **words), arena)
        replay.row("no offsets", encode, tape(file), arena)
        replay.row("offsets that decrease", encode, tape(file, 0, 4, 3, 5), arena)
        replay.row("no data", encode, tape(b"", 0, 4, 4, 5), arena)
        for what, most in limits:
            most = {most: len(file) - 1} if isinstance(most, str) else most
            replay.row(what, encode, [file] * 3, arena, limits=uform.Limits(**most))
    assert encode([file] * 3, arena).embeddings.shape == (3, 128)


def test_pixels(media, model, arena):
    pictures = [np.full((1, 4, 3), 97, np.uint8), np.full((17, 33, 3), 98, np.uint8)]
    with Replay("images.pixels_refuse_every_field") as replay:
        shared_of_media(replay, lambda: model.image_encode_pixels(pictures, arena),
                        lambda arena, **words: media.image_encode_pixels(pictures, arena, **words), arena)
        replay.row("no height", media.image_encode_pixels, [pictures[0], np.zeros((0, 33, 3), np.uint8)], arena)
        replay.row("no width", media.image_encode_pixels, [pictures[0], np.zeros((17, 0, 3), np.uint8)], arena)


def test_samples(media, model, arena):
    data = np.full(1000, 0.25, np.float32)
    crooked = np.ndarray(1000, np.float32, bytearray(4001), offset=1)
    right, encode = tape(data, 0, 320, 1000), media.audio_encode_samples
    with Replay("recordings.samples_refuse_every_field") as replay:
        shared_of_media(replay, lambda: model.audio_encode_samples(right, 0, arena),
                        lambda arena, **words: encode(right, 0, arena, **words), arena)
        replay.row("no offsets", encode, tape(data), 0, arena)
        replay.row("offsets that decrease", encode, tape(data, 0, 4, 3), 0, arena)
        replay.row("no data", encode, tape(data[:0], 0, 4, 5), 0, arena)
        replay.row("a crooked address", encode, tape(crooked, 0, 320, 1000), 0, arena)
        replay.row("an endless rate", encode, right, (1 << 20) + 1, arena)
        replay.row("no number", encode, tape(np.array([0, 1, np.nan], np.float32), 0, 2, 3), 0, arena)


@pytest.mark.parametrize("kind, test", [
    ("image", "images.files_of_no_picture_are_named"), ("video", "clips.files_of_no_clip_are_named"),
    ("audio", "recordings.files_of_no_sound_are_named")])
def test_files_of_another_kind(media, arena, kind, test):
    good, encode = FILES[kind](), getattr(media, f"{kind}_encode")
    with Replay(test) as replay:
        replay.files(lambda path: encode([good, path.read_bytes(), good], arena))
