#!/usr/bin/env python3
"""The tools as a shell sees them: exit codes, one-line errors, pipes, files that are whole or absent.

Runs uform_base, uform_encode, uform_eval and uform_grow from the folder that the environment's UFORM_TOOLS names, on a model of the
nano tier made here. What a model has learned is not tested; that is for the tests of training.
"""
import ast
import ctypes
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest

TOOLS = pathlib.Path(os.environ["UFORM_TOOLS"])
NAMES = ("uform_base", "uform_encode", "uform_eval", "uform_grow")


def run(tool, *arguments, stdin=b"", timeout=300, **options):
    return subprocess.run([TOOLS / tool, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout,
                          **options)


def obey_permissions():
    """For a child of root's: to it permissions apply as to anybody."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def read_npy(data):
    """Type, shape and bytes of an .npy file."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert (10 + length) % 64 == 0 and not header["fortran_order"]
    return header["descr"], header["shape"], data[10 + length:]


def read_safetensors(data):
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: (value["dtype"], value["shape"], data[8 + length + value["data_offsets"][0]:
                                                       8 + length + value["data_offsets"][1]])
            for name, value in header.items() if name != "__metadata__"}


def pairs(count):
    return "".join(json.dumps({"query": f"frage {i}", "document": f"answer number {i}", "group": i, "lang": "de"}) + "\n"
                   for i in range(count))


