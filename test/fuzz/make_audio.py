#!/usr/bin/env python3
"""Makes the recordings of test/fuzz/corpus/audio: short ones of each container, by ffmpeg. Usage: make_audio.py FOLDER

The committed ones were made by FFmpeg 5.1.9; another version writes other bytes, and files of the same kinds.
"""
import pathlib
import subprocess
import sys

FILES = {  # name: rate, channels, how ffmpeg is asked for it
    "u8.wav": (8000, 1, "-c:a pcm_u8"), "s16_48k.wav": (48000, 1, "-c:a pcm_s16le"), "s24.wav": (16000, 2, "-c:a pcm_s24le"),
    "f32.wav": (16000, 1, "-c:a pcm_f32le"), "s16_51.wav": (8000, 6, "-c:a pcm_s16le"), "f64.wav": (8000, 1, "-c:a pcm_f64le"), "adpcm.wav": (16000, 1, "-c:a adpcm_ms"),
    "ima.wav": (16000, 2, "-c:a adpcm_ima_wav"), "alaw.wav": (8000, 1, "-c:a pcm_alaw"), "rf64.wav": (8000, 1, "-c:a pcm_s16le -rf64 always"),
    "flac.flac": (16000, 1, "-c:a flac"), "flac_stereo.flac": (11025, 2, "-c:a flac -sample_fmt s32"), "flac.ogg": (16000, 1, "-c:a flac"),
    "mp3.mp3": (44100, 1, "-c:a libmp3lame -q:a 6"), "mp3_bare.mp3": (16000, 2, "-c:a libmp3lame -b:a 32k -write_xing 0 -id3v2_version 0"),
    "mp3.wav": (16000, 1, "-c:a libmp3lame -b:a 32k"), "mp2.mp3": (48000, 1, "-c:a mp2 -b:a 64k -f mp2"), "opus.opus": (48000, 1, "-c:a libopus -b:a 24k"), "opus_51.opus": (48000, 6, "-c:a libopus -b:a 96k"),
    "vorbis.ogg": (44100, 1, "-c:a libvorbis -q:a 0"), "aac.m4a": (44100, 1, "-c:a aac -b:a 32k"), "aac_front.m4a": (16000, 2, "-c:a aac -b:a 32k -movflags faststart"),
    "aac_fragments.mp4": (44100, 1, "-c:a aac -b:a 32k -movflags frag_keyframe+empty_moov"), "alac.m4a": (16000, 1, "-c:a alac"),
    "pcm.mov": (16000, 1, "-c:a pcm_s16be"), "opus.webm": (16000, 1, "-c:a libopus -b:a 24k"), "flac.mka": (16000, 1, "-c:a flac")}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rate, channels, options) in FILES.items():
        tone = "|".join(f"0.2*sin({400 + 60 * c}*PI*t)" for c in range(channels))
        layout = {1: "mono", 2: "stereo", 6: "5.1"}[channels]
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"aevalsrc={tone}:s={rate}:c={layout}:d=0.06",
                        *options.split(), "-fflags", "+bitexact", "-flags:a", "+bitexact", "-map_metadata", "-1", "-y",
                        folder / name], check=True)


if __name__ == "__main__":
    main()
