#!/usr/bin/env python3
"""Decoded recordings against the samples they were made of, and against FFmpeg's and SoX's own programs.

usage: audio_test.py PROGRAM [--all]     PROGRAM is decoded_samples; ends with 77 where ffmpeg or sox is not installed
Files are made here by ffmpeg: every container, at its rates, mono, stereo and 5.1, with and without what tells the
encoder's delay. --all is the whole matrix; else each container meets one rate and layout, and all of them are met.
"""
import array
import itertools
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

RATES = (8000, 11025, 16000, 22050, 44100, 48000, 96000)
LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}
MODEL_RATE = 16000
SECONDS = 0.43
LOSSY_DECIBELS = 60  # against another decoder of the same file


class Kind:
    """A container, and how ffmpeg is asked for it; `told` says whether the file tells the samples it was made of."""

    def __init__(self, name, suffix, options, rates=RATES, layouts=(1, 2, 6), bits=0, told=True, sox=False, other=None, milliseconds=0):
        self.name, self.suffix, self.options, self.rates, self.layouts = name, suffix, options, rates, layouts
        self.bits, self.told, self.sox = bits, told, sox  # bits of a lossless sample; zero where it is lossy
        self.other = other  # FFmpeg's name of a decoder that is not its own
        self.milliseconds = milliseconds  # that the container rounds lengths to


MP3 = tuple(rate for rate in RATES if rate <= 48000)
OPUS = (8000, 16000, 48000)
KINDS = [
    Kind("WAV of u8", "wav", "-c:a pcm_u8", bits=8, sox=True),
    Kind("WAV of s16", "wav", "-c:a pcm_s16le", bits=16, sox=True),
    Kind("WAV of s24", "wav", "-c:a pcm_s24le", bits=24, sox=True),
    Kind("WAV of s32", "wav", "-c:a pcm_s32le", bits=32, sox=True),
    Kind("WAV of f32", "wav", "-c:a pcm_f32le", bits=32, sox=True),
    Kind("WAV of f64", "wav", "-c:a pcm_f64le", bits=32, sox=True),
    Kind("RF64", "wav", "-c:a pcm_s16le -rf64 always", bits=16),
    Kind("FLAC of s16", "flac", "-c:a flac -sample_fmt s16", bits=16, sox=True),
    Kind("FLAC of s24", "flac", "-c:a flac -sample_fmt s32", bits=24, sox=True),
    Kind("FLAC in Ogg", "ogg", "-c:a flac -sample_fmt s16", bits=16),
    Kind("ALAC in MP4", "m4a", "-c:a alac -sample_fmt s16p", bits=16),
    Kind("MP3", "mp3", "-c:a libmp3lame -q:a 2", MP3, (1, 2), sox=True),
    Kind("MP3 of a constant rate", "mp3", "-c:a libmp3lame -b:a {}k", MP3, (1, 2), sox=True),
    Kind("MP3 without tags", "mp3", "-c:a libmp3lame -b:a {}k -write_xing 0 -id3v2_version 0", MP3, (1, 2), told=False),
    Kind("Opus in Ogg", "opus", "-c:a libopus -b:a {}k", OPUS, other="libopus"),
    Kind("Vorbis in Ogg", "ogg", "-c:a libvorbis -q:a 5", (8000, 22050, 11025, 16000, 44100, 48000), sox=True),
    Kind("AAC in MP4", "m4a", "-c:a aac -b:a {}k", milliseconds=1),
    Kind("AAC in MP4 without edits", "m4a", "-c:a aac -b:a {}k -use_editlist 0", told=False),
    Kind("AAC in fragments", "mp4", "-c:a aac -b:a {}k -movflags frag_keyframe+empty_moov", told=False),
    Kind("Opus in WebM", "webm", "-c:a libopus -b:a {}k", OPUS, other="libopus"),
    Kind("Vorbis in WebM", "webm", "-c:a libvorbis -q:a 5", RATES[:6], told=False),
]


