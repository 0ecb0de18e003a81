#!/usr/bin/env python3
"""The tools on files of media: folders, patterns, lists and shards in, rows in their order out, what is bad by name.

Same conventions as tools_test.py, on a fresh model of one block that sees and hears.
"""
import io
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import tarfile
import tempfile
import time
import unittest

import media_fixture
import sources_test
import tools_test
from tools_test import read_npy, read_safetensors, run


def packed(members, format=tarfile.GNU_FORMAT):
    """A tar archive of (name, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def checked(header):
    """A tar header with its checksum corrected."""
    blank = header[:148] + b" " * 8 + header[156:512]
    return header[:148] + b"%06o\0 " % sum(blank) + header[156:]


class MediaTest(unittest.TestCase):
    expect_failure = tools_test.ToolsTest.expect_failure
    expect_no_leftovers = tools_test.ToolsTest.expect_no_leftovers

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.shared.name) / "sees.safetensors"
        cls.blind = pathlib.Path(cls.shared.name) / "blind.safetensors"
        for path, *entries in ((cls.blind,), (cls.model, "--image-patch-side", 16, "--audio-chunk-samples", 320)):
            made = run("uform_base", "--hidden", 128, "--depth", 1, "--steps", 0, "--output", path, *entries)
            assert made.returncode == 0, made.stderr
        cls.pictures = [media_fixture.picture(seed) for seed in range(6)]
        cls.rows = []  # of each picture, alone
        for content in cls.pictures:
            path = pathlib.Path(cls.shared.name) / "one.png"
            path.write_bytes(content)
            kind, shape, row = read_npy(run("uform_encode", cls.model, path).stdout)
            assert (kind, shape) == ("<f4", (1, 128)), (kind, shape)
            cls.rows.append(row)
        assert len(set(cls.rows)) == 6

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def put_pictures(self, folder="photos"):
        """Not in the order of their names; one without an ending, one in a folder within, one hidden."""
        for seed, name in enumerate(("b.png", "a.jpg", "sub/c.png", "z")):
            self.put(f"{folder}/{name}", self.pictures[seed])
        self.put(f"{folder}/.hidden.png", self.pictures[4])
        return self.folder / folder, [1, 0, 2, 3]  # a.jpg, b.png, sub/c.png, z

    def encode(self, *arguments, model=None, **options):
        return run("uform_encode", model or self.model, *arguments, **options)

    def expect_rows(self, done, seeds):
        self.assertEqual(done.returncode, 0, done.stderr)
        shape, rows = read_npy(done.stdout)[1:]
        self.assertEqual(shape, (len(seeds), 128))
        self.assertEqual([rows[512 * i:512 * i + 512] for i in range(len(seeds))], [self.rows[seed] for seed in seeds])

    def test_folders_patterns_and_lists_agree(self):
        photos, order = self.put_pictures()
        paths = [photos / name for name in ("a.jpg", "b.png", "sub/c.png", "z")]
        listed = "".join(f"{path}\n" for path in paths).encode()
        records = self.put("list.jsonl", "".join(json.dumps({"p": str(path.relative_to(self.folder))}) + "\n"
                                                 for path in paths).encode())
        self.expect_rows(self.encode(photos), order)
        self.expect_rows(self.encode(*paths), order)
        self.expect_rows(self.encode(photos / "*.png", photos / "[a]*", photos / "sub", photos / "z"), [0, 1, 2, 3])
        self.expect_rows(self.encode("--format", "files", stdin=listed), order)
        self.expect_rows(self.encode("--format", "files", stdin=f"{photos}\n".encode()), order)
        self.expect_rows(self.encode("--format", "jsonl", "--path-field", "p", "--input", records), order)
        for limit in (("--batch", 1), ("--batch-bytes", 1), ("--threads", 1)):
            self.expect_rows(self.encode(photos, *limit), order)
        # The output is not taken for an input, however often it is written.
        for _ in range(2):
            done = self.encode(photos, "--output", photos / "rows.npy", "--names", photos / "names", "--log", photos / "log")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(read_npy((photos / "rows.npy").read_bytes())[1], (4, 128))

    def test_rows_say_what_they_are_of(self):
        photos, order = self.put_pictures()
        self.put("photos/b0.txt", b"a caption")
        self.put("photos/c.bin", b"\0\1\2")
        names = ["a.jpg", "b.png", "b0.txt", "sub/c.png", "z"]
        done = self.encode(photos, "--output-format", "jsonl", "--names", self.folder / "names")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["index"] for row in rows], [0, 1, 2, 4, 5])  # c.bin is number 3
        self.assertEqual([row["input"] for row in rows], [str(photos / name) for name in names])
        found = [struct.pack("<128f", *row["embedding"]) for row in rows]
        text = read_npy(self.encode(stdin=b"a caption").stdout)[2]
        self.assertEqual(found, [self.rows[1], self.rows[0], text, self.rows[2], self.rows[3]])
        said = [json.loads(line) for line in (self.folder / "names").read_text().splitlines()]
        self.assertEqual([(line["row"], line["index"], line["input"]) for line in said],
                         [(i, row["index"], row["input"]) for i, row in enumerate(rows)])
        target = self.folder / "rows.safetensors"
        self.assertEqual(self.encode(photos, "--surface", "states", "--output", target).returncode, 0)
        tensors = read_safetensors(target.read_bytes())
        self.assertEqual(struct.unpack("<5Q", tensors["index"][2]), (0, 1, 2, 4, 5))
        self.assertEqual(struct.unpack("<6Q", tensors["offsets"][2]), (0, 4, 8, 17, 21, 25))  # 2 x 2 patches, 9 bytes
        self.assertEqual(tensors["states"][1], [25, 128])

    def test_bad_files_are_skipped_and_listed(self):
        photos, order = self.put_pictures()
        self.put("photos/b1.png", self.pictures[5][:-20])
        self.put("photos/b2.png", self.pictures[5][:200])
        self.put("photos/c.bin", b"\xff\xfe\0x")
        log, target = self.folder / "log", self.folder / "rows.npy"
        done = self.encode(photos, self.folder / "nothing.png", self.folder / "*.webp", "--log", log)
        self.expect_rows(done, order)
        said = done.stderr.decode().splitlines()
        self.assertEqual(len(said), 6, said)
        for line, name, reason in zip(said, ("b1.png", "b2.png", "c.bin", "nothing.png", "*.webp"),
                                      ("cut short", "cut short", "UTF-8", "no such file", "matches no file")):
            self.assertRegex(line, r"^uform_encode: skipped .*: ")
            self.assertIn(name + ": ", line), self.assertIn(reason, line)
        self.assertEqual(said[5], "uform_encode: 5 of 9 inputs were skipped")
        events = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([event["index"] for event in events[:-1]], [2, 3, 4, 7, 8])
        self.assertEqual((events[-1]["items"], events[-1]["skipped"]), (4, 5))
        (photos / "c.bin").unlink()
        self.expect_failure(self.encode(photos, "--strict", "--output", target), 1, "b1.png: ", "cut short")
        self.expect_failure(self.encode(self.folder / "nothing", "--strict"), 1, "nothing: ", "no such file")
        self.assertFalse(target.exists())
        done = self.encode(self.folder / "nothing", "--output", target)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"none of 1 inputs", done.stderr)
        self.assertFalse(target.exists())
        self.expect_no_leftovers()

    def test_content_decides(self):
        blind = self.encode(self.put("a.png", self.pictures[0]), model=self.blind)
        self.assertEqual(blind.returncode, 1)
        self.assertIn(b"the model has no image entry", blind.stderr)
        text = self.put("b.png", b"no picture")
        self.assertEqual(read_npy(self.encode(text).stdout)[2], read_npy(self.encode(stdin=b"no picture").stdout)[2])
        self.assertIn(b"neither JPEG nor PNG nor WebP", self.encode(text, "--modality", "image").stderr)
        raw = self.put("c.txt", b"\xff\0")
        self.assertEqual(self.encode(raw).returncode, 1)
        self.assertEqual(read_npy(self.encode(raw, "--modality", "text").stdout)[2],
                         read_npy(self.encode(stdin=b"\xff\0").stdout)[2])
        for name, content in (("d", b"RIFF\0\0\0\0WAVEfmt "), ("e", b"fLaC\0\0\0\x22"), ("f", b"OggS\0\2"), ("g", b"ID3\4\0"),
                              ("h", b"\0\0\0\x18ftypisom"), ("i", b"\x1a\x45\xdf\xa3")):
            done = self.encode(self.put(name, content))
            self.assertEqual(done.returncode, 1)
            self.assertNotIn(b"UTF-8", done.stderr)

    def test_what_cannot_be_encoded_is_not_read(self):
        picture, clip = self.put("a.png", self.pictures[0]), self.put("b.mp4", b"\0\0\0\x18ftypisom")
        os.truncate(clip, 1 << 40)  # no memory holds it
        raw = self.put("c", b"x\0")
        os.truncate(raw, 1 << 40)
        for reason, *arguments in (("is not of the --modality, by its first bytes", clip, "--modality", "image"),
                                   ("nor text in UTF-8", raw), ("is a device, not a file", "/dev/zero"),
                                   ("holds more than 4294967296 bytes", clip)):
            done = self.encode(picture, *arguments)
            self.expect_rows(done, [0])
            self.assertIn(reason, done.stderr.decode())

    @sources_test.unsanitized
    def test_a_large_file_is_in_memory_once(self):
        clip = self.put("b.mp4", b"\0\0\0\x18ftypisom")
        os.truncate(clip, 400 << 20)
        process = subprocess.Popen([tools_test.TOOLS / "uform_encode", str(self.model), str(self.put("a.png", self.pictures[0])), str(clip),
                                    "--threads", "1", "--output", "/dev/null"], stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(used.ru_maxrss, 600 << 10)

    @sources_test.unsanitized
    def test_what_memory_does_not_suffice_for_is_skipped(self):
        picture, clip = self.put("a.png", self.pictures[0]), self.put("b.mp4", b"\0\0\0\x18ftypisom")
        os.truncate(clip, 3 << 30)
        with open(self.folder / "c.tar", "wb") as out, open(clip, "rb") as content:
            member = tarfile.TarInfo("d.mp4")
            member.size = 3 << 30
            out.write(packed([("d.txt", b"a")])[:1024] + member.tobuf() + content.read(512))
            out.truncate((3 << 30) + 1536)

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        done = self.encode(clip, self.folder / "c.tar", picture, "--threads", 1, preexec_fn=limit)
        self.expect_rows(done, [0])
        for name in ("b.mp4", "c.tar/d.mp4"):
            self.assertIn(f"{name}: does not fit into memory", done.stderr.decode())
        held_out = self.put("test.jsonl", b'{"image": "b.mp4", "caption": "a"}\n{"image": "a.png", "caption": "b"}\n')
        for source, flags in ((held_out, ()), (self.folder / "[ce].tar", ("--media-field", "mp4;png", "--caption-field", "txt"))):
            self.put("e.tar", packed([("e.png", self.pictures[0]), ("e.txt", b"b")]))
            done = run("uform_eval", self.model, "--media", source, "--threads", 1, *flags, preexec_fn=limit)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b".mp4: does not fit into memory", done.stderr)

    def test_all_media_in_one_batch(self):
        sound = self.put("all/b", media_fixture.recording(1))
        alone = self.encode(sound)
        if b"UFORM_WITH_FFMPEG" in alone.stderr:
            self.skipTest("this build hears nothing")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        names = [self.put("all/a", b"text"), sound, self.put("all/c", self.pictures[0]), self.put("all/d", self.pictures[1]),
                 self.put("all/e", b"more text"), self.put("all/f", media_fixture.recording(2))]
        self.put("all/g", media_fixture.recording(3)[:30])
        done = self.encode(self.folder / "all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"1 of 7 inputs were skipped", done.stderr)
        self.assertEqual(read_npy(done.stdout)[2], b"".join(read_npy(self.encode(name).stdout)[2] for name in names))
        held_out = self.put("test.jsonl", b"".join(b'{"image": "all/%s", "caption": "it is %s"}\n' % (name, name) for name in (b"b", b"c", b"d")))
        self.assertEqual(self.score("--media", held_out)[0]["queries"], 3)

    def test_records_may_be_texts_or_files(self):
        self.put("photos/a.png", self.pictures[0])
        self.put("photos/b.png", self.pictures[1])
        records = self.put("photos/list.jsonl", b'{"text": "eins"}\n{"image": ["b.png", "a.png"]}\n{"image": "a.png"}\n')
        arguments = ("--format", "jsonl", "--path-field", "image", "--input", records)
        done = self.encode(*arguments, "--output-format", "jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["input"] for row in rows],
                         [f"{records}:1", *(str(self.folder / "photos" / name) for name in ("b.png", "a.png", "a.png"))])
        self.assertEqual(struct.pack("<128f", *rows[1]["embedding"]), self.rows[1])
        self.put("photos/list.jsonl", b'{"image": 7}\n')
        self.expect_failure(self.encode(*arguments), 1, "list.jsonl:1: ")
        self.expect_failure(self.encode("--path-field", "image"), 2, "--format jsonl")
        self.expect_failure(self.encode(records, "--input", records), 2, "--input")

    @sources_test.unsanitized
    def test_memory_is_that_of_a_batch(self):
        for index in range(100):
            with open(self.folder / f"{index:03}.txt", "wb") as file:
                file.truncate(4 << 20)
        def peak(*limit):
            process = subprocess.Popen([tools_test.TOOLS / "uform_encode", str(self.model), str(self.folder), "--threads", "1",
                                        "--modality", "text", "--bytes", "8", "--output", "/dev/null", *limit], stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return used.ru_maxrss  # KiB
        self.assertLess(peak("--batch-bytes", str(8 << 20)), peak() - (24 << 10))
        self.assertLess(peak(), 256 << 10)  # of 400 MiB of files

    def test_shards(self):
        long = "folder/" + "x" * 90 + "/" + "y" * 120
        members = [("a.png", self.pictures[0]), ("a.txt", b"first"), ("readme", b"no stem of an entry"),
                   ("b.json", b"{}"), ("./b.PNG", self.pictures[1]), (long + ".png", self.pictures[2]),
                   (long + ".seg.png", b"mask"), ("only.txt", b"second"), ("two.jpg", self.pictures[3]),
                   ("two.png", self.pictures[4]), ("none.json", b"{}")]
        first, second = (read_npy(self.encode(stdin=text).stdout)[2] for text in (b"first", b"second"))
        for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            shard = self.put("shard.tar", packed(members, format))
            done = self.encode(shard, "--output-format", "jsonl")
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([row["input"] for row in rows],
                             [f"{shard}/{name}" for name in ("a.png", "b.png", long + ".png", "only.txt")])
            self.assertEqual([struct.pack("<128f", *row["embedding"]) for row in rows], [*self.rows[:3], second])
            said = done.stderr.decode().splitlines()
            self.assertIn("two: the entry has both .jpg and .png; choose with --member", said[0])
            self.assertIn("none: the entry has no picture", said[1])
            self.assertEqual(len(said), 3)
        done = self.encode(shard, "--member", "jpg;png")
        self.expect_rows(done, [0, 1, 2, 3])
        self.assertEqual(done.stderr.count(b"has no member .jpg;png"), 2)
        self.assertEqual(read_npy(self.encode(shard, "--member", "txt").stdout)[2], first + second)
        # Old archives, where names end at 100 bytes but for a prefix.
        ustar = packed([(f"{'p' * 100}/{'n' * 90}.png", self.pictures[5])], tarfile.USTAR_FORMAT)
        self.expect_rows(self.encode(self.put("ustar", ustar)), [5])  # by content, not by name
        self.assertIn(b"p/nn", self.encode(self.put("ustar", ustar), "--output-format", "jsonl").stdout)

    def test_hostile_shards(self):
        good = packed([("a.png", self.pictures[0]), ("b.png", self.pictures[1])])
        second = 512 + (len(self.pictures[0]) + 511) // 512 * 512

        def with_header(at, field, value):
            return good[:at] + checked(good[at:at + field] + value + good[at + field + len(value):at + 512]) + good[at + 512:]
        pax = packed([("a" * 200 + ".png", self.pictures[0])], tarfile.PAX_FORMAT)
        record = pax[512:pax.index(b"\n", 512) + 1]
        huge = b"%d size=99999999999999999999\n" % (len(b"  size=99999999999999999999\n") + 1)
        wrong = {
            "beyond": (with_header(second, 124, b"77777777777\0"), "b.png", "8589934591 bytes"),
            "base 256": (with_header(second, 124, b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7), "b.png", "bytes, of which"),
            "too wide": (with_header(second, 124, b"\xff" * 12), "b.png", "no number"),
            "letters": (with_header(second, 124, b"0000000zz00\0"), "b.png", "no number"),
            "checksum": (good[:second] + b"X" + good[second + 1:], "no sound tar header", str(second)),
            "cut header": (good[:second + 100], "cut short within a header"),
            "cut padding": (good[:second - 1], "a.png", "padding"),
            "cut content": (good[:second + 512 + 50], "b.png", "50 are there"),
            "twice": (packed([("a.png", b"x"), ("c.txt", b""), ("a.png", b"y")]), "two members a.png"),
            "sparse": (with_header(0, 156, b"S"), "a.png", "sparse"),
            "pax": (pax[:512] + b"999999 path=x\n".ljust(len(record), b"\0") + pax[512 + len(record):], "pax records"),
            "pax size": (pax[:512] + huge.ljust(len(record), b"\n") + pax[512 + len(record):], "a"),
            "long name": (checked(good[:124] + b"00007777777\0" + good[136:156] + b"L" + good[157:512]) + good[512:], "a.png"),
        }
        for what, (content, *parts) in wrong.items():
            with self.subTest(what):
                done = self.encode(self.put("shard.tar", content), self.put("good.png", self.pictures[0]))
                self.expect_rows(done, [0])  # the rest goes on
                said = done.stderr.decode()
                self.assertIn("uform_encode: skipped " + str(self.folder / "shard.tar") + ": ", said)
                for part in parts:
                    self.assertIn(part, said.splitlines()[0])
        self.expect_failure(self.encode(self.folder / "shard.tar", "--strict"), 1, "shard.tar: ")
        bare = good[:second + 512 + (len(self.pictures[1]) + 511) // 512 * 512]
        self.expect_rows(self.encode(self.put("shard.tar", bare)), [0, 1])  # without the zeros that end it
        nothing = self.encode(self.put("shard.tar", packed([("noextension", self.pictures[0])])), "--output", self.folder / "rows.npy")
        self.assertEqual(nothing.returncode, 1)
        self.assertIn(b"no file with an extension", nothing.stderr), self.assertIn(b"none of 1 inputs", nothing.stderr)

    def test_media_are_not_written_over(self):
        photos, order = self.put_pictures()
        picture = photos / "a.png" if (photos / "a.png").exists() else next(photos.iterdir())
        before = picture.read_bytes()
        for flags in (("--output", picture), ("--output", self.folder / "rows.npy", "--names", picture),
                      ("--output", self.folder / "rows.npy", "--log", picture)):
            self.expect_failure(self.encode(photos, *flags), 1, picture.name + ": ", "written over")
            self.assertEqual(picture.read_bytes(), before)
        self.expect_rows(self.encode(photos), order)
        picture.chmod(0)  # so that nobody may say what it is
        done = self.encode("--output", picture, stdin=b"text", preexec_fn=tools_test.obey_permissions)
        self.expect_failure(done, 1, picture.name + ": ")
        picture.chmod(0o644)
        self.assertEqual(picture.read_bytes(), before)

    def test_inputs_of_any_kind_are_not_written_over(self):
        """What lies in a folder before the run is an input, whatever its kind, but for what runs wrote there."""
        docs = self.put("docs/a.txt", b"eins").parent
        self.put("docs/b.md", b"zwei")
        self.put("docs/c.jsonl", b'{"text": "drei"}\n')
        (docs / "link.txt").symlink_to("b.md")
        elsewhere = self.folder / "rows.npy"
        for name in ("a.txt", "b.md", "c.jsonl", "link.txt"):
            before, target = (docs / name).read_bytes(), docs / name
            for flags in (("--output", target), ("--output", elsewhere, "--names", target), ("--output", elsewhere, "--log", target)):
                for source in (docs, docs / "*", target, self.folder / "docs" / ".." / "docs"):
                    self.expect_failure(self.encode(source, *flags), 1, name + ": " if name != "link.txt" else ": ", "written over")
                done = self.encode("--format", "files", *flags, stdin=f"{elsewhere}\n{docs}\n".encode())
                self.expect_failure(done, 1, "written over")
            with target.open("rb") as source:
                done = subprocess.run([tools_test.TOOLS / "uform_encode", self.model, "--output", target], stdin=source,
                                      capture_output=True)
            self.expect_failure(done, 1, "written over")
            self.assertEqual((docs / name).read_bytes(), before)
        self.assertEqual(sorted(path.name for path in docs.iterdir()), ["a.txt", "b.md", "c.jsonl", "link.txt"])
        # A run's own output is none, however often it runs, nor what one that was killed left, nor standard output.
        (docs / "out.jsonl.tmp.123").write_text("half")
        for _ in range(2):
            done = self.encode(docs, "--output", docs / "out.jsonl", "--names", docs / "names.jsonl", "--log", docs / "log.jsonl")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual((docs / "out.jsonl").read_text().count("\n"), 4)
        for name in ("out.jsonl", "names.jsonl", "log.jsonl"):
            (docs / name).unlink()
        with (docs / "out.jsonl").open("wb") as out:
            done = subprocess.run([tools_test.TOOLS / "uform_encode", self.model, docs, "--output-format", "jsonl"], stdout=out,
                                  stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((docs / "out.jsonl").read_text().count("\n"), 4)
        self.expect_failure(self.encode("--names", "-", stdin=b"x"), 2, "--names")

    def test_what_no_run_wrote_is_not_written_over(self):
        """Neither what is no input, nor what looks like rows from afar."""
        docs = self.put("docs/a.txt", b"eins").parent
        foreign = {"b.gif": b"GIF89a\x10\0\x10\0", "c.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "d.zip": b"PK\3\4\x14\0", "e": b"\0",
                   "f.safetensors": self.model.read_bytes(), "g.jsonl": b'{"index":0,"input":"a \\" b","output":"c"}\n',
                   "h.jsonl": b'{"index":7,"text":"eins"}\n', "i.jsonl": b'{"row":7}\n', "j.npy": b"\x93NUMPE\1\0"}
        for name, content in foreign.items():
            target, elsewhere = self.put(f"docs/{name}", content), self.folder / "rows.npy"
            for flags in (("--output", target), ("--output", elsewhere, "--names", target), ("--output", elsewhere, "--log", target)):
                for source in (docs, docs / "*"):
                    self.expect_failure(self.encode(source, *flags), 1, name + ": ", "written over")
            self.assertEqual(target.read_bytes(), content)
            self.assertFalse(elsewhere.exists())
            target.unlink()
        # What a run wrote the next one may write over, in another format and for another purpose as well.
        late, odd = self.folder / "late.safetensors", self.put('docs/A "\\.txt', b"zwei")
        run("uform_base", "--hidden", 128, "--depth", 1, "--steps", 0, "--late-interaction-weight", 1, "--output", late)
        written = [self.put("docs/mine", b""), docs / "names", docs / "log"]
        for surface, kind in [("embeddings", "npy")] + [(surface, kind) for surface in ("embeddings", "states", "token-vectors")
                                                         for kind in ("jsonl", "safetensors")]:
            flags = ("--surface", surface, "--output-format", kind, "--output", written[0])
            done = self.encode(*flags, model=late, stdin=b"drei\n")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            for turn in range(3):
                output, names, log = written[turn:] + written[:turn]
                log.unlink(missing_ok=True)  # else it is appended to
                done = self.encode(docs, *flags[:4], "--output", output, "--names", names, "--log", log, model=late)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual([json.loads(line)["input"] for line in names.read_text().splitlines()], [str(odd), str(docs / "a.txt")])

    def test_folders_that_may_not_be_read_are_told(self):
        photos, _ = self.put_pictures()
        sub, target = photos / "sub", self.folder / "rows.npy"
        self.addCleanup(sub.chmod, 0o755)

        def encode(*arguments):
            return self.encode(*arguments, preexec_fn=tools_test.obey_permissions)
        for mode, reason in ((0o600, "sub: may be listed but not entered"), (0o300, "sub: cannot be read, permission denied"),
                             (0o000, "sub: cannot be read, permission denied")):
            sub.chmod(mode)
            if not self.encode(sub / "c.png", preexec_fn=tools_test.obey_permissions).returncode and not mode & 0o100:
                self.skipTest("permissions bind nobody here")
            for sources in ((photos,), (photos / "*",)) + ((photos / "?.*", photos / "z", sub / "*.png"),) * (mode != 0o600):
                done = encode(*sources)
                self.expect_rows(done, [1, 0, 2 + 1])
                said = done.stderr.decode().splitlines()
                self.assertIn(reason, said[0])
                self.assertEqual(said[1:], ["uform_encode: 1 of 4 inputs were skipped"])
                self.expect_failure(encode(*sources, "--strict", "--output", target), 1, reason)
            for source in (sub, sub / "*"):
                done = encode(source, "--output", target)
                self.assertEqual(done.returncode, 1)
                self.assertIn("permission" if mode != 0o600 or source != sub else reason, done.stderr.decode())
                self.assertIn(b"none of 1 inputs", done.stderr)
        self.assertFalse(target.exists())
        # A link to what may not be reached is told too, one to nothing is not.
        (photos / "lost.png").symlink_to("nowhere"), (photos / "round.png").symlink_to("round.png")
        (photos / "out.png").symlink_to(sub / "c.png")
        done = encode(photos, "--log", self.folder / "log")
        self.expect_rows(done, [1, 0, 3])
        self.assertIn("out.png: cannot be read, permission denied", done.stderr.decode())
        self.assertIn(b"2 of 5 inputs were skipped", done.stderr)

    def test_empty_files_are_no_texts(self):
        self.put("docs/a.txt", b"eins"), self.put("docs/b.txt", b"")
        self.put("docs/c.png", b"")
        done = self.encode(self.folder / "docs")
        self.assertEqual((done.returncode, read_npy(done.stdout)[1]), (0, (1, 128)))
        said = done.stderr.decode().splitlines()
        self.assertRegex(said[0], r"skipped .*b\.txt: is empty; with --modality text")
        self.assertEqual(said[2], "uform_encode: 2 of 3 inputs were skipped")
        self.expect_failure(self.encode(self.folder / "docs", "--strict"), 1, "b.txt: is empty")
        shard = self.put("shard.tar", packed([("a.txt", b""), ("b.txt", b"eins")]))
        self.assertEqual(read_npy(self.encode(shard).stdout)[1], (1, 128))
        done = self.encode(self.folder / "docs" / "b.txt", "--modality", "text")
        self.assertEqual(read_npy(done.stdout)[2], read_npy(self.encode(stdin=b"\n").stdout)[2])

    def test_lists_as_editors_leave_them(self):
        """A mark of the encoding, carriage returns, blank lines; a name that ends in a carriage return is its file's."""
        a, odd = self.put("a.png", self.pictures[0]), self.put("b\r", self.pictures[1])
        self.expect_rows(self.encode("--format", "files", stdin=b"\xef\xbb\xbf" + f"{a}\r\n\r\n\n{odd}\n".encode()), [0, 1])
        lines = b'\xef\xbb\xbf{"text": "eins"}\r\n\r\n\n{"text": "zwei", "image": null}\n'
        two = read_npy(self.encode(stdin=b"eins\nzwei").stdout)[2]
        for flags in ((), ("--path-field", "image")):
            done = self.encode("--format", "jsonl", *flags, stdin=lines)
            self.assertEqual((done.returncode, read_npy(done.stdout)[2]), (0, two), done.stderr)

    def score(self, *arguments):
        done = run("uform_eval", self.model, *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr.decode()

    def test_captions_and_media_find_each_other(self):
        captions = [[f"picture {i}", f"of {i * 7}", "all the same"][:1 + i % 3] for i in range(6)]
        records = []
        for i, content in enumerate(self.pictures):
            self.put(f"photos/{i}.png", content)
            records.append({"image": f"photos/{i}.png", "captions": captions[i] if i % 3 else captions[i][0]})
        held_out = self.put("test.jsonl", "".join(json.dumps(record) + "\n" for record in records).encode())
        scores, said = self.score("--media", held_out, "--caption-field", "captions")
        self.assertEqual((scores["queries"], scores["documents"], scores["skipped"], said), (6, 12, 0, ""))

        # The same, by what uform_encode answers and sorting.
        texts = [text for each in captions for text in each]
        owners = [i for i, each in enumerate(captions) for _ in each]
        rows = read_npy(self.encode(stdin="".join(f"{text}\n" for text in texts).encode()).stdout)[2]
        words = [struct.unpack_from("<128f", rows, 512 * i) for i in range(12)]
        sights = [struct.unpack("<128f", row) for row in self.rows]
        table = [[sum(a * b for a, b in zip(sight, word)) for word in words] for sight in sights]
        near = 1e-6  # the tools add in single precision

        def expected_rank(match, others):
            better, equal = sum(o > match + near for o in others), sum(abs(o - match) <= near for o in others)
            return 1 + better + equal / 2
        of_media = [expected_rank(max(t for t, o in zip(table[i], owners) if o == i),
                                  [t for t, o in zip(table[i], owners) if o != i]) for i in range(6)]
        of_captions = [expected_rank(table[o][j], [table[i][j] for i in range(6) if i != o]) for j, o in enumerate(owners)]
        for side, ranks in (("forward", of_media), ("backward", of_captions)):
            for at in (1, 5, 10):
                self.assertAlmostEqual(scores[side][f"recall@{at}"], sum(r <= at for r in ranks) / len(ranks))
            self.assertAlmostEqual(scores[side]["mrr"], sum(1 / r for r in ranks) / len(ranks))

        # As shards, the same; a bad file goes with its captions.
        shard = packed([(f"{i}.{end}", content) for i in range(6)
                        for end, content in (("png", self.pictures[i]), ("txt", texts[owners.index(i)].encode() + b"\n"))])
        self.put("val-0.tar", shard)
        single = self.put("single.jsonl", "".join(json.dumps({"image": f"photos/{i}.png", "caption": captions[i][0]}) + "\n"
                                                  for i in range(6)).encode())
        of_shard = self.score("--media", self.folder / "val-*.tar", "--media-field", "jpg;png", "--caption-field", "txt")
        self.assertEqual(of_shard[0], self.score("--media", single)[0])
        self.put("photos/2.png", self.pictures[2][:-9])
        (self.folder / "photos/4.png").unlink()
        scores, said = self.score("--media", held_out, "--caption-field", "captions")
        self.assertEqual((scores["queries"], scores["documents"], scores["skipped"]), (4, 7, 2))
        self.assertRegex(said, r"skipped .*4\.png: cannot read it, no such file.*\n.*skipped .*2\.png: .*cut short")
        self.expect_failure(run("uform_eval", self.model, "--media", held_out, "--caption-field", "captions", "--strict"), 1)
        table = run("uform_eval", self.model, "--media", single).stdout
        self.assertIn(b"caption to medium", table)
        self.expect_failure(run("uform_eval", self.model, "--media", held_out), 1, "test.jsonl:1: ", "\"caption\"")



class MediaTrainingTest(unittest.TestCase):
    """Runs on pictures and captions."""
    expect_failure = tools_test.ToolsTest.expect_failure
    put = MediaTest.put

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.output, self.log = self.folder / "out.safetensors", self.folder / "log"
        self.pictures = [media_fixture.picture(seed) for seed in range(12)]
        self.records = []
        for i, content in enumerate(self.pictures):
            self.put(f"photos/{i}.png", content)
            self.records.append({"image": f"photos/{i}.png", "caption": f"picture {i:02}", "more": [f"view {i}", f"look {i}"]})
        self.write_records()

    def write_records(self):
        self.put("train.jsonl", "".join(json.dumps(record) + "\n" for record in self.records).encode())

    def train(self, *arguments, path="train.jsonl", query="caption", document={"image": "image"}, preexec_fn=None, **mixture):
        mixture = {"sources": [{"path": path, "fields": {"query": query, "document": document}}], "batch_pairs": 6,
                   "warmup_steps": 2, **mixture}
        self.put("mixture.json", json.dumps(mixture).encode())
        return run("uform_base", *self.arguments(), *arguments, preexec_fn=preexec_fn)

    def arguments(self):
        return [*map(str, ("--hidden", 128, "--depth", 1, "--threads", 1, "--mixture", self.folder / "mixture.json",
                           "--output", self.output, "--log", self.log))]

    def events(self, kind="step"):
        return [event for event in map(json.loads, self.log.read_text().splitlines()) if event["event"] == kind]

    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)

    def tensors(self, path=None):
        return {name: value[2] for name, value in read_safetensors((path or self.output).read_bytes()).items()}

    def test_either_side_may_be_pictures(self):
        held_out = {"path": "train.jsonl", "fields": {"query": {"image": "image"}, "document": "more"}}
        self.expect_success(self.train("--steps", 3, validation=held_out))
        self.assertEqual([event["tokens"] for event in self.events()], [6 * (10 + 4)] * 3)  # bytes and patches
        found = self.events("validation")[0]
        self.assertEqual((found["queries"], found["documents"]), (12, 24))
        self.assertEqual(read_npy(run("uform_encode", self.output, self.folder / "photos/0.png").stdout)[1], (1, 128))
        score = json.loads(run("uform_eval", self.output, "--media", self.folder / "train.jsonl", "--caption-field", "more",
                               "--json").stdout)
        self.assertEqual(score["forward"], found["forward"])
        self.expect_success(self.train("--steps", 3, "--objective", "joint", query={"image": "image"}, document="more"))
        self.assertTrue(all(event["masked_image"] > 0 for event in self.events()))
        self.expect_success(self.train("--steps", 2, "--objective", "masked", "--image-patch-side", 8))
        self.assertEqual(len(self.tensors()["image.projection.weight"]), 2 * 128 * 8 * 8 * 4)
        self.expect_success(run("uform_base", "--tier", "nano", "--steps", 0, "--audio-chunk-samples", 80, "--output",
                                self.output))
        self.assertEqual(len(self.tensors()["audio.projection.weight"]), 2 * 128 * 80)

    def test_shards_train_as_files_do(self):
        self.expect_success(self.train("--steps", 4))
        whole = self.tensors()
        members = [(f"{i}.{end}", content) for i in range(12)
                   for end, content in (("png", self.pictures[i]), ("txt", b"picture %02d\n" % i))]
        self.put("shard-0.tar", packed(members[:10]))
        self.put("shard-1.tar", packed(members[10:]))
        self.expect_success(self.train("--steps", 4, path="shard-*.tar", query="txt", document={"image": "jpg;png"}))
        self.assertEqual(self.tensors(), whole)
        self.put("shard-1.tar", packed(members[10:])[:700])
        self.expect_failure(self.train("--steps", 4, path="shard-*.tar", query="txt", document={"image": "png"}), 1,
                            "shard-1.tar: ")
        self.put("shard-1.tar", packed(members[10:-1]))
        self.expect_failure(self.train("--steps", 4, path="shard-*.tar", query="txt", document={"image": "png"}), 1,
                            "shard-*.tar:12: the record lacks \"txt\"")

    def test_bad_files_are_skipped_and_runs_resume(self):
        self.put("photos/3.png", self.pictures[3][:100])
        (self.folder / "photos/7.png").unlink()
        output, log = self.output, self.log
        for self.output, self.log in ((self.folder / "photos/1.png", log), (output, self.folder / "photos/1.png")):
            self.expect_failure(self.train("--steps", 6), 1, "1.png: ", "written over")
            self.assertEqual((self.folder / "photos/1.png").read_bytes(), self.pictures[1])
        self.output, self.log = output, log
        os.mkfifo(self.folder / "photos/pipe.png")  # nobody writes to it
        self.put("photos/clip.png", b"\0\0\0\x18ftypisom" + bytes(1000))
        self.records[4]["image"], self.records[5]["image"] = "photos/clip.png", "photos/pipe.png"
        self.write_records()
        self.expect_success(self.train("--steps", 2))
        self.assertLessEqual({"is no regular file", "is no picture, by its first bytes"},
                             {event["reason"] for event in self.events("skipped")})
        self.records[4]["image"], self.records[5]["image"] = "photos/4.png", "photos/5.png"
        self.write_records(), self.output.unlink(), self.log.unlink()
        done = self.train("--steps", 6)
        self.expect_success(done)
        skipped = self.events("skipped")
        self.assertEqual(len(skipped), 2 * 3)  # six steps of six records are three epochs of twelve
        self.assertEqual({pathlib.Path(event["input"]).name for event in skipped}, {"3.png", "7.png"})
        self.assertEqual({event["reason"].split(";")[0] for event in skipped if event["input"].endswith("7.png")},
                         {"cannot read it, no such file or directory"})
        self.assertEqual(len(self.events()), 6)
        self.assertEqual(self.events("end")[0]["skipped"], 6)
        self.assertIn(b"6 records were skipped", done.stderr)
        # Stopped in the middle and gone on with, the same bits.
        whole = self.tensors()
        self.output.unlink(), self.log.unlink()
        process = subprocess.Popen([tools_test.TOOLS / "uform_base", *self.arguments(), "--steps", "6"], stderr=subprocess.PIPE)
        while process.poll() is None and not (self.log.exists() and self.log.read_text().count('"event":"step"') >= 2):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        if process.returncode == 130:  # else it was done before the signal came
            self.expect_success(self.train("--steps", 6, "--resume", self.output))
        self.assertEqual(self.tensors(), whole)
        self.assertEqual([event["step"] for event in self.events()], [1, 2, 3, 4, 5, 6])
        self.assertEqual(self.events("skipped"), skipped)

    def test_a_signal_while_files_are_skipped_loses_no_step(self):
        for i in range(0, 12, 2):
            self.put(f"photos/{i}.png", self.pictures[i][:-20])  # cut short, which decoding finds out, one by one
        self.expect_success(self.train("--steps", 6))
        whole = self.tensors()
        for done in (1, 2, 3, 4):
            self.output.unlink(), self.log.unlink()
            process = subprocess.Popen([tools_test.TOOLS / "uform_base", *self.arguments(), "--steps", "6"], stderr=subprocess.PIPE)
            while process.poll() is None and not (self.log.exists() and f'"skipped","step":{done + 1},' in self.log.read_text()):
                time.sleep(0.0002)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertTrue(self.output.exists(), f"stopped after step {done}, with {process.returncode}")
            if process.returncode == 130:  # else it was done before the signal came
                self.expect_success(self.train("--steps", 6, "--resume", self.output))
            self.assertEqual(self.tensors(), whole)

    def test_a_step_without_a_file_that_can_be_read_costs_none_before_it(self):
        self.put("photos/5.png", b"no picture")
        arguments = ("--steps", 12, "--batch-pairs", 1, "--objective", "masked")
        done = self.train(*arguments)
        taken = len(self.events())
        self.assertGreater(taken, 0)  # the picture comes later than first
        self.expect_failure(done, 1, f"step {taken + 1}: none of its records has a file that can be read", "5.png")
        self.put("photos/5.png", self.pictures[5])
        self.expect_success(self.train(*arguments, "--resume", self.output))
        self.assertEqual([event["step"] for event in self.events()], list(range(1, 13)))
        # Where the steps cannot be saved either, both are told; a limit on file sizes stands in for a full disk.
        self.put("photos/5.png", b"no picture")
        self.output.unlink(), self.log.unlink()
        done = self.train(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.decode(), f"out.safetensors: io, .*\n.*: step {taken + 1}: none of its records")
        self.assertFalse(self.output.exists())

    def test_held_out_files_are_tried_before_the_first_step(self):
        held_out = {"path": "held.jsonl", "fields": {"query": {"image": "image"}, "document": "caption"}}
        lines = [{"image": f"photos/{i}.png", "caption": f"picture {i}"} for i in range(12)]
        self.put("held.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
        # A model that sees nothing, then one that does, whose files are nowhere, or are no pictures.
        texts = {"query": "caption", "document": "more"}
        self.expect_failure(self.train("--steps", 3, **texts, validation=held_out), 1, "held.jsonl: none of 12 pairs",
                            "the model has no image entry")
        for content in (None, b"no picture", self.pictures[0][:99]):
            for i in range(12):
                self.put(f"elsewhere/{i}.png", content or b""), content or (self.folder / f"elsewhere/{i}.png").unlink()
            self.put("held.jsonl", "".join(json.dumps(line | {"image": f"elsewhere/{i}.png"}) + "\n"
                                           for i, line in enumerate(lines)).encode())
            self.expect_failure(self.train("--steps", 3, validation=held_out), 1, "held.jsonl: none of 12 pairs", "0.png: ")
            self.assertEqual(self.events(), [])
        self.assertFalse(self.output.exists())
        # A few that are lost are told, the first of them by name.
        for i in range(12):
            self.put(f"elsewhere/{i}.png", self.pictures[i] if i % 2 else b"")
        done = self.train("--steps", 3, validation=held_out)
        self.expect_success(done)
        self.assertEqual([(event["queries"], event["skipped"]) for event in self.events("validation")], [(6, 6)])
        self.assertEqual(done.stderr.count(b"validation without "), 4)
        self.assertIn(b"validation without 3 more files", done.stderr)

    def test_refusals(self):
        for path in (self.folder / "photos").iterdir():
            path.unlink()
        self.expect_failure(self.train("--steps", 2), 1, "train.jsonl: none of its first 12 files can be read", "photos/0.png")
        for i in range(12):
            self.put(f"photos/{i}.png", b"no picture")
        self.expect_failure(self.train("--steps", 2), 1, "step 1: none of its records has a file that can be read")
        for wrong, part in (({"smell": "image"}, "smell"), ({"image": "image", "video": "image"}, "second medium"),
                            ({}, "must name a field"), ({"image": 7}, "must be a string"), (7, "must be a string")):
            self.expect_failure(self.train("--steps", 2, document=wrong), 1, "mixture.json:1: ", part)
        self.expect_failure(self.train("--steps", 2, image={"patch_side": 0}), 1, "at least 1")
        self.expect_failure(self.train("--steps", 2, image={"depth": 3}), 1, "\"depth\"")
        self.expect_failure(self.train("--steps", 2, masking={"image_mask_ratio": 2}), 1, "at most 1")
        self.expect_failure(self.train("--steps", 2, path="train.tar"), 1, "train.tar: ")


if __name__ == "__main__":
    unittest.main()
