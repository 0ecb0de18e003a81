"""The bits C answers on the serial class, as test/golden remembers them, through Python."""

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


def remembered(name):
    return dict(line.split() for line in (ROOT / "test" / "golden" / name).read_text().splitlines())


def receiver(path, serial, threads):
    model = uform.Model.load_ram(path, cpu_class=uform.CPUClass.SERIAL)
    return model.on(serial) if threads else model


@pytest.fixture
def serial(threads):
    return uform.Executor.for_ram(threads=threads or 1, cpu_class=uform.CPUClass.SERIAL)


@engine_only
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_bits_are_those_of_c(tmp_path, serial, threads):
    nano, answers = receiver(NANO, serial, threads), {}
    for scalar in ("F32", "BF16", "F16", "I8"):
        encoded = nano.text_encode(TEXTS, uform.Arena(), outputs_scalar=uform.Scalar[scalar])
        answers[f"embeddings_{scalar.lower()}"] = hashed(encoded.embeddings)
    answers["embeddings_64"] = hashed(nano.text_encode(TEXTS, uform.Arena(), dimensions=64).embeddings)
    make_trainer(serial).save(tmp_path / "drawn.safetensors")
    drawn = receiver(tmp_path / "drawn.safetensors", serial, threads)
    answers["probabilities"] = hashed(drawn.text_choose(TEXTS, CHOICES, uform.Arena(), temperature_groups=[0, 1, 0, 1, 0]))
    encoded = drawn.text_encode(TEXTS, uform.Arena(), outputs=ALL)
    answers["states"], answers["token_vectors"] = hashed(encoded.states), hashed(encoded.token_vectors)
    query = np.array(encoded.token_vectors)[:12]
    answers["scores"] = hashed(uform.rerank(query, encoded.token_vectors, uform.Arena(), executor=serial))
    assert answers == remembered("abi.txt")


PIXELS = [((np.arange(height * width * 3, dtype=np.uint64) ** 2 + 31 * item) & 255).astype(np.uint8).reshape(height, width, 3)
          for item, (height, width) in enumerate([(16, 24), (8, 8), (33, 17)])]
SAMPLES = [(((np.arange(length, dtype=np.int64) ** 2 + 17 * item) % 2001 - 1000) / 1024).astype(np.float32)
           for item, length in enumerate([3200, 641, 1])]


@engine_only
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_bits_of_media_are_those_of_c(tmp_path, serial, threads):
    batch = uform.BatchShape(16, 32, 64, image=uform.ImageShape(8), video=uform.VideoShape(16), audio=uform.AudioShape(320))
    make_trainer(serial, batch=batch, choices=None).save(tmp_path / "drawn.safetensors")
    model = receiver(tmp_path / "drawn.safetensors", serial, threads)
    encoded = [model.image_encode_pixels(PIXELS, uform.Arena(), outputs=uform.Outputs.EMBEDDINGS | ALL),
               model.audio_encode_samples(SAMPLES, 16_000, uform.Arena(), outputs=uform.Outputs.EMBEDDINGS | ALL)]
    answers = {}
    for name, (embeddings, states, token_vectors) in zip(("pixels", "samples"), encoded):
        answers |= {name: hashed(embeddings), f"{name}_states": hashed(states), f"{name}_token_vectors": hashed(token_vectors)}
    for name, verb, path in (("image_file", model.image_encode, "image/rgb8.png"),
                             ("audio_file", model.audio_encode, "audio/mono_s16.wav")):
        try:
            answers[name] = hashed(verb([(ROOT / "test" / "cases" / path).read_bytes()], uform.Arena()).embeddings)
        except uform.UnsupportedError as refused:
            assert "UFORM_WITH_" in str(refused)  # what this build was configured without
            answers[name] = remembered("media.txt")[name]
    assert answers == remembered("media.txt")
