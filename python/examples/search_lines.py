"""Answers a question with the nearest lines of a file.

    python search_lines.py models/nano-text.safetensors lines.txt "Wie öffne ich eine Datei?" --count 3
"""

import argparse
import pathlib

from uform.search import Encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("lines", type=pathlib.Path)
    parser.add_argument("question")
    parser.add_argument("--count", type=int, default=3)
    options = parser.parse_args()
    lines = options.lines.read_text(encoding="utf-8").splitlines()
    for position, score in Encoder(options.model).rank(options.question, lines, options.count):
        print(f"{score:.3f}  {lines[position]}")


if __name__ == "__main__":
    main()
