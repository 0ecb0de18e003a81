#!/usr/bin/env python3
"""Decoded pixels against Pillow's, over a matrix of formats, layouts, orientations and odd sizes.

usage: pillow_test.py PROGRAM      PROGRAM is decoded_pixels; ends with 77 where Pillow or a format is not there
Lossless pictures must be the same to the last level; lossy ones may differ by one level in the mean. PNGs are written
here, so that their values are known without any decoder too.
"""
import io
import itertools
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    from PIL import Image, ImageChops, features
except ImportError:
    print("pillow_test: SKIPPED: no Pillow (Debian: python3-pil)")
    sys.exit(77)

SIZES = [(1, 1), (1, 7), (9, 1), (8, 8), (15, 17), (16, 16), (33, 31), (97, 64)]
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
COLOURS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # channels of PNG's colour types
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
PALETTE = bytes((i * 37 + c * 91) % 256 for i in range(256) for c in range(3))
PALETTE_ALPHA = bytes((i * 53 + 7) % 256 for i in range(200))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_row(values, depth):
    if depth == 16:
        return struct.pack(f">{len(values)}H", *values)
    if depth == 8:
        return bytes(values)
    bits = "".join(format(value, f"0{depth}b") for value in values)
    return bytes(int(bits[i:i + 8].ljust(8, "0"), 2) for i in range(0, len(bits), 8))


