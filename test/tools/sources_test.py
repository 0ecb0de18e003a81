#!/usr/bin/env python3
"""Sources that stay on the disk: their memory, their order, and runs that stop and go on, in every format there is.

Same conventions as tools_test.py. Tests of Parquet need a build with Arrow C++ and Python's pyarrow to write files with;
where either is missing they are skipped by name.
"""
import hashlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import runs_test
import tools_test

SMALL = runs_test.SMALL
if os.environ.get("UFORM_PYARROW"):  # of the build: the package's folder
    sys.path.append(str(pathlib.Path(os.environ["UFORM_PYARROW"]).parent))
WITH_ARROW = os.environ.get("UFORM_ARROW") == "1"
WITH_ZSTD = os.environ.get("UFORM_ZSTD") != "0"
# A sanitizer holds back what is freed, so the memory of a program says nothing of the program.
unsanitized = unittest.skipIf(os.environ.get("UFORM_SANITIZE"), "memory is measured unsanitized")
WITHOUT_PARQUET = ("" if WITH_ARROW and importlib.util.find_spec("pyarrow") else "Parquet is not tested: " + (
    "Python has no pyarrow to write files with" if WITH_ARROW else "this build has no Arrow C++ (-DUFORM_WITH_ARROW=ON)"))


def records(count):
    """Some with several answers, some with decoys, in groups of unequal size and two languages."""
    for i in range(count):
        record = {"query": f"frage {i} ä", "document": [f"answer {i}", f"reply {i * i}"], "group": i * i % 50,
                  "lang": "de" if i % 5 else "fr"}
        if i % 3:
            record["negatives"] = [f"bird {i}"]
        yield record


def as_lines(content):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in content).encode()


def write_frames(path, content):
    path.write_bytes(b"".join(runs_test.frame(content[at:at + 7001]) for at in range(0, len(content), 7001)))


def write_parquet(path, content, rows=64):
    import pyarrow
    import pyarrow.parquet
    content = list(content)
    columns = {name: [record.get(name) for record in content] for name in ("query", "document", "group", "negatives", "lang")}
    columns["lang"] = pyarrow.array(columns["lang"]).dictionary_encode()
    columns["unread"] = [{"nested": b"\xff"}] * len(content)
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)