def made(rate, channels):
    """Frames of s16: three tones a channel, below 3 kHz so that every rate holds them, of another loudness in each."""
    count = int(rate * SECONDS) + 137
    samples = array.array("h", bytes(2 * count * channels))
    for c in range(channels):
        low, middle, high = (2 * math.pi * f / rate for f in (200 + 53 * c, 900 + 71 * c, 2500 + 37 * c))
        loud = 32767 * (0.15 + 0.02 * c)
        samples[c::channels] = array.array("h", (round(loud * (math.sin(low * i) + math.sin(middle * i) + math.sin(high * i)))
                                                 for i in range(count)))
    return samples


def mono_of(samples, channels):
    """The mean of the channels, in double."""
    if channels == 1:
        return list(samples)
    return [sum(samples[i:i + channels]) / channels for i in range(0, len(samples), channels)]


def decibels(got, wanted):
    """Signal to noise; infinite where both are the same."""
    count = min(len(got), len(wanted))
    noise = math.fsum((a - b) * (a - b) for a, b in zip(got, wanted))
    signal = math.fsum(b * b for b in wanted[:count])
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf


def run(*command, data=None):
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def floats(data, code="f"):
    values = array.array(code)
    values.frombytes(data[:len(data) // values.itemsize * values.itemsize])
    return values


def told_by_tag(path, rate):
    """Samples that an MP3's tag tells of: frames, without the encoder's delay and padding, which it may count otherwise."""
    file = pathlib.Path(path).read_bytes()
    at = max(file.find(b"Xing"), file.find(b"Info"))
    delay_and_padding = int.from_bytes(file[at + 141:at + 144], "big")
    frames = int.from_bytes(file[at + 8:at + 12], "big") * (1152 if rate >= 32000 else 576)
    return frames - (delay_and_padding >> 12) - (delay_and_padding & 4095)


class Decoder:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, path, rate, room=1 << 20):
        self.process.stdin.write(f"{rate} {room} {path}\n".encode())
        self.process.stdin.flush()
        status, count, more, told = self.process.stdout.readline().decode().split(" ", 3)
        return status, floats(self.process.stdout.read(4 * int(count))), more == "1", told.strip()


def by_ffmpeg(path, decoder=None):
    channels = int(run("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=channels", "-of",
                       "csv=p=0", path).decode().split()[0].strip(","))
    return mono_of(floats(run("ffmpeg", "-v", "error", *(("-c:a", decoder) if decoder else ()), "-i", path, "-map", "0:a:0", "-f", "f32le", "-")), channels)


def by_sox(path):
    channels = int(run("soxi", "-c", path))
    return mono_of(floats(run("sox", "-V1", "-D", path, "-t", "f32", "-")), channels)


def converted_by_sox(mono, rate):
    return floats(run("sox", "-V1", "-D", "-t", "f32", "-r", str(rate), "-c", "1", "-", "-t", "f32", "-r",
                      str(MODEL_RATE), "-", "rate", "-v", data=mono.tobytes()))


def aligned(got, wanted, lags):
    """The best signal to noise over some lags of `wanted`, away from the ends."""
    middle = range(len(got) // 4, 3 * len(got) // 4)
    part = [got[i] for i in middle]
    return max((decibels(part, [wanted[i + lag] for i in middle]), lag) for lag in lags
               if 0 <= middle[0] + lag and middle[-1] + lag < len(wanted))


class Checks:
    def __init__(self, program, folder):
        self.decode, self.folder = Decoder(program), pathlib.Path(folder)
        self.count, self.failures, self.worst = 0, 0, math.inf

    def fail(self, name, problem):
        self.failures += 1
        print(f"{name}: {problem}")

    def encoded(self, kind, rate, channels):
        samples = made(rate, channels)
        path = self.folder / f"{self.count}.{kind.suffix}"
        run("ffmpeg", "-v", "error", "-f", "s16le", "-ar", str(rate), "-ac", str(channels), "-channel_layout",
            LAYOUTS[channels], "-i", "-", *kind.options.format(64 * channels).split(), "-y", str(path), data=samples.tobytes())
        return str(path), [x / 32768 for x in mono_of(samples, channels)]

    def check(self, kind, rate, channels):
        self.count += 1
        name = f"{kind.name} at {rate}, {LAYOUTS[channels]}"
        path, original = self.encoded(kind, rate, channels)
        own_rate = 48000 if "opus" in kind.options else rate
        status, got, more, told = self.decode(path, own_rate)
        if status != "success" or more:
            return self.fail(name, f"answered {status} {told}")
        if kind.bits >= 16:
            if got.tobytes() != array.array("f", original).tobytes():
                self.fail(name, f"{len(got)} samples, not the {len(original)} it was made of")
        else:
            self.compare_lossy(name, kind, path, got, original, own_rate / rate)
        if kind.sox:
            self.compare_sox(name, kind, path, got)
        self.compare_converted(name, kind, path, got, own_rate)

    def compare_lossy(self, name, kind, path, got, original, factor):
        reference = by_ffmpeg(path, kind.other)
        near = decibels(got, reference)
        self.worst = min(self.worst, near)
        if near < LOSSY_DECIBELS or abs(len(got) - len(reference)) > 1152:
            self.fail(name, f"{near:.1f} dB to ffmpeg's, {len(got)} samples to its {len(reference)}")
        if not kind.told:
            return
        wanted = math.ceil(len(original) * factor)
        if kind.suffix == "mp3":
            wanted = told_by_tag(path, len(original) / SECONDS)
        if abs(len(got) - wanted) > wanted / SECONDS * kind.milliseconds / 1000:
            self.fail(name, f"{len(got)} samples, made of {len(original)}, {wanted} wanted")
        if factor == 1:
            quality, lag = aligned(got, original, range(-3, 4))
            if lag or quality < 3:  # 5.1 loses its subwoofer's treble
                self.fail(name, f"lags by {lag} samples at {quality:.1f} dB")

    def compare_sox(self, name, kind, path, got):
        reference = by_sox(path)
        lags = range(0, 1) if "mp3" not in kind.suffix else range(0, 2300)
        if len(lags) > 1:  # SoX trims nothing: find by the coarse, then by the fine
            near, lag = aligned(got[:4000], reference, lags)
            near, lag = aligned(got, reference, (lag,))
        else:
            near = decibels(got, reference)
            if len(reference) != len(got):
                self.fail(name, f"{len(got)} samples, SoX has {len(reference)}")
        self.worst = min(self.worst, near)
        if near < LOSSY_DECIBELS:
            self.fail(name, f"{near:.1f} dB to SoX's")

    def compare_converted(self, name, kind, path, own, own_rate):
        _, got, _, _ = self.decode(path, MODEL_RATE)
        if len(got) != math.ceil(len(own) * MODEL_RATE / own_rate):
            self.fail(name, f"{len(own)} samples at {own_rate} are {len(got)} at {MODEL_RATE}")
        if own_rate == MODEL_RATE or kind.bits == 8:  # noise up to the Nyquist frequency is where filters differ
            return
        near, _ = aligned(got, converted_by_sox(own, own_rate), (0,))
        self.worst = min(self.worst, near)
        if near < LOSSY_DECIBELS:
            self.fail(name, f"{near:.1f} dB to SoX's conversion")


def matrix(whole):
    for at, kind in enumerate(KINDS):
        pairs = list(itertools.product(kind.rates, kind.layouts))
        for rate, channels in pairs if whole else pairs[at * 5 % len(pairs)::len(pairs)]:
            yield kind, rate, channels


def main():
    missing = [name for name in ("ffmpeg", "ffprobe", "sox", "soxi") if not shutil.which(name)]
    if missing:
        print(f"audio_test: SKIPPED: no {', '.join(missing)} (Debian: ffmpeg, sox, libsox-fmt-mp3)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(sys.argv[1], folder)
        for kind, rate, channels in matrix("--all" in sys.argv):
            checks.check(kind, rate, channels)
    print(f"{checks.count} recordings, {checks.failures} wrong; lossy ones are {checks.worst:.1f} dB near or nearer")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
