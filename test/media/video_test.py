#!/usr/bin/env python3
"""Decoded clips against ffmpeg's own program: pixels, times, turns, and files that are not whole.

usage: video_test.py PROGRAM [--all]   PROGRAM is decoded_frames; ends with 77 where ffmpeg or Pillow is not there
Lossless clips must be what was drawn, to the last level; others may differ from ffmpeg's pixels by one level in the mean.
A codec that this ffmpeg does not encode is named as skipped. --all runs the whole matrix of codecs and containers.
"""
import io
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    from PIL import Image, ImageChops, ImageStat
except ImportError:
    print("video_test: SKIPPED: no Pillow (Debian: python3-pil)")
    sys.exit(77)

import clips

X264, X265 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "16"], ["-c:v", "libx265", "-preset", "ultrafast",
                                                                       "-x265-params", "log-level=none"]
VP8, VP9 = ["-c:v", "libvpx", "-b:v", "300k"], ["-c:v", "libvpx-vp9", "-crf", "20", "-b:v", "0", "-cpu-used", "8"]
AV1 = ["-c:v", "libaom-av1", "-cpu-used", "8", "-crf", "20", "-b:v", "0"]
MPEG4, I420 = ["-c:v", "mpeg4", "-q:v", "2"], ["-pix_fmt", "yuv420p"]
VARIABLE = [0, 0.04, 0.1, 0.5, 0.52, 1.7, 1.8, 3.001]
LOSSLESS = {  # what was drawn comes back
    "x264rgb.mp4": ["-c:v", "libx264rgb", "-qp", "0", "-pix_fmt", "rgb24", "-bf", "2"],
    "vp9rgb.webm": ["-c:v", "libvpx-vp9", "-lossless", "1", "-pix_fmt", "gbrp"],
}
CHROMA = "in_h_chr_pos=0:in_v_chr_pos=128:"  # of halved chroma, as the streams have it; ffmpeg's own default differs
PIXEL_BOUND = 1  # levels, in the mean over a frame


def difference(got, wanted, width, height):
    one, other = (Image.frombytes("RGB", (width, height), data) for data in (got, wanted))
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


