"""The bits C answers on the serial class, as test/golden/abi.txt remembers them, through Python."""

import numpy as np
import pytest

import uform
from conftest import NANO, ROOT, engine_only, make_trainer

TEXTS = ["Hello, world", "a", "", "über 日本", "0123456789abcdefghijklmnopqrstuvwxyz"]
CHOICES = ["yn", "ABCD", "", "z", "0123456789"]
ALL = uform.Outputs.STATES | uform.Outputs.TOKEN_VECTORS


def hashed(output):
    """FNV-1a over the rows' bytes."""
    value = 0xCBF29CE484222325
    for byte in np.array(output).tobytes():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return f"{value:016x}"


@engine_only
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_bits_are_those_of_c(tmp_path, threads):
    golden = dict(line.split() for line in (ROOT / "test" / "golden" / "abi.txt").read_text().splitlines())
    serial = uform.Executor.for_ram(threads=threads or 1, cpu_class=uform.CPUClass.SERIAL)

    def receiver(path):
        model = uform.Model.load_ram(path, cpu_class=uform.CPUClass.SERIAL)
        return model.on(serial) if threads else model

    nano, answers = receiver(NANO), {}
    for scalar in ("F32", "BF16", "F16", "I8"):
        encoded = nano.text_encode(TEXTS, uform.Arena(), outputs_scalar=uform.Scalar[scalar])
        answers[f"embeddings_{scalar.lower()}"] = hashed(encoded.embeddings)
    answers["embeddings_64"] = hashed(nano.text_encode(TEXTS, uform.Arena(), dimensions=64).embeddings)
    make_trainer(serial).save(tmp_path / "drawn.safetensors")
    drawn = receiver(tmp_path / "drawn.safetensors")
    answers["probabilities"] = hashed(drawn.text_choose(TEXTS, CHOICES, uform.Arena(), temperature_groups=[0, 1, 0, 1, 0]))
    encoded = drawn.text_encode(TEXTS, uform.Arena(), outputs=ALL)
    answers["states"], answers["token_vectors"] = hashed(encoded.states), hashed(encoded.token_vectors)
    query = np.array(encoded.token_vectors)[:12]
    answers["scores"] = hashed(uform.rerank(query, encoded.token_vectors, uform.Arena(), executor=serial))
    assert answers == golden
