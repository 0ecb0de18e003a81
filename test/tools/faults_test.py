#!/usr/bin/env python3
"""What goes wrong around a run must not cost the run: signals, full disks, closed streams, outputs that are inputs.

Same conventions as tools_test.py, on a model of one block.
"""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

import tools_test

SMALL = ("--hidden", 128, "--depth", 1, "--threads", 1)


class FaultsTest(tools_test.FolderCase):
    def setUp(self):
        super().setUp()
        self.write_pairs()
        self.mixture = self.write_mixture()
        self.output = self.folder / "out.safetensors"

    def train(self, *arguments, size=SMALL, output=None, **options):
        return tools_test.run("uform_base", *size, "--mixture", self.mixture, "--output", output or self.output,
                              *arguments, **options)

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_interrupted_validation_saves_the_steps(self):
        (self.folder / "test.jsonl").write_text(tools_test.pairs(60000))  # seconds to encode
        process = subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.mixture,
                                    "--output", self.output, "--steps", "50", "--validate-every", "1"],
                                   stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not any(".validation." in name for name in self.names()) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(b"stopped at step 1 of 50", errors)
        self.assertTrue(self.output.exists())
        self.assertFalse([name for name in self.names() if ".validation." in name])

    def start(self, *arguments, size=SMALL):
        """A run, once its log says that it steps."""
        log = self.folder / "live.jsonl"
        process = subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, size), "--mixture", self.mixture, "--output",
                                    self.output, "--log", log, *map(str, arguments)], stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and not (log.exists() and "start" in log.read_text()):
            time.sleep(0.005)
        return process

    def test_a_second_signal_ends_at_once(self):
        (self.folder / "train.jsonl").write_text("".join(json.dumps({"query": "q" * 128, "document": "d" * 128}) + "\n"
                                                         for _ in range(512)))
        # A step of many seconds.
        process = self.start("--steps", 2, "--batch-pairs", 512, size=("--hidden", 512, "--depth", 12, "--threads", 1))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())  # the first asks for the end of the step
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=2), 143)
        process.communicate()
        self.assertFalse(self.output.exists())

    def test_a_terminal_that_closes_hangs_up_twice(self):
        process = self.start("--steps", 1000000)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.002)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 129, errors)
        self.assertTrue(self.output.exists())

    def test_log_that_breaks_saves_the_steps(self):
        log = self.folder / "log"
        os.mkfifo(log)
        process = subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.mixture,
                                    "--output", self.output, "--steps", "1000000", "--log", log], stderr=subprocess.PIPE)
        with open(log, "rb") as reader:
            for _ in range(4):
                reader.readline()
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (141, b""))
        self.assertTrue(self.output.exists())

    def test_file_size_limit_is_one_line(self):
        limit = 65536

        def set_limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        before = self.names()
        self.expect_failure(self.train("--steps", 2, preexec_fn=set_limit), 1, str(self.output))
        self.assertEqual(self.names(), before)

    def test_closed_streams_keep_messages_out_of_files(self):
        log = self.folder / "run.jsonl"
        done = self.train("--steps", 3, "--validate-every", 1, "--log", log,
                          preexec_fn=lambda: os.close(2))  # the log would get its number
        self.assertEqual(done.returncode, 0)
        events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
        self.assertEqual(events.count("validation"), 3)

    def test_output_that_is_no_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.expect_failure(self.train("--steps", 1, output=pipe), 1, "regular")
        self.expect_failure(self.train("--steps", 1, output="-"), 2, "--output")
        self.assertTrue(pipe.is_fifo())

    def test_links_are_followed(self):
        (self.folder / "disk").mkdir()
        target, link = self.folder / "disk" / "model.safetensors", self.folder / "link.safetensors"
        link.symlink_to("disk/model.safetensors")  # dangling at first
        for _ in range(2):
            self.assertEqual(self.train("--steps", 2, output=link).returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assertTrue(target.exists())
        self.assertTrue((self.folder / "disk" / "model.2.optimizer.safetensors").exists())

    def test_outputs_that_are_inputs(self):
        source = self.folder / "train.jsonl"
        for path in (source, self.mixture, self.folder / "test.jsonl"):
            before = path.read_bytes()
            self.expect_failure(self.train("--steps", 2, output=path), 1, str(path))
            self.expect_failure(self.train("--steps", 2, "--log", path), 1, str(path))
            self.assertEqual(path.read_bytes(), before)
        self.assertEqual(self.train("--steps", 2).returncode, 0)
        weights = self.output.read_bytes()
        encode = ("uform_encode", self.output, "--input", source)
        for arguments in (("--output", self.output), ("--output", source), ("--log", source), ("--log", self.output)):
            self.expect_failure(tools_test.run(*encode, *arguments), 1, "written over")
        self.expect_failure(tools_test.run("uform_eval", self.output, "--pairs", source, "--log", source), 1, str(source))
        self.assertEqual(self.output.read_bytes(), weights)

    def test_counts_out_of_range(self):
        for flag in ("--steps", "--seed", "--threads", "--hidden", "--batch-pairs", "--validate-every"):
            for value in ("-1", "1.5", "99999999999999999999"):
                done = tools_test.run("uform_base", "--output", self.output, f"{flag}={value}")
                self.expect_failure(done, 2, flag, "whole number")
        for value in ("nan", "inf", "0", "-1", "1e300"):
            self.expect_failure(self.train("--minutes", value), 2, "--minutes")
        for value in ("65537", "18446744073709551615"):
            self.expect_failure(self.train("--steps", 1, "--batch-pairs", value), 2, "--batch-pairs")
        self.expect_failure(tools_test.run("uform_encode", "x", "--batch", 0), 2, "--batch: must be at least 1")

    def test_weights_out_of_range(self):
        for weight in (0, 1001, 1e18, 1e300):
            self.mixture = self.write_mixture(sources=[{"path": "train.jsonl", "weight": weight}])
            self.expect_failure(self.train("--steps", 1), 1, str(self.mixture), '"weight"')

    def test_trainer_refusals_name_the_mixture(self):
        self.mixture = self.write_mixture(matryoshka=[64, 8])
        self.expect_failure(self.train("--steps", 1), 1, str(self.mixture), "matryoshka")

    def test_weights_of_another_width(self):
        self.assertEqual(self.train("--steps", 2).returncode, 0)
        done = self.train("--from", self.output, "--steps", 2, size=("--hidden", 256, "--depth", 1))
        self.expect_failure(done, 2, "--from", "128", "256")

    def test_damaged_moments_are_named(self):
        process = subprocess.Popen([tools_test.TOOLS / "uform_base", *map(str, SMALL), "--mixture", self.mixture,
                                    "--output", self.output, "--steps", "1000000", "--save-every", "1"],
                                   stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not self.output.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        moments = next(self.folder.glob("out.*.optimizer.safetensors"))
        moments.write_bytes(moments.read_bytes()[:1000])
        done = tools_test.run("uform_base", "--resume", self.output, "--mixture", self.mixture, "--steps", 1000000,
                              "--output", self.output)
        self.expect_failure(done, 1, moments.name)


if __name__ == "__main__":
    unittest.main()
