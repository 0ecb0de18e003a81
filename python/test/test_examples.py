"""Every example, run as its docstring says."""

import subprocess
import sys

import numpy as np
import pytest

import uform
from conftest import NANO, ROOT, STUB
from media_files import png

EXAMPLES = ROOT / "python" / "examples"
LINES = ["Opens a file.", "Deletes the row.", "Saves the document."]


def run(name, *arguments):
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_all_have_a_test():
    here = {"search_lines.py", "embed_lines.py", "train_pairs.py", "gather_async.py", "ray_embed.py",
            "train_captions.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == here


def test_search_lines(lines):
    out = run("search_lines.py", NANO, lines, "Deletes the row.", "--count", 2).splitlines()
    assert len(out) == 2 and out[0].endswith("Deletes the row.")


def test_embed_lines(tmp_path, lines, model):
    assert run("embed_lines.py", NANO, lines, tmp_path / "rows.npy", "--batch", 2) == "3 rows of 128\n"
    expected = model.text_encode([line + "\n" for line in LINES], uform.Arena(), outputs_scalar=uform.Scalar.F16)
    assert np.array_equal(np.load(tmp_path / "rows.npy"), np.asarray(expected.embeddings))


def test_train_pairs(tmp_path):
    words = "one eins two zwei three drei four vier five fünf six sechs".split()
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(words[::2], words[1::2])))
    out = run("train_pairs.py", tmp_path / "pairs.tsv", tmp_path / "m.safetensors", "--steps", 30, "--batch", 6)
    losses = [float(line.split()[-1]) for line in out.splitlines()]
    assert STUB or losses[-1] < losses[0]
    assert uform.Model.load_ram(tmp_path / "m.safetensors").describe().depth == 2


def test_train_captions(tmp_path):
    colours = {"red": (220, 20, 20), "green": (20, 220, 20), "blue": (20, 20, 220), "white": (250, 250, 250)}
    for name, colour in colours.items():
        pixels = np.broadcast_to(np.array(colour, np.uint8), (32, 32, 3))
        (tmp_path / f"{name}.png").write_bytes(png(pixels))
    (tmp_path / "captions.tsv").write_text("".join(f"{name}.png\t{name} all over\n" for name in colours))
    out = run("train_captions.py", tmp_path / "captions.tsv", tmp_path / "m.safetensors", "--steps", 30).splitlines()
    losses = [float(line.split()[-1]) for line in out[:-4]]
    found = [line.split()[1] == f"{line.split()[2]}.png" for line in out[-4:]]
    assert STUB or losses[-1] < losses[0] and all(found), out


def test_gather_async():
    assert run("gather_async.py", NANO) == "32 answers of (2, 128)\n"


def test_ray_embed(tmp_path):
    """Two actors on a local cluster embed a folder of Parquet; run again, only what is missing is embedded."""
    pytest.importorskip("ray")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table
    for part in range(3):
        rows = {"id": list(range(part * 10, part * 10 + 10)), "text": [f"text {part} {row}" for row in range(10)]}
        (tmp_path / "in").mkdir(exist_ok=True)
        parquet.write_table(table(rows), tmp_path / "in" / f"part{part}.parquet")
    out = run("ray_embed.py", NANO, tmp_path / "in", tmp_path / "out", "--actors", 2)
    assert "embedded 3 files" in out
    (tmp_path / "out" / "part1.parquet").unlink()
    assert "embedded 1 files" in run("ray_embed.py", NANO, tmp_path / "in", tmp_path / "out", "--actors", 2)
    got = parquet.read_table(tmp_path / "out" / "part1.parquet").to_pydict()
    expected = uform.Model.load_ram(NANO).text_encode([f"text 1 {row}" for row in range(10)], uform.Arena())
    assert got["id"] == list(range(10, 20))
    assert np.array_equal(np.array(got["embedding"], np.float32), np.asarray(expected.embeddings))
