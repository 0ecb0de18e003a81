#!/usr/bin/env python3
"""Several processes of uform_base that train as one: against one process, stopped together, and with a peer that dies.

Same conventions as tools_test.py. Skipped, with 77, where the build or the machine has no UCX.
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import media_fixture
import runs_test
import tools_test

SMALL = runs_test.SMALL


class WorldTest(tools_test.FolderCase):
    deadline = 60  # seconds

    def setUp(self):
        super().setUp()
        (self.folder / "train.jsonl").write_text(tools_test.pairs(60))
        (self.folder / "mixture.json").write_text(json.dumps({"sources": [{"path": "train.jsonl"}], "batch_pairs": 9,
                                                              "objective": "masked", "warmup_steps": 2}))

    def start(self, name, ranks, *arguments, of_the_last=(), ranks_started=None):
        """Processes of one run, whose log and checkpoint are NAME's; the last has flags of its own as well."""
        command = [tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.folder / "mixture.json", "--output",
                   self.folder / f"{name}.safetensors", "--log", self.folder / f"{name}.jsonl", *map(str, arguments)]
        command += ["--mesh", self.folder / "mesh", "--deadline", str(self.deadline), "--ranks", str(ranks)]
        if "--mixture" in of_the_last:
            at = command.index("--mixture")
            last = command[:at] + command[at + 2:]
        else:
            last = command
        own = [command] * (ranks - 1) + [[*last, *map(str, of_the_last)]]
        return [subprocess.Popen([*own[rank], "--rank", str(rank)], stderr=subprocess.PIPE)
                for rank in range(ranks if ranks_started is None else ranks_started)]

    def finish(self, processes):
        errors = [process.communicate(timeout=300)[1].decode() for process in processes]
        return [process.returncode for process in processes], errors

    def train(self, name, ranks, *arguments):
        codes, errors = self.finish(self.start(name, ranks, *arguments))
        self.assertEqual(codes, [0] * ranks, errors)
        return self.steps(name)

    def steps(self, name):
        lines = map(json.loads, (self.folder / f"{name}.jsonl").read_text().splitlines())
        return [{key: value for key, value in line.items() if key not in runs_test.UNTIMED} for line in lines
                if line["event"] == "step"]

    def wait_for_step(self, name, step, processes):
        log, deadline = self.folder / f"{name}.jsonl", time.monotonic() + 60
        while time.monotonic() < deadline and all(process.poll() is None for process in processes):
            if log.exists() and f'"event":"step","step":{step},' in log.read_text():
                return
            time.sleep(0.001)
        self.fail(f"step {step} was not reached")

    def test_processes_train_as_one(self):
        alone = self.train("alone", 1, "--steps", 6)
        for ranks in (2, 3):
            together = self.train("together", ranks, "--steps", 6)
            self.assertEqual([step["tokens"] for step in together], [step["tokens"] for step in alone])
            # The first to float32's rounding; from there stochastic rounding makes of each last bit another draw.
            self.assertAlmostEqual(together[0]["loss"], alone[0]["loss"], delta=1e-5 * alone[0]["loss"])
            for one, other in zip(alone, together):
                self.assertAlmostEqual(one["loss"], other["loss"], delta=1e-2 * one["loss"])

    def write_pictures(self, bad, objective):
        """Twenty captioned pictures; of those in `bad` some are cut short, which a decoder tells, and some are not there."""
        records = []
        for i in range(20):
            content = media_fixture.picture(i)
            (self.folder / f"{i}.png").write_bytes(content[:len(content) // 2] if i in bad and i % 2 else content)
            if i in bad and not i % 2:
                (self.folder / f"{i}.png").unlink()
            records.append({"image": f"{i}.png", "caption": f"picture number {i:02}"})
        (self.folder / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        source = {"path": "train.jsonl", "fields": {"query": "caption", "document": {"image": "image"}}}
        (self.folder / "mixture.json").write_text(json.dumps({"sources": [source], "batch_pairs": 4, "warmup_steps": 2,
                                                              "objective": objective}))

    def skipped(self, name, errors):
        """(step, file) that the log names, which is the first process's, and that others say."""
        lines = map(json.loads, (self.folder / f"{name}.jsonl").read_text().splitlines())
        found = [(line["step"], pathlib.Path(line["input"]).name) for line in lines if line["event"] == "skipped"]
        said = [re.findall(r"step (\d+) without .*/(\d+\.png): ", error) for error in errors[1:]]
        return sorted(found + [(int(step), file) for each in said for step, file in each]), [len(found), *map(len, said)]

    def test_all_go_on_without_a_record_that_one_drops(self):
        """A file that one process cannot decode costs all processes the call, and the step its record, in all alike."""
        for objective, tokens in (("masked", 4), ("contrastive", 4 + len("picture number 00"))):
            runs = {}
            self.write_pictures({1, 2, 7, 10, 13, 16}, objective)
            for name, ranks in (("alone", 1), ("two", 2), *((("again", 2),) if objective == "masked" else ())):
                codes, errors = self.finish(self.start(name, ranks, "--steps", 5))
                self.assertEqual(codes, [0] * ranks, errors)
                runs[name] = self.steps(name), *self.skipped(name, errors)
            alone, dropped, _ = runs["alone"]
            self.assertEqual([sum(step == each["step"] for step, _ in dropped) for each in alone],
                             [4 - step["tokens"] // tokens for step in alone])
            self.assertEqual(len(dropped), 6)  # five steps of four are all twenty
            for together, also_dropped, shares in list(runs.values())[1:]:
                self.assertEqual(also_dropped, dropped)
                self.assertTrue(all(shares), shares)  # either process has dropped some
                self.assertEqual([step["tokens"] for step in together], [step["tokens"] for step in alone])
                if objective == "masked":  # else pairs across processes count for more, see tools/README.md
                    self.assertAlmostEqual(together[0]["loss"], alone[0]["loss"], delta=1e-5 * alone[0]["loss"])
                self.assertEqual(together, runs["two"][0])

    def test_one_is_told_and_all_stop_and_go_on(self):
        whole = self.train("whole", 2, "--steps", 60)
        command = ("parts", 2, "--steps", 60, "--resume", "auto")
        for step, rank in ((3, 0), (20, 1)):
            processes = self.start(*command)
            self.wait_for_step("parts", step, processes)
            processes[rank].send_signal(signal.SIGTERM)
            codes, errors = self.finish(processes)
            self.assertEqual(codes, [143, 143], errors)
        self.assertLess(len(self.steps("parts")), 60)
        self.train(*command)
        self.assertEqual(self.steps("parts"), whole)
        self.assertTrue((self.folder / "parts.safetensors").read_bytes() == (self.folder / "whole.safetensors").read_bytes())

    def test_one_is_told_while_it_drops_records_and_all_stop(self):
        self.write_pictures({*range(1, 20, 2), 4}, "masked")
        for rank in (0, 1, 1):
            processes = self.start("dropping", 2, "--steps", 100000)
            self.wait_for_step("dropping", 3 + rank, processes)
            processes[rank].send_signal(signal.SIGTERM)
            codes, errors = self.finish(processes)
            self.assertEqual(codes, [143, 143], errors)
            for name in ("dropping.safetensors", "dropping.jsonl"):
                (self.folder / name).unlink()

    def test_a_peer_that_dies_costs_no_step(self):
        self.deadline = 15  # more than a step takes, and not much: over shared memory a death is silence at first
        processes = self.start("run", 2, "--steps", 100000)
        self.wait_for_step("run", 5, processes)
        processes[1].kill()
        codes, errors = self.finish(processes)
        self.assertEqual(codes, [1, -signal.SIGKILL])
        self.assertRegex(errors[0], r"^uform_base: step \d+: io, .*rank 1.*start all processes again with --resume auto")
        data = (self.folder / "run.safetensors").read_bytes()
        saved = int(re.search(rb'"step":"(\d+)"', data).group(1))
        self.assertEqual(saved, self.steps("run")[-1]["step"])  # the last that both took

    def test_kills_and_new_starts_change_no_bit(self):
        """The process that writes, and one that does not, killed between saves; the other ends, and all start again."""
        command = ("killed", 2, "--steps", 40, "--save-every", 4, "--resume", "auto")
        whole = self.train("whole", *command[1:])
        self.deadline = 10
        for step, rank in ((6, 1), (18, 0)):
            processes = self.start(*command)
            self.wait_for_step("killed", step, processes)
            processes[rank].kill()
            codes, errors = self.finish(processes)
            self.assertEqual((codes[rank], codes[1 - rank]), (-signal.SIGKILL, 1), errors)
        self.train(*command)
        self.assertEqual(self.steps("killed"), whole)
        for part in (".safetensors", ".40.optimizer.safetensors"):
            self.assertTrue((self.folder / f"killed{part}").read_bytes() == (self.folder / f"whole{part}").read_bytes())
        self.assertEqual([path.name for path in self.folder.iterdir() if ".tmp." in path.name or ".optimizer." in path.name
                          and ".40." not in path.name], [])

    def test_processes_of_other_runs_are_refused_by_all(self):
        """One thing differs in the process of rank 1: its mixture, its data, a flag, what it goes on from."""
        (self.folder / "other.jsonl").write_text(tools_test.pairs(60).replace("frage 7 ", "Frage 7 ").replace("7", "8", 1))
        (self.folder / "held.jsonl").write_text(tools_test.pairs(9))
        plain = json.loads((self.folder / "mixture.json").read_text())

        def other(**changes):
            path = self.folder / f"other-{len(list(self.folder.iterdir()))}.json"
            path.write_text(json.dumps(plain | changes))
            return ("--mixture", path)

        cases = ((other(sources=[{"path": "other.jsonl"}]), r"sources\[0\]\.content: rank 0 has \w+, rank 1 has \w+"),
                 (other(sources=[{"path": "train.jsonl", "weight": 2}]), r"sources\[0\]\.weight: rank 0 has 1, rank 1 has 2"),
                 (other(sources=[{"path": "train.jsonl"}, {"path": "held.jsonl"}]), r"sources: rank 0 has 1, rank 1 has 2"),
                 (other(document_bytes=64), "document_bytes: rank 0 has 128, rank 1 has 64"),
                 (other(validation={"path": "held.jsonl"}), "validation: rank 0 has false, rank 1 has true"),
                 (other(pair_loss="sigmoid"), "pair_loss: rank 0 has softmax, rank 1 has sigmoid"),
                 (other(matryoshka=[8, 128]), "matryoshka: rank 0 has 64, 128, rank 1 has 8, 128"),
                 (("--batch-pairs", 8), "batch_pairs: rank 0 has 9, rank 1 has 8"),
                 (("--seed", 1), "seed: rank 0 has 0, rank 1 has 1"),
                 (("--learning-rate", 0.5), "learning_rate: rank 0 has 0.003, rank 1 has 0.5"))
        for arguments, difference in cases:
            codes, errors = self.finish(self.start("apart", 2, "--steps", 3, of_the_last=arguments))
            self.assertEqual(codes, [1, 1], errors)
            for error in errors:
                self.assertRegex(error, r"^uform_base: [^\n]*mesh: config-mismatch, [^\n]*\(" + difference + r"\); [^\n]*\n$")
        self.assertFalse((self.folder / "apart.safetensors").exists())
        self.train("apart", 2, "--steps", 1)  # in the same folder
        self.assertEqual([path.name for path in (self.folder / "mesh").iterdir()], [])

    def test_whoever_waits_alone_can_be_stopped(self):
        process = self.start("lonely", 2, "--steps", 1, ranks_started=1)[0]
        deadline = time.monotonic() + 30
        while not (self.folder / "mesh" / "process-0").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        codes, errors = self.finish([process])
        self.assertEqual(codes, [143], errors)
        self.assertEqual([path.name for path in (self.folder / "mesh").iterdir()], [])

    def test_flags_that_do_not_belong_together(self):
        base = ("uform_base", *SMALL, "--mixture", self.folder / "mixture.json", "--output", self.folder / "x.safetensors")
        for flags, part in ((("--ranks", 2), "--mesh"), (("--ranks", 2, "--rank", 2, "--mesh", "m"), "--rank"),
                            (("--ranks", 0), "--ranks"), (("--ranks", 2, "--mesh", "m", "--minutes", 1), "--minutes")):
            steps = () if "--minutes" in flags else ("--steps", 1)
            self.expect_failure(tools_test.run(*base, *steps, *flags), 2, part)


def has_transport():
    test = WorldTest("test_processes_train_as_one")
    test.setUp()
    try:
        codes, errors = test.finish(test.start("probe", 2, "--steps", 1))
    finally:
        test.scratch.cleanup()
    return "" if not any("unsupported" in error for error in errors) else errors[0]


if __name__ == "__main__":
    if missing := has_transport():
        print("world_test: SKIPPED: processes cannot meet:", missing)
        sys.exit(77)
    unittest.main()
