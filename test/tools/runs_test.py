#!/usr/bin/env python3
"""Long runs of uform_base: its terms and mixtures, what it resumes from, and what it leaves beside a checkpoint.

Same conventions as tools_test.py, on a model of one block.
"""
import fcntl
import importlib.util
import json
import math
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
import unittest

import tools_test

SMALL = ("--hidden", 128, "--depth", 1, "--threads", 1)
UNTIMED = ("tokens_per_second", "operations_per_second", "share_of_peak", "seconds", "seconds_per_step")  # what no two runs share


def questions(count):
    return "".join(json.dumps({"text": f"is {i} even? ", "choices": "yn", "answer": "yn"[i % 2], "group": i % 3}) + "\n"
                   for i in range(count))


def frame(content):
    """A Zstandard frame of one stored block (RFC 8878): magic, one segment of a four-byte size, a last raw block."""
    assert len(content) < 1 << 17
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + struct.pack("<I", len(content) << 3 | 1)[:3] + content


class RunsTest(tools_test.FolderCase):
    def setUp(self):
        super().setUp()
        self.write_pairs()
        (self.folder / "choices.jsonl").write_text(questions(30))
        records = [{"query": f"wort {i}", "document": [f"word {i}", f"term {i}"], "negatives": [f"bird {i}"]} for i in range(20)]
        (self.folder / "hard.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        self.output = self.folder / "out.safetensors"
        self.log = self.folder / "run.jsonl"
        self.mixture = self.write_mixture()

    def write_mixture(self, **changes):
        """Two sources at two temperatures, with decoys, beside choices."""
        mixture = {"sources": [{"path": "train.jsonl"}, {"path": "hard.jsonl", "weight": 2, "temperature_group": 1}],
                   "batch_pairs": 8, "warmup_steps": 2, "choices": {"sources": [{"path": "choices.jsonl"}], "batch_items": 4}}
        mixture.update(changes)
        path = self.folder / "mixture.json"
        path.write_text(json.dumps({key: value for key, value in mixture.items() if value is not None}, indent=1))
        return path

    def train(self, *arguments, output=None, **options):
        return tools_test.run("uform_base", *SMALL, "--mixture", self.mixture, "--output", output or self.output,
                              "--log", self.log, *arguments, **options)

    def events(self, kind="step"):
        whole = self.log.read_text().rpartition("\n")[0]  # a run that is killed may leave part of a line
        return [line for line in map(json.loads, whole.splitlines()) if line["event"] == kind]

    def test_every_term_adds_to_the_loss(self):
        self.expect_success(self.train("--steps", 3, "--tcr-lambda", 0.1, "--lipschitz-lambda", 0.2, "--choices-weight", 0.5,
                                       "--brier-weight", 0.3, "--late-interaction-weight", 0.25,
                                       "--late-interaction-width", 32, "--late-interaction-loss", "softmax"))
        for step in self.events():
            for term in ("contrastive", "late_interaction", "choices", "coding_rate", "lipschitz"):
                self.assertGreater(step[term], 0, term)
            terms = (step["contrastive"] + step["late_interaction"] + 0.5 * step["choices"] - 0.1 * step["coding_rate"] +
                     0.2 * step["lipschitz"])
            # Each of the six is rounded to float32 once, and none is above 100.
            self.assertAlmostEqual(step["loss"], terms, delta=6 * 100 * 2**-24)

    def test_flags_win_over_the_mixture(self):
        self.mixture = self.write_mixture(coding_rate_weight=0.1, lipschitz_weight=0.1, late_interaction={"weight": 1, "width": 16})
        self.expect_success(self.train("--steps", 1))
        step, = self.events()
        for term in ("late_interaction", "choices", "coding_rate", "lipschitz"):
            self.assertGreater(step[term], 0, term)
        self.expect_success(self.train("--steps", 1, "--tcr-lambda", 0, "--lipschitz-lambda", 0, "--choices-weight", 0,
                                       "--late-interaction-weight", 0))
        step, = self.events()
        for term in ("late_interaction", "choices", "coding_rate", "lipschitz"):
            self.assertEqual(step[term], 0, term)

    def test_temperature_groups_learn_apart(self):
        self.mixture = self.write_mixture(choices=None)
        self.expect_success(self.train("--steps", 6))
        tensors = tools_test.read_safetensors(self.output.read_bytes())
        kind, shape, data = tensors["contrastive.log_inverse_temperature"]
        self.assertEqual((kind, shape), ("F32", [2]))
        first, second = struct.unpack("<2f", data)
        start = math.log(10)
        self.assertTrue(first != start and second != start and first != second, (first, second))

    def test_untrained_model_has_the_heads(self):
        self.mixture = self.write_mixture(late_interaction={"width": 24})
        self.expect_success(self.train("--steps", 0))
        tensors = tools_test.read_safetensors(self.output.read_bytes())
        self.assertIn([24, 128], [shape for _, shape, _ in tensors.values()])
        self.assertFalse((self.folder / "out.README.md").exists())

    def test_choices_beside_any_objective(self):
        for objective in ("masked", "joint"):
            self.expect_success(self.train("--steps", 2, "--objective", objective))
            self.assertGreater(self.events()[-1]["choices"], 0)
            self.assertGreater(self.events()[-1]["masked_text"], 0)

    def test_terms_that_cannot_be(self):
        self.expect_failure(self.train("--steps", 1, "--tcr-lambda", -1), 1, "coding_rate_weight")
        self.expect_failure(self.train("--steps", 1, "--lipschitz-lambda", "nan"), 1, "lipschitz_weight")
        self.expect_failure(self.train("--steps", 1, "--late-interaction-loss", "hinge"), 2, "--late-interaction-loss")
        self.expect_failure(self.train("--steps", 1, "--late-interaction-weight", 1, "--objective", "masked"), 1, "masked")
        self.mixture = self.write_mixture(choices=None)
        self.expect_failure(self.train("--steps", 1, "--choices-weight", 1), 2, "--choices-weight")
        self.expect_failure(self.train("--steps", 1, "--brier-weight", 1), 2, "--brier-weight")
        with (self.folder / "hard.jsonl").open("a") as source:
            source.write('{"query": "", "document": "x"}\n')
        self.expect_failure(self.train("--steps", 1, "--late-interaction-weight", 1), 1, "hard.jsonl:21: ")
        self.expect_success(self.train("--steps", 1))

    def test_hard_negatives_and_answers_that_are_no_texts(self):
        for record, part in (({"query": "q", "document": []}, "empty"), ({"query": "q", "document": [1]}, "strings"),
                             ({"query": "q", "document": "d", "negatives": 3}, "array of strings"), ({"query": "q"}, "lacks")):
            (self.folder / "hard.jsonl").write_text(json.dumps(record) + "\n")
            self.expect_failure(self.train("--steps", 1), 1, "hard.jsonl:1: ", part)

    def poisoned_model(self):
        """A checkpoint that overflows on texts with a 'Z': a column of the embedding that is zero for all other bytes is
        scaled until its queries times its keys, (sqrt(128) * 1e20 * .05)^2, leave float32."""
        model, column = self.folder / "poisoned.safetensors", 77
        self.expect_success(tools_test.run("uform_base", *SMALL, "--steps", 0, "--output", model))
        data = bytearray(model.read_bytes())
        length, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        begin = 8 + length + header["text.embedding"]["data_offsets"][0]
        for byte in range(258):
            at = begin + (byte * 128 + column) * 2
            data[at:at + 2] = b"\x1c\x46" if byte == ord("Z") else b"\0\0"  # 1e4 in BFloat16
        at = 8 + length + header["blocks.0.attention.norm"]["data_offsets"][0] + column * 4
        data[at:at + 4] = struct.pack("<f", 1e20)
        model.write_bytes(data)
        return model

    def test_non_finite_loss_names_its_source(self):
        model = self.poisoned_model()
        fine = (self.folder / "hard.jsonl").read_text()
        (self.folder / "hard.jsonl").write_text(fine.replace("wort", "Zahl"))
        before = sorted(os.listdir(self.folder))
        done = self.train("--steps", 9, "--from", model)
        self.expect_failure(done, 1, "step 1: malformed, ", "not finite", "the texts of ", "hard.jsonl alone are the cause")
        self.assertNotIn(b"train.jsonl", done.stderr)
        end, = self.events("end")
        self.assertEqual((end["reason"], end["step"], end["sources"]), ("non_finite", 0, [str(self.folder / "hard.jsonl")]))
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*before, "run.jsonl"]))

        (self.folder / "hard.jsonl").write_text(fine)
        (self.folder / "choices.jsonl").write_text(questions(30).replace("even", "Zen"))
        self.expect_failure(self.train("--steps", 9, "--from", model), 1, "choices.jsonl alone are the cause")
        (self.folder / "hard.jsonl").write_text(fine.replace("wort", "Zahl"))
        (self.folder / "train.jsonl").write_text(tools_test.pairs(40).replace("frage", "Zahl"))
        self.expect_failure(self.train("--steps", 9, "--from", model), 1, "every source of the step fails by itself")

    def test_non_finite_loss_of_one_source_or_untried(self):
        model = self.poisoned_model()
        (self.folder / "train.jsonl").write_text(tools_test.pairs(40).replace("frage", "Zahl"))
        self.mixture = self.write_mixture(sources=[{"path": "train.jsonl"}], choices=None)
        self.expect_failure(self.train("--steps", 9, "--from", model), 1, "all its texts are of ", "train.jsonl")
        self.mixture = self.write_mixture()

        def small_files():  # stands in for a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

        done = self.train("--steps", 9, "--from", model, preexec_fn=small_files)
        self.expect_failure(done, 1, "step 1: malformed", "none of which could be tried alone")

    def test_a_loss_that_becomes_non_finite_saves_nothing(self):
        model = self.poisoned_model()
        (self.folder / "train.jsonl").write_text(tools_test.pairs(40).replace("frage 7 ", "Zahl 7 "))
        self.mixture = self.write_mixture(sources=[{"path": "train.jsonl"}], choices=None, batch_pairs=4)
        before = sorted(os.listdir(self.folder))
        done = self.train("--steps", 30, "--from", model)
        taken = len(self.events())
        self.assertGreater(taken, 0)  # the record comes later than first
        self.expect_failure(done, 1, f"step {taken + 1}: malformed, ", "not finite", "nothing was written since the last save")
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*before, "run.jsonl"]))
        self.expect_failure(self.train("--steps", 30, "--from", model, "--save-every", taken - 1 or 1), 1, "not finite")
        self.assertIn(f'"step":"{taken - 1 or 1}"'.encode(), self.output.read_bytes()[:4096])

    def start(self, *arguments, output=None):
        return subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.mixture, "--output",
                                 output or self.output, "--log", self.log, *map(str, arguments)], stderr=subprocess.PIPE)

    def without_time(self, *kinds):
        return [{key: value for key, value in event.items() if key not in UNTIMED}
                for kind in kinds for event in self.events(kind)]

    def test_resume_auto_repeats_the_uninterrupted_run(self):
        terms = ("--steps", 24, "--save-every", 3, "--validate-every", 8, "--late-interaction-weight", 0.5,
                 "--brier-weight", 0.5, "--resume", "auto")
        self.mixture = self.write_mixture(validation={"path": "test.jsonl"})
        self.expect_success(self.train(*terms))
        whole, log = self.output.read_bytes(), self.without_time("step", "validation")
        self.assertEqual(len(log), 24 + 3)
        folder = self.folder / "run"
        self.log.unlink()
        starts = []
        for kill in (2, 7, 11, 13, 22):  # before a first save, and between saves
            process = self.start(*terms, "--kept-activations", "64MB", output=f"{folder}/")  # speed alone
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if self.log.exists() and self.log.read_text().count(f'"event":"step","step":{kill},'):
                    break
                time.sleep(0.001)
            process.kill()
            process.communicate()
            starts.append(self.events("start")[-1]["first_step"])
        self.expect_success(self.train(*terms, output=folder))
        self.assertEqual((folder / "model.safetensors").read_bytes(), whole)
        self.assertEqual(self.without_time("step", "validation"), log)
        self.assertEqual(starts[0], 0)
        self.assertTrue(any(0 < start < 24 for start in starts), starts)
        again = self.train(*terms, output=folder)
        self.expect_success(again)
        self.assertIn(b"has taken all of 24 steps", again.stderr)
        self.assertEqual((folder / "model.safetensors").read_bytes(), whole)

    def test_card_beside_the_checkpoint(self):
        self.mixture = self.write_mixture(validation={"path": "test.jsonl"})
        card = self.folder / "out.README.md"
        card.write_text("# Mine\n")
        self.expect_failure(self.train("--steps", 2), 1, "out.README.md: ", "move it")
        self.assertEqual(card.read_text(), "# Mine\n")
        card.unlink()
        self.expect_success(self.train("--steps", 5, "--seed", 7, "--tcr-lambda", "0.5"))
        text = card.read_text()
        validation, = self.events("validation")
        commit = "unknown"
        if shutil.which("git"):
            head = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "HEAD"], capture_output=True, text=True)
            commit = head.stdout.strip() or commit
        for part in ("| step | 5 of 5 |", "128 wide, 1 deep", "| seed | 7 |", f"Loss {self.events()[-1]['loss']:.4f} at step 5",
                     f"--steps 5 --seed 7 --tcr-lambda 0.5\n", f"| {self.folder}/train.jsonl | 40 | 1 | 0 |",
                     f"| {self.folder}/hard.jsonl | 20 | 2 | 1 |", f"| {self.folder}/choices.jsonl | 30 | 1 | 0 |",
                     f"| queries find documents | {validation['forward']['recall@1']:.4f} |", commit):
            self.assertIn(part, text)
        self.expect_success(self.train("--steps", 2, output=f"{self.folder}/it's/"))
        self.assertIn("| step | 2 of 2 |", (self.folder / "it's" / "README.md").read_text())
        self.assertIn(f"'{self.folder}/it'\\''s/'", (self.folder / "it's" / "README.md").read_text())

    def test_live_view_fits_the_terminal(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:  # a container may have none
            self.skipTest(f"no pseudo-terminal to be had: {error}")
        for columns, part in ((60, rb"\] loss \d.* \| \d+:\d\d left"), (200, rb"contrastive \d.*choices \d.*tokens/s, .*TFLOP/s(, \d+ % of peak)? \| \d+:\d\d left")):
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            process = subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.mixture,
                                        "--output", self.output, "--steps", "300"], stderr=follower)
            shown = b""
            while process.poll() is None or select.select([leader], [], [], 0)[0]:
                if select.select([leader], [], [], 0.05)[0]:
                    shown += os.read(leader, 65536)
            drawn = re.findall(rb"\r([^\r\x1b]*)\x1b\[K", shown)
            self.assertTrue(any(re.search(part, line) for line in drawn), drawn)
            self.assertLess(max(map(len, drawn)), columns)
        os.close(leader), os.close(follower)

    def test_plot_of_a_log(self):
        script = pathlib.Path(__file__).parents[2] / "scripts" / "plot_run.py"

        def plot(*arguments):
            return subprocess.run([sys.executable, script, *arguments], capture_output=True)

        self.mixture = self.write_mixture(validation={"path": "test.jsonl"})
        self.expect_success(self.train("--steps", 9, "--validate-every", 3))
        with self.log.open("a") as log:
            log.write('{"event": "st')  # as a crash leaves it
        picture = self.folder / "run.png"
        done = plot(self.log)
        if importlib.util.find_spec("matplotlib"):
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        else:
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"python3-matplotlib", done.stderr)
        for source, part in ((self.folder / "none", b"cannot read it"), (self.mixture, b"no step is in it")):
            done = plot(source)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rb"^plot_run: [^\n]*" + part + rb"[^\n]*\n$")

    def test_plot_smooths_and_keeps_the_last_of_a_step(self):
        script = pathlib.Path(__file__).parents[2] / "scripts" / "plot_run.py"
        spec = importlib.util.spec_from_file_location("plot_run", script)
        plot_run = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plot_run)
        self.assertEqual(plot_run.smoothed([1, 3, 5, 1], 2), [1, 2, 4, 3])
        self.log.write_text('{"event":"step","step":2,"loss":1}\n{"event":"step","step":1,"loss":4}\n'
                            '[1]\n{"event":"step","step":2,"loss":3}\n{"event":"validation","step":2}\n')
        steps, validations = plot_run.read_log(self.log)
        self.assertEqual(plot_run.series(steps, "loss"), ([1, 2], [4, 3]))
        self.assertEqual(plot_run.series(steps, "mrr"), ([], []))
        self.assertEqual(len(validations), 1)

    def test_compressed_sources(self):
        source = self.folder / "train.jsonl"
        plain = source.read_bytes()
        self.expect_success(self.train("--steps", 12))
        steps = self.without_time("step")
        compressed = self.folder / "train.jsonl.zst"
        # Two frames, cut within a line, and between them one that readers skip.
        compressed.write_bytes(frame(plain[:333]) + struct.pack("<II", 0x184D2A50, 3) + b"abc" + frame(plain[333:]))
        self.mixture = self.write_mixture(sources=[{"path": "train.jsonl.zst"}, {"path": "hard.jsonl", "weight": 2, "temperature_group": 1}])
        if os.environ.get("UFORM_ZSTD") == "0":
            self.expect_failure(self.train("--steps", 12), 1, "train.jsonl.zst: ", "libzstd-dev")
            return
        self.expect_success(self.train("--steps", 12))
        self.assertEqual(self.without_time("step"), steps)
        for content, part in ((frame(plain)[:-1], "middle"), (frame(plain)[:5], "middle"), (plain, "not sound"), (b"", "no record"),
                              (frame(plain[:500] + b"{\n"), "train.jsonl.zst:")):
            compressed.write_bytes(content)
            self.expect_failure(self.train("--steps", 12), 1, part)

    def test_resume_auto_goes_on_from_the_run_s_own(self):
        folder = self.folder / "run"
        self.expect_success(self.train("--steps", 4, output=f"{folder}/"))
        own = folder / "model.safetensors"
        shutil.copy(own, folder / "best.safetensors")
        (folder / "broken.safetensors").write_bytes(b"\xff" * 99)
        self.expect_success(self.train("--steps", 4, "--resume", "auto", output=folder))
        self.assertEqual(len(self.events("end")), 1)  # nothing was left to do
        whole = own.read_bytes()
        for content in (b"", b"\xff" * 99, whole[:1000], whole[:len(whole) // 2], whole[:-1]):
            own.write_bytes(content)
            self.expect_failure(self.train("--steps", 4, "--resume", "auto", output=folder), 1, "model.safetensors")
            self.assertEqual(own.read_bytes(), content)

    def test_resume_auto_starts_from_an_untrained_model(self):
        self.expect_success(self.train("--steps", 0, "--seed", 5))
        self.expect_failure(self.train("--steps", 3, "--resume", self.output), 1, "out.safetensors: ", "--from")
        self.expect_success(self.train("--steps", 3, "--resume", "auto", "--seed", 5))
        self.assertEqual([self.events("start")[0][key] for key in ("from", "first_step")], [str(self.output), 0])
        trained = self.output.read_bytes()
        self.output.unlink()
        self.expect_success(self.train("--steps", 3, "--seed", 5))
        self.assertEqual(self.output.read_bytes(), trained)  # as if it had never been written

    def test_what_dead_runs_left_goes(self):
        gone = subprocess.Popen(["true"])
        gone.wait()  # so that its number is nobody's, or another's soon
        left = [f"out.safetensors.{kind}.{gone.pid}{rest}" for kind in ("validation", "probe", "tmp", "unpacked")
                for rest in ("", ".12.3.tmp")] + [f"out.README.md.tmp.{gone.pid}", f"run.jsonl.tmp.{gone.pid}",
                                                  "out.7.optimizer.safetensors.1.2.tmp", "out.safetensors.9.9.tmp"]
        kept = [f"out.safetensors.validation.{os.getpid()}", "out.safetensors.validation.mine", f"other.tmp.{gone.pid}"]
        for name in left + kept:
            (self.folder / name).write_text("half")
        self.expect_success(self.train("--steps", 1))
        names = os.listdir(self.folder)
        self.assertEqual([name for name in left if name in names], [])
        self.assertEqual([name for name in kept if name not in names], [])

    def test_the_share_of_peak_is_measured_or_told(self):
        self.expect_success(self.train("--steps", 2))
        start, step = self.events("start")[0], self.events()[-1]
        if start["peak"] is None:
            self.assertIsNone(step["share_of_peak"])  # a class without a loop of registers
        else:
            self.assertAlmostEqual(step["share_of_peak"], step["operations_per_second"] / start["peak"], delta=1e-12)
            self.assertTrue(0 < step["share_of_peak"] < 1, step)
        self.expect_success(self.train("--steps", 2, "--peak", 0.5))
        self.assertEqual(self.events("start")[0]["peak"], 5e11)
        for peak in ("nan", "inf", 0, -1, "1e400"):
            self.expect_failure(self.train("--steps", 2, "--peak", peak), 2, "--peak")

    def test_a_log_that_a_save_would_write_over(self):
        for name in ("out.3.optimizer.safetensors", "out.77.optimizer.safetensors"):
            self.expect_failure(tools_test.run("uform_base", *SMALL, "--mixture", self.mixture, "--output", self.output, "--log",
                                               self.folder / name, "--steps", 3), 1, f"{name}: ", "moments")

    def test_one_run_at_a_time_per_output(self):
        first = self.start("--steps", 1000000, "--save-every", 5)
        while first.poll() is None and not self.output.exists():
            time.sleep(0.002)
        second = tools_test.run("uform_base", *SMALL, "--mixture", self.mixture, "--output", self.output, "--steps", 3)
        self.expect_failure(second, 1, "out.safetensors: is written by another run", "out.safetensors.lock")
        self.assertIsNone(first.poll())
        first.kill()
        first.communicate()
        self.assertTrue((self.folder / "out.safetensors.lock").exists())
        done = self.train("--steps", 3)  # nobody holds it any more
        self.expect_success(done)
        self.assertRegex(done.stderr, rb"out\.safetensors is of an earlier run, at step \d+, .* --resume auto")
        self.assertFalse((self.folder / "out.safetensors.lock").exists())

    def test_a_file_called_like_a_lock_stays(self):
        lock, mine = self.folder / "out.safetensors.lock", self.folder / "mine"
        lock.write_text("notes")
        self.expect_success(self.train("--steps", 3))
        self.assertEqual(lock.read_text(), "notes")
        lock.unlink(), mine.touch(), lock.symlink_to("mine")
        self.expect_success(self.train("--steps", 3))
        self.assertTrue(lock.is_symlink() and mine.exists())

    def test_sources_that_changed_since_a_save(self):
        process = self.start("--steps", 1000000, "--save-every", 5)
        while process.poll() is None and not self.output.exists():
            time.sleep(0.002)
        process.kill()
        process.communicate()

        def go_on():
            process = self.start("--steps", 1000000, "--resume", self.output)
            count = len(self.events("start"))
            while process.poll() is None and len(self.events("start")) == count:
                time.sleep(0.002)
            process.terminate()
            return process.communicate()[1].decode()

        self.assertNotIn("its records", go_on())
        with (self.folder / "hard.jsonl").open("a") as source:
            source.write('{"query": "one", "document": "more"}\n')
        said = go_on()
        self.assertIn("hard.jsonl: its records or its weight are not those that", said)
        self.assertNotIn("train.jsonl: ", said)
        self.assertNotIn("its records", go_on())  # which has saved with the new ones

    def test_a_refused_resume_leaves_the_log(self):
        self.expect_success(self.train("--steps", 4))
        before = self.log.read_bytes()
        self.expect_failure(self.train("--steps", 9, "--resume", self.output), 1, "schedule")
        self.assertEqual(self.log.read_bytes(), before)

    def test_resume_auto_beside_other_runs(self):
        self.expect_success(self.train("--steps", 2, output=self.folder / "other.safetensors"))
        done = self.train("--steps", 4, "--resume", "auto", "--from", self.folder / "other.safetensors")
        self.expect_success(done)
        self.assertEqual(self.events("start")[0]["first_step"], 0)
        self.expect_failure(self.train("--resume", "auto"), 2, "--steps")
        self.expect_failure(self.train("--steps", 4, "--resume", self.output, "--from", self.output), 2, "--from")


if __name__ == "__main__":
    unittest.main()
