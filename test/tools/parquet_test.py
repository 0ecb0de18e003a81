#!/usr/bin/env python3
"""Parquet sources beside what sources_test.py proves of all formats: row groups, broken files, choices, validation.

Exits with 77, which ctest shows as skipped, where the build has no Arrow C++ or Python has no pyarrow to write files.
"""
import json
import signal
import subprocess
import sys
import unittest

import runs_test
import sources_test
import tools_test
from sources_test import records, write_parquet


class ParquetTest(sources_test.SourcesCase):
    @sources_test.unsanitized
    def test_memory_does_not_grow_with_a_row_group(self):
        import pyarrow
        import pyarrow.parquet
        small, big, count = self.folder / "small.parquet", self.folder / "big.parquet", 40000
        for path, rows in ((small, 16), (big, count)):
            lines = list(map(json.loads, self.big_lines(rows)))
            table = pyarrow.Table.from_pylist(lines)
            # One row group; pages of a megabyte, as writers make them unless told; no dictionary, which readers hold.
            pyarrow.parquet.write_table(table, path, row_group_size=rows, use_dictionary=False, compression="zstd")
        self.expect_bounded(small, big, count)
        columns = ["query", "document", "lang"]

        def reader_peak(path):
            return self.peak([tools_test.TOOLS / "uform_parquet", path, *columns])

        # 256 rows of 8 KB, and the pages they come from, some compressed and some not; the rest is Arrow's pools.
        bound = 64 << 20
        grown = reader_peak(big) - reader_peak(small)
        print(f"\nuform_parquet: peak memory grew by {grown / 2**20:.1f} MiB over one row group, bound {bound / 2**20:.0f}")
        self.assertLess(grown, bound)

    def test_files_that_are_no_records(self):
        import pyarrow
        import pyarrow.parquet
        source = self.folder / "source.parquet"

        def write(**columns):
            pyarrow.parquet.write_table(pyarrow.table(columns), source)

        write(query=["a", "b"], document=["A", None], lang=["de", "de"])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet:2: ", 'lacks "document"')
        write(query=["a"], document=[b"A"], lang=["de"])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet: ", 'column "document" is of type binary')
        write(query=["a"], document=[3], lang=["de"])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet:1: ", "must be a string")
        write(query=["a"])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet:1: ", "lacks")
        write(query=["a", "b"], document=["A", "B"], lang=["de", "de"], group=[1.5, float("nan")])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet:2: ", 'column "group" holds what is no finite number')
        twins = pyarrow.table([pyarrow.array(["a"])] * 4, names=["query", "document", "lang", "document"])
        pyarrow.parquet.write_table(twins, source)
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet: ", 'several columns named "document"')
        write_parquet(source, records(600))
        content = bytearray(source.read_bytes())
        source.write_bytes(content[:len(content) // 2])
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet: ", "not sound Parquet")
        # A parent that ignores its children leaves that to the tool, which would not hear how its reader ended.
        done = subprocess.run(self.command(source, "--steps", 1), capture_output=True, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.expect_failure(done, 1, "source.parquet: ", "not sound Parquet")
        content[4:2000] = bytes(1996)
        source.write_bytes(content)
        self.expect_failure(self.train(source, "--steps", 1), 1, "source.parquet: ", "not sound Parquet")

    def test_lists_of_a_fixed_size(self):
        import pyarrow
        import pyarrow.parquet
        source, runs = self.folder / "source.parquet", []
        answers, decoys = [[f"A {i}", f"B {i}"] for i in range(16)], [[f"C {i}"] if i % 2 else None for i in range(16)]
        for fixed in (False, True):
            text = pyarrow.string()
            columns = {"query": [f"q {i}" for i in range(16)], "lang": ["de"] * 16,
                       "document": pyarrow.array(answers, pyarrow.list_(text, 2 if fixed else -1)),
                       "negatives": pyarrow.array(decoys, pyarrow.list_(text, 1 if fixed else -1))}
            pyarrow.parquet.write_table(pyarrow.table(columns), source)
            self.expect_success(self.train(source, "--steps", 3))
            runs.append(self.written())
        self.assertEqual(runs[0], runs[1])

    def test_choices_and_validation(self):
        import pyarrow
        import pyarrow.parquet
        source = self.folder / "source.parquet"
        write_parquet(source, records(40))
        (self.folder / "choices.jsonl").write_text(runs_test.questions(30))
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(map(json.loads, runs_test.questions(30).splitlines()))),
                                    self.folder / "choices.parquet")
        runs = []
        for name in ("choices.jsonl", "choices.parquet"):
            self.expect_success(self.train(source, "--steps", 3, choices={"sources": [{"path": name}]},
                                           validation={"path": "source.parquet"}))
            runs.append(self.written())
        self.assertEqual(runs[0], runs[1])


if __name__ == "__main__":
    if sources_test.WITHOUT_PARQUET:
        print("parquet_test: SKIPPED:", sources_test.WITHOUT_PARQUET)
        sys.exit(77)
    unittest.main()
