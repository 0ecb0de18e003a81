#!/usr/bin/env python3
"""Long runs of uform_base: its terms and mixtures, what it resumes from, and what it leaves beside a checkpoint.

Same conventions as tools_test.py, on a model of one block.
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import tools_test

SMALL = ("--hidden", 128, "--depth", 1, "--threads", 1)
UNTIMED = ("tokens_per_second", "seconds", "seconds_per_step")  # what no two runs share


def questions(count):
    return "".join(json.dumps({"text": f"is {i} even? ", "choices": "yn", "answer": "yn"[i % 2], "group": i % 3}) + "\n"
                   for i in range(count))


class RunsTest(unittest.TestCase):
    expect_failure = tools_test.ToolsTest.expect_failure

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "train.jsonl").write_text(tools_test.pairs(40))
        (self.folder / "test.jsonl").write_text(tools_test.pairs(20))
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

    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def events(self, kind="step"):
        return [line for line in map(json.loads, self.log.read_text().splitlines()) if line["event"] == kind]

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


if __name__ == "__main__":
    unittest.main()
