"""Items as they come: strs, bytes, buffers, tapes; what is refused, by item and by class."""

import array

import numpy as np
import pytest

import uform

TEXTS = ["plain", "", "Straße", "日本語", "𝒳 and 🎈", "a\0b", "ÿ" * 40]


def embed(model, texts, **words):
    return np.array(model.text_encode(texts, uform.Arena(), **words).embeddings)


def test_strs_are_their_utf8(model):
    expected = embed(model, [text.encode() for text in TEXTS])
    assert np.array_equal(embed(model, TEXTS), expected)
    assert np.array_equal(embed(model, tuple(TEXTS)), expected)
    assert np.array_equal(embed(model, (text for text in TEXTS)), expected)
    assert np.array_equal(embed(model, np.array(TEXTS, dtype=object)), expected)


def test_every_code_point_is_written_as_python_writes_it(model):
    points = [0x7F, 0x80, 0xFF, 0x100, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF]
    texts = [chr(point) + other for point in points for other in ("", "a", "ü", "日", "🎈")]
    assert np.array_equal(embed(model, texts), embed(model, [text.encode() for text in texts]))


def test_bytes_like_of_every_kind(model):
    kinds = [b"text", bytearray(b"text"), memoryview(b"text"), np.frombuffer(b"text", np.uint8), array.array("B", b"text")]
    rows = embed(model, kinds)
    assert all(np.array_equal(rows[0], row) for row in rows)


def test_a_lent_tape_is_read_in_place(model):
    data = b"first documentthe second"
    expected = embed(model, ["first document", "the second"])
    for offsets in (np.array([0, 14, 24], np.uint64), np.array([0, 14, 24], np.int64), array.array("L", [0, 14, 24]),
                    [0, 14, 24], (0, 14, 24)):
        assert np.array_equal(embed(model, (data, offsets)), expected)
    assert np.array_equal(embed(model, (np.frombuffer(data, np.uint8), np.array([6, 14], np.uint64))),
                          embed(model, ["document"]))


def test_a_lent_buffer_cannot_be_resized_meanwhile(model, executor):
    data = bytearray(b"x" * 100_000)
    offsets = np.arange(0, 100_001, 100, dtype=np.uint64)
    call = model.deferred(executor).text_encode((data, offsets), uform.Arena())
    with pytest.raises(BufferError):
        data.append(0)
    call.wait()
    data.append(0)


def test_two_bytes_are_two_texts(model):
    assert embed(model, (b"12345678", b"abcdefgh")).shape == (2, 128)


@pytest.mark.parametrize("texts, kind, item", [
    ("one text", TypeError, None), (b"one text", TypeError, None), (3, TypeError, None), (["fine", 3], TypeError, 1),
    (["fine", None], TypeError, 1), (["fine", b"", np.zeros(4, np.int8)], TypeError, 2),
    (["fine", np.zeros(4, np.float32)], TypeError, 1), ([array.array("b", b"four")], TypeError, 0),
    ((np.zeros(4, np.int8), np.array([0, 4], np.uint64)), TypeError, None), (["fine", "\ud800"], uform.InvalidArgumentError, 1),
    ([np.zeros((4, 4), np.uint8)[:, 1]], uform.UnsupportedLayoutError, 0),
    ((b"four", np.array([0, 5], np.uint64)), uform.InvalidArgumentError, None),
    ((b"four", np.array([], np.uint64)), uform.InvalidArgumentError, None),
    ((b"four", np.array([0, 3, 1, 4], np.uint64)), uform.InvalidArgumentError, 1),
    ((b"four", np.array([0, -1], np.int64)), uform.InvalidArgumentError, None),
    ((b"four", np.array([0, 2**63, 4], np.uint64)), uform.InvalidArgumentError, 1),
    ((np.zeros(4, np.float32), np.array([0, 4], np.uint64)), TypeError, None),
    ((b"four", np.array([[0, 4]], np.uint64)), TypeError, None), ((b"four", [0, 4.0]), TypeError, 1),
    ((b"four", [0, -4]), uform.InvalidArgumentError, 1), (("four", [0, 4]), TypeError, None)])