class Suite:
    def __init__(self, program):
        self.program, self.folder = program, pathlib.Path(tempfile.mkdtemp())
        self.failures, self.checked, self.worst = 0, 0, 0.0

    def fail(self, name, problem):
        self.failures += 1
        print(f"{name}: {problem}")

    def make(self, name, count, width, height, *options, **how):
        """A path, or None where this ffmpeg cannot make it."""
        path = self.folder / name
        problem = clips.encode(path, count, width, height, *options, **how)
        if problem and "Unknown encoder" in problem:
            print(f"{name}: SKIPPED: {problem.strip().splitlines()[0]}")
        elif problem:
            self.fail(name, f"ffmpeg: {problem.strip()}")
        return None if problem else path

    def decode(self, paths):
        """For each file its status, its frames (width, height, orientation, seconds, bytes), and what a count saw."""
        lines = "".join(f"{path}\n" for path in paths)
        answer = io.BytesIO(subprocess.run([self.program], input=lines.encode(), check=True, capture_output=True).stdout)
        for _ in paths:
            status, count, *message = answer.readline().decode().split()
            shown = []
            for _ in range(int(count)):
                width, height, orientation, seconds = answer.readline().decode().split()
                shown.append((int(width), int(height), int(orientation), float(seconds),
                              answer.read(int(width) * int(height) * 3)))
            counted = answer.readline().decode().split()
            yield status, shown, counted, " ".join(message)

    def reference(self, path, width, height, scale=CHROMA):
        """ffmpeg's frames and their times."""
        ran = subprocess.run(["ffmpeg", "-noautorotate", "-i", str(path), "-map", "0:v:0", "-vf",
                              f"showinfo=checksum=0,scale={scale}flags=bicubic+accurate_rnd+full_chroma_int+bitexact",
                              "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                             capture_output=True, check=True)
        raw, size = ran.stdout, width * height * 3
        times = [float(time) for time in re.findall(rb" pts_time:([-0-9.e]+)", ran.stderr)]
        return [raw[at:at + size] for at in range(0, len(raw), size)], [time - times[0] for time in times]

    def check(self, cases):
        """Each case is a name, a path, the frames' sides, and what to hold them against."""
        cases = [case for case in cases if case[1]]
        for (name, path, sides, how), answer in zip(cases, self.decode([case[1] for case in cases])):
            self.checked += 1
            problem = self.problem(path, sides, how, *answer)
            if problem:
                self.fail(name, problem)

    def problem(self, path, sides, how, status, shown, counted, message):
        if status != how.get("status", "success"):
            return f"answered {status}: {message}"
        if counted[0] != status:
            return f"counting it answered {counted[0]}"
        if status != "success":
            return None
        if int(counted[1]) != len(shown) or float(counted[2]) != shown[-1][3]:
            return f"a count saw {counted[1]} frames up to {counted[2]} s, of {len(shown)} up to {shown[-1][3]} s"
        if {frame[:3] for frame in shown} != {(*sides, how.get("orientation", 1))}:
            return f"sides and turn are {sorted({frame[:3] for frame in shown})}"
        wanted, times = how.get("wanted") or self.reference(path, *sides, how.get("scale", CHROMA))
        seconds = [frame[3] for frame in shown]
        for times in filter(None, (times, how.get("times"))):
            if len(times) != len(seconds) or any(abs(a - b) > 0.0011 for a, b in zip(times, seconds)):
                return f"times are {seconds}, not {times}"
        wanted = how.get("drawn") or wanted
        if len(wanted) != len(shown):
            return f"{len(shown)} frames, not {len(wanted)}"
        if how.get("exact"):
            wrong = [n for n, frame in enumerate(shown) if frame[4] != wanted[n]]
            return f"frames {wrong} differ" if wrong else None
        mean = max(difference(frame[4], wanted[n], *sides) for n, frame in enumerate(shown))
        self.worst = max(self.worst, mean)
        return f"differs by {mean:.2f} in the mean" if mean > how.get("bound", PIXEL_BOUND) else None


def lossy_cases(suite, all_of_them):
    """Codecs, B-frames, rates, sizes, containers; all of them, or those that differ most."""
    makes = [("h264_b.mp4", 12, (48, 32), [*X264, *I420, "-bf", "3", "-b_strategy", "0"], {}),
             ("h264_variable.mp4", 8, (48, 32), [*X264, *I420, "-bf", "2"], {"times": VARIABLE}),
             ("h264_fragments.mp4", 9, (48, 32), [*X264, *I420, "-g", "3", "-movflags", "frag_keyframe+empty_moov"], {}),
             ("h264_odd.mp4", 3, (33, 17), [*X264, "-pix_fmt", "yuv444p"], {"scale": ""}),
             ("h264_1088.mp4", 1, (96, 1080), [*X264, *I420], {"scale": CHROMA + "in_color_matrix=bt709:"}),
             ("h264_full.mp4", 2, (48, 32), [*X264, "-pix_fmt", "yuvj420p"], {}),
             ("h264_10.mp4", 2, (48, 32), [*X264, "-pix_fmt", "yuv420p10le"], {}),
             ("h265.mp4", 6, (64, 64), [*X265, *I420], {}),
             ("vp8.webm", 12, (33, 17), [*VP8, "-auto-alt-ref", "1", "-lag-in-frames", "8"], {}),
             ("vp9_variable.webm", 8, (33, 17), [*VP9, *I420], {"times": VARIABLE}),
             ("av1.mp4", 3, (33, 17), [*AV1, *I420], {}),
             ("mpeg4_b.mp4", 8, (48, 32), [*MPEG4, "-bf", "2"], {})]
    if all_of_them:
        codecs = {"h264": [*X264, *I420], "h264b": [*X264, *I420, "-bf", "3"], "h265": [*X265, *I420], "vp8": VP8,
                  "vp9": [*VP9, *I420], "av1": [*AV1, *I420], "mpeg4": MPEG4, "mpeg4b": [*MPEG4, "-bf", "2"]}
        layouts = {"mp4": [], "front.mp4": ["-movflags", "+faststart"], "mov": [], "mkv": [],
                   "fragments.mp4": ["-g", "4", "-movflags", "frag_keyframe+empty_moov+default_base_moof"]}
        for (codec, options), (layout, more), times, count in itertools.product(
                codecs.items(), layouts.items(), (None, VARIABLE), (1, 8)):
            if codec in ("vp8",) and layout != "mkv" or codec in ("vp9", "av1") and layout == "mov":
                continue
            if times and count != 8:
                continue
            for sides in ((64, 48), (130, 98)):
                rate = "variable" if times else "constant"
                makes.append((f"{codec}_{rate}_{count}_{sides[0]}.{layout}", count, sides, [*options, *more], {"times": times} if times else {}))
        for codec, sides in itertools.product(("vp8", "vp9", "av1"), ((1, 1), (2, 3), (17, 33), (127, 63))):
            makes.append((f"{codec}_{sides[0]}x{sides[1]}.{'mp4' if codec == 'av1' else 'webm'}", 3, sides, codecs[codec], {}))
    for name, count, sides, options, how in makes:
        path = suite.make(name, count, *sides, *options, times=how.get("times"))
        yield name, path, sides, how


def tenths(count):
    return [n / 10 for n in range(count)]


def lossless_cases(suite):
    for name, options in LOSSLESS.items():
        path = suite.make(name, 5, 33, 17, *options)
        yield name, path, (33, 17), {"wanted": (list(clips.frames(5, 33, 17)), tenths(5)), "exact": True}


def colour_cases(suite, all_of_them):
    """Each matrix and range, told by the stream, gives the colours that were drawn."""
    matrices = ("bt709", "smpte170m", "bt470bg", "bt2020nc") if all_of_them else ("bt709", "bt2020nc")
    for matrix, full in itertools.product(matrices, (False, True)):
        scale = {"smpte170m": "bt601", "bt470bg": "bt601", "bt2020nc": "bt2020"}.get(matrix, matrix)
        name = f"{matrix}_{'full' if full else 'limited'}.mp4"
        path = suite.make(name, 2, 48, 32, "-vf", f"scale=out_color_matrix={scale}:out_range={'pc' if full else 'tv'}"
                          ":flags=accurate_rnd+full_chroma_int", "-c:v", "libx264", "-qp", "0", "-pix_fmt", "yuv444p",
                          "-colorspace", matrix, "-color_range", "pc" if full else "tv")
        yield name, path, (48, 32), {"wanted": (list(clips.frames(2, 48, 32)), tenths(2))}


def turned_cases(suite):
    base = suite.make("base.mp4", 2, 48, 32, *X264, *I420)
    wanted = suite.reference(base, 48, 32)
    slanted = [(6, (0.34, 0.94, -0.94, 0.34)), (3, (-0.94, 0.34, -0.34, -0.94)), (1, (0, 0, 0, 0))]
    for case, (number, matrix) in enumerate([*clips.TURNS.items(), *slanted]):
        path = suite.folder / f"turned_{case}.mp4"
        path.write_bytes(clips.turned(base.read_bytes(), matrix))
        yield f"turned by {matrix}", path, (48, 32), {"orientation": number, "wanted": wanted}


def cropped_cases(suite):
    """Samples cut from the left and the top by H.264's own cropping, whatever their addresses are then aligned to."""
    base, path = suite.make("uncropped.mp4", 3, 64, 48, *X264, *I420), suite.folder / "cropped.mp4"
    problem = clips.copy(path, base, "-bsf:v", "h264_metadata=crop_left=6:crop_top=4:crop_right=10:crop_bottom=2")
    if problem:
        suite.fail("cropped.mp4", problem)
    whole, times = suite.reference(base, 64, 48)
    drawn = [b"".join(frame[(y * 64 + 6) * 3:(y * 64 + 54) * 3] for y in range(4, 46)) for frame in whole]
    yield "cropped.mp4", path, (48, 42), {"wanted": (drawn, times)}


def edited_cases(suite):
    """A copy that starts between two key frames hides those in front by an edit list; sound beside it changes nothing."""
    base = suite.make("long.mp4", 20, 48, 32, *X264, *I420, "-g", "10", "-bf", "2")
    path = suite.folder / "edited.mp4"
    ran = subprocess.run(["ffmpeg", "-v", "error", "-y", "-ss", "0.45", "-i", str(base), "-c", "copy", str(path)])
    yield "edited.mp4", path if ran.returncode == 0 else None, (48, 32), {}
    opened = suite.make("open.mkv", 30, 48, 32, *X264, *I420, "-x264-params",
                        "open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0")
    path = suite.folder / "opened.mp4"
    ran = subprocess.run(["ffmpeg", "-v", "error", "-y", "-ss", "1", "-i", str(opened), "-c", "copy", str(path)])
    yield "opened.mp4", path if ran.returncode == 0 else None, (48, 32), {}
    heard = suite.folder / "heard.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(base), "-f", "lavfi", "-i", "sine=duration=2", "-c:v",
                    "copy", "-c:a", "aac", "-map", "1:a", "-map", "0:v", str(heard)], check=True)
    yield "heard.mp4", heard, (48, 32), {}


