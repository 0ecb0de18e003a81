"""Pictures, clips and recordings: the five verbs that take them, on every receiver, and training on them."""

import array
import asyncio
import gc
import tracemalloc

import numpy as np
import pytest

import uform
from conftest import STUB, engine_only, make_trainer, media_batch
from media_files import PHOTO, clip, picture, png, tone, wav

ALL = uform.Outputs.EMBEDDINGS | uform.Outputs.STATES | uform.Outputs.TOKEN_VECTORS
PIXELS = [picture(16, 24), picture(8, 8, 1), picture(24, 16, 2)]  # 2 x 3, 1 and 3 x 2 patches of 8
SAMPLES = [tone(3_200), tone(640, 880), tone(1)]  # 10, 2 and 1 chunks of 320
CLIPS = ["h264.mp4", "vp9.webm", "h264_one.mp4"]

BATCHES = {
    "image_encode": ([png(pixels) for pixels in PIXELS], uform.ImageEncodeStats, 6 + 1 + 6),
    "image_encode_pixels": (PIXELS, uform.ImageEncodeStats, 6 + 1 + 6),
    "video_encode": ([clip(name) for name in CLIPS], uform.VideoEncodeStats, None),
    "audio_encode": ([wav(samples) for samples in SAMPLES], uform.AudioEncodeStats, 13),
    "audio_encode_samples": (SAMPLES, uform.AudioEncodeStats, 13),
}


def skip_or_raise(refused):
    """What this build was configured without is skipped by name."""
    if "UFORM_WITH_" in str(refused):
        pytest.skip(str(refused))
    raise refused


def call(receiver, verb, items, arena, **words):
    rate = (16_000,) if verb == "audio_encode_samples" else ()
    try:
        return getattr(receiver, verb)(items, *rate, arena, **words)
    except uform.UnsupportedError as refused:
        skip_or_raise(refused)


def rows(receiver, verb, items, **words):
    return np.array(call(receiver, verb, items, uform.Arena(), **words).embeddings)


@pytest.mark.parametrize("verb", BATCHES)
def test_every_receiver_answers_the_same(media, executor, verb):
    items, stats_of, tokens = BATCHES[verb]
    stats = stats_of()
    expected = rows(media, verb, items, stats=stats)
    assert expected.shape == (3, 128) and np.allclose((expected * expected).sum(1), 1, atol=128 * 2.0**-23)
    assert len({row.tobytes() for row in expected}) == 3
    assert stats.truncated == 0 and stats.tokens == tokens if tokens else stats.tokens > 0
    alone = np.vstack([rows(media, verb, [item]) for item in items])
    assert np.array_equal(alone, expected)  # and so does a batch of one
    assert np.array_equal(rows(media.on(executor), verb, items), expected)
    deferred = call(media.deferred(executor), verb, items, uform.Arena())
    assert np.array_equal(np.asarray(deferred.wait().embeddings), expected)

    async def awaited():
        encoded = await call(media.deferred(executor), verb, items, uform.Arena())
        return np.array(encoded.embeddings)

    assert np.array_equal(asyncio.run(awaited()), expected)


@pytest.mark.parametrize("verb", BATCHES)
def test_every_surface_scalar_and_width(media, arena, verb):
    items, _, tokens = BATCHES[verb]
    embeddings, states, vectors = call(media, verb, items, arena, outputs=ALL)
    count = np.asarray(states.offsets).tolist()
    assert len(count) == 4 and states.shape == (count[-1], 128) and vectors.shape == (count[-1], 32)
    assert tokens is None or count[-1] == tokens
    whole = np.array(embeddings)
    cut = rows(media, verb, items, dimensions=64)
    assert np.allclose(cut, whole[:, :64] / np.linalg.norm(whole[:, :64], axis=1, keepdims=True), atol=64 * 2.0**-23)
    for scalar, dtype in (("F16", np.float16), ("I8", np.int8)):
        assert rows(media, verb, items, outputs_scalar=uform.Scalar[scalar]).dtype == dtype


