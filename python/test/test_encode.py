"""The verbs over texts: surfaces, widths, stats, progress, choices, reranking; the media verbs say they are unsupported."""

import threading

import numpy as np
import pytest

import uform
from conftest import engine_only

ALL = uform.Outputs.EMBEDDINGS | uform.Outputs.STATES | uform.Outputs.TOKEN_VECTORS
TEXTS = ["keep this candidate? ", "expand which neighbour? "]


def test_a_surface_left_out_is_none(model, arena):
    encoded = model.text_encode(["ab", "c"], arena)
    assert encoded.states is None and encoded.token_vectors is None
    embeddings, states, token_vectors = model.text_encode(["ab", "c"], arena, outputs=uform.Outputs.STATES)
    assert embeddings is None and token_vectors is None and states.shape == (3, 128)
    assert np.asarray(states.offsets).tolist() == [0, 2, 3]


def test_asking_for_more_changes_no_bit(rich):
    alone = np.array(rich.text_encode(TEXTS, uform.Arena()).embeddings)
    encoded = rich.text_encode(TEXTS, uform.Arena(), outputs=ALL)
    assert np.array_equal(alone, np.asarray(encoded.embeddings))
    vectors = np.asarray(encoded.token_vectors)
    assert vectors.shape == (sum(map(len, TEXTS)), 32)
    assert np.allclose((vectors * vectors).sum(1), 1, atol=32 * 2.0**-23)
    assert np.array_equal(np.asarray(encoded.token_vectors.offsets), np.asarray(encoded.states.offsets))


def test_a_model_without_a_token_head_is_unsupported(model, arena):
    with pytest.raises(uform.UnsupportedError):
        model.text_encode(TEXTS, arena, outputs=uform.Outputs.TOKEN_VECTORS)
    with pytest.raises(uform.UnsupportedError):
        model.text_choose(TEXTS, ["yn", "ABCD"], arena)


def test_a_prefix_is_unit_again(model):
    full = np.array(model.text_encode(TEXTS, uform.Arena()).embeddings)
    cut = np.array(model.text_encode(TEXTS, uform.Arena(), dimensions=64).embeddings)
    assert cut.shape == (2, 64)
    expected = full[:, :64] / np.linalg.norm(full[:, :64], axis=1, keepdims=True)
    assert np.allclose(cut, expected, atol=64 * 2.0**-23)


def test_stats_are_overwritten_on_success_alone(model, arena):
    stats = uform.TextEncodeStats()
    model.text_encode(["x" * 1000, "abc"], arena, stats=stats)
    assert (stats.truncated, stats.tokens) == (1, 512 + 3)
    with pytest.raises(uform.ShapeMismatchError):
        model.text_encode(["abc"], arena, stats=stats, dimensions=999)
    assert (stats.truncated, stats.tokens) == (1, 512 + 3)


@pytest.mark.parametrize("where", ["calling thread", "executor", "deferred"])
def test_progress_counts_and_stops(model, executor, where):
    def call(texts, progress):
        if where == "deferred":
            return model.deferred(executor).text_encode(texts, uform.Arena(), progress=progress).wait()
        receiver = model if where == "calling thread" else model.on(executor)
        return receiver.text_encode(texts, uform.Arena(), progress=progress)

    seen = []
    call(["some text"] * 300, lambda completed, total: seen.append((completed, total)))
    assert seen[-1] == (300, 300) and seen == sorted(seen) and {total for _, total in seen} == {300}
    with pytest.raises(uform.CancelledError) as caught:
        call(["some text"] * 300, lambda completed, total: False)
    assert caught.value.status is uform.Status.CANCELLED

    class Mine(Exception):
        pass

    def raising(completed, total):
        raise Mine("from the handler")

    with pytest.raises(Mine, match="from the handler"):
        call(["some text"] * 300, raising)
    call(["fine again"], None)


