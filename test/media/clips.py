#!/usr/bin/env python3
"""Clips for tests, drawn here and encoded by ffmpeg.

usage: clips.py FOLDER [NAME ...]      writes the small ones that tests and the fuzzer's corpus keep; all by default

Frames are smooth, with an edge that moves, so that a lossy codec at a high quality keeps them within a level or two.
"""
import pathlib
import struct
import subprocess
import sys


def frames(count, width, height):
    """RGB frames: gradients, and a square that goes right."""
    for n in range(count):
        rows = bytearray()
        for y in range(height):
            for x in range(width):
                inside = (x - 2 * n) % width < width // 3 and height // 4 <= y < 3 * height // 4
                rows += bytes(((x * 200 // width + 20 + 30 * inside) % 256, (y * 180 // height + 40) % 256,
                               (120 + 4 * n + 60 * inside) % 256))
        yield bytes(rows)


def encode(path, count, width, height, *options, rate=10, times=None):
    """Encodes `count` frames, at `times` seconds each where given, and answers the command's errors, if any."""
    filters = []
    if times:
        shown = "+".join(f"eq(N\\,{n})*{time}" for n, time in enumerate(times))
        filters = ["-vf", f"settb=1/1000,setpts=({shown})/TB", "-vsync", "passthrough", "-enc_time_base", "1/1000"]
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r",
               str(rate), "-i", "-", *filters, "-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact",
               *options, str(path)]
    ran = subprocess.run(command, input=b"".join(frames(count, width, height)), capture_output=True)
    return ran.stderr.decode() if ran.returncode else None


def copy(path, source, *options):
    """The same packets in another container, or through a bitstream filter."""
    ran = subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(source), "-c", "copy", "-fflags", "+bitexact",
                          *options, str(path)], capture_output=True)
    return ran.stderr.decode() if ran.returncode else None


def turned(mp4, matrix):
    """An MP4 whose track's matrix is another: (a, b, c, d), which takes a stored (x, y) to (a x + c y, b x + d y)."""
    at = mp4.index(b"tkhd") + 4
    at += 40 if mp4[at] == 0 else 52  # what is in front of the matrix, by version
    a, b, c, d = (int(v * 65536) for v in matrix)
    return mp4[:at] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + mp4[at + 36:]


TURNS = {1: (1, 0, 0, 1), 2: (-1, 0, 0, 1), 3: (-1, 0, 0, -1), 4: (1, 0, 0, -1),
         5: (0, 1, 1, 0), 6: (0, 1, -1, 0), 7: (0, -1, -1, 0), 8: (0, -1, 1, 0)}

X264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-bsf:v", "filter_units=remove_types=6"]
SMALL = {
    # name: frames, width, height, options
    "h264.mp4": (5, 48, 32, [*X264, "-pix_fmt", "yuv420p", "-bf", "2", "-g", "5"]),
    "h264_front.mp4": (3, 32, 32, [*X264, "-pix_fmt", "yuv420p", "-movflags", "+faststart"]),
    "h264_fragments.mp4": (10, 32, 32, [*X264, "-pix_fmt", "yuv420p", "-g", "3", "-movflags",
                                       "frag_keyframe+empty_moov+default_base_moof"]),
    "h264_odd.mp4": (2, 33, 17, [*X264, "-pix_fmt", "yuv444p"]),
    "h264_one.mp4": (1, 32, 32, [*X264, "-pix_fmt", "yuv420p"]),
    "h264.mkv": (4, 32, 32, [*X264, "-pix_fmt", "yuv420p", "-bf", "2"]),
    "h265.mp4": (3, 64, 64, ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:info=0"]),
    "mpeg4.mp4": (3, 32, 32, ["-c:v", "mpeg4", "-q:v", "4", "-bf", "1"]),
    "vp8.webm": (6, 33, 17, ["-c:v", "libvpx", "-b:v", "50k", "-auto-alt-ref", "1", "-lag-in-frames", "5"]),
    "vp9.webm": (6, 33, 17, ["-c:v", "libvpx-vp9", "-b:v", "30k", "-auto-alt-ref", "1", "-lag-in-frames", "5"]),
    "av1.mp4": (3, 33, 17, ["-c:v", "libaom-av1", "-cpu-used", "8", "-crf", "40", "-b:v", "0"]),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or SMALL:
        count, width, height, options = SMALL[name]
        problem = encode(folder / name, count, width, height, *options)
        print(name, problem or (folder / name).stat().st_size)
    base = folder / "h264_front.mp4"
    if base.exists():
        (folder / "h264_turned.mp4").write_bytes(turned(base.read_bytes(), TURNS[6]))


if __name__ == "__main__":
    main()
