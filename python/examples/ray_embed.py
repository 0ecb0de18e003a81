"""Embeds the `text` column of a folder of Parquet files over a pool of Ray actors; started again, it goes on.

    python ray_embed.py models/nano-text.safetensors in/ out/ --actors 2

Each file becomes one of the same name in out/, with an `embedding` column of float32 beside its own, written whole and
then renamed: what is there is done, and what is missing is what the next run embeds. On a cluster, in/ and out/ are on
storage that every node sees. Needs ray[data] and pyarrow.
"""

import argparse
import os
import pathlib
from typing import Any

import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
import pyarrow.parquet as parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]
import ray  # type: ignore[import-untyped, import-not-found, unused-ignore]
import ray.data  # type: ignore[import-untyped, import-not-found, unused-ignore]

import uform


class Embed:
    """One actor: a model, its threads and an arena, made once and used for every file it gets."""

    def __init__(self, model: str, output: str, threads: int) -> None:
        self.executor = uform.Executor.for_ram(threads=threads)
        self.model = uform.Model.load_ram(model, executor=self.executor)
        self.arena = uform.Arena(self.executor)
        self.output = pathlib.Path(output)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        counts = [self.embed(pathlib.Path(path)) for path in batch["path"]]
        return {"path": batch["path"], "rows": np.array(counts)}

    def embed(self, path: pathlib.Path) -> int:
        rows = parquet.read_table(path)
        texts = rows.column("text").to_pylist()
        encoded = self.model.on(self.executor).text_encode(texts, self.arena)
        # A copy of the values: Arrow's buffers outlive this call, and would pin the arena.
        embeddings = np.array(encoded.embeddings)
        column = arrow.FixedSizeListArray.from_arrays(arrow.array(embeddings.ravel()), embeddings.shape[1])
        unfinished = self.output / f".{path.name}.{os.getpid()}"
        parquet.write_table(rows.append_column("embedding", column), unfinished)
        unfinished.rename(self.output / path.name)
        return len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("input", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each actor, which asks Ray for as many cores")
    options = parser.parse_args()

    options.output.mkdir(parents=True, exist_ok=True)
    missing = [path for path in sorted(options.input.glob("*.parquet")) if not (options.output / path.name).exists()]
    if missing:
        ray.data.DataContext.get_current().enable_progress_bars = False
        files = ray.data.from_items([{"path": str(path.resolve())} for path in missing])
        done = files.map_batches(
            Embed,
            fn_constructor_args=(str(options.model.resolve()), str(options.output.resolve()), options.threads),
            batch_size=1,
            concurrency=options.actors,
            num_cpus=options.threads,
        )
        rows = sum(row["rows"] for row in done.take_all())
    print(f"embedded {len(missing)} files" + (f", {rows} rows" if missing else ""))


if __name__ == "__main__":
    main()
