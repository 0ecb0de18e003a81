"""Outputs where they landed: who is pinned, what is stale, and how each scalar is exported."""

import gc

import numpy as np
import pytest

import uform


def test_an_array_pins_the_arena_until_it_goes(model, arena):
    array = np.asarray(model.text_encode(["one"], arena).embeddings)
    with pytest.raises(uform.ContendedError, match="pinned by 1"):
        model.text_encode(["two"], arena)
    kept = array[0, :4].copy()
    view = memoryview(model.text_encode(["one"], uform.Arena()).embeddings)  # another arena is free
    assert np.array_equal(np.asarray(view)[0, :4], kept)
    del array
    model.text_encode(["two"], arena)


def test_a_memoryview_pins_and_releases(model, arena):
    encoded = model.text_encode(["one"], arena)
    with memoryview(encoded.embeddings) as view:
        assert (view.readonly, view.format, view.ndim) == (True, "f", 2)
        with pytest.raises(uform.ContendedError):
            model.text_encode(["two"], arena)
    model.text_encode(["two"], arena)


def test_stale_outputs_refuse_to_be_read(model, arena):
    first = model.text_encode(["one"], arena, outputs=uform.Outputs.EMBEDDINGS | uform.Outputs.STATES)
    offsets = first.states.offsets
    model.text_encode(["two"], arena)
    for stale in (first.embeddings, first.states, offsets, first.states.offsets):
        assert "stale" in repr(stale)
        for read in (memoryview, np.asarray, np.array, bytes):
            with pytest.raises(uform.InvalidArgumentError, match="stale"):
                read(stale)


def test_a_failed_call_makes_views_stale_too(model, arena):
    encoded = model.text_encode(["one"], arena)
    with pytest.raises(uform.ShapeMismatchError):
        model.text_encode(["one"], arena, dimensions=129)
    with pytest.raises(uform.InvalidArgumentError):
        memoryview(encoded.embeddings)


def test_what_never_reached_the_arena_leaves_it_alone(model, arena):
    encoded = model.text_encode(["one"], arena)
    with pytest.raises(TypeError):
        model.text_encode([1], arena)
    with pytest.raises(TypeError):
        model.text_encode("one", arena)
    assert np.array(encoded.embeddings).shape == (1, 128)


def test_views_keep_the_arena_alive(model):
    array = np.asarray(model.text_encode(["one"], uform.Arena()).embeddings)
    gc.collect()
    assert np.isclose((array * array).sum(), 1, atol=1e-6)


@pytest.mark.parametrize("scalar, dtype", [("F32", np.float32), ("F16", np.float16), ("I8", np.int8)])
def test_scalars_export_as_numpy_knows_them(model, arena, scalar, dtype):
    output = model.text_encode(["one", "two"], arena, outputs_scalar=uform.Scalar[scalar]).embeddings
    assert output.scalar is uform.Scalar[scalar] and output.shape == (2, 128) and len(output) == 2
    assert np.asarray(output).dtype == dtype


def test_bfloat16_exports_as_bytes_of_rows(model, arena):
    exact = np.array(model.text_encode(["one", "two"], arena).embeddings)
    raw = np.array(model.text_encode(["one", "two"], arena, outputs_scalar=uform.Scalar.BF16).embeddings)
    assert raw.dtype == np.uint8 and raw.shape == (2, 256)
    widened = (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert np.abs(widened - exact).max() <= 2.0**-8 * np.abs(exact).max()


def test_no_items_no_rows(model, arena):
    encoded = model.text_encode([], arena, outputs=uform.Outputs.EMBEDDINGS | uform.Outputs.STATES)
    assert np.asarray(encoded.embeddings).shape == (0, 128)
    assert np.asarray(encoded.states).shape == (0, 128) and np.asarray(encoded.states.offsets).tolist() == [0]


def test_outputs_are_read_only(model, arena):
    array = np.asarray(model.text_encode(["one"], arena).embeddings)
    with pytest.raises(ValueError):
        array[0, 0] = 1
    with pytest.raises(TypeError):
        memoryview(model.text_encode(["one"], uform.Arena()).embeddings)[0, 0] = 1.0


def test_a_host_arena_has_no_device_interface(model, arena):
    output = model.text_encode(["one"], arena).embeddings
    assert not hasattr(output, "__cuda_array_interface__") and not hasattr(output, "__array_interface__")


def test_a_closed_executor_is_refused(model):
    executor = uform.Executor.for_ram(threads=1)
    receiver = model.on(executor)
    arena = uform.Arena(executor)
    executor.close()
    executor.close()  # again is nothing
    for call in (lambda: receiver.text_encode(["x"], arena), lambda: uform.Arena(executor), executor.drain,
                 lambda: executor.__enter__()):
        with pytest.raises(uform.InvalidArgumentError, match="closed"):
            call()
    assert np.array(model.text_encode(["x"], arena).embeddings).shape == (1, 128)  # the arena outlives it
