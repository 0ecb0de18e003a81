"""Embeds the lines of a file into a .npy of float16 rows, batch by batch, in memory that is lent and reused.

    python embed_lines.py models/nano-text.safetensors lines.txt rows.npy
"""

import argparse
import pathlib

import numpy as np

import uform


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("lines", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()

    data = options.lines.read_bytes()
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    # Each line with its newline is one item of a tape over the file's own bytes: nothing is copied, nothing decoded.
    offsets = np.concatenate([[0], ends + 1]).astype(np.uint64)
    with uform.Executor.for_ram() as executor:
        model = uform.Model.load_ram(options.model, executor=executor)
        arena = uform.Arena(executor)
        count, columns = len(ends), model.describe().dimensions
        rows = np.lib.format.open_memmap(options.rows, "w+", np.float16, (count, columns))
        for start in range(0, count, options.batch):
            tape = data, offsets[start : start + options.batch + 1]
            encoded = model.on(executor).text_encode(tape, arena, outputs_scalar=uform.Scalar.F16)
            rows[start : start + options.batch] = encoded.embeddings
        rows.flush()
    print(f"{count} rows of {columns}")


if __name__ == "__main__":
    main()
