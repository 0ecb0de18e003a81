"""What a JPEG's smaller scales cost in accuracy: cells of the grid a picture becomes, from each scale and from the whole.

usage: scales.py [PHOTO ...]      needs Pillow and NumPy (Debian: python3-pil, python3-numpy), and fonts-dejavu-core
Prints, for every picture and scale, pixels to a cell and the mean and largest difference in levels. Beside the photographs
named it draws edges, discs and rectangles of all colours, and pages of text, and saves them at quality 90.
"""
import io
import random
import sys

import numpy
from PIL import Image, ImageDraw, ImageFont

SIZES = [(4000, 3000), (5200, 3900), (6656, 4992), (8320, 6240)]
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def edges(draw, width, height, pick):
    for _ in range(3000):
        x, y = pick.randrange(width), pick.randrange(height)
        box = (x, y, x + pick.randrange(10, 300), y + pick.randrange(10, 300))
        (draw.ellipse if pick.random() < 0.5 else draw.rectangle)(box, fill=tuple(pick.randrange(256) for _ in range(3)))


def text(draw, width, height, pick):
    draw.rectangle((0, 0, width, height), fill="white")
    for third, size in enumerate((24, 40, 70)):
        font = ImageFont.truetype(FONT, size)
        for y in range(third * height // 3, (third + 1) * height // 3 - size, int(size * 1.3)):
            line = "".join(pick.choice("abcdefgh ijklmno pqrstu vwxyz ABCD") for _ in range(int(width / size * 1.5)))
            draw.text((50, y), line, fill=pick.choice(["black", "black", "red", "blue"]), font=font)


def drawn(body, width, height):
    image = Image.new("RGB", (width, height))
    body(ImageDraw.Draw(image), width, height, random.Random(1))
    data = io.BytesIO()
    image.save(data, "JPEG", quality=90)
    return data.getvalue()


def weights(pixels, cells, scale):
    """[cells, pixels of the scale]: how much of a cell each of them covers."""
    edges_of_cells = numpy.arange(cells + 1) * pixels / cells
    edges_of_pixels = numpy.minimum(numpy.arange(-(-pixels // scale) + 1) * scale, pixels)
    ends = numpy.minimum(edges_of_cells[1:, None], edges_of_pixels[None, 1:])
    begins = numpy.maximum(edges_of_cells[:-1, None], edges_of_pixels[None, :-1])
    return numpy.maximum(ends - begins, 0) * cells / pixels


def cells_of(data, scale):
    image = Image.open(io.BytesIO(data))
    width, height = image.size
    rows = int((512 * height / width) ** 0.5)
    columns = 512 // rows
    if scale > 1:
        image.draft("RGB", (width // scale, height // scale))
    down, across = weights(height, rows * 16, scale), weights(width, columns * 16, scale)
    planes = numpy.moveaxis(numpy.asarray(image.convert("RGB"), numpy.float32), 2, 0)
    return down @ planes @ across.T, width / (columns * 16 * scale)


def report(name, data):
    whole, _ = cells_of(data, 1)
    line = name
    for scale in (2, 4, 8):
        cells, pixels = cells_of(data, scale)
        off = abs(cells - whole)
        line += f" | 1/{scale}, {pixels:.1f} pixels to a cell: {off.mean():.2f}, {off.max():.0f}"
    print(line, flush=True)


def main(photos):
    for photo in photos:
        report(photo, open(photo, "rb").read())
    for body in (edges, text):
        for width, height in SIZES:
            report(f"{body.__name__} {width} x {height}", drawn(body, width, height))


if __name__ == "__main__":
    main(sys.argv[1:])
