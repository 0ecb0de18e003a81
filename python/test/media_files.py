"""Files as other programs would write them: pictures and recordings from arrays, clips from the tests of the engine."""

import struct
import zlib

import numpy as np

from conftest import ROOT

CLIPS = ROOT / "test" / "fuzz" / "corpus" / "video"
PHOTO = ROOT / "test" / "cases" / "image" / "base.jpg"


def picture(height, width, seed=0):
    """A [height, width, 3] array of uint8, the same on every machine."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def png(pixels):
    """A PNG of 8-bit RGB."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # no filter
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def tone(count, hertz=440, rate=16_000):
    """Samples of a sine that 16 bits hold exactly."""
    samples = np.round(np.sin(np.arange(count) * (2 * np.pi * hertz / rate)) * 20_000) / 32_768
    return samples.astype(np.float32)


def wav(samples, rate=16_000):
    """A WAV of 16-bit mono."""
    data = (samples * 32_768).astype("<i2").tobytes()
    layout = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + layout + b"data" +
            struct.pack("<I", len(data)) + data)


def clip(name):
    return (CLIPS / name).read_bytes()
