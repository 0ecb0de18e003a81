#!/usr/bin/env python3
"""uform_grow as a shell sees it: grown models answer alike and train on; what is refused leaves nothing behind.

Same conventions as tools_test.py, on a model of two blocks that learned for a few steps.
"""
import json
import math
import os
import pathlib
import resource
import struct
import tempfile
import unittest

import tools_test

HIDDEN, DEPTH = 256, 2
STEPS, MORE_STEPS, RATE = 8, 24, 1e-3  # the small model has much left to learn


def floats(data, dtype):
    if dtype == "F32":
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]


class GrowTest(tools_test.FolderCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        folder = cls.folder = pathlib.Path(cls.shared.name)
        cls.write_pairs(cls)
        cls.mixture = cls.write_mixture(cls, objective="masked", batch_pairs=32)
        cls.model = folder / "small.safetensors"
        cls.small_losses = cls.train(cls.model, "--hidden", HIDDEN, "--depth", DEPTH, "--steps", STEPS)

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        super().setUp()
        self.target = self.folder / "grown.safetensors"

    @classmethod
    def train(cls, output, *arguments):
        """The losses of a run, step by step."""
        log = output.with_suffix(".jsonl")
        done = tools_test.run("uform_base", "--mixture", cls.mixture, "--output", output, "--log", log, "--threads", 1,
                              "--learning-rate", RATE, *arguments)
        assert done.returncode == 0, done.stderr
        lines = map(json.loads, log.read_text().splitlines())
        return [line["loss"] for line in lines if line["event"] == "step"]

    def grow(self, *arguments, source=None, target=None, **options):
        return tools_test.run("uform_grow", source or self.model, target or self.target, *arguments, **options)

    def expect_grown(self, *arguments, source=None, target=None):
        done = self.grow(*arguments, source=source, target=target)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def tensor(self, path, name):
        dtype, shape, data = tools_test.read_safetensors(path.read_bytes())[name]
        return shape, floats(data, dtype)

    def metadata(self, path):
        data = path.read_bytes()
        return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]

    def embeddings(self, path):
        texts = b"frage 1\nanswer number 7\n\nWie geht das?\n"
        done = tools_test.run("uform_encode", path, "--dimensions", HIDDEN, stdin=texts)
        rows = tools_test.read_npy(done.stdout)[2]
        values = struct.unpack(f"<{len(rows) // 4}f", rows)
        return [values[i:i + HIDDEN] for i in range(0, len(values), HIDDEN)]

    def expect_same_embeddings(self, path):
        for a, b in zip(self.embeddings(self.model), self.embeddings(path), strict=True):
            self.assertGreaterEqual(sum(x * y for x, y in zip(a, b)), 0.9999)

    def test_twice_and_mixed(self):
        said = self.expect_grown("--widen")
        self.assertRegex(said, r"^256 x 2 to 512 x 2, lowest cosine [01]\.\d{8} over 21 texts\n$")
        steps = (("--deepen", 3), ("--widen", 640), ("--deepen",))
        source = self.target
        for number, step in enumerate(steps):
            target = self.folder / f"{number}.safetensors"
            self.expect_grown(*step, source=source, target=target)
            source = target
        self.expect_same_embeddings(source)
        notes = self.metadata(source)
        self.assertEqual((notes["hidden"], notes["depth"]), ("640", "6"))
        at = f"at step {STEPS} to"
        self.assertEqual(notes["grown"], f"256 x 2 {at} 512 x 2; 512 x 2 {at} 512 x 3; 512 x 3 {at} 640 x 3; "
                                         f"640 x 3 {at} 640 x 6")
        kept = {key: value for key, value in self.metadata(self.model).items() if key not in ("hidden", "depth")}
        self.assertEqual({key: notes.get(key) for key in kept}, kept)
        self.expect_no_leftovers()

    def test_deeper_models_answer_to_the_bit(self):
        self.expect_grown("--deepen")
        self.assertEqual(self.embeddings(self.target), self.embeddings(self.model))

    def test_same_input_same_bytes(self):
        self.expect_grown("--widen")
        again = self.folder / "again.safetensors"
        self.expect_grown("--widen", target=again)
        self.assertEqual(again.read_bytes(), self.target.read_bytes())

    def test_flags_before_names(self):
        done = tools_test.run("uform_grow", "--deepen", self.model, self.target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.metadata(self.target)["depth"], str(2 * DEPTH))

    def test_bad_arguments(self):
        for arguments, part in (((), "--deepen or --widen"), (("--deepen", "--widen"), "excludes"),
                                (("--deepen", 0), "at least 1"), (("--deepen", -1), "whole number"),
                                (("--deepen", "x"), "whole number"), (("--deepen", 2), "choose from 3 to 4"),
                                (("--deepen", 5), "choose from 3 to 4"), (("--widen", 300), "choose 384"),
                                (("--widen", 320), "choose 384"), (("--widen", 128), "choose from 257 to 512"),
                                (("--widen", 640), "choose from 257 to 512"),
                                (("--widen", "--cpu-class", "abacus"), "serial")):
            self.expect_failure(self.grow(*arguments), 2, part)
        self.expect_failure(tools_test.run("uform_grow", self.model, "--widen"), 2, "target")
        self.expect_failure(self.grow("--widen", target="-"), 2, "standard output")
        self.assertEqual(os.listdir(self.folder), [])

    def test_source_missing_or_hostile(self):
        missing, broken, cut = (self.folder / name for name in ("missing", "broken", "cut"))
        broken.write_bytes(b"\xff" * 100)
        cut.write_bytes(self.model.read_bytes()[:-1])
        for source in (missing, broken, cut, self.folder):
            self.expect_failure(self.grow("--widen", source=source), 1, str(source))
        self.assertFalse(self.target.exists())
        self.expect_no_leftovers()

    def test_target_exists_or_cannot(self):
        self.target.write_bytes(b"a trained model")
        self.expect_failure(self.grow("--widen"), 1, str(self.target), "exists already")
        self.assertEqual(self.target.read_bytes(), b"a trained model")
        before = self.model.read_bytes()
        self.expect_failure(self.grow("--deepen", target=self.model), 1, "read as well")
        self.assertEqual(self.model.read_bytes(), before)
        self.expect_failure(self.grow("--widen", target=self.folder / "no" / "x"), 1, "does not exist")
        dangling = self.folder / "dangling"
        dangling.symlink_to(self.folder / "nowhere")
        self.expect_failure(self.grow("--widen", target=dangling), 1, "exists already")
        self.assertFalse((self.folder / "nowhere").exists())

    def test_full_disk_leaves_nothing(self):
        def small_files():  # a limit on file sizes stands in for a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        self.expect_failure(self.grow("--widen", preexec_fn=small_files), 1, str(self.target))
        self.assertEqual(os.listdir(self.folder), [])

    def test_low_cosine_is_refused(self):
        """The epsilon of an rmsnorm counts more beside zeros, which a residual stream of 2^-16 lets see."""
        data = bytearray(self.model.read_bytes())
        start = 8 + struct.unpack("<Q", data[:8])[0]
        for i in range(start, start + 258 * HIDDEN * 2, 2):  # text.embedding comes first
            bits, = struct.unpack_from("<H", data, i)
            exponent = bits >> 7 & 0xff
            struct.pack_into("<H", data, i, bits - (16 << 7) if exponent > 16 else 0)
        faint = self.folder / "faint.safetensors"
        faint.write_bytes(data)
        done = self.grow("--widen", 384, source=faint)
        self.expect_failure(done, 1, str(self.target), "below 0.9999", "nothing was written")
        self.assertRegex(done.stderr.decode(), r"to a cosine of 0\.\d{6}")
        self.assertEqual(os.listdir(self.folder), ["faint.safetensors"])
        self.expect_grown("--widen", source=faint)  # twice the width has no such limit

    def train_on(self, *arguments):
        """Grows, trains on, and answers the checkpoint: its first loss is the small one's, its last are lower."""
        self.expect_grown(*arguments)
        trained = self.folder / "trained.safetensors"
        small, = self.train(self.folder / "small.safetensors", "--from", self.model, "--steps", 1)
        losses = self.train(trained, "--from", self.target, "--steps", MORE_STEPS)
        self.assertAlmostEqual(losses[0], small, delta=0.01 * small)
        last = sum(losses[-5:]) / 5
        self.assertLess(last, 0.8 * small)
        self.assertLess(last, 0.8 * sum(losses[:5]) / 5)
        return trained

    def assert_moved(self, values):
        """By a third of the rate at least: in MORE_STEPS steps of it a weight is free to go further."""
        self.assertGreater(math.sqrt(sum(value * value for value in values) / len(values)), RATE / 3)

    def test_wider_models_train_on_and_twins_part(self):
        trained = self.train_on("--widen")
        _, columns = self.tensor(self.target, "blocks.0.mlp.gate")[0]
        (_, old), (_, new) = (self.tensor(path, "blocks.0.mlp.gate") for path in (self.target, trained))
        moved = apart = 0.0
        for row in range(0, HIDDEN, 16):  # of the gate: with its twin, what it does to columns and their twins
            changes = []
            for first in (row * columns, (row + HIDDEN) * columns):
                rows = (new[first:first + HIDDEN], new[first + HIDDEN:first + columns],
                        old[first:first + HIDDEN], old[first + HIDDEN:first + columns])
                changes.append([c + d - a - b for c, d, a, b in zip(*rows)])
            moved += sum(change * change for each in changes for change in each)
            apart += sum((a - b) ** 2 for a, b in zip(*changes))
        # 0 where twins moved alike, 1 where each went its own way. In these steps 0.034; from equal halves 0.004, which
        # is stochastic rounding alone.
        self.assertGreater(apart / moved, 0.015)

    def test_padded_models_train_on_and_zeros_wake(self):
        trained = self.train_on("--widen", 384)
        for byte in sorted(set(b"answer number")):
            row = slice(byte * 384 + HIDDEN, byte * 384 + 384)
            self.assertEqual(set(self.tensor(self.target, "text.embedding")[1][row]), {0.0})
            self.assert_moved(self.tensor(trained, "text.embedding")[1][row])
        for name in ("attention.output", "mlp.down"):
            (_, columns), values = self.tensor(trained, f"blocks.0.{name}")
            self.assert_moved(values[HIDDEN * columns:])

    def test_deeper_models_train_on_and_new_blocks_wake(self):
        trained = self.train_on("--deepen")
        for block in (1, 3):
            for name in ("attention.output", "mlp.down"):
                self.assertEqual(set(self.tensor(self.target, f"blocks.{block}.{name}")[1]), {0.0})
                self.assert_moved(self.tensor(trained, f"blocks.{block}.{name}")[1])
            for name in ("attention.qkv", "mlp.gate"):  # which zeros kept from a gradient in the first step
                (_, old), (_, new) = (self.tensor(path, f"blocks.{block}.{name}") for path in (self.target, trained))
                self.assert_moved([b - a for a, b in zip(old, new)])


if __name__ == "__main__":
    unittest.main()
