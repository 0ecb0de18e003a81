"""Photographs to decode, made of gradients and noise: `photos.py FOLDER COUNT` writes COUNT JPEGs of 12 megapixels, q90.

The light of each is a gradient of its own under a few soft shapes, its grain one of a few fields of noise, shifted and
turned; every file is another. Files that are there are kept. Needs Pillow (Debian: python3-pil).
"""
import pathlib
import random
import sys

from PIL import Image, ImageChops, ImageDraw, ImageFilter

WIDTH, HEIGHT, QUALITY = 4000, 3000, 90
GRAIN = 9  # standard deviation of the noise, in levels of 255: a sensor's at a high sensitivity


def light(draw):
    """A small picture of gradients and shapes, enlarged smoothly: what lenses leave of a scene."""
    small = Image.linear_gradient("L").resize((200, 150))
    bands = [small.rotate(draw.randrange(360)).point(lambda v, a=draw.uniform(0.3, 0.8), b=draw.randrange(60): int(a * v + b))
             for _ in range(3)]
    scene = Image.merge("RGB", bands)
    pen = ImageDraw.Draw(scene)
    for _ in range(12):
        x, y, side = draw.randrange(200), draw.randrange(150), draw.randrange(8, 60)
        shape = (x, y, x + side, y + draw.randrange(8, 60))
        (pen.ellipse if draw.random() < 0.5 else pen.rectangle)(shape, fill=tuple(draw.randrange(256) for _ in range(3)))
    return scene.filter(ImageFilter.GaussianBlur(0.7)).resize((WIDTH, HEIGHT), Image.BICUBIC)


def main(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    missing = [i for i in range(count) if not (folder / f"{i:04}.jpg").exists()]
    if not missing:
        return
    fields = [Image.effect_noise((WIDTH, HEIGHT), GRAIN) for _ in range(6)]
    for index in missing:
        draw = random.Random(index)
        grain = [ImageChops.offset(field, draw.randrange(WIDTH), draw.randrange(HEIGHT)) for field in draw.sample(fields, 3)]
        photo = ImageChops.add(light(draw), Image.merge("RGB", grain), 1, -128)
        part = folder / f".{index:04}.part"
        photo.save(part, "JPEG", quality=QUALITY)
        part.rename(folder / f"{index:04}.jpg")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