class FolderCase(unittest.TestCase):
    """A folder for each test, with a mixture of training and held-out pairs where it asks for one."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def write_pairs(self):
        (self.folder / "train.jsonl").write_text(pairs(40))
        (self.folder / "test.jsonl").write_text(pairs(20))

    def write_mixture(self, **changes):
        mixture = {"name": "test", "sources": [{"path": "train.jsonl", "format": "jsonl"}], "batch_pairs": 8,
                   "warmup_steps": 2, "validation": {"path": "test.jsonl"}}
        mixture.update(changes)
        path = self.folder / "mixture.json"
        path.write_text(json.dumps(mixture, indent=1))
        return path

    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def expect_failure(self, done, code, *parts):
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertRegex(text, r"^uform_(base|encode|eval|grow): ")
        for part in parts:
            self.assertIn(part, text)

    def expect_no_leftovers(self):
        left = [name for name in os.listdir(self.folder) if ".tmp" in name or ".validation." in name]
        self.assertEqual(left, [])


class ToolsTest(FolderCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.shared.name) / "fresh.safetensors"
        made = run("uform_base", "--tier", "nano", "--steps", 0, "--output", cls.model)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        super().setUp()
        self.write_pairs()
        self.mixture = self.write_mixture()

    def train(self, *arguments, **options):
        return run("uform_base", "--tier", "nano", "--mixture", self.mixture, "--output", self.output, *arguments, **options)

    @property
    def output(self):
        return self.folder / "out.safetensors"

    def test_help_has_examples(self):
        for name in NAMES:
            done = run(name, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"Examples:\n  " + name.encode(), done.stdout)
            self.assertEqual(done.stderr, b"")

    def test_wrong_usage(self):
        for name in NAMES:
            self.expect_failure(run(name, "--no-such-flag"), 2, "--help")
        self.expect_failure(run("uform_base", "--output", self.output, "--steps", 3), 2, "--tier")
        self.expect_failure(run("uform_base", "--tier", "huge", "--steps", 0, "--output", self.output), 2, "nano")
        self.expect_failure(run("uform_base", "--hidden", 100, "--depth", 2, "--steps", 0, "--output", self.output), 2, "128")
        self.expect_failure(self.train(), 2, "--minutes")
        self.expect_failure(self.train("--steps", 3, "--minutes", 1), 2)
        self.expect_failure(self.train("--steps", 3, "--cpu-class", "abacus"), 2, "serial")
        for flag in ("--format", "--output-format", "--as", "--surface", "--scalar"):
            self.expect_failure(run("uform_encode", self.model, flag, "nothing"), 2, flag)
        self.expect_failure(run("uform_encode", self.model, "--surface", "states"), 2, "safetensors")

    def test_checkpoint_missing_or_hostile(self):
        missing, broken, text = (self.folder / name for name in ("missing", "broken", "text"))
        broken.write_bytes(b"\xff" * 100)
        text.write_text("not a checkpoint at all")
        for path in (missing, broken, text, self.folder):
            self.expect_failure(run("uform_encode", path), 1, str(path))
            self.expect_failure(run("uform_eval", path, "--pairs", self.folder / "test.jsonl"), 1, str(path))
            self.expect_failure(self.train("--steps", 2, "--resume", path), 1, str(path))
        self.assertFalse(self.output.exists())

    def test_mixture_unreadable(self):
        self.mixture = self.folder / "none.json"
        self.expect_failure(self.train("--steps", 2), 1, str(self.mixture))
        self.mixture = self.write_mixture(stepz=3)
        line = next(i for i, text in enumerate(self.mixture.read_text().splitlines(), 1) if "stepz" in text)
        self.expect_failure(self.train("--steps", 2), 1, f"{self.mixture}:{line}: \"stepz\"")
        self.mixture = self.write_mixture(sources=[{"path": "a\0b"}])
        self.expect_failure(self.train("--steps", 2), 1, "NUL")
        self.mixture = self.write_mixture(sources=[{"path": "two\nlines.jsonl"}])
        self.expect_failure(self.train("--steps", 2), 1, "two\\x0alines.jsonl")

    def test_corpus_empty_or_broken(self):
        source = self.folder / "train.jsonl"
        for content, part in (("", f"{source}: no record"), ("\n\n", "no record"), (pairs(2) + "{", f"{source}:3:"),
                              (pairs(1) + "[1]\n", f"{source}:2:"), ('{"query": "x"}\n', f"{source}:1: "),
                              ('{"query": 3, "document": "x"}\n', '"query" must be a string')):
            source.write_text(content)
            self.expect_failure(self.train("--steps", 2), 1, part)
        source.write_text(pairs(3))
        self.mixture = self.write_mixture(sources=[{"path": "train.jsonl", "filter": {"lang": ["ja"]}}])
        self.expect_failure(self.train("--steps", 2), 1, "filter")
        self.assertFalse(self.output.exists())

    def test_output_impossible(self):
        self.expect_failure(run("uform_base", "--tier", "nano", "--steps", 0, "--output", self.folder / "no" / "x"), 1,
                            str(self.folder / "no" / "x"))
        self.expect_failure(run("uform_encode", self.model, "--output", "/dev/full", stdin=b"a\n"), 1, "/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOLS / "uform_eval", self.model, "--pairs", self.folder / "test.jsonl"], stdout=full,
                                  stderr=subprocess.PIPE)
        self.expect_failure(done, 1, "stdout")

    def test_disk_full_keeps_the_last_checkpoint(self):
        self.output.write_bytes(self.model.read_bytes())
        # A limit on file sizes stands in for a full disk.
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        done = self.train("--steps", 2, preexec_fn=small_files)
        self.expect_failure(done, 1, str(self.output))
        self.assertEqual(self.output.read_bytes(), self.model.read_bytes())
        target = self.folder / "rows.npy"
        done = run("uform_encode", self.model, "--output", target, stdin=b"x\n" * 300, preexec_fn=small_files)
        self.expect_failure(done, 1, str(target))
        self.assertFalse(target.exists())
        self.expect_no_leftovers()

    def test_training_logs_and_validates(self):
        log = self.folder / "run.jsonl"
        done = self.train("--steps", 6, "--validate-every", 3, "--log", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"\r", done.stderr)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([line["event"] for line in lines],
                         ["start", *["step"] * 3, "validation", *["step"] * 3, "validation", "end"])
        self.assertEqual([line["step"] for line in lines if line["event"] == "step"], [1, 2, 3, 4, 5, 6])
        self.assertEqual(lines[0]["steps"], 6)
        self.assertIn("recall@10", lines[4]["forward"])
        self.expect_no_leftovers()

    def test_minutes_become_steps(self):
        log = self.folder / "run.jsonl"
        done = self.train("--minutes", 0.05, "--log", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual(lines[0]["event"], "timing")
        self.assertEqual(lines[1]["steps"], lines[0]["steps"])
        self.assertEqual(lines[-1]["step"], lines[0]["steps"])

    def test_objectives(self):
        for objective in ("masked", "contrastive", "joint"):
            done = self.train("--steps", 2, "--objective", objective)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_resume_repeats_the_bits(self):
        self.assertEqual(self.train("--steps", 12).returncode, 0)
        whole = self.output.read_bytes()
        self.output.unlink()
        process = self.start_training("--steps", 12, until=3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        if process.returncode == 130:  # else it was done before the signal came, which repeats the bits as well
            done = run("uform_base", "--resume", self.output, "--mixture", self.mixture, "--steps", 12, "--output", self.output)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.output.read_bytes(), whole)

    def start_training(self, *arguments, until):
        """Starts a run and returns once its log holds so many steps."""
        log = self.folder / "live.jsonl"
        process = subprocess.Popen([TOOLS / "uform_base", "--tier", "nano", "--mixture", str(self.mixture), "--output",
                                    str(self.output), "--log", str(log), *map(str, arguments)], stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and log.read_text().count('"event":"step"') >= until:
                break
            time.sleep(0.005)
        return process

    def test_interrupt_saves(self):
        process = self.start_training("--steps", 1_000_000, until=2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertRegex(errors.decode(), r"^uform_base: stopped at step \d+ of 1000000; go on with --resume ")
        end = json.loads((self.folder / "live.jsonl").read_text().splitlines()[-1])
        self.assertEqual((end["event"], end["reason"]), ("end", "interrupted"))
        self.assertEqual(run("uform_encode", self.output, stdin=b"x\n").returncode, 0)
        self.expect_no_leftovers()

    def test_interrupt_of_encode_leaves_nothing(self):
        target = self.folder / "rows.npy"
        process = subprocess.Popen([TOOLS / "uform_encode", self.model, "--output", target], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not any(".tmp." in name for name in os.listdir(self.folder)) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        self.assertEqual((process.returncode, process.stderr.read()), (130, b""))
        process.stdin.close(), process.stderr.close()
        self.assertFalse(target.exists())
        self.expect_no_leftovers()

    def test_npy_shapes(self):
        texts = "eins\nzwei\n\ndrei".encode()
        for scalar, type_name, bytes_each in (("f32", "<f4", 4), ("bf16", "<u2", 2), ("f16", "<f2", 2), ("i8", "|i1", 1)):
            done = run("uform_encode", self.model, "--scalar", scalar, "--dimensions", 64, stdin=texts)
            self.assertEqual(done.returncode, 0, done.stderr)
            kind, shape, rows = read_npy(done.stdout)
            self.assertEqual((kind, shape, len(rows)), (type_name, (4, 64), 4 * 64 * bytes_each))
        self.assertEqual(read_npy(run("uform_encode", self.model).stdout), ("<f4", (0, 128), b""))

    def test_prefixes_travel_with_the_checkpoint(self):
        self.mixture = self.write_mixture(prefixes={"query": "frage: ", "document": "\u00fc\\"})
        self.assertEqual(self.train("--steps", 2).returncode, 0)
        for side, prefix in (("query", "frage: "), ("document", "\u00fc\\")):
            kept = run("uform_encode", self.output, "--as", side, stdin=b"eins\nzwei\n")
            written = run("uform_encode", self.output, stdin=f"{prefix}eins\n{prefix}zwei\n".encode())
            self.assertEqual((kept.returncode, kept.stdout), (0, written.stdout), side)
            self.assertNotEqual(kept.stdout, run("uform_encode", self.output, stdin=b"eins\nzwei\n").stdout)

    def test_files_and_pipes_agree(self):
        source, target = self.folder / "texts", self.folder / "rows.npy"
        texts = b"".join(b"text %d \0\xff\r\n" % i for i in range(300))
        source.write_bytes(texts)
        self.assertEqual(run("uform_encode", self.model, "--input", source, "--output", target, "--batch", 7).returncode, 0)
        piped = run("uform_encode", self.model, stdin=texts).stdout
        self.assertEqual(target.read_bytes(), piped)
        self.assertEqual(read_npy(piped)[1], (300, 128))
        with open(target, "wb") as out:
            subprocess.run([TOOLS / "uform_encode", self.model, "--input", source], stdout=out, check=True)
        self.assertEqual(target.read_bytes(), piped)

    def test_formats_agree(self):
        texts = ["eins", "zwei drei", ""]
        plain = read_npy(run("uform_encode", self.model, stdin="\n".join(texts).encode() + b"\n").stdout)
        lines = "".join(json.dumps({"id": 1, "body": text}) + "\n" for text in texts).encode()
        done = run("uform_encode", self.model, "--format", "jsonl", "--field", "body", "--output-format", "jsonl", stdin=lines)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["index"] for row in rows], [0, 1, 2])
        flat = [value for row in rows for value in row["embedding"]]
        self.assertEqual(struct.pack(f"<{len(flat)}f", *flat), plain[2])
        names = []
        for index, text in enumerate(texts):
            names.append(self.folder / f"{index}.txt")
            names[-1].write_text(text)
        target = self.folder / "rows.safetensors"
        done = run("uform_encode", self.model, "--format", "files", "--modality", "text", "--output", target,
                   stdin="".join(f"{name}\n" for name in names).encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_safetensors(target.read_bytes())["embeddings"], ("F32", [3, 128], plain[2]))

    def test_states_have_offsets(self):
        target = self.folder / "rows.safetensors"
        arguments = ("uform_encode", self.model, "--surface", "states", "--batch", 2)
        self.assertEqual(run(*arguments, "--output", target, stdin=b"abc\nde\n\nf").returncode, 0)
        found = read_safetensors(target.read_bytes())
        self.assertEqual(found["states"][:2], ("F32", [7, 128]))  # the empty text has one PAD token
        self.assertEqual(struct.unpack("<5Q", found["offsets"][2]), (0, 3, 5, 6, 7))
        piped = run(*arguments, "--output-format", "safetensors", stdin=b"abc\nde\n\nf").stdout
        self.assertEqual(piped, target.read_bytes())

    def test_truncation_is_said(self):
        done = run("uform_encode", self.model, "--bytes", 4, stdin=b"1234\n12345\n1234567890\n")
        self.assertEqual(done.stderr.decode(), "uform_encode: 2 of 3 texts were longer than 4 bytes and were cut\n")
        rows = read_npy(done.stdout)[2]
        self.assertEqual(rows[512:1024][:0] + rows[512:1024], read_npy(run("uform_encode", self.model, stdin=b"1234").stdout)[2])

    def test_bad_json_line_is_named(self):
        done = run("uform_encode", self.model, "--format", "jsonl", stdin=b'{"text": "a"}\n{"text": 1}\n')
        self.expect_failure(done, 1, "stdin:2:")

    def test_closed_pipe_is_quiet(self):
        process = subprocess.Popen([TOOLS / "uform_encode", self.model, "--output-format", "jsonl"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        try:
            process.stdin.write(b"text\n" * 2000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        self.assertEqual(process.wait(timeout=60), 141)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    def test_eval(self):
        arguments = ("uform_eval", self.model, "--pairs", self.folder / "test.jsonl")
        scores = json.loads(run(*arguments, "--json").stdout)
        self.assertEqual((scores["queries"], scores["documents"]), (20, 20))
        for side in ("forward", "backward"):
            self.assertEqual(list(scores[side]), ["recall@1", "recall@5", "recall@10", "mrr"])
        (self.folder / "same.jsonl").write_text('{"query": "a", "document": "a"}\n{"query": "bcd", "document": "bcd"}\n')
        scores = json.loads(run("uform_eval", self.model, "--pairs", self.folder / "same.jsonl", "--json").stdout)
        self.assertEqual(scores["forward"], {"recall@1": 1.0, "recall@5": 1.0, "recall@10": 1.0, "mrr": 1.0})
        self.assertIn(b"R@10", run(*arguments).stdout)

    def make_decoder(self):
        """A fresh model with a byte decoder and no temperatures."""
        self.mixture = self.write_mixture(objective="masked")
        self.assertEqual(self.train("--steps", 0).returncode, 0)
        return self.output

    def calibrate(self, checkpoint, records, output):
        held_out = self.folder / "held_out.jsonl"
        held_out.write_text("".join(json.dumps(record) + "\n" for record in records))
        return run("uform_eval", checkpoint, "--calibrate", held_out, "--output", output, "--json")

    @staticmethod
    def temperatures(path):
        dtype, shape, data = read_safetensors(path.read_bytes())["choices.inverse_temperatures"]
        assert dtype == "F32", dtype
        return list(struct.unpack(f"<{shape[0]}f", data))

    def test_calibrate(self):
        model, first, second = self.make_decoder(), self.folder / "first.safetensors", self.folder / "second.safetensors"
        soft = [{"text": f"question {i}", "choices": "abc", "targets": [.5, .25, .25]} for i in range(30)]
        hard = [{"text": f"other {i}", "choices": "yn", "answer": "yn"[i % 3 == 0], "group": 2} for i in range(300)]
        done = self.calibrate(model, soft + hard, first)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        groups = json.loads(done.stdout)["groups"]
        self.assertEqual([group["items"] for group in groups], [30, 0, 300])
        for group in groups[::2]:
            self.assertLess(group["after"]["negative_log_likelihood"], group["before"]["negative_log_likelihood"])
        fitted = self.temperatures(first)
        self.assertEqual(fitted[1], 1)
        self.assertTrue(0 < fitted[0] != 1 and 0 < fitted[2] != 1, fitted)
        before, after = (read_safetensors(path.read_bytes()) for path in (model, first))
        after.pop("choices.inverse_temperatures")
        self.assertEqual(before, after)
        metadata = [json.loads(path.read_bytes()[8:8 + struct.unpack("<Q", path.read_bytes()[:8])[0]])["__metadata__"]
                    for path in (model, first)]
        self.assertEqual(metadata[0], metadata[1])

        # What was written is what is served: a second look starts where the first ended, and groups it lacks stay.
        again = json.loads(self.calibrate(first, hard, second).stdout)["groups"]
        for score, value in groups[2]["after"].items():
            self.assertAlmostEqual(again[2]["before"][score], value, 4)
        self.assertAlmostEqual(self.temperatures(second)[2], fitted[2], 3)
        self.assertEqual(self.temperatures(second)[:2], fitted[:2])
        self.assertEqual(run("uform_encode", second, stdin=b"a\n").returncode, 0)
        table = run("uform_eval", second, "--calibrate", self.folder / "held_out.jsonl", "--output", first).stdout
        self.assertIn(b"inverse temperature", table)
        self.expect_no_leftovers()

    def test_calibrate_refuses(self):
        model, output = self.make_decoder(), self.folder / "calibrated.safetensors"
        good = {"text": "a", "choices": "yn", "answer": "y"}
        for change, part in (({"answer": "x"}, "\"answer\""), ({"choices": "yy"}, "\"choices\""),
                             ({"choices": ""}, "\"choices\""), ({"choices": "\u00e9n"}, "ASCII"),
                             ({"targets": [1, 0]}, "\"targets\" or"), ({"group": -1}, "\"group\""),
                             ({"group": 65536}, "\"group\""), ({"text": 7}, "\"text\""),
                             ({"answer": None}, "\"answer\"")):
            self.expect_failure(self.calibrate(model, [good, {**good, **change}], output), 1, "held_out.jsonl:2: ", part)
        for targets in ([.5], [.5, .6], [1.5, -.5], ["a", 1]):
            record = {"text": "a", "choices": "yn", "targets": targets}
            self.expect_failure(self.calibrate(model, [record], output), 1, "held_out.jsonl:1: ", "\"targets\"")
        self.expect_failure(self.calibrate(model, [], output), 1, "no record")
        self.expect_failure(self.calibrate(self.model, [good], output), 1, "no byte decoder")
        self.expect_failure(self.calibrate(model, [good], model), 1, str(model))
        held_out = self.folder / "held_out.jsonl"
        self.expect_failure(run("uform_eval", model, "--calibrate", held_out), 2, "--output")
        self.expect_failure(run("uform_eval", model), 2, "--pairs")
        self.expect_failure(run("uform_eval", model, "--pairs", held_out, "--output", output), 2, "--output")
        self.expect_failure(run("uform_eval", model, "--pairs", held_out, "--calibrate", held_out), 2, "--pairs")
        self.assertFalse(output.exists())

    def test_bar_on_a_terminal_only(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:  # a container may have none
            self.skipTest(f"no pseudo-terminal to be had: {error}")
        process = subprocess.Popen([TOOLS / "uform_base", "--tier", "nano", "--mixture", str(self.mixture), "--steps", "4",
                                    "--output", str(self.output)], stderr=follower)
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 4096):
                shown += chunk
        except OSError:  # how a closed terminal reads
            pass
        os.close(leader)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertTrue(re.search(rb"\r1/4 \[=+ +\] loss ", shown), shown)


if __name__ == "__main__":
    unittest.main()