class SourcesCase(tools_test.FolderCase):
    def setUp(self):
        super().setUp()
        self.output = self.folder / "out" / "model.safetensors"
        self.output.parent.mkdir()
        self.log = self.folder / "run.jsonl"

    def command(self, source, *arguments, **changes):
        mixture = {"sources": [{"path": str(source), "filter": {"lang": ["de"]}}], "batch_pairs": 8, "warmup_steps": 2}
        mixture.update(changes)
        (self.folder / "mixture.json").write_text(json.dumps(mixture))
        return [tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.folder / "mixture.json", "--output",
                self.output, "--log", self.log, *map(str, arguments)]

    def train(self, source, *arguments, **changes):
        return subprocess.run(self.command(source, *arguments, **changes), capture_output=True, stdin=subprocess.DEVNULL)

    def steps(self):
        events = map(json.loads, self.log.read_text().splitlines())
        return [{key: value for key, value in event.items() if key not in runs_test.UNTIMED} for event in events
                if event["event"] == "step"]

    maxDiff = 2000

    def written(self):
        """What a run leaves, and that nothing else lies beside it."""
        self.assertEqual(sorted(path.name for path in self.output.parent.iterdir() if ".optimizer." not in path.name),
                         ["model.README.md", "model.safetensors"])
        return self.steps(), hashlib.sha256(self.output.read_bytes()).hexdigest()  # a difference is told fast

    def peak(self, command):
        """Bytes of memory that a program had at most. As the system tells it of a living one: what it tells of one that
        has ended counts the memory of this test, which the program had for its own before it started."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        peaks = []
        while process.poll() is None:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peaks += [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")]
            time.sleep(0.001)
        error = process.communicate()[1]
        self.assertEqual(process.returncode, 0, error.decode())
        return peaks[-1]

    def big_lines(self, count):
        """Records of 8 KB each."""
        filler = "words of a long document, " * 320
        return (f'{{"query": "frage {i}", "document": "{i} {filler}", "lang": "de"}}\n'.encode() for i in range(count))

    def expect_bounded(self, small, big, count):
        """Of each record the index and the order remember 32 bytes, twice that where a vector has just grown; the rest
        of the bound is what buffers and the allocator round up, and far below the source."""
        bound = 64 * count + (24 << 20)
        size = sum(map(len, self.big_lines(count)))
        self.assertGreater(size, 8 * bound)
        changes = {"document_bytes": 64, "query_bytes": 64}
        grown = self.peak(self.command(big, "--steps", 9, **changes)) - self.peak(self.command(small, "--steps", 9, **changes))
        print(f"\n{big.name}: {size / 2**20:.0f} MiB of lines, peak memory grew by {grown / 2**20:.1f} MiB, bound {bound / 2**20:.1f}")
        self.assertLess(grown, bound, big.name)


class SourcesTest(SourcesCase):
    def formats(self):
        """One content in all formats that this build reads."""
        content = list(records(600))
        plain = self.folder / "source.jsonl"
        # The last line without a newline, blank lines and carriage returns, as files come.
        plain.write_bytes(as_lines(content).replace(b"\n", b"\r\n", 99).replace(b"\n", b"\n\n", 7)[:-1])
        yield plain
        if WITH_ZSTD:
            write_frames(self.folder / "source.jsonl.zst", as_lines(content))
            yield self.folder / "source.jsonl.zst"
        if not WITHOUT_PARQUET:
            write_parquet(self.folder / "source.parquet", content)
            yield self.folder / "source.parquet"

    def test_every_format_gives_the_same_run(self):
        runs = []
        for source in self.formats():
            self.expect_success(self.train(source, "--steps", 70))  # more than an epoch of 480 records in eights
            runs.append(self.written())
            self.assertEqual(len(runs[-1][0]), 70)
            self.assertEqual(runs[-1], runs[0], source.name)

    def test_runs_go_on_exactly_where_they_stopped(self):
        for source in self.formats():
            self.expect_success(self.train(source, "--steps", 66, "--save-every", 5))
            whole = self.written()
            for path in [*self.output.parent.iterdir(), self.log]:
                path.unlink()
            command = self.command(source, "--steps", 66, "--save-every", 5, "--resume", "auto")
            endings = []
            for step, ending in ((3, signal.SIGINT), (17, signal.SIGKILL), (31, signal.SIGTERM), (62, signal.SIGKILL)):
                process = subprocess.Popen(command, stderr=subprocess.PIPE)
                deadline = time.monotonic() + 60
                while process.poll() is None and time.monotonic() < deadline:
                    if self.log.exists() and f'"event":"step","step":{step},' in self.log.read_text():
                        process.send_signal(ending)
                        break
                    time.sleep(0.001)
                process.communicate()
                endings.append(process.returncode)
            self.assertIn(-signal.SIGKILL, endings, source.name)
            self.expect_success(subprocess.run(command, capture_output=True))
            self.assertEqual(self.written(), whole, source.name)

    @unsanitized
    def test_memory_does_not_grow_with_a_plain_source(self):
        small, big, count = self.folder / "small.jsonl", self.folder / "big.jsonl", 40000
        small.write_bytes(b"".join(self.big_lines(16)))
        with big.open("wb") as file:
            file.writelines(self.big_lines(count))
        self.expect_bounded(small, big, count)

    @unsanitized
    @unittest.skipUnless(WITH_ZSTD, "this build reads no Zstandard")
    def test_memory_does_not_grow_with_a_compressed_source(self):
        small, big, count = self.folder / "small.jsonl.zst", self.folder / "big.jsonl.zst", 40000
        small.write_bytes(runs_test.frame(b"".join(self.big_lines(10))))
        with big.open("wb") as file:
            file.writelines(map(runs_test.frame, self.big_lines(count)))
        self.expect_bounded(small, big, count)

    @unsanitized
    def test_memory_does_not_grow_with_choices_and_validation(self):
        """Two files of 100 MB each, in long lines, as every held-out text is encoded."""
        filler = "words of a long text, " * 4600
        grown, count = [], 1000
        for records_count in (16, count):
            held, asked = self.folder / "held.jsonl", self.folder / "asked.jsonl"
            with held.open("w") as file, asked.open("w") as choices:
                for i in range(records_count):
                    file.write(json.dumps({"query": f"frage {i}", "document": f"{i} {filler}"}) + "\n")
                    choices.write(json.dumps({"text": f"{i} {filler}", "choices": "yn", "answer": "yn"[i % 2]}) + "\n")
            source = self.folder / "source.jsonl"
            source.write_bytes(as_lines(records(64)))
            grown.append(self.peak(self.command(source, "--steps", 3, choices={"sources": [{"path": "asked.jsonl"}], "batch_items": 4},
                                                validation={"path": "held.jsonl", "evaluation_bytes": 16})))
        # Of a record its places and its draws, of a held-out pair two vectors of 128 floats and their copies as well.
        bound = (2 * 64 + 4 * 128 * 4) * count + (24 << 20)
        self.assertGreater(2 * count * len(filler), 7 * bound)
        print(f"\nchoices and validation of {2 * count * len(filler) / 2**20:.0f} MiB: peak memory grew by "
              f"{(grown[1] - grown[0]) / 2**20:.1f} MiB, bound {bound / 2**20:.1f}")
        self.assertLess(grown[1] - grown[0], bound)

    def test_marks_of_encoding_and_capitals(self):
        runs = []
        for source in self.formats():
            self.expect_success(self.train(source, "--steps", 9))
            runs.append(self.written())
            capitals = source.with_name(source.name.upper())
            content = source.read_bytes()
            capitals.write_bytes(b"\xef\xbb\xbf" + content if source.suffix == ".jsonl" else content)
            self.expect_success(self.train(capitals, "--steps", 9))
            self.assertEqual(self.written(), runs[0], capitals.name)
        mixture = self.folder / "mixture.json"
        command = self.command(self.folder / "source.jsonl", "--steps", 9)
        mixture.write_bytes(b"\xef\xbb\xbf" + mixture.read_bytes())
        self.expect_success(subprocess.run(command, capture_output=True))
        self.assertEqual(self.written(), runs[0])

    def test_nulls_and_numbers_out_of_range(self):
        source = self.folder / "source.jsonl"
        lines = [{"query": f"q {i}", "document": f"d {i}", "lang": "de"} for i in range(16)]
        source.write_bytes(as_lines(lines))
        self.expect_success(self.train(source, "--steps", 3))
        whole = self.written()
        source.write_bytes(as_lines([line | {"group": None, "negatives": None} for line in lines]))
        self.expect_success(self.train(source, "--steps", 3))
        self.assertEqual(self.written(), whole)  # null is not there, so no two records share a group
        for record in ({"query": None}, {"document": None}, {"lang": None}):  # of what must be there
            source.write_bytes(as_lines([lines[0] | record]))
            self.expect_failure(self.train(source, "--steps", 3), 1, "source.jsonl:1: the record lacks", *record)
        source.write_bytes(as_lines(lines).decode().encode("utf-16"))
        self.expect_failure(self.train(source, "--steps", 3), 1, "source.jsonl:1: is UTF-16")
        asked = [{"text": "a", "choices": "yn", "answer": "y", "targets": None},
                 {"text": "b", "choices": "yn", "answer": None, "targets": [1, 0]}]
        (self.folder / "asked.jsonl").write_bytes(as_lines(asked))
        source.write_bytes(as_lines(lines[:3]))
        done = self.train(source, "--steps", 3, choices={"sources": [{"path": "asked.jsonl"}]})
        self.expect_success(done)
        self.assertIn(b"a step of 8 pairs is more than all 3 records", done.stderr)
        for number, part in (("1" * 30, "a number beyond 64 bits"), ("NaN", "not a JSON object"), ("1e999", "64 bits")):
            source.write_text('{"query": "q", "document": "d", "lang": "de", "group": %s}\n' % number)
            self.expect_failure(self.train(source, "--steps", 3), 1, "source.jsonl:1: ", part)
        source.write_bytes(as_lines(lines))
        for key, value in (("learning_rate", 1e300), ("coding_rate_weight", 1e39), ("inverse_temperature", 1e200)):
            self.expect_failure(self.train(source, "--steps", 3, **{key: value}), 1, "mixture.json:1: ", key, "at most")
        for key, code, part in (("query_bytes", 1, "query_bytes"), ("document_bytes", 1, "document_bytes"),
                                ("context", 1, "context"), ("batch_pairs", 2, "--batch-pairs")):
            self.expect_failure(self.train(source, "--steps", 3, **{key: 2**63}), code, part)

    def test_a_pipe_is_a_source(self):
        plain = self.folder / "source.jsonl"
        plain.write_bytes(as_lines(records(600)))
        self.expect_success(self.train(plain, "--steps", 20))
        whole = self.written()
        pipe = self.folder / "pipe.jsonl"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes(plain.read_bytes()))
        writer.start()
        done = self.train(pipe, "--steps", 20)
        writer.join()
        self.expect_success(done)
        self.assertEqual(self.written(), whole)

    def test_a_source_that_changes_under_a_run(self):
        source = self.folder / "source.jsonl"
        source.write_bytes(as_lines(records(600)))
        process = subprocess.Popen(self.command(source, "--steps", 100000), stderr=subprocess.PIPE)
        while process.poll() is None and not (self.log.exists() and '"step":3,' in self.log.read_text()):
            time.sleep(0.001)
        os.truncate(source, 100)
        error = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1, error.decode())
        self.assertIn(b"source.jsonl: has become shorter while the run reads it", error)

    def test_a_build_without_arrow_refuses_parquet(self):
        source = self.folder / "source.parquet"
        source.write_bytes(b"PAR1")
        done = self.train(source, "--steps", 1)
        self.expect_failure(done, 1, "source.parquet: ", "not sound Parquet" if WITH_ARROW else "UFORM_WITH_ARROW=ON")
        done = self.train(source, "--steps", 1, sources=[{"path": "source.parquet", "format": "jsonl"}])
        self.expect_failure(done, 1, "mixture.json", "format")


if __name__ == "__main__":
    unittest.main()
