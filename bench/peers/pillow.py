"""Pillow on photographs: `draft` for the decoder's own scaling, box resampling, patches as float32 by NumPy.

`pillow.py 2` asks for twice the size from the decoder, as Pillow's own thumbnails do: the smaller scale that `draft`
takes by itself leaves less than two of its pixels to one of the result.
"""
import concurrent.futures
import pathlib
import sys

import numpy
from PIL import Image

import peer

PATCH = 16
GAP = int(sys.argv[1]) if len(sys.argv) > 1 else 1


def decode(folder, count, width, height, threads):
    paths = (pathlib.Path(folder) / "texts").read_text().splitlines()

    def pixels_of(path):
        with Image.open(path) as photo:
            photo.draft("RGB", (GAP * width, GAP * height))
            return photo.convert("RGB").resize((width, height), Image.BOX)

    def patches_of(path):
        values = numpy.asarray(pixels_of(path), numpy.float32) / 127.5 - 1
        grid = values.reshape(height // PATCH, PATCH, width // PATCH, PATCH, 3)
        return numpy.ascontiguousarray(grid.transpose(0, 2, 4, 1, 3))

    with open(pathlib.Path(folder) / "answer", "wb") as answer:
        for path in paths[:count]:
            answer.write(pixels_of(path).tobytes())
    pool = concurrent.futures.ThreadPoolExecutor(threads)

    def run():
        for patches in pool.map(patches_of, paths):
            del patches
    return run


peer.serve("Pillow" if GAP == 1 else "Pillow, gap %d" % GAP, {"decode": decode})
