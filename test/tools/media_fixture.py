"""Files of media for the tools' tests, made by hand: PNG through zlib, and a model of one block that sees pictures."""
import json
import random
import struct
import zlib

PATCH_SIDE, CHANNELS, WIDTH = 16, 4, 128


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


def normal_bf16(count, scale, seed):
    draw = random.Random(seed)
    return b"".join(struct.pack("<f", draw.gauss(0, scale))[2:] for _ in range(count))


def with_image_entry(checkpoint):
    """The bytes of a checkpoint, with a projection of patches beside what it has."""
    length, = struct.unpack("<Q", checkpoint[:8])
    header, data = json.loads(checkpoint[8:8 + length]), checkpoint[8 + length:]
    values = PATCH_SIDE * PATCH_SIDE * CHANNELS
    added = {"image.projection.weight": ([WIDTH, values], values ** -0.5), "image.projection.bias": ([WIDTH], 1),
             "image.mask": ([WIDTH], 1)}
    for seed, (name, (shape, scale)) in enumerate(added.items()):
        content = normal_bf16(shape[0] * (shape[1] if len(shape) > 1 else 1), scale, seed)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    header["__metadata__"] |= {"image.patch_side": str(PATCH_SIDE), "image.channels": str(CHANNELS)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data
