"""Files of media for the tools' tests, made by hand: PNG through zlib, WAV."""
import io
import random
import struct
import wave
import zlib


def png(width, height, pixel):
    """An 8-bit RGB picture whose pixels are `pixel(x, y)`, three values each."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def picture(seed, side=32):
    draw = random.Random(seed)
    tint = [draw.randrange(256) for _ in range(3)]
    return png(side, side, lambda x, y: [(tint[c] + (3 + c) * x + (5 - c) * y) % 256 for c in range(3)])


def recording(seed, milliseconds=100):
    """A WAV file of 16 kHz."""
    draw, out = random.Random(seed), io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000)
        file.writeframes(b"".join(struct.pack("<h", draw.randrange(-8000, 8000)) for _ in range(16 * milliseconds)))
    return out.getvalue()