def test_handlers_run_with_the_gil_on_whatever_thread(model, executor):
    threads = set()
    model.deferred(executor).text_encode(["text"] * 600, uform.Arena(),
                                         progress=lambda completed, total: threads.add(threading.get_ident())).wait()
    assert threads and threading.get_ident() not in threads


def test_choices_sum_to_one_in_their_order(rich, arena):
    stats = uform.TextChooseStats()
    probabilities = rich.text_choose(TEXTS, ["yn", "ABCD"], arena, stats=stats)
    assert np.asarray(probabilities.offsets).tolist() == [0, 2, 6] and probabilities.shape == (6,)
    shares = np.array(probabilities)
    assert shares.dtype == np.float32 and np.allclose([shares[:2].sum(), shares[2:].sum()], 1, atol=4 * 2.0**-23)
    assert stats.tokens == sum(len(text) + 1 for text in TEXTS)
    swapped = np.array(rich.text_choose(TEXTS, ["ny", "DCBA"], uform.Arena()))
    assert np.allclose(shares[[1, 0, 5, 4, 3, 2]], swapped, atol=4 * 2.0**-23)
    rich.text_choose(TEXTS, ["yn", "ABCD"], uform.Arena(), temperature_groups=[0, 1])
    rich.text_choose(TEXTS, ["yn", "ABCD"], uform.Arena(), temperature_groups=np.array([0, 1], np.uint32))


@pytest.mark.parametrize("choices, groups, kind, item", [
    (["yy", "AB"], None, uform.InvalidArgumentError, 0), (["yn"], None, uform.ShapeMismatchError, None),
    (["yn", "AB"], [0], uform.ShapeMismatchError, None), (["yn", "AB"], [0, 2], uform.InvalidArgumentError, 1),
    (["yn", "AB"], [0, -1], uform.InvalidArgumentError, 1), ("yn", None, TypeError, None)])
def test_choices_refused(rich, arena, choices, groups, kind, item):
    with pytest.raises(kind) as caught:
        rich.text_choose(TEXTS, choices, arena, temperature_groups=groups)
    if item is not None:
        assert caught.value.item == item


def maxsim(query, documents, offsets):
    scores = documents.astype(np.float64) @ query.T.astype(np.float64)
    return [scores[start:end].max(0).mean() for start, end in zip(offsets[:-1], offsets[1:])]


@pytest.mark.parametrize("dtype, scale", [(np.float32, 1), (np.float16, 1), (np.int8, 127)])
def test_reranking_is_maxsim(arena, executor, dtype, scale):
    numbers = np.random.default_rng(3)
    draw = lambda count: numbers.uniform(-1, 1, (count, 16)).astype(np.float32)
    query, documents = ((draw(count) * scale).astype(dtype) for count in (5, 30))
    offsets = np.array([0, 4, 21, 30], np.uint64)
    expected = np.array(maxsim(query, documents, offsets.tolist())) / scale**2
    for where in (None, executor):
        scores = np.array(uform.rerank(query, (documents, offsets), arena, executor=where))
        assert scores.shape == (3,) and np.allclose(scores, expected, atol=16 * 16 * 2.0**-23)
    padded = np.zeros((30, 20), dtype)
    padded[:, :16] = documents
    assert np.array_equal(np.array(uform.rerank(query, (padded[:, :16], offsets), arena)), scores)  # rows may be strided


