#!/usr/bin/env python3
"""Clips whose captions say how shapes move, to check that training on video learns: `moves.py FOLDER [SEED]`.

A square of one of 6 colours goes one of 8 ways at one of 4 speeds over a frame whose edges meet, from a chance place: 192
combinations, of which 64 are held out. A square is as likely anywhere at any moment, whatever its way and speed, so no
single frame tells of them; the colour, which one does tell, leaves about 11 of 64. Writes train.jsonl, test.jsonl and
MP4s of 12 frames of 64 x 64 through ffmpeg (Debian's). Needs no other library.
"""
import json
import pathlib
import random
import subprocess
import sys

SIDE, FRAMES, RATE = 64, 12, 12
COLOURS = {"red": (220, 40, 40), "green": (40, 180, 60), "blue": (60, 90, 235), "white": (240, 240, 240),
           "yellow": (235, 215, 50), "purple": (160, 60, 190)}
WAYS = {"right": (1, 0), "left": (-1, 0), "down": (0, 1), "up": (0, -1), "down right": (0.7, 0.7), "down left": (-0.7, 0.7),
        "up right": (0.7, -0.7), "up left": (-0.7, -0.7)}
SPEEDS = {"slowly": 1, "steadily": 2.2, "quickly": 3.6, "in a rush": 5.2}
HELD_OUT, CLIPS = 64, 4  # of each combination that is trained on
RADIUS = 7


def frames(combination, dice):
    colour, way, speed = combination
    (across, down), pace, ground = WAYS[way], SPEEDS[speed], dice.randrange(30, 60)
    left, top = dice.uniform(0, SIDE), dice.uniform(0, SIDE)
    raw = bytearray()
    for frame in range(FRAMES):
        x, y = round(left + across * pace * frame), round(top + down * pace * frame)
        inside = [(i - x + RADIUS) % SIDE <= 2 * RADIUS for i in range(SIDE)]
        plain = bytes([ground]) * (3 * SIDE)
        crossed = b"".join(bytes(COLOURS[colour]) if each else bytes([ground]) * 3 for each in inside)
        raw += b"".join(crossed if (row - y + RADIUS) % SIDE <= 2 * RADIUS else plain for row in range(SIDE))
    return bytes(raw)


def write_clip(path, raw):
    subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{SIDE}x{SIDE}", "-r",
                    str(RATE), "-i", "-", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "18", "-pix_fmt", "yuv420p",
                    "-threads", "1", str(path)], input=raw, check=True)


def main(folder, seed):
    (folder / "clips").mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    combinations = [(colour, way, speed) for colour in COLOURS for way in WAYS for speed in SPEEDS]
    dice.shuffle(combinations)
    for part, chosen, count in (("test", combinations[:HELD_OUT], 1), ("train", combinations[HELD_OUT:], CLIPS)):
        with open(folder / f"{part}.jsonl", "w", encoding="utf-8") as lines:
            for index, combination in enumerate(chosen):
                for take in range(count):
                    path = f"clips/{part}-{index}-{take}.mp4"
                    write_clip(folder / path, frames(combination, dice))
                    colour, way, speed = combination
                    lines.write(json.dumps({"video": path, "caption": f"a {colour} square moves {way} {speed}", "group": index}) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