def png(width, height, colour, depth, interlaced, transparent, orientation=1):
    """A PNG, and the RGBA that it stands for."""
    count, top = COLOURS[colour], 2 ** depth
    value = lambda x, y, c: (x * 2654435761 + y * 40503 + c * 9176 + x * y * 77) % 4294967291 % top
    pixels = [[[value(x, y, c) for c in range(count)] for x in range(width)] for y in range(height)]
    raw = b""
    for left, above, right, down in PASSES if interlaced else [(0, 0, 1, 1)]:
        for row in pixels[above::down]:
            if row[left::right]:
                raw += b"\0" + packed_row([v for pixel in row[left::right] for v in pixel], depth)
    extra, hidden = b"", None
    if colour == 3:
        extra += chunk(b"PLTE", PALETTE[:3 * top])
    if transparent:
        hidden = pixels[height // 2][width // 2]
        trns = PALETTE_ALPHA[:top] if colour == 3 else struct.pack(f">{count}H", *hidden)
        extra += chunk(b"tRNS", trns)
    extra += chunk(b"eXIf", exif(orientation)) if orientation != 1 else b""
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    file += extra + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")

    def shown(pixel):
        if colour == 3:
            alpha = PALETTE_ALPHA[pixel[0]] if transparent and pixel[0] < len(PALETTE_ALPHA) else 255
            return (*PALETTE[3 * pixel[0]:3 * pixel[0] + 3], alpha)
        level = [(v * 255 + (top - 1) // 2) // (top - 1) for v in pixel]
        alpha = level[-1] if colour in (4, 6) else 0 if pixel == hidden else 255
        return (*(level[:1] * 3 if colour in (0, 4) else level[:3]), alpha)

    return file, bytes(v for row in pixels for pixel in row for v in shown(pixel))


def exif(orientation, little=False):
    order = "<" if little else ">"
    return (b"II" if little else b"MM") + struct.pack(order + "HIHHHIHHI", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def drawn(width, height, mode):
    """Smooth, with an edge: what photographs are made of."""
    count = len(mode)
    values = bytes(min(255, max(0, (x * 255 // max(width, 2) * (c + 1) + y * (5 - c) + 60 * (x > width // 3)) % 511 // 2))
                   for y in range(height) for x in range(width) for c in range(count))
    return Image.frombytes(mode, (width, height), values)


def encoded(image, kind, **options):
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


SHIFTS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]  # pixels of the picture, before it is reduced


def difference(got, wanted):
    return sum(abs(a - b) for a, b in zip(got, wanted)) / len(wanted)


class Cases:
    def __init__(self, program):
        self.program, self.folder, self.cases = program, tempfile.TemporaryDirectory(), []

    def add(self, name, data, expected, bound, orientation=1, reduction=1):
        """`expected` is an image in RGB or RGBA, `bound` the mean difference in levels, zero for the same bytes."""
        path = pathlib.Path(self.folder.name) / str(len(self.cases))
        path.write_bytes(data)
        self.cases.append((name, path, expected, bound, orientation, reduction))

    def run(self):
        lines = "".join(f"{reduction} {path}\n" for _, path, _, _, _, reduction in self.cases)
        answer = io.BytesIO(subprocess.run([self.program], input=lines.encode(), check=True, capture_output=True).stdout)
        failures, worst = 0, 0.0
        for name, _, expected, bound, orientation, reduction in self.cases:
            status, width, height, channels, turned, count = answer.readline().decode().split()
            got = answer.read(int(count))
            problem = self.problem(status, channels, got, expected, bound, int(turned), orientation, reduction)
            if bound and isinstance(problem, float):
                worst, problem = max(worst, problem), None
            if problem:
                failures += 1
                print(f"{name} ({width} x {height}): {problem}")
        print(f"{len(self.cases)} pictures, {failures} of them wrong; worst mean difference of lossy ones {worst:.3f}")
        return failures

    @staticmethod
    def shift(got, original, reduction):
        """Of the means of the original and of its shifted copies, those of the original must be the nearest."""
        errors = {shift: difference(got, ImageChops.offset(original, *shift).reduce(reduction).tobytes())
                  for shift in SHIFTS}
        nearest = min(errors, key=errors.get)
        return None if nearest == (0, 0) else f"it is shifted by {nearest}: {errors}"

    @staticmethod
    def problem(status, channels, got, expected, bound, turned, orientation, reduction):
        if status == "unsupported":
            return "not built"
        if status != "success":
            return f"answered {status}"
        if turned != orientation:
            return f"orientation {turned}, not {orientation}"
        if bound is SHIFTS:
            return Cases.shift(got, expected, reduction)
        wanted = expected.convert("RGBA" if channels == "4" else "RGB").tobytes()
        if channels == "3" and expected.mode == "RGBA" and set(expected.getchannel("A").tobytes()) != {255}:
            return "its alpha is lost"
        if len(got) != len(wanted):
            return f"{len(got)} bytes, not {len(wanted)}"
        if not bound:
            return None if got == wanted else f"byte {next(i for i, (a, b) in enumerate(zip(got, wanted)) if a != b)} differs"
        mean = difference(got, wanted)
        return mean if mean <= bound else f"differs by {mean:.2f} in the mean, more than {bound}"


def add_pngs(cases):
    for colour, (width, height) in itertools.product(COLOURS, SIZES):
        for depth, interlaced, transparent in itertools.product(DEPTHS[colour], (0, 1), (False, True)):
            if transparent and colour in (4, 6):
                continue
            data, values = png(width, height, colour, depth, interlaced, transparent)
            name = f"PNG colour {colour} depth {depth}" + " interlaced" * interlaced + " tRNS" * transparent
            truth = Image.frombytes("RGBA", (width, height), values)
            cases.add(name, data, truth, 0)
            # Deeper ones Pillow cuts down instead of rounding; of grey it compares tRNS with levels scaled to 8 bits.
            if depth <= 8 and not (colour == 0 and depth < 8 and transparent):
                cases.add(name + " by Pillow", data, Image.open(io.BytesIO(data)).convert("RGBA"), 0)
    for orientation in range(1, 9):
        data, values = png(33, 31, 2, 8, 0, False, orientation)
        cases.add(f"PNG held {orientation}", data, Image.frombytes("RGBA", (33, 31), values), 0, orientation)


def add_jpegs(cases):
    for (width, height), mode, progressive, sampling in itertools.product(
            SIZES + [(211, 157)], ("L", "RGB", "CMYK"), (False, True), (0, 1, 2)):
        options = {"quality": 85, "progressive": progressive} | ({"subsampling": sampling} if mode == "RGB" else {})
        if mode != "RGB" and sampling:
            continue
        data = encoded(drawn(width, height, mode), "JPEG", **options)
        cases.add(f"JPEG {mode} sampling {sampling}" + " progressive" * progressive, data,
                  Image.open(io.BytesIO(data)).convert("RGB"), 1)
    for orientation, little in itertools.product(range(1, 9), (False, True)):
        data = encoded(drawn(31, 33, "RGB"), "JPEG", exif=b"Exif\0\0" + exif(orientation, little))
        cases.add(f"JPEG held {orientation}", data, Image.open(io.BytesIO(data)).convert("RGB"), 1, orientation)
    for orientation in (0, 9, 255):  # no way to hold a camera: upright
        data = encoded(drawn(31, 33, "RGB"), "JPEG", exif=b"Exif\0\0" + exif(orientation))
        cases.add(f"JPEG held {orientation}", data, Image.open(io.BytesIO(data)).convert("RGB"), 1, 1)
    for reduction, (width, height), sampling in itertools.product((2, 4, 8), ((640, 480), (641, 479), (333, 222)), (0, 2)):
        data = encoded(drawn(width, height, "RGB"), "JPEG", quality=95, subsampling=sampling)
        draft = Image.open(io.BytesIO(data))
        draft.draft("RGB", (width // reduction, height // reduction))
        name = f"JPEG at 1/{reduction}, sampling {sampling}"
        cases.add(name, data, draft.convert("RGB"), 1, reduction=reduction)
        cases.add(name + " shifted by nothing", data, drawn(width, height, "RGB"), SHIFTS, reduction=reduction)


def add_webps(cases):
    for (width, height), alpha in itertools.product(SIZES, (False, True)):
        image = drawn(width, height, "RGBA" if alpha else "RGB")
        for lossless in (True, False):
            data = encoded(image, "WEBP", lossless=lossless, quality=80, exact=True)
            cases.add(f"WebP {image.mode}" + " lossless" * lossless, data, Image.open(io.BytesIO(data)),
                      0 if lossless else 1)
            if lossless:
                cases.add(f"WebP {image.mode}, lossless, as it was", data, image, 0)
    for orientation in range(1, 9):
        image = drawn(33, 31, "RGB")
        cases.add(f"WebP held {orientation}", encoded(image, "WEBP", lossless=True, exif=b"Exif\0\0" + exif(orientation)),
                  image, 0, orientation)
    if features.check("webp_anim"):
        frames = [drawn(40, 30, "RGBA"), drawn(40, 30, "RGBA").rotate(180)]
        data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True, exact=True)
        cases.add("WebP animation", data, Image.open(io.BytesIO(data)).convert("RGBA"), 0)


def main():
    cases = Cases(sys.argv[1])
    add_pngs(cases), add_jpegs(cases)
    if features.check("webp"):
        add_webps(cases)
    return 1 if cases.run() else 0


if __name__ == "__main__":
    sys.exit(main())
