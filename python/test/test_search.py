"""uform.search against NumPy done by hand."""

import numpy as np
import pytest

import uform
from conftest import NANO, engine_only
from uform.search import Encoder, make_index, top_k


@pytest.fixture(scope="module")
def encoder():
    return Encoder(NANO, threads=2)


def test_encode_is_text_encode(encoder, model):
    texts = ["one", "zwei", "三"]
    rows = encoder.encode(texts)
    assert rows.shape == (3, 128) and rows.dtype == np.float32 and rows.flags.owndata
    assert np.array_equal(rows, np.array(model.text_encode(texts, uform.Arena()).embeddings))
    assert np.array_equal(encoder.encode("zwei"), rows[1])
    assert encoder.encode([]).shape == (0, 128)
    assert Encoder(model, dimensions=64).encode(texts).shape == (3, 64)


def test_top_k_is_exact_and_breaks_ties_by_position():
    numbers = np.random.default_rng(0)
    rows = numbers.integers(-3, 4, (1000, 8)).astype(np.float32)  # with many equals
    queries = numbers.integers(-3, 4, (5, 8)).astype(np.float32)
    scores = queries @ rows.T
    for block in (7, 100, 65_536):
        positions, best = top_k(queries, rows, 20, block=block)
        for query in range(5):
            expected = sorted(range(1000), key=lambda row: (-scores[query, row], row))[:20]
            assert positions[query].tolist() == expected
            assert best[query].tolist() == scores[query, expected].tolist()
    assert top_k(queries, rows[:3], 10)[0].shape == (5, 3) and top_k(queries, rows[:0], 10)[0].shape == (5, 0)


@pytest.mark.parametrize("words, kind", [
    (dict(count=-1), ValueError), (dict(count=2.5), TypeError), (dict(count=3, block=0), ValueError),
    (dict(count=3, block=-7), ValueError), (dict(count=3, queries=np.zeros(8, np.float32)), ValueError),
    (dict(count=3, queries=np.zeros((1, 9), np.float32)), ValueError), (dict(count=3, rows=np.zeros(8, np.float32)), ValueError)])
def test_top_k_refuses(words, kind):
    options = dict(queries=np.zeros((1, 8), np.float32), rows=np.ones((4, 8), np.float32)) | words
    with pytest.raises(kind):
        top_k(options.pop("queries"), options.pop("rows"), options.pop("count"), **options)
    with pytest.raises(ValueError):
        make_index(np.zeros(8, np.float32))


def test_outputs_are_rows_where_they_landed(model):
    arena = uform.Arena()
    landed = model.text_encode(["one", "two", "eins"], arena).embeddings
    assert np.array_equal(top_k(landed, landed, 2)[0], top_k(np.array(landed), np.array(landed), 2)[0])
    model.text_encode(["and nothing pins them"], arena)


def test_one_text_is_no_list_of_documents(encoder):
    for documents in ("abc", b"abc"):
        with pytest.raises(TypeError, match="not one"):
            encoder.rank("query", documents)


def test_top_k_of_bytes_does_not_overflow():
    rows = np.array([[100, 100], [127, 127], [1, 2]], np.int8)
    positions, scores = top_k(rows[:1], rows, 0), top_k(rows[:1], rows, 2)[1]
    assert positions[0].shape == (1, 0) and scores.tolist() == [[25_400, 20_000]]


def test_rank_orders_by_cosine(encoder):
    documents = ["alpha", "beta", "gamma", "alpha"]
    ranked = encoder.rank("alpha", documents)
    assert [position for position, _ in ranked[:2]] == [0, 3] and len(ranked) == 4
    assert np.isclose(ranked[0][1], 1, atol=128 * 2.0**-23)
    assert encoder.rank("alpha", documents, 1) == ranked[:1]
    assert encoder.rank("alpha", documents, 0) == [] and len(encoder.rank("alpha", documents, 99)) == 4
    assert encoder.rank("alpha", []) == []
    with pytest.raises(uform.InvalidArgumentError):
        encoder.rank("alpha", documents, -1)
    with pytest.raises(uform.InvalidArgumentError):
        Encoder(NANO, threads=-1)


@engine_only
def test_the_right_line_answers(encoder):
    lines = ["Click to open the selected file.", "Deletes the current table row.", "Saves the document as a PDF."]
    assert encoder.rank("Löscht die aktuelle Tabellenzeile.", lines)[0][0] == 1


def test_an_index_finds_what_is_there():
    pytest.importorskip("usearch")
    rows = np.random.default_rng(1).standard_normal((500, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = make_index(rows).search(rows[:50], 1)
    assert (np.asarray(found.keys).ravel() == np.arange(50)).mean() > 0.95