def broken_cases(suite):
    """Cut at ten places, without its index, and without pictures."""
    bases = [suite.make("cut.mp4", 8, 48, 32, *X264, *I420), suite.make("cut.webm", 8, 48, 32, *VP9, *I420),
             suite.make("cut_front.mp4", 8, 48, 32, *X264, *I420, "-movflags", "+faststart"),
             suite.make("cut_fragments.mp4", 8, 48, 32, *X264, *I420, "-g", "4", "-movflags", "frag_keyframe+empty_moov")]
    for base in bases:
        whole = base.read_bytes()
        for part in range(10):
            length = len(whole) - 1 if part == 9 else len(whole) * part // 9
            path = base.with_name(f"{part}_{base.name}")
            path.write_bytes(whole[:length])
            yield path.name, path, None, {"status": "malformed"}
    whole = bases[0].read_bytes()
    at = whole.index(b"moov") - 4
    path = suite.folder / "without_moov.mp4"
    path.write_bytes(whole[:at])
    yield path.name, path, None, {"status": "malformed"}
    sound = suite.folder / "sound.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "sine=duration=0.2", str(sound)], check=True)
    yield sound.name, sound, None, {"status": "unknown-kind"}


def main():
    if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
        print("video_test: SKIPPED: no ffmpeg (Debian: ffmpeg)")
        return 77
    suite, all_of_them = Suite(sys.argv[1]), "--all" in sys.argv[2:]
    cases = itertools.chain(lossy_cases(suite, all_of_them), lossless_cases(suite), colour_cases(suite, all_of_them),
                            turned_cases(suite), cropped_cases(suite), edited_cases(suite),
                            broken_cases(suite))
    suite.check(list(cases))
    print(f"{suite.checked} clips, {suite.failures} of them wrong; worst mean difference of lossy ones {suite.worst:.3f}")
    shutil.rmtree(suite.folder)
    return 1 if suite.failures else 0


if __name__ == "__main__":
    sys.exit(main())