def test_reranking_outputs_where_they_landed(rich, executor):
    query = rich.text_encode(["a question"], uform.Arena(), outputs=uform.Outputs.TOKEN_VECTORS).token_vectors
    found = rich.on(executor).text_encode(["an answer", "another"], uform.Arena(), outputs=uform.Outputs.TOKEN_VECTORS,
                                          outputs_scalar=uform.Scalar.F32).token_vectors
    expected = maxsim(np.array(query), np.array(found), np.asarray(found.offsets).tolist())
    for receiver in (rich, rich.on(executor)):
        assert np.allclose(np.array(receiver.rerank(query, found, uform.Arena())), expected, atol=1e-4)
    deferred = rich.deferred(executor).rerank(query, found, uform.Arena())
    assert np.allclose(np.array(deferred.wait()), expected, atol=1e-4)
    with pytest.raises(uform.InvalidArgumentError, match="arena"):
        rich.rerank(query, found, found.arena)
    halves = [rich.text_encode(["text"], uform.Arena(), outputs=uform.Outputs.TOKEN_VECTORS,
                               outputs_scalar=uform.Scalar.BF16).token_vectors for _ in range(2)]
    assert np.allclose(np.array(uform.rerank(halves[0], halves[1], uform.Arena())), 1, atol=2.0**-7)


@pytest.mark.parametrize("query, documents, kind", [
    (np.zeros((0, 8), np.float32), (np.ones((2, 8), np.float32), [0, 2]), uform.ShapeMismatchError),
    (np.ones((1, 8), np.float32), (np.ones((2, 8), np.float32), [0, 2, 2]), uform.ShapeMismatchError),
    (np.ones((1, 8), np.float32), (np.ones((2, 4), np.float32), [0, 2]), uform.ShapeMismatchError),
    (np.ones((1, 8), np.float32), (np.ones((2, 8), np.float32), [0, 3]), uform.Error),
    (np.ones((1, 8), np.float32), (np.ones((2, 8), np.float32), []), uform.InvalidArgumentError),
    (np.ones((1, 8), np.float64), (np.ones((2, 8), np.float32), [0, 2]), TypeError),
    (np.ones((1, 8), np.float32), np.ones((2, 8), np.float32), TypeError),
    (np.ones((1, 8), np.float32), (np.ones((8, 2), np.float32).T, [0, 2]), uform.UnsupportedLayoutError)])
def test_reranking_refused(arena, query, documents, kind):
    with pytest.raises(kind):
        uform.rerank(query, documents, arena)


def test_media_are_unsupported_for_a_model_of_texts(model, executor):
    calls = {
        "image_encode": ([b"file"],), "image_encode_pixels": ([np.zeros((4, 5, 3), np.uint8)],),
        "video_encode": ([b"file"],), "audio_encode": ([b"file"],),
        "audio_encode_samples": ([np.zeros(9, np.float32)], 16_000)}
    for verb, items in calls.items():
        for receiver in (model, model.on(executor)):
            with pytest.raises(uform.UnsupportedError):
                getattr(receiver, verb)(*items, uform.Arena())
        with pytest.raises(uform.UnsupportedError):
            getattr(model.deferred(executor), verb)(*items, uform.Arena()).wait()
    with pytest.raises(TypeError):
        model.image_encode_pixels([np.zeros((4, 5), np.uint8)], uform.Arena())
    with pytest.raises(uform.ShapeMismatchError):
        model.image_encode_pixels([np.zeros((4, 5, 4), np.uint8)], uform.Arena())
    with pytest.raises(TypeError):
        model.audio_encode_samples([np.zeros(9, np.float64)], 16_000, uform.Arena())


@engine_only
def test_a_pin_is_a_class(nano_path):
    model = uform.Model.load_ram(nano_path, cpu_class=uform.CPUClass.SERIAL, quantization=uform.Scalar.E4M3)
    description = model.describe()
    assert description.cpu_class is uform.CPUClass.SERIAL and description.quantization is uform.Scalar.E4M3


def test_what_no_machine_here_has(nano_path):
    with pytest.raises(uform.UnsupportedError):
        uform.Model.load_ram(nano_path, cpu_class=uform.CPUClass.WASM_SIMD)
    with pytest.raises(uform.UnsupportedError):
        uform.Model.load_vram(nano_path, devices=[0])
    with pytest.raises(uform.UnsupportedError):
        uform.Executor.for_vram(devices=[0])
    with pytest.raises(uform.UnsupportedError):
        uform.Executor.on_pool(object())
