#!/usr/bin/env python3
"""Recordings whose captions say all there is to hear, to check that training on sound learns: `sounds.py FOLDER [SEED]`.

Two tones, then a name: 8 pitches x 8 pitches x 6 names are 384 combinations, of which 64 are held out; no recording of
theirs is trained on, though every pitch and name is. Names are spoken by espeak-ng (Debian's) in four voices, tones are
pure, of a chance phase and loudness, and noise is under all. Writes train.jsonl, test.jsonl and WAVs of 16 kHz.
"""
import array
import io
import json
import math
import pathlib
import random
import subprocess
import sys
import wave

RATE = 16000
PITCHES = {"low": 196, "deep": 262, "dark": 349, "middle": 466, "plain": 622, "bright": 831, "high": 1109, "shrill": 1480}
NAMES = ("anna", "boris", "carlo", "dieter", "mimi", "otto")
VOICES = ("en", "en-us+f3", "en+m4", "en+f2")
TONE, GAP = RATE // 4, RATE // 20
HELD_OUT, RECORDINGS = 64, 3  # of each combination that is trained on


def spoken(name, voice):
    """Samples at RATE: espeak-ng speaks at 22,050 Hz, and straight lines between its samples are enough."""
    out = subprocess.run(["espeak-ng", "-v", voice, "-s", "180", "--stdout", name], check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(out)) as file:
        rate, samples = file.getframerate(), array.array("h", file.readframes(1 << 24))
    if sys.byteorder == "big":
        samples.byteswap()
    found = []
    for i in range(len(samples) * RATE // rate - 1):
        at, part = divmod(i * rate / RATE, 1)
        found.append((samples[int(at)] * (1 - part) + samples[int(at) + 1] * part) / 32768)
    return found


def tone(pitch, dice):
    phase, loudness = dice.uniform(0, 2 * math.pi), dice.uniform(0.2, 0.5)
    turn = 2 * math.pi * pitch * dice.uniform(0.99, 1.01) / RATE
    return [loudness * math.sin(phase + turn * i) * min(1, i / 160, (TONE - i) / 160) for i in range(TONE)]


def recording(combination, voices, noise, dice):
    first, second, name = combination
    silence = [0.0] * GAP
    samples = tone(PITCHES[first], dice) + silence + tone(PITCHES[second], dice) + silence + voices[name, dice.choice(VOICES)]
    at = dice.randrange(len(noise) - len(samples))
    numbers = array.array("h", (int(32767 * max(-1, min(1, a + b))) for a, b in zip(samples, noise[at:at + len(samples)])))
    if sys.byteorder == "big":
        numbers.byteswap()
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        file.writeframes(numbers.tobytes())
    return out.getvalue()


def main(folder, seed):
    (folder / "recordings").mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    noise = [dice.gauss(0, 0.003) for _ in range(8 * RATE)]
    voices = {(name, voice): spoken(name, voice) for name in NAMES for voice in VOICES}
    combinations = [(first, second, name) for first in PITCHES for second in PITCHES for name in NAMES]
    dice.shuffle(combinations)
    for part, chosen, count in (("test", combinations[:HELD_OUT], 1), ("train", combinations[HELD_OUT:], RECORDINGS)):
        with open(folder / f"{part}.jsonl", "w", encoding="utf-8") as lines:
            for index, combination in enumerate(chosen):
                for take in range(count):
                    path = f"recordings/{part}-{index}-{take}.wav"
                    (folder / path).write_bytes(recording(combination, voices, noise, dice))
                    first, second, name = combination
                    lines.write(json.dumps({"audio": path, "caption": f"{first}, then {second}: {name}", "group": index}) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
