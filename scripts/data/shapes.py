#!/usr/bin/env python3
"""Pictures whose captions say all there is to see, to check that training on media learns: `shapes.py FOLDER [SEED]`.

One shape on a dim ground: 6 colours x 5 shapes x 2 sizes x 9 places are 540 combinations, each captioned in English,
German and Spanish. 64 combinations are held out: no picture of theirs is trained on, though every colour, shape, size
and place is, with others. Writes train.jsonl, test.jsonl and PNGs of 64 x 64 pixels, which differ in the ground's shade,
the colour's tint and a few pixels of place. Needs nothing but Python.
"""
import json
import pathlib
import random
import struct
import sys
import zlib

SIDE = 64
COLOURS = {"red": ("rot", "rojo", (220, 40, 40)), "green": ("grün", "verde", (40, 180, 60)),
           "blue": ("blau", "azul", (50, 80, 230)), "yellow": ("gelb", "amarillo", (235, 215, 50)),
           "white": ("weiß", "blanco", (240, 240, 240)), "purple": ("lila", "morado", (160, 60, 190))}
SHAPES = {"circle": ("Kreis", "círculo"), "square": ("Quadrat", "cuadrado"), "triangle": ("Dreieck", "triángulo"),
          "cross": ("Kreuz", "cruz"), "ring": ("Ring", "anillo")}
SIZES = {"small": ("klein", "pequeño", 7), "large": ("groß", "grande", 11)}
ROWS = {"top": ("oben", "arriba", 13), "middle": ("mittig", "en medio", 32), "bottom": ("unten", "abajo", 51)}
COLUMNS = {"left": ("links", "a la izquierda", 13), "centre": ("im Zentrum", "al centro", 32),
           "right": ("rechts", "a la derecha", 51)}
HELD_OUT = 64
PICTURES = 4  # of each combination that is trained on


def png(pixels):
    """SIDE rows of SIDE RGB triples."""
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")


def covers(shape, x, y, radius):
    """Whether a shape around the origin covers a point."""
    if shape == "circle":
        return x * x + y * y <= radius * radius
    if shape == "ring":
        return 0.3 * radius * radius <= x * x + y * y <= radius * radius
    if shape == "square":
        return max(abs(x), abs(y)) <= 0.85 * radius
    if shape == "cross":
        return min(abs(x), abs(y)) <= 0.3 * radius and max(abs(x), abs(y)) <= radius
    return -radius <= y <= radius and abs(x) <= (y + radius) / 2


def draw(combination, dice):
    colour, shape, size, row, column = combination
    ground = dice.randrange(30, 70)
    tint = [min(255, max(0, value + dice.randrange(-12, 13))) for value in COLOURS[colour][2]]
    left, top = COLUMNS[column][2] + dice.randrange(-2, 3), ROWS[row][2] + dice.randrange(-2, 3)
    radius = SIZES[size][2] + dice.uniform(-0.5, 0.5)
    return png([[tint if covers(shape, x - left, y - top, radius) else [ground] * 3 for x in range(SIDE)]
                for y in range(SIDE)])


def captions(combination):
    colour, shape, size, row, column = combination
    english = f"a {size} {colour} {shape}, {row} {column}"
    german = f"{SHAPES[shape][0]}, {SIZES[size][0]} und {COLOURS[colour][0]}, {ROWS[row][0]} {COLUMNS[column][0]}"
    spanish = f"{SHAPES[shape][1]} {SIZES[size][1]} {COLOURS[colour][1]}, {ROWS[row][1]} {COLUMNS[column][1]}"
    return [english, german, spanish]


def main(folder, seed):
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    combinations = [(colour, shape, size, row, column) for colour in COLOURS for shape in SHAPES for size in SIZES
                    for row in ROWS for column in COLUMNS]
    dice.shuffle(combinations)
    for name, chosen, pictures in (("test", combinations[:HELD_OUT], 1), ("train", combinations[HELD_OUT:], PICTURES)):
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as lines:
            for index, combination in enumerate(chosen):
                for picture in range(pictures):
                    path = f"pictures/{name}-{index}-{picture}.png"
                    (folder / path).write_bytes(draw(combination, dice))
                    lines.write(json.dumps({"image": path, "captions": captions(combination), "group": index},
                                           ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