def test_refusals(model, arena, texts, kind, item):
    with pytest.raises(kind) as caught:
        model.text_encode(texts, arena)
    if item is not None:
        assert isinstance(caught.value, uform.Error) and caught.value.item == item
        assert caught.value.status.name in ("INVALID_ARGUMENT", "UNSUPPORTED_LAYOUT") and f"item {item}" in str(caught.value)
    model.text_encode(["still fine"], arena)


@pytest.mark.parametrize("words, kind", [
    (dict(outputs=7), TypeError), (dict(outputs=uform.Outputs(0)), uform.InvalidArgumentError),
    (dict(outputs_scalar="f32"), TypeError), (dict(outputs_scalar=uform.Scalar.U32), uform.InvalidArgumentError),
    (dict(outputs_scalar=99), uform.InvalidArgumentError), (dict(outputs_scalar=2**70), uform.InvalidArgumentError),
    (dict(dimensions=-1), uform.InvalidArgumentError), (dict(dimensions=129), uform.ShapeMismatchError),
    (dict(stats=uform.ImageEncodeStats()), TypeError), (dict(progress=3), TypeError), (dict(surprise=1), TypeError)])
def test_wrong_keywords(model, arena, words, kind):
    with pytest.raises(kind):
        model.text_encode(["text"], arena, **words)


def test_wrong_receivers(model, arena):
    with pytest.raises(TypeError):
        model.on(None)
    with pytest.raises(TypeError):
        model.deferred("executor")
    with pytest.raises(TypeError):
        model.text_encode(["text"])
    with pytest.raises(TypeError):
        model.text_encode(["text"], None)
    with pytest.raises(TypeError):
        model.text_encode(["text"], arena, arena)


def test_paths_as_the_system_names_them(tmp_path, nano_path):
    odd = tmp_path / "m\udcff\udcfe.safetensors"
    odd.write_bytes(nano_path.read_bytes())
    assert uform.Model.load_ram(odd).describe().dimensions == 128
    with pytest.raises(uform.InputOutputError):
        uform.Model.load_ram(str(tmp_path / "absent"))
    with pytest.raises(uform.InvalidArgumentError):
        uform.Model.load_ram("a\0b")
    with pytest.raises(TypeError):
        uform.Model.load_ram(3)
    data = bytearray(nano_path.read_bytes())
    assert uform.Model.load_ram_buffer(data).describe().depth == 4
    with pytest.raises(uform.MalformedError):
        uform.Model.load_ram_buffer(data[:1000])


def test_numbers_may_change_once_a_call_has_them(model, executor, arena):
    """Offsets are read after they were checked: what another thread writes into them meanwhile must not be."""
    data, offsets = b"some text of mine" * 2000, np.arange(2001, dtype=np.uint64) * 17
    expected = np.array(model.on(executor).text_encode((data, offsets), arena).embeddings)

    def overwrite(completed, total):
        offsets[:] = 0

    answered = model.on(executor).text_encode((data, offsets), arena, progress=overwrite).embeddings
    assert not offsets.any() and np.array_equal(answered, expected)


@pytest.mark.parametrize("call, named", [
    (lambda model, arena: model.text_encode(None, arena), "texts must be a sequence, not NoneType"),
    (lambda model, arena: model.text_encode((b"four", np.array([0, 4], np.int32)), arena), "texts.offsets must be"),
    (lambda model, arena: model.text_encode(["one"], arena, dimensions=64.0), "dimensions must be an integer, not float"),
    (lambda model, arena: model.image_encode_pixels(3, arena), "pixels must be a sequence, not int"),
    (lambda model, arena: uform.Executor.for_ram(threads="2"), "threads must be an integer, not str"),
    (lambda model, arena: uform.Executor.for_ram(memory_domains=[0.5]), "memory_domains must hold integers, not float"),
    (lambda model, arena: uform.Contrastive(matryoshka_dimensions=64), "matryoshka_dimensions must be a sequence"),
    (lambda model, arena: uform.Schedule(learning_rate="1e-3"), "learning_rate must be a number, not str")])
def test_what_is_of_a_wrong_type_is_named(model, arena, call, named):
    with pytest.raises(TypeError, match=named):
        call(model, arena)