@pytest.mark.parametrize("verb", BATCHES)
def test_progress_counts_items_and_stops_them(media, executor, verb):
    items, seen = BATCHES[verb][0], []
    call(media.on(executor), verb, items, uform.Arena(), progress=lambda completed, total: seen.append((completed, total)))
    assert seen[-1] == (3, 3) and seen == sorted(seen)
    with pytest.raises(uform.CancelledError):
        call(media, verb, items, uform.Arena(), progress=lambda completed, total: False)


@engine_only
def test_a_file_and_its_pixels_have_one_answer(media):
    assert np.array_equal(rows(media, "image_encode", BATCHES["image_encode"][0]), rows(media, "image_encode_pixels", PIXELS))


@engine_only
def test_a_file_and_its_samples_have_one_answer(media):
    assert np.array_equal(rows(media, "audio_encode", BATCHES["audio_encode"][0]), rows(media, "audio_encode_samples", SAMPLES))


@engine_only
def test_a_photograph(media, arena):
    stats = uform.ImageEncodeStats()
    call(media, "image_encode", [PHOTO.read_bytes()], arena, stats=stats)
    assert stats.tokens <= 512


def test_arrays_of_every_kind(media):
    expected = rows(media, "image_encode_pixels", PIXELS)
    stack = np.stack([PIXELS[0], PIXELS[0]])
    assert np.array_equal(rows(media, "image_encode_pixels", stack), expected[[0, 0]])
    assert np.array_equal(rows(media, "image_encode_pixels", tuple(PIXELS[:2])), expected[:2])
    assert np.array_equal(rows(media, "image_encode_pixels", (memoryview(pixels) for pixels in PIXELS)), expected)
    samples = rows(media, "audio_encode_samples", SAMPLES)
    lent = np.concatenate(SAMPLES), np.array([0, 3_200, 3_840, 3_841], np.uint64)
    for kind in (lent, [array.array("f", sample) for sample in SAMPLES], [memoryview(sample) for sample in SAMPLES]):
        assert np.array_equal(rows(media, "audio_encode_samples", kind), samples)
    zero = np.array(media.audio_encode_samples(SAMPLES, 0, uform.Arena()).embeddings)
    assert np.array_equal(zero, samples)  # the model's own rate
    files = BATCHES["image_encode"][0]
    lent = b"".join(files), np.cumsum([0] + [len(file) for file in files]).astype(np.uint64)
    assert np.array_equal(rows(media, "image_encode", lent), expected) or STUB
    for kind in (bytearray, memoryview, lambda file: np.frombuffer(file, np.uint8)):
        assert np.array_equal(rows(media, "image_encode", [kind(file) for file in files]), rows(media, "image_encode", files))


def test_none_and_empty(media):
    for verb in BATCHES:
        assert rows(media, verb, []).shape == (0, 128)
    assert rows(media, "audio_encode_samples", [np.zeros(0, np.float32), SAMPLES[0]]).shape == (2, 128)


GRAY, FLIPPED = np.zeros((4, 5), np.uint8), picture(8, 8)[:, ::-1]


@pytest.mark.parametrize("items, kind, item", [
    ([PIXELS[0], GRAY], TypeError, 1), ([PIXELS[0], picture(4, 4).astype(np.int8)], TypeError, 1),
    ([PIXELS[0], picture(4, 4).astype(np.float32)], TypeError, 1), ([PIXELS[0], None], TypeError, 1),
    ([PIXELS[0], b"\0" * 48], TypeError, 1), ([PIXELS[0], np.zeros((4, 5, 4), np.uint8)], uform.ShapeMismatchError, 1),
    ([PIXELS[0], PIXELS[1], FLIPPED], uform.UnsupportedLayoutError, 2),
    ([PIXELS[0], np.zeros((0, 5, 3), np.uint8)], uform.InvalidArgumentError, 1), (3, TypeError, None)])
