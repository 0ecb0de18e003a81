#!/usr/bin/env python3
"""Draws the committed sample, scripts/data/sample, from the German part of LibreOffice's help.

The sample stands in for the corpus where there is no network, and is what the learning checks train on: 3,500 pairs
to train and 500 from held-out pages, chosen by hash, short and long as they come. The corpus's own split keeps the
held-out English texts off every training page.

Needs build/data/libreoffice (scripts/data/libreoffice.py); run again, it writes the same files.
"""
import json
import pathlib
import shutil
import sys

from libreoffice import shuffled, write_records

TRAIN, TEST = 3500, 500
LICENSE_TEXT = pathlib.Path("/usr/share/common-licenses/MPL-2.0")


def read_german(path):
    with path.open(encoding="utf-8") as lines:
        return [record for record in map(json.loads, lines) if record["lang"] == "de"]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    corpus, sample = root / "build/data/libreoffice", root / "scripts/data/sample"
    if not (corpus / "corpus.json").exists():
        print(f"make_sample: {corpus} is not there; run scripts/data/libreoffice.py", file=sys.stderr)
        return 1
    sample.mkdir(exist_ok=True)
    training = read_german(corpus / "train.jsonl")[:TRAIN]  # shuffled by hash already
    test = shuffled(read_german(corpus / "test.de.jsonl"))[:TEST]
    write_records(sample / "train.jsonl", training)
    write_records(sample / "test.jsonl", test)
    shutil.copyfile(LICENSE_TEXT, sample / "LICENSE")
    print(f"make_sample: {len(training)} pairs to train, {len(test)} held out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