def test_pixels_refused(media, arena, items, kind, item):
    with pytest.raises(kind) as caught:
        media.image_encode_pixels(items, arena)
    assert item is None or isinstance(caught.value, uform.Error) and caught.value.item == item


@pytest.mark.parametrize("items, kind, item", [
    ([SAMPLES[0], SAMPLES[0].astype(np.float64)], TypeError, 1), ([SAMPLES[0], np.zeros((2, 9), np.float32)], TypeError, 1),
    ([SAMPLES[0], "text"], TypeError, 1), ([SAMPLES[0], np.zeros(9, np.float32)[::2]], uform.UnsupportedLayoutError, 1),
    ([SAMPLES[0], np.array([0, np.nan], np.float32)], uform.MalformedError, 1),
    ([np.array([np.inf], np.float32)], uform.MalformedError, 0)])
def test_samples_refused(media, arena, items, kind, item):
    with pytest.raises(kind) as caught:
        media.audio_encode_samples(items, 16_000, arena)
    assert isinstance(caught.value, uform.Error) and caught.value.item == item
    with pytest.raises(uform.InvalidArgumentError):
        media.audio_encode_samples(SAMPLES, -1, arena)


@pytest.mark.parametrize("verb", ["image_encode", "video_encode", "audio_encode"])
def test_files_refused(media, executor, verb):
    good = BATCHES[verb][0][0]
    call(media, verb, [good], uform.Arena())  # or the build reads none
    for wrong, kind in (("a path", TypeError), (b"<html>404</html>", uform.UnknownKindError), (b"", uform.MalformedError),
                        (3, TypeError), (np.frombuffer(good[: len(good) // 4 * 4], np.int8), TypeError)):
        with pytest.raises(kind) as caught:
            getattr(media, verb)([good, wrong], uform.Arena())
        assert caught.value.item == 1 and isinstance(caught.value, uform.Error)
    call_ = getattr(media.deferred(executor), verb)([good, good, b"<html>404</html>"], uform.Arena())
    with pytest.raises(uform.UnknownKindError) as caught:
        call_.wait()
    assert caught.value.item == 2 and caught.value.status is uform.Status.UNKNOWN_KIND
    with pytest.raises(uform.MalformedError, match="max_file_bytes"):
        getattr(media, verb)([good], uform.Arena(), limits=uform.Limits(max_file_bytes=20))
    with pytest.raises(uform.MalformedError, match="max_file_bytes"):
        getattr(media, verb)([good], uform.Arena(), limits=(0, 0, 20))
    with pytest.raises(TypeError):
        getattr(media, verb)([good], uform.Arena(), stats=uform.TextEncodeStats())


@engine_only
def test_a_torn_file_is_named(media):
    whole = BATCHES["image_encode"][0]
    with pytest.raises(uform.MalformedError) as caught:
        media.image_encode([whole[0], whole[1][:-20]], uform.Arena())
    assert caught.value.item == 1


def test_thirty_two_calls_over_four_executors(media):
    expected = rows(media, "image_encode_pixels", PIXELS)

    async def work():
        executors = [uform.Executor.for_ram(threads=1) for _ in range(4)]
        free = [asyncio.Lock() for _ in executors]

        async def encode(index):
            async with free[index % 4]:
                encoded = await media.deferred(executors[index % 4]).image_encode_pixels(PIXELS, uform.Arena())
            return np.array(encoded.embeddings)

        return await asyncio.gather(*(encode(index) for index in range(32)))

    assert all(np.array_equal(got, expected) for got in asyncio.run(work()))


def test_a_thousand_calls_leak_nothing(media, executor):
    def churn(rounds):
        arena = uform.Arena()
        for _ in range(rounds):
            np.array(media.image_encode_pixels(PIXELS[1:2], arena, stats=uform.ImageEncodeStats()).embeddings)
            media.on(executor).audio_encode_samples(SAMPLES[1:], 16_000, arena)
            media.deferred(executor).image_encode([BATCHES["image_encode"][0][1]], arena).wait()
            for items in ([FLIPPED], [GRAY, 3], [np.zeros((0, 5, 3), np.uint8)], [PIXELS[1], None]):
                with pytest.raises(uform.Error):
                    media.image_encode_pixels(items, arena)
            with pytest.raises(uform.Error):
                media.image_encode([b"<html>"], arena, limits=uform.Limits(max_pixels=9))

    churn(20)
    gc.collect()
    tracemalloc.start()
    traced = tracemalloc.get_traced_memory()[0]
    churn(120)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    assert grown < 20_000, grown


def test_a_description_tells_of_the_entries(media):
    told = media.describe()
    assert told.image == uform.ImageShape(patch_side=8, channels=4) and told.audio == uform.AudioShape(320, 16_000)
    assert told.video == uform.VideoShape(patch_side=16, tube_frames=2, frame_stride=1, channels=3)


IMAGE, VIDEO, AUDIO, TEXT = (uform.Modality[name] for name in ("IMAGE", "VIDEO", "AUDIO", "TEXT"))
FILES = {IMAGE: BATCHES["image_encode"][0][0], VIDEO: clip("h264_one.mp4"), AUDIO: wav(SAMPLES[0])}
PAIRS = uform.Relations(attract=uform.Edges(np.arange(5, dtype=np.uint64), np.array([1, 0, 3, 2], np.uint32)))


def take_step(trainer, modality, other, **words):
    options = dict(relations=PAIRS, limits=uform.Limits(max_pixels=10_000)) | words
    try:
        return trainer.step([modality, TEXT, modality, TEXT], [FILES[modality], "noise", other, "more"], **options)
    except uform.UnsupportedError as refused:
        skip_or_raise(refused)


@pytest.mark.parametrize("modality, other", [
    (IMAGE, BATCHES["image_encode"][0][1]), (VIDEO, clip("vp9.webm")), (AUDIO, wav(SAMPLES[1]))], ids=["image", "video", "audio"])
def test_training_on_files(executor, arena, modality, other):
    trainer = make_trainer(executor, objective=uform.Objective.JOINT, batch=media_batch(), choices=None,
                           late_interaction=None, masking=uform.Masking(image_mask_ratio=0.5))
    stats, losses = uform.TrainerStepStats(), []
    for _ in range(6):
        embeddings = take_step(trainer, modality, other, stats=stats, arena=arena)
        losses.append(stats.loss)
    assert embeddings.shape == (4, 128) and stats.step == 6 and stats.tokens > len("noise" + "more")
    masked = {IMAGE: stats.masked_image_loss, VIDEO: stats.masked_video_loss, AUDIO: stats.masked_audio_loss}
    assert STUB or masked[modality] > 0 and losses[-1] < losses[0]
    for wrong, kind in ((b"<html>", uform.UnknownKindError), (b"", uform.MalformedError), (3, TypeError)):
        with pytest.raises(kind) as caught:
            take_step(trainer, modality, wrong)
        assert caught.value.item == 2 and isinstance(caught.value, uform.Error)
    call_ = take_step(trainer.deferred(executor), modality, other, stats=stats)
    assert call_.wait() is None and stats.step == 7


def test_modalities_refused(executor):
    trainer = make_trainer(executor, batch=media_batch(), late_interaction=None, choices=None)
    for modalities, kind, item in (([IMAGE, TEXT, 9, TEXT], uform.UnsupportedError, 2),
                                   ([IMAGE, TEXT, "image", TEXT], TypeError, 2), ([IMAGE], uform.ShapeMismatchError, None)):
        with pytest.raises(kind) as caught:
            trainer.step(modalities, [FILES[IMAGE], "a", FILES[IMAGE], "b"], relations=PAIRS)
        assert caught.value.item == item
    with pytest.raises(uform.InvalidArgumentError):
        make_trainer(executor, batch=media_batch(image=uform.ImageShape(patch_side=65)))
    with pytest.raises(uform.InvalidArgumentError):
        make_trainer(executor, batch=media_batch(video=uform.VideoShape(patch_side=8, channels=4)))
